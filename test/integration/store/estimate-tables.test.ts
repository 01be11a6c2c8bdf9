import { expect, test } from 'vitest';

import { freshStore, type TestStore } from '../../support/store.js';

async function both<T>(store: TestStore, sql: string): Promise<T[]> {
  const before = await store.rows(sql);
  for (const table of ['conversations', 'trials', 'estimates', 'alerts', 'detector_state', 'rollup_ticks']) {
    await store.command(`OPTIMIZE TABLE {db}.${table} FINAL`);
  }
  expect(await store.rows(sql)).toEqual(before);
  return before as T[];
}

const CONVERSATION =
  'conversation_id, assistant_id, agent_version, policy, started_at, first_closed_at, retracted, version';

test('a conversation that was read later stands, and one that was retracted is gone', async () => {
  const store = await freshStore();
  const insert = (values: string) => store.command(`INSERT INTO {db}.conversations (${CONVERSATION}) VALUES ${values}`);
  await insert("('a', 'bot', NULL, 'p', '2026-11-30 09:00:00', '2026-11-30 09:20:00', false, 2)");
  await insert("('a', 'bot', NULL, 'p', '2026-11-30 09:00:00', '2026-11-30 09:15:00', false, 1)");
  await insert("('b', 'bot', NULL, 'p', '2026-11-30 09:00:00', '2026-11-30 09:15:00', false, 1)");
  await insert("('b', 'bot', NULL, 'p', '2026-11-30 09:00:00', '2026-11-30 09:15:00', true, 2)");
  await store.command("INSERT INTO {db}.rollup_ticks (at, read_at) VALUES ('2026-11-30 09:19:00', 1)");

  const open = await both(store, 'SELECT conversation_id AS id, closed FROM {db}.conversations_current');
  await store.command("INSERT INTO {db}.rollup_ticks (at, read_at) VALUES ('2026-11-30 09:20:00', 2)");
  const closed = await both(store, 'SELECT conversation_id AS id, closed FROM {db}.conversations_current');

  // 1, not true: comparing gives a number.
  expect(open).toEqual([{ id: 'a', closed: 0 }]);
  expect(closed).toEqual([{ id: 'a', closed: 1 }]);
});

test('tells series apart by agent, version, environment and policy, and by nothing else', async () => {
  const store = await freshStore();
  const series = [
    "'bot', NULL, NULL, 'p'",
    "'bot', '', NULL, 'p'",
    "'bot', NULL, '', 'p'",
    "'bot', NULL, NULL, 'q'",
    "'b', NULL, NULL, 'p'",
  ];
  for (const [id, of] of [...series, ...series].entries()) {
    await store.command(
      `INSERT INTO {db}.conversations (conversation_id, task, assistant_id, agent_version, environment, policy) VALUES ('${id}', 'task-${id}', ${of})`,
    );
    await store.command(
      `INSERT INTO {db}.trials (conversation_id, task, assistant_id, agent_version, environment, policy) VALUES ('${id}', 'task-${id}', ${of})`,
    );
  }

  const inConversations = await store.rows('SELECT DISTINCT series FROM {db}.conversations ORDER BY series');
  const inTrials = await store.rows('SELECT DISTINCT series FROM {db}.trials ORDER BY series');

  expect(inConversations).toHaveLength(series.length);
  expect(inTrials).toEqual(inConversations);
});

test('of two trials of one conversation the one that was read first stands', async () => {
  const store = await freshStore();
  const insert = (correct: boolean, readAt: number) =>
    store.command(
      'INSERT INTO {db}.trials (conversation_id, assistant_id, policy, first_closed_at, correct, version) ' +
        `VALUES ('a', 'bot', 'p', '2026-11-30 09:15:00', ${correct}, ${2 ** 53 - readAt})`,
    );
  await insert(true, 1_000);
  await insert(false, 1_001);

  expect(await both(store, 'SELECT correct FROM {db}.trials FINAL')).toEqual([{ correct: true }]);
});

test('gives the last tick of each series and window, whole', async () => {
  const store = await freshStore();
  const insert = (window: string, minute: number, scope: string, n: number, version: number) =>
    store.command(
      'INSERT INTO {db}.estimates (assistant_id, policy, window, k, at, metric, scope, mode, n, version) ' +
        `SELECT 'bot', 'p', '${window}', k, '2026-11-30 09:0${minute}:00', metric, '${scope}', 'bayesian', ${n}, ${version} ` +
        "FROM (SELECT arrayJoin([1, 3]) AS k) AS ks CROSS JOIN (SELECT arrayJoin(['pass_at_k', 'pass_pow_k']) AS metric) AS metrics",
    );
  await insert('1h', 1, 'pooled', 1, 1);
  await insert('1h', 1, 'per_task', 1, 1);
  await insert('1h', 2, 'pooled', 3, 3);
  await insert('1h', 2, 'pooled', 2, 2);
  await insert('24h', 1, 'pooled', 1, 1);

  const rows = await both(
    store,
    'SELECT window, scope, n, count() AS rows FROM {db}.estimates_current GROUP BY window, scope, n ORDER BY window',
  );

  expect(rows.map((row) => Object.values(row as object).map(String))).toEqual([
    ['1h', 'pooled', '3', '4'],
    ['24h', 'pooled', '1', '4'],
  ]);
});

test('gives the last transition of each alert', async () => {
  const store = await freshStore();
  const insert = (id: string, transition: string, minute: number) =>
    store.command(
      'INSERT INTO {db}.alerts (alert_id, kind, objective, assistant_id, policy, transition, at) ' +
        `VALUES ('${id}', 'drop', 'o', 'bot', 'p', '${transition}', '2026-11-30 09:0${minute}:00')`,
    );
  await insert('first', 'opened', 1);
  await insert('first', 'upgraded', 2);
  await insert('first', 'closed', 2);
  await insert('second', 'opened', 3);

  expect(await both(store, 'SELECT alert_id, transition FROM {db}.alerts_current ORDER BY alert_id')).toEqual([
    { alert_id: 'first', transition: 'closed' },
    { alert_id: 'second', transition: 'opened' },
  ]);
});
