import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, propagation, trace } from '@opentelemetry/api';
import { expect, onTestFinished, test } from 'vitest';
import { demoConversation } from '../../../src/cli/demo-agents.js';
import { startDemoSender } from '../../../src/cli/demo-sender.js';
import { openStore } from '../../../src/store/clickhouse.js';
import type { WorkerSettings } from '../../../src/worker/worker.js';
import { createClickHouse } from '../../support/clickhouse-http.mjs';
import { ENGINE_DEPS, temporaryDir } from '../../support/store.js';
import { agent, request, tool } from '../../support/turn-traffic.js';
import { expectBalance, runningWorker } from '../../support/worker.js';

async function ownClickHouse() {
  const clickhouse = await createClickHouse();
  onTestFinished(() => clickhouse.remove());
  await clickhouse.start();
  return clickhouse;
}

type Room = (dataDir: string) => Pick<WorkerSettings, 'writer' | 'spool'>;
const WRITER = { batchMs: 20, backoff: { firstMs: 20, maxMs: 200 } };

test.each<[string, Room]>([
  ['its queue', (dataDir) => ({ writer: { ...WRITER, queueRows: 1 }, spool: { path: `${dataDir}/spool` } })],
  // Sixteen pages.
  ['its spool', (dataDir) => ({ writer: WRITER, spool: { path: `${dataDir}/spool`, maxBytes: 64 * 1024 } })],
])(
  'answers 503 when %s is full because the store is away, and a real exporter delivers everything afterwards',
  async (_what, room) => {
    const clickhouse = await ownClickHouse();
    const dataDir = temporaryDir();
    const store = { url: clickhouse.url, database: 'tracegrade', dataDir, requestTimeoutMs: 2_000 };
    const running = await runningWorker(dataDir, {}, { store, ...room(dataDir) });
    onTestFinished(() => running.worker.stop());
    const sender = await startDemoSender(`${running.url}/v1/traces`);
    onTestFinished(async () => {
      await sender.stop();
      for (const api of [trace, context, propagation]) api.disable();
    });
    const refused = () => running.metric('tracegrade_requests_refused_total');

    await clickhouse.fault('refuse');
    let accepted = 0;
    let answer = await running.post(request(tool(1, 2), agent(1)));
    while (answer.status === 200) {
      accepted += 1;
      answer = await running.post(request(tool(accepted + 1, 2), agent(accepted + 1)));
    }
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    const before = await refused();
    const conversations = [0, 1, 2].map(demoConversation);
    for (const conversation of conversations) await sender.send(conversation, Date.now());
    const delivered = sender.flush();
    await expect.poll(refused, { timeout: 30_000 }).toBeGreaterThan(before);
    await clickhouse.fault('none');
    await delivered;
    await running.worker.whenIdle();

    const rows = await running.worker.store.rows(`SELECT conversation_id, count() AS n FROM {db}.interactions_current
      GROUP BY conversation_id ORDER BY conversation_id`);
    const expected = [
      ...Array.from({ length: accepted }, (_, at) => [`c${at + 1}`, 1] as const),
      ...conversations.map(({ id, turns }) => [id, turns.length] as const),
    ];
    expect(accepted).toBeGreaterThan(0);
    expect(Object.fromEntries(rows.map((row) => [row['conversation_id'], Number(row['n'])]))).toEqual(
      Object.fromEntries(expected),
    );
    await expectBalance(running);
  },
);

test('a worker with nothing to write finds out that the store is away, and does not take it back until it is there', async () => {
  const clickhouse = await ownClickHouse();
  const dataDir = temporaryDir();
  const store = { url: clickhouse.url, database: 'tracegrade', dataDir };
  const running = await runningWorker(dataDir, {}, { store });
  onTestFinished(() => running.worker.stop());
  const ready = async () => (await fetch(`${running.url}/readyz`)).status;
  const told = () => {
    const events = running.telemetry.records().map((record) => record['event']);
    return events.filter((event) => event === 'storeUnavailable' || event === 'storeRecovered');
  };
  await expect.poll(ready, { timeout: 30_000 }).toBe(200);

  await clickhouse.fault('refuse');
  await expect.poll(ready, { timeout: 30_000 }).toBe(503);
  await running.worker.whenIdle();
  expect([await ready(), told()]).toEqual([503, ['storeUnavailable']]);
  await clickhouse.fault('none');

  await expect.poll(ready, { timeout: 30_000 }).toBe(200);
  await expect.poll(told).toEqual(['storeUnavailable', 'storeRecovered']);
});

test('a server that takes a question and never answers is away, however long an insert may take', async () => {
  const clickhouse = await ownClickHouse();
  const config = { url: clickhouse.url, database: 'tracegrade', dataDir: temporaryDir(), requestTimeoutMs: 600_000 };
  const store = await openStore(config, ENGINE_DEPS);
  onTestFinished(() => store.close());
  expect(await store.ping()).toBe(null);

  await clickhouse.fault('hang');

  expect(await store.ping()).toBeInstanceOf(Error);
});

test('waits for a store that answers a ping and goes away before its tables are made', async () => {
  const clickhouse = await ownClickHouse();
  let cuts = 2;
  const target = new URL(clickhouse.url);
  const proxy = createServer((incoming, answer) => {
    if (incoming.url?.startsWith('/ping') !== true && cuts > 0) {
      cuts -= 1;
      incoming.socket.destroy();
      return;
    }
    const { method, headers, url: path } = incoming;
    const outgoing = httpRequest({ host: target.hostname, port: target.port, method, headers, path }, (upstream) => {
      answer.writeHead(upstream.statusCode ?? 500, upstream.headers);
      upstream.pipe(answer);
    });
    incoming.pipe(outgoing);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const dataDir = temporaryDir();
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

  const running = await runningWorker(dataDir, {}, { store: { url, database: 'tracegrade', dataDir } });
  onTestFinished(() => running.worker.stop());

  await expect.poll(() => fetch(`${running.url}/readyz`).then(({ status }) => status), { timeout: 30_000 }).toBe(200);
  expect(cuts).toBe(0);
});
