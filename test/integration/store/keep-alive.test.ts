import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/store/clickhouse.js';
import { createClickHouse } from '../../support/clickhouse-http.mjs';
import { ENGINE_DEPS, graded, temporaryDir, turn, WRITER_DEPS } from '../../support/store.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

async function writingThrough(cutsReuse: (reuse: number) => boolean) {
  const clickhouse = await createClickHouse();
  onTestFinished(() => clickhouse.remove());
  await clickhouse.start();
  const proxy = await startTcpProxy(clickhouse.url, cutsReuse);
  const direct = await openStore({ url: clickhouse.url, database: 'grades', dataDir: temporaryDir() }, ENGINE_DEPS);
  onTestFinished(() => direct.close());
  await direct.migrate();
  const store = await openStore({ url: proxy.url, database: 'grades', dataDir: temporaryDir() }, ENGINE_DEPS);
  onTestFinished(() => store.close());
  const writer = store.writer(WRITER_DEPS, { batchMs: 1, backoff: { firstMs: 1, maxMs: 10 } });
  const count = async () => {
    const [row] = await direct.rows('SELECT count() AS n, uniqExact(interaction_id) AS ids FROM {db}.interactions');
    return { rows: Number(row?.['n']), ids: Number(row?.['ids']) };
  };
  return { proxy, writer, count };
}

const TURNS = 20;

test.each([
  ['at every use after the first', () => true],
  ['at every third', (reuse: number) => reuse % 3 === 0],
])(
  'no row is lost or doubled when the server closes idle connections just as they are used again, %s',
  async (_, cutsReuse) => {
    const { proxy, writer, count } = await writingThrough(cutsReuse);

    const outcomes = new Set<string>();
    for (let trace = 1; trace <= TURNS; trace += 1) {
      const written = writer.write(graded(turn({ trace })));
      writer.flush();
      outcomes.add((await written).status);
    }
    await writer.close({ drainMs: 10_000 });

    expect(outcomes).toEqual(new Set(['ok']));
    expect(await count()).toEqual({ rows: TURNS, ids: TURNS });
    expect(proxy.cuts).toBeGreaterThan(3);
  },
);
