import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readFixture } from '../support/fixture.js';
import { temporaryDir } from '../support/store.js';
import { agent, hex, request, textAttribute, tool } from '../support/turn-traffic.js';
import { expectBalance, runningWorker } from '../support/worker.js';

test('answers in /metrics for every span of the field cases: assembled, rejected or dropped with a reason', async () => {
  const running = await runningWorker(temporaryDir());
  const cases = new URL('../fixtures/cases/', import.meta.url);
  for (const folder of readdirSync(cases).filter((name) => /^\d/.test(name))) {
    for (const file of ['input.otlp.json', 'input.2.otlp.json', 'input.3.otlp.json', 'input.pb']) {
      if (!existsSync(new URL(`${folder}/${file}`, cases)) && !existsSync(new URL(`${folder}/${file}.gz`, cases)))
        continue;
      const type = file.endsWith('.pb') ? 'application/x-protobuf' : 'application/json';
      expect((await running.post(readFixture(`cases/${folder}/${file}`), type)).status).toBe(200);
    }
  }

  await running.worker.whenIdle();

  await expectBalance(running);
  const rows = await running.worker.store.rows(
    'SELECT count() AS n, uniqExact(interaction_id) AS ids FROM {db}.interactions_current',
  );
  expect(Number(rows[0]?.['n'])).toBeGreaterThan(40);
  expect(rows[0]?.['n']).toBe(rows[0]?.['ids']);
  const rejections = await running.worker.store.rows('SELECT count() AS n FROM {db}.rejections');
  expect(Number(rejections[0]?.['n'])).toBeGreaterThan(0);
  await running.worker.stop();
});

test('stores one row when the same request comes twice', async () => {
  const running = await runningWorker(temporaryDir());
  const body = request(agent(1), tool(1, 2));

  await running.post(body);
  await running.post(body);
  await running.worker.whenIdle();

  const rows = await running.worker.store.rows('SELECT length(tool_calls.name) AS calls FROM {db}.interactions FINAL');
  expect(rows.map((row) => Number(row['calls']))).toEqual([1]);
  expect(await running.metric('tracegrade_spans_dropped_total')).toBe(2);
  await expectBalance(running);
  await running.worker.stop();
});

test('decides a turn after a restart when its spans came before and its root after', async () => {
  const dataDir = temporaryDir();
  const first = await runningWorker(dataDir);
  await first.post(request(tool(7, 2), tool(7, 3)));
  await first.worker.stop();

  const second = await runningWorker(dataDir);
  await second.post(request(agent(7)));
  await second.worker.whenIdle();

  const rows = await second.worker.store.rows(
    'SELECT interaction_id, length(tool_calls.name) AS calls, open_top FROM {db}.interactions_current',
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ interaction_id: `${hex(7, 32)}-${hex(1, 16)}` });
  expect(Number(rows[0]?.['calls'])).toBe(2);
  await second.worker.stop();
});

test('releases the spool when everything is stored and the late windows are over', async () => {
  const running = await runningWorker(temporaryDir());
  await running.post(request(agent(1), tool(1, 2)));
  await running.worker.whenIdle();

  await expect.poll(() => running.metric('tracegrade_spool_entries'), { timeout: 30_000 }).toBe(0);

  await running.worker.stop();
});

test('cuts a trace of 100 000 spans, grades it as far as it goes, and grades its neighbours in full', async () => {
  const running = await runningWorker(temporaryDir());
  const giant = Array.from({ length: 100_000 }, (_, i) => tool(1, i + 2));

  for (let i = 0; i < giant.length; i += 20_000) {
    expect((await running.post(request(...giant.slice(i, i + 20_000)))).status).toBe(200);
  }
  await running.post(request(agent(1), agent(2), tool(2, 5)));
  await running.worker.whenIdle();

  const rows = await running.worker.store.rows(
    "SELECT trace_id, has(coverage, 'cut_at_bound') AS cut FROM {db}.interactions_current ORDER BY trace_id",
  );
  expect(rows.map((row) => [row['trace_id'], Boolean(Number(row['cut']))])).toEqual([
    [hex(1, 32), true],
    [hex(2, 32), false],
  ]);
  await expectBalance(running);
  await running.worker.stop();
});

test('tells senders to come back, and says that it is not ready, while the store is out of reach', async () => {
  const dataDir = temporaryDir();
  const running = await runningWorker(
    dataDir,
    {},
    { store: { url: 'http://127.0.0.1:9', database: 'tracegrade', dataDir, username: 'default', password: '' } },
  );

  const answer = await running.post(request(agent(1)));

  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
  expect((await fetch(`${running.url}/readyz`)).status).toBe(503);
  await running.worker.stop();
});

test('answers read-only SQL over its port, and refuses everything else', async () => {
  const running = await runningWorker(temporaryDir());
  const ask = (sql: string) => fetch(`${running.url}/query`, { method: 'POST', body: sql });

  expect((await (await ask('SELECT 1 + 1 AS two')).text()).trim()).toBe('{"two":2}');
  const asJson = (body: unknown) =>
    fetch(`${running.url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect(await (await asJson({ query: 'SELECT 1, 2', format: 'CSV' })).text()).toBe('1,2\n');
  expect((await asJson({ sql: 'SELECT 1' })).status).toBe(400);
  expect((await ask('DROP TABLE interactions')).status).toBe(400);
  expect((await ask('SELECT nonsense FROM nowhere')).status).toBe(400);

  await running.worker.stop();
});

test('keeps span content out of its log', async () => {
  const running = await runningWorker(temporaryDir());
  const secret = 'the-secret-of-the-user';
  const bad = { ...agent(1), traceId: secret };

  await running.post(
    request(bad, {
      ...agent(2),
      attributes: [...(agent(2)['attributes'] as unknown[]), textAttribute('gen_ai.tool.call.result', secret)],
    }),
  );
  await running.post(`{"resourceSpans": ${secret}`);
  await running.worker.whenIdle();
  await running.worker.stop();

  expect(running.telemetry.text()).not.toContain(secret);
  expect(running.telemetry.text()).toContain('spanRejected');
});

test('decides open work before its time when the spool is full of it, and takes the next request', async () => {
  const dataDir = temporaryDir();
  // Sixteen pages; the turns have no root, so each would keep its own for ten minutes.
  const spool = { path: `${dataDir}/spool`, maxBytes: 64 * 1024 };
  const running = await runningWorker(dataDir, { orphanMs: 600_000, maxTurnMs: 3_600_000 }, { spool });
  let accepted = 0;
  while ((await running.post(request(tool(accepted + 1, 2)))).status === 200) accepted += 1;

  await expect.poll(async () => (await running.post(request(agent(1_000)))).status, { timeout: 30_000 }).toBe(200);

  await expect.poll(() => running.metric('tracegrade_interactions_total')).toBeGreaterThan(accepted / 2 - 1);
  expect(accepted).toBeGreaterThan(0);
  await running.worker.stop();
});
