import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

import { createDetectors } from '../../src/rollup/detectors.js';
import { openStore } from '../../src/store/clickhouse.js';
import { openEngine } from '../../src/store/engine.js';
import { queryRoute } from '../../src/worker/query-route.js';
import { ALERT_RULES, MINUTE_MS, START_MS, stream, writeClosed } from '../support/alerts.js';
import { runCli } from '../support/cli.js';
import { ENGINE_DEPS, graded, temporaryDir, turn, WRITER_DEPS, writeInTurn, type TestStore } from '../support/store.js';

/** A data directory in which version 1 got worse and version 2 is well; `store` is given back open. */
async function madeStore(): Promise<{ store: TestStore; dataDir: string }> {
  const dataDir = temporaryDir();
  const config = { url: 'embedded', database: 'tracegrade', dataDir };
  const opened = await openStore(config, ENGINE_DEPS);
  const engine = await openEngine(config, ENGINE_DEPS);
  await opened.migrate();
  const close = async () => {
    await engine.close();
    await opened.close();
  };
  const command = (sql: string) => engine.command(sql.replaceAll('{db}', 'tracegrade'));
  const store: TestStore = { ...opened, config, command, close };
  const made = [...stream(150, 3), ...stream(60, 60, 150), ...stream(200, 2, 210, { version: '2' })];
  await writeClosed(store, made);
  const failed = { criterion: 'tools', kind: 'scored', value: 0, passed: false } as const;
  const score = { ...failed, decidedBy: 'rule', reason: 'a secret of the user', details: {} } as const;
  // 1-00151 is the second of the bad ones: of five, three are wrong, evenly.
  const wrong = turn({ trace: 7, conversationId: '1-00151', assistantId: 'order-desk' });
  await writeInTurn(store.writer(WRITER_DEPS), [graded(wrong, { label: 'incorrect', scores: [score] })]);
  await createDetectors(store, ALERT_RULES).step(START_MS + 420 * MINUTE_MS);
  await store.insertRows('rollup_ticks', ['at', 'read_at'], [[START_MS + 420 * MINUTE_MS, 1]]);
  return { store, dataDir };
}

test('lists the open alert and explains it, with what decided and the traces', async () => {
  const { store, dataDir } = await madeStore();
  await store.close();
  const set = ['--set', `dataDir=${dataDir}`];

  const list = await runCli(['alert', 'list', '--format', 'json', ...set]);
  const [{ alert_id: id }] = list.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { alert_id: string }) as [{ alert_id: string }];
  const table = await runCli(['alert', 'explain', id.slice(0, 6), ...set]);
  const json = await runCli(['alert', 'explain', '--latest', '--format', 'json', ...set]);

  expect(table.stdout).toContain(`${id}  order-desk 1 (prod), policy p1`);
  // 0.8^(1/3) = 0.92832.
  expect(table.stdout).toContain('Held to "reliable": pass^3 >= 0.8, that is a success rate p >= p0 = 0.9283');
  expect(table.stdout).toContain('Frozen with A = 1000');
  expect(table.stdout).toMatch(/opened, page: evidence \S+ of the 1000 needed, decided by conversation 1-0\d+/);
  expect(table.stdout).toMatch(/incorrect +1-0\d+ +tools +a{28}0007/);
  expect(table.stdout).not.toContain('secret of the user');
  const explained = JSON.parse(json.stdout) as { alert: unknown; conversations: { correct: boolean }[] };
  expect(explained.alert).toMatchObject({ alert_id: id, transition: 'opened' });
  expect(explained.conversations.filter(({ correct }) => !correct).length).toBeGreaterThan(30);
});

