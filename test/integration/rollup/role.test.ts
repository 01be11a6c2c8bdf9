import { expect, onTestFinished, test } from 'vitest';

import type { TickReport } from '../../../src/rollup/tick.js';
import { openStore, type Store } from '../../../src/store/clickhouse.js';
import { startRollupRole } from '../../../src/worker/rollup-role.js';
import { ALERTING_RULES } from '../../support/alerts.js';
import { runCli } from '../../support/cli.js';
import { createClickHouse } from '../../support/clickhouse-http.mjs';
import { MINUTE, NINE, rollupOf, RULES, spoken, streamTime, write } from '../../support/rollup.js';
import { ENGINE_DEPS, temporaryDir } from '../../support/store.js';
import { telemetryProbe } from '../../support/telemetry.js';

const unused = () => Promise.reject(new Error('no statement of ours expected'));

/** A store on a server, and how to open it once more. */
async function onServer() {
  const clickhouse = await createClickHouse();
  onTestFinished(() => clickhouse.remove());
  await clickhouse.start();
  const config = { url: clickhouse.url, database: 'tracegrade', dataDir: temporaryDir() };
  const store = await openStore(config, ENGINE_DEPS);
  onTestFinished(() => store.close());
  await store.migrate();
  return { config, store: { ...store, config, command: unused } };
}

const CLOSED = [
  spoken({ conversation: 'a', trace: 1, startMs: NINE }),
  spoken({ conversation: 'b', trace: 2, startMs: NINE + MINUTE }, { label: 'incorrect' }),
];

async function estimates(store: Pick<Store, 'rows'>) {
  const [row] = await store.rows(
    "SELECT max(n) AS n, max(c) AS c FROM {db}.estimates_current WHERE window = 'last_20' AND scope = 'pooled'",
  );
  return [Number(row?.['n']), Number(row?.['c'])];
}

test('a process that is nothing but a rollup follows the workers, takes no traces, and says how it is', async () => {
  const { config, store } = await onServer();
  await write(store, CLOSED);
  await streamTime(store, NINE + 30 * MINUTE);
  const telemetry = telemetryProbe();
  const ticked = new Promise<Pick<TickReport, 'atMs'>>((resolve) => {
    telemetry.events.rollupTicked = resolve;
  });

  const role = await startRollupRole(
    {
      version: '0',
      pid: 1,
      http: { host: '127.0.0.1', port: 0, tokens: [] },
      store: config,
      rules: RULES,
      alerting: ALERTING_RULES,
    },
    { ...telemetry, nowMs: () => Date.now(), isAlive: (pid) => ENGINE_DEPS.isAlive(pid) },
  );
  onTestFinished(() => role.stop());
  const { atMs } = await ticked;
  const url = `http://127.0.0.1:${role.port}`;
  const traces = await fetch(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });

  expect(atMs).toBe(NINE + 30 * MINUTE);
  expect(await estimates(store)).toEqual([2, 1]);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(traces.status).toBe(404);
  expect(await traces.text()).toContain('this process is a rollup');
  expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/tracegrade_rollup_lag_seconds [1-9]/);
});

test('tracegrade rollup counts a time again, and says what it did', async () => {
  const { config, store } = await onServer();
  await write(store, CLOSED);
  await streamTime(store, NINE + 30 * MINUTE);
  const settings = [
    `store.url=${config.url}`,
    'conversation.idleMs=600000',
    'estimate.windows=[last_20]',
    'estimate.k=[1]',
  ];
  const args = ['rollup', ...settings.flatMap((setting) => ['--set', setting])];

  const before = await runCli(args);
  await rollupOf(store).writeTick(
    { atMs: NINE + 30 * MINUTE, readAtMicros: 0 },
    { conversations: 0, trials: 0, estimates: 0 },
  );
  const counted = await runCli([...args, '--from', '2026-11-30T09:05:00Z', '--to', '2026-11-30T09:20:00Z']);

  expect(before).toMatchObject({ status: 0, stdout: 'nothing to count: no conversation has closed in that time\n' });
  // Two ticks (09:11, 09:12), two figures, Bayesian and frequentist.
  expect(counted).toMatchObject({
    status: 0,
    stdout: '2026-11-30T09:10:00.000Z to 2026-11-30T09:20:00.000Z: 2 conversations changed, 8 estimates written\n',
  });
  expect(await estimates(store)).toEqual([2, 1]);
});
