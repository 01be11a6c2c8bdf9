import { describe, expect, test } from 'vitest';

import type { Graded } from '../../../src/model/graded.js';
import { call } from '../../support/score-builders.js';
import { freshStore, graded, type TestStore, turn, WRITER_DEPS, writeInTurn } from '../../support/store.js';

/** Each row in an insert of its own, so that nothing is merged on the way in. */
async function stored(rows: readonly Graded[], policies: readonly string[] = ['policy-1']): Promise<TestStore> {
  const store = await freshStore();
  for (const [index, policy] of policies.entries()) {
    await store.recordPolicy({ policy, sinceMs: Date.parse('2026-11-01T00:00:00Z') + index, settings: {} });
  }
  const writer = store.writer(WRITER_DEPS);
  await writeInTurn(writer, rows);
  await writer.close({ drainMs: 10_000 });
  return store;
}

/** The same answer before and after all parts are merged. */
async function current(store: TestStore, sql: string): Promise<unknown[]> {
  const before = await store.rows(sql);
  for (const table of ['interactions', 'verdicts', 'open_tops', 'policies']) {
    await store.command(`OPTIMIZE TABLE {db}.${table} FINAL`);
  }
  expect(await store.rows(sql)).toEqual(before);
  return before;
}

const IDS = 'SELECT interaction_id AS id, revision FROM {db}.interactions_current ORDER BY id';
const VERDICTS = 'SELECT interaction_id AS id, revision, verdict, policy FROM {db}.verdicts_current ORDER BY id';

describe('interactions', () => {
  test('an older revision that comes later changes nothing', async () => {
    const full = turn({ trace: 1, revision: 6, answer: 'full' });
    const early = turn({ trace: 1, revision: 4, answer: 'early' });
    const store = await stored([graded(full), graded(early, { label: 'incorrect' })]);

    expect(await current(store, 'SELECT answer FROM {db}.interactions_current')).toEqual([{ answer: 'full' }]);
    expect(await current(store, 'SELECT verdict FROM {db}.verdicts_current')).toEqual([{ verdict: 'correct' }]);
  });

  test('a revision with fewer calls leaves no old call behind', async () => {
    const early = turn({ trace: 1, revision: 4, toolCalls: [call('a'), call('a'), call('b')] });
    const full = turn({ trace: 1, revision: 6, toolCalls: [call('a', { position: 0 }), call('b', { position: 1 })] });
    const store = await stored([graded(early), graded(full)]);

    expect(await current(store, 'SELECT position, name FROM {db}.tool_calls_current ORDER BY position')).toEqual([
      { position: 0, name: 'a' },
      { position: 1, name: 'b' },
    ]);
  });

  test('a larger root that comes after a smaller one leaves the smaller out', async () => {
    const small = turn({ trace: 1, root: 2, at: '2026-11-30T09:00:05Z', seconds: 3, openTop: true });
    const large = turn({ trace: 1, root: 1, at: '2026-11-30T09:00:00Z', seconds: 20, revision: 8 });
    const store = await stored([graded(small, { label: 'incorrect' }), graded(large)]);

    expect(await current(store, IDS)).toEqual([{ id: large.interactionId, revision: 8 }]);
    expect(await current(store, VERDICTS)).toMatchObject([{ id: large.interactionId, verdict: 'correct' }]);
  });

  test('a smaller root that comes after a larger one, from a partial re-reading, is left out', async () => {
    const large = turn({ trace: 1, root: 1, at: '2026-11-30T09:00:00Z', seconds: 20, revision: 8 });
    const small = turn({ trace: 1, root: 2, at: '2026-11-30T09:00:05Z', seconds: 3, openTop: true });
    const store = await stored([graded(large), graded(small)]);

    expect(await current(store, IDS)).toEqual([{ id: large.interactionId, revision: 8 }]);
    expect(await current(store, VERDICTS)).toHaveLength(1);
  });

  test('a row that stays open-topped stays, also beside another turn of its trace', async () => {
    const alone = turn({ trace: 1, openTop: true });
    const before = turn({ trace: 2, root: 1, at: '2026-11-30T09:00:00Z', seconds: 10 });
    const after = turn({ trace: 2, root: 2, at: '2026-11-30T09:05:00Z', seconds: 10, openTop: true });
    const store = await stored([graded(alone), graded(before), graded(after)]);

    expect(await current(store, IDS)).toHaveLength(3);
    expect(await current(store, VERDICTS)).toHaveLength(3);
  });

  test('an id that was open-topped first and has its root now is there once', async () => {
    const rootless = turn({ trace: 1, at: '2026-11-30T09:00:02Z', seconds: 3, openTop: true, revision: 4 });
    const rooted = turn({ trace: 1, at: '2026-11-30T09:00:00Z', seconds: 10, revision: 6 });
    const store = await stored([graded(rootless), graded(rooted)]);

    expect(await current(store, IDS)).toEqual([{ id: rooted.interactionId, revision: 6 }]);
  });

  test('a root that moves the start to another day and month leaves nothing in the old one', async () => {
    const rootless = turn({ trace: 1, at: '2026-12-01T00:00:01Z', seconds: 3, openTop: true, revision: 4 });
    const rooted = turn({ trace: 1, at: '2026-11-30T23:59:58Z', seconds: 10, revision: 6 });
    const store = await stored([graded(rootless), graded(rooted)]);
    const december = "started_at >= '2026-12-01 00:00:00'";

    expect(await current(store, IDS)).toEqual([{ id: rooted.interactionId, revision: 6 }]);
    expect(await current(store, `SELECT 1 FROM {db}.interactions_current WHERE ${december}`)).toEqual([]);
    expect(await current(store, `SELECT 1 FROM {db}.verdicts_current WHERE ${december}`)).toEqual([]);
  });
});