test('asks the worker that has the store open', async () => {
  const { store, dataDir } = await madeStore();
  const answer = queryRoute(store);
  const server = createServer((request, response) => {
    void (async () => {
      const body = new TextEncoder().encode(await text(request));
      if (request.url === '/healthz') return void response.end('ok');
      const asked = { body, mediaType: 'application/json' } as Parameters<typeof answer>[0];
      const { status, body: said } = await answer(asked);
      return void response.writeHead(status).end(said);
    })();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(async () => {
    server.close();
    await store.close();
  });
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(dataDir, 'worker.json'), JSON.stringify({ pid: 1, host: '127.0.0.1', port }));

  const list = await runCli(['alert', 'list', '--set', `dataDir=${dataDir}`], { isAlive: () => true });

  expect(list.stderr).toBe('');
  expect(list.stdout).toMatch(/open +page +order-desk 1 \(prod\) +reliable, >= 0\.9283/);
});

test('compares two versions, and says what it needs to know', async () => {
  const { store, dataDir } = await madeStore();
  await writeClosed(store, stream(20, 0, 300, { assistant: 'other', version: '1' }));
  await store.close();
  const set = ['--set', `dataDir=${dataDir}`];
  const sides = ['--a', 'version=1', '--b', 'version=2'];

  const json = await runCli(['compare', ...sides, '--assistant', 'order-desk', '--k', '1', '--format', 'json', ...set]);
  const unclear = await runCli(['compare', ...sides, ...set]);
  const nobody = await runCli(['compare', '--a', 'version=9', '--b', 'version=2', ...set]);
  const last = ['--a', 'version=1,window=last_50', '--b', 'version=1,window=2h,to=2026-11-02T02:30:00Z'];
  const windows = await runCli(['compare', ...last, '--assistant', 'order-desk', '--format', 'json', ...set]);

  const common = ['--assistant', 'order-desk', ...set];
  const same = await runCli(['compare', '--a', 'version=1', '--b', 'version=1', ...common]);
  const overlap = ['--a', 'version=1,window=last_50', '--b', 'version=1,window=3h,to=2026-11-02T03:00:00Z'];
  const shared = await runCli(['compare', ...overlap, ...common]);
  const local = await runCli(['compare', ...sides, '--to', '2026-11-02T03:00:00', ...common]);
  const large = await runCli(['compare', ...sides, '--k', '1000000000', ...common]);

  // 3 % of 150 and 60 % of 60 are 4 and 36 wrong of 210; 2 % of 200 are 4.
  expect(JSON.parse(json.stdout)).toMatchObject({
    a: { trials: 210, correct: 170, mean: expect.closeTo(171 / 212, 12) as number },
    b: { trials: 200, correct: 196, mean: expect.closeTo(197 / 202, 12) as number },
  });
  expect((JSON.parse(json.stdout) as { worse: number }).worse).toBeLessThan(1e-6);
  expect(unclear).toMatchObject({ status: 2, stderr: expect.stringContaining('--assistant expected') as string });
  expect(nobody).toMatchObject({ status: 2, stderr: expect.stringContaining('counts for A (version=9') as string });
  // The last 50 are of the bad hour; those that closed in the two hours before 02:30 are minutes 31 .. 149.
  expect(JSON.parse(windows.stdout)).toMatchObject({ a: { trials: 50 }, b: { trials: 119 } });
  expect(same).toMatchObject({ status: 2, stderr: expect.stringContaining('got 210') as string });
  // Minutes 160 .. 179 are among the last 50, and in the three hours before 03:00.
  expect(shared).toMatchObject({ status: 2, stderr: expect.stringContaining('got 20 (A') as string });
  expect(local).toMatchObject({ status: 2, stderr: expect.stringContaining('got "2026-11-02T03:00:00"') as string });
  expect(large).toMatchObject({ status: 2, stderr: expect.stringContaining('from 1 to 1000 expected') as string });
});

test('compares versions whose names hold a comma, or nothing, sides that are named in pieces, and nothing that estimates refuse', async () => {
  const { store, dataDir } = await madeStore();
  const odd = { assistant: 'odd' };
  await writeClosed(store, [
    ...stream(20, 10, 300, { ...odd, version: '2,1' }),
    ...stream(30, 10, 320, { ...odd, version: '' }),
    ...stream(40, 10, 350, { ...odd, version: 'say "1"' }),
  ]);
  await store.close();
  const common = ['--assistant', 'odd', '--format', 'json', '--set', `dataDir=${dataDir}`];
  const trials = async (...sides: readonly string[]) => {
    const { status, stdout, stderr } = await runCli(['compare', ...sides, ...common]);
    if (status !== 0) return stderr;
    const { a, b } = JSON.parse(stdout) as Record<'a' | 'b', { trials: number }>;
    return [a.trials, b.trials];
  };

  expect(await trials('--a', 'version="2,1"', '--b', 'version="",policy=p1')).toEqual([20, 30]);
  expect(await trials('--a', 'version="say ""1""",window=last_10', '--b', 'version="2,1"')).toEqual([10, 20]);
  expect(await trials('--a', 'window=last_5', '--a', 'version=""', '--b', 'version="2,1"')).toEqual([5, 20]);
  expect(await trials('--a', 'version="2,1"', '--b', 'version=')).toContain('counts for B (assistant=odd, version=)');
  expect(await trials('--a', 'version=2,1', '--b', 'version=')).toContain('expected, got "1"');
  // Nine digits are more than estimate.windows takes.
  const long = await trials('--a', 'version="2,1",window=last_123456789', '--b', 'version=""');
  expect(long).toContain('a window such as 30m, 24h, 7d or last_200 expected, got "last_123456789"');
});

test('takes the smallest difference that matters from estimate.margin unless it is told', async () => {
  const { store, dataDir } = await madeStore();
  await store.close();
  const sides = ['compare', '--a', 'version=1', '--b', 'version=2', '--assistant', 'order-desk', '--format', 'json'];
  const set = ['--set', `dataDir=${dataDir}`, '--set', 'estimate.margin=0.1'];

  const configured = JSON.parse((await runCli([...sides, ...set])).stdout) as { margin: number; within: number };
  const told = JSON.parse((await runCli([...sides, '--margin', '0', ...set])).stdout) as { margin: number };

  expect(configured.margin).toBe(0.1);
  expect(configured.within).toBeGreaterThan(0);
  expect(told.margin).toBe(0);
});