describe('verdicts', () => {
  const outage = [
    { kind: 'abstained', criterion: 'arguments', abstained: 'judge_failed', reason: 'no answer', details: {} },
  ] as const;

  test('an outage that is replayed over a healed verdict changes nothing', async () => {
    const of = turn({ trace: 1, revision: 4 });
    const store = await stored([
      graded(of, { label: 'unscored', outstanding: 1, scores: outage }),
      graded(of),
      graded(of, { label: 'unscored', outstanding: 1, scores: outage }),
    ]);

    expect(await current(store, 'SELECT verdict, outstanding FROM {db}.verdicts_current')).toEqual([
      { verdict: 'correct', outstanding: 0 },
    ]);
    expect(await current(store, 'SELECT criterion, abstained FROM {db}.scores_current')).toEqual([
      { criterion: 'tools', abstained: null },
    ]);
  });

  test('of two verdicts on the same evidence the later holds', async () => {
    const of = turn({ trace: 1, revision: 4 });
    const store = await stored([graded(of, { label: 'incorrect' }), graded(of, { label: 'correct' })]);

    expect(await current(store, 'SELECT verdict FROM {db}.verdicts_current')).toEqual([{ verdict: 'correct' }]);
  });

  test('what holds is the same when revisions and verdicts come in one insert', async () => {
    const store = await freshStore();
    await store.recordPolicy({ policy: 'policy-1', sinceMs: Date.parse('2026-11-01T00:00:00Z'), settings: {} });
    const writer = store.writer(WRITER_DEPS);
    const full = turn({ trace: 1, revision: 6, answer: 'full' });
    const early = turn({ trace: 1, revision: 4, answer: 'early' });
    const tied = turn({ trace: 2, answer: 'tied' });

    const rows = [
      graded(full),
      graded(early),
      graded(tied, { label: 'incorrect' }),
      graded(tied, { label: 'unscored' }),
    ];
    const written = rows.map((row) => writer.write(row));
    await writer.close({ drainMs: 10_000 });

    expect((await Promise.all(written)).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(await current(store, 'SELECT answer FROM {db}.interactions_current ORDER BY interaction_id')).toEqual([
      { answer: 'full' },
      { answer: 'tied' },
    ]);
    expect(await current(store, VERDICTS)).toMatchObject([{ verdict: 'correct' }, { verdict: 'unscored' }]);
  });

  test('half way through a change of policy each has one verdict: the newest that it has', async () => {
    const [a, b, c] = [1, 2, 3].map((trace) => turn({ trace })) as [
      Graded['interaction'],
      Graded['interaction'],
      Graded['interaction'],
    ];
    const store = await stored(
      [
        graded(a, { policy: 'old' }),
        graded(a, { policy: 'newer', label: 'incorrect' }),
        graded(b, { policy: 'old' }),
        graded(b, { policy: 'newer' }),
        graded(b, { policy: 'newest', label: 'unscored' }),
        graded(c, { policy: 'old' }),
      ],
      ['old', 'newer', 'newest'],
    );

    expect(await current(store, VERDICTS)).toMatchObject([
      { id: a.interactionId, policy: 'newer', verdict: 'incorrect' },
      { id: b.interactionId, policy: 'newest', verdict: 'unscored' },
      { id: c.interactionId, policy: 'old', verdict: 'correct' },
    ]);
    expect(await current(store, 'SELECT policy FROM {db}.scores_current ORDER BY interaction_id')).toEqual([
      { policy: 'newer' },
      { policy: 'newest' },
      { policy: 'old' },
    ]);
  });

  test('a new policy blanks nothing', async () => {
    const store = await stored([graded(turn({ trace: 1 }))], ['policy-1', 'policy-2']);

    expect(await current(store, VERDICTS)).toMatchObject([{ policy: 'policy-1' }]);
  });

  test('a policy that comes back into force counts as the newest again', async () => {
    const of = turn({ trace: 1 });
    const store = await stored(
      [graded(of, { policy: 'a', label: 'correct' }), graded(of, { policy: 'b', label: 'incorrect' })],
      ['a', 'b', 'b', 'a'],
    );

    expect(await current(store, VERDICTS)).toMatchObject([{ policy: 'a', verdict: 'correct' }]);
    // The second b was in force already.
    expect(await store.rows('SELECT count() AS n FROM {db}.policies')).toEqual([{ n: 3 }]);
  });
});

test('a call has the names of the JSON that the command prints, and the turn its own start', async () => {
  const of = turn({
    trace: 1,
    at: '2026-11-30T09:00:00Z',
    toolCalls: [
      call('get_weather', {
        callId: 'call_1',
        arguments: { city: 'Lindholm' },
        result: { temperature: 14 },
        startedAtMs: Date.parse('2026-11-30T09:00:01.250Z'),
        owner: 'weather-agent',
      }),
    ],
  });
  const store = await stored([graded(of)]);

  expect(await store.rows('SELECT * FROM {db}.tool_calls_current')).toMatchObject([
    {
      interaction_id: of.interactionId,
      trace_id: of.traceId,
      started_at: '2026-11-30 09:00:00.000',
      assistant_id: 'weather-agent',
      position: 0,
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"city":"Lindholm"}',
      arguments_status: 'captured',
      result: '{"temperature":14}',
      error: null,
      failed: false,
      pending: false,
      owner: 'weather-agent',
      call_started_at: '2026-11-30 09:00:01.250',
      call_ended_at: null,
    },
  ]);
  expect(await store.rows('SELECT * FROM {db}.scores_current')).toMatchObject([
    {
      interaction_id: of.interactionId,
      policy: 'policy-1',
      criterion: 'tools',
      value: 1,
      passed: true,
      decided_by: 'rule',
      abstained: null,
      reason: 'all made',
      details: '{}',
    },
  ]);
});
