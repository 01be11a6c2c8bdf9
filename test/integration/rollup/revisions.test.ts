import { expect, test } from 'vitest';

import type { Graded } from '../../../src/model/graded.js';
import { replayTicks } from '../../../src/rollup/replay.js';
import { createTick, runTick } from '../../../src/rollup/tick.js';
import {
  MINUTE,
  NINE,
  rollupOf,
  RULES,
  spoken,
  storedComparisons,
  storedTrials,
  streamTime,
  write,
} from '../../support/rollup.js';
import { freshStore, type TestStore } from '../../support/store.js';

interface Live {
  readonly store: TestStore;
  /** Writes rows, lets time pass to so many minutes after nine, and ticks. */
  at(minute: number, rows?: readonly Graded[]): Promise<void>;
  conversations(): Promise<readonly unknown[]>;
  /** n, c, unscored and outstanding of a series in the last twenty, as they stand. */
  counts(series?: { policy?: string; assistant?: string }): Promise<unknown>;
}

async function live(): Promise<Live> {
  const store = await freshStore();
  await store.recordPolicy({ policy: 'policy-1', sinceMs: NINE, settings: {} });
  const rollup = rollupOf(store);
  return {
    store,
    async at(minute, rows = []) {
      if (rows.length > 0) await write(store, rows);
      await streamTime(store, NINE + minute * MINUTE);
      await runTick(rollup, RULES);
    },
    conversations: () =>
      store.rows(
        'SELECT conversation_id AS id, policy, verdict, length(interaction_ids) AS turns, closed = 1 AS closed ' +
          'FROM {db}.conversations_current ORDER BY id',
      ),
    async counts({ policy = 'policy-1', assistant = 'bot' } = {}) {
      const [row] = await store.rows(
        "SELECT n, c, unscored, outstanding, assessment FROM {db}.estimates_current WHERE window = 'last_20' AND k = 1 " +
          "AND metric = 'pass_pow_k' AND mode = 'bayesian' AND scope = 'pooled' AND policy = {policy:String} AND assistant_id = {assistant:String}",
        { policy, assistant },
      );
      return row === undefined
        ? null
        : [Number(row['n']), Number(row['c']), Number(row['unscored']), Number(row['outstanding'])];
    },
  };
}

const at = (minute: number) => NINE + minute * MINUTE;
const WRONG = { label: 'incorrect' } as const;
const WAITS = { label: 'unscored', outstanding: 1 } as const;

test('closes a conversation when it was idle, and not before', async () => {
  const run = await live();

  await run.at(10, [spoken({ conversation: 'a', trace: 1, startMs: at(0) })]);
  const open = await run.conversations();
  await run.at(11);

  expect(open).toMatchObject([{ id: 'a', closed: 0 }]);
  expect(await run.conversations()).toMatchObject([{ id: 'a', closed: 1, turns: 1, verdict: 'correct' }]);
  expect(await run.counts()).toEqual([1, 1, 0, 0]);
});

test('a turn that comes in time moves the close, and leaves one row', async () => {
  const run = await live();

  await run.at(5, [spoken({ conversation: 'a', trace: 1, startMs: at(0) })]);
  await run.at(12, [spoken({ conversation: 'a', trace: 2, startMs: at(9) }, WRONG)]);
  const between = [await run.conversations(), await run.counts()];
  await run.at(20);

  expect(between).toMatchObject([[{ id: 'a', closed: 0, turns: 2 }], null]);
  expect(await run.counts()).toEqual([1, 0, 0, 0]);
  expect(await storedTrials(run.store)).toEqual([{ id: 'a', correct: false, ms: 19 * MINUTE + 10_000 }]);
});

test('a conversation that is resumed stays one trial, and its estimate follows', async () => {
  const run = await live();

  await run.at(11, [spoken({ conversation: 'a', trace: 1, startMs: at(0) })]);
  await run.at(45, [spoken({ conversation: 'a', trace: 2, startMs: at(30), agentVersion: '9' }, WRONG)]);

  expect(await run.conversations()).toMatchObject([{ id: 'a', turns: 2, verdict: 'incorrect', closed: 1 }]);
  expect(await run.counts()).toEqual([1, 0, 0, 0]);
  expect(await storedTrials(run.store)).toEqual([{ id: 'a', correct: true, ms: 10 * MINUTE + 10_000 }]);
});

test('a verdict that was outstanding makes the trial when it comes; a later correction does not', async () => {
  const run = await live();
  const turn = { conversation: 'a', trace: 1, startMs: at(0) };

  await run.at(11, [spoken(turn, WAITS)]);
  const waiting = [await run.counts(), await storedTrials(run.store)];
  await run.at(12, [spoken(turn)]);
  const settled = await run.counts();
  await run.at(13, [spoken(turn, WRONG)]);

  expect(waiting).toEqual([[0, 0, 1, 1], []]);
  expect(settled).toEqual([1, 1, 0, 0]);
  expect(await run.counts()).toEqual([1, 0, 0, 0]);
  expect(await storedTrials(run.store)).toMatchObject([{ id: 'a', correct: true }]);
});

test('a conversation that is rescored moves to the series of the new policy, and back with the policy', async () => {
  const run = await live();
  const turns = [1, 2, 3].map((trace) => ({ conversation: `c-${trace}`, trace, startMs: at(trace) }));
  await run.at(
    20,
    turns.map((turn) => spoken(turn)),
  );

  await run.store.recordPolicy({ policy: 'policy-2', sinceMs: at(20), settings: {} });
  await run.at(
    21,
    turns.slice(0, 2).map((turn) => spoken(turn, { ...WRONG, policy: 'policy-2' })),
  );
  const rescored = [await run.counts(), await run.counts({ policy: 'policy-2' })];
  // By the clock of the store, as a worker that starts with it writes it.
  await run.store.recordPolicy({ policy: 'policy-1', sinceMs: Date.now() + MINUTE, settings: {} });
  await run.at(22);

  expect(rescored).toEqual([
    [1, 1, 0, 0],
    [2, 0, 0, 0],
  ]);
  expect([await run.counts(), await run.counts({ policy: 'policy-2' })]).toEqual([
    [3, 3, 0, 0],
    [0, 0, 0, 0],
  ]);
  expect(await storedTrials(run.store)).toHaveLength(3);
});

test('a conversation whose turns all moved elsewhere is gone, also from its estimates', async () => {
  const run = await live();
  const moving = { conversation: 'old', trace: 1, startMs: at(0) };
  await run.at(20, [spoken(moving), spoken({ conversation: 'new', trace: 2, startMs: at(1) })]);
  const before = await run.counts();

  const moved = spoken(moving, WRONG);
  await run.at(21, [{ ...moved, interaction: { ...moved.interaction, conversationId: 'new', revision: 50 } }]);

  expect(before).toEqual([2, 2, 0, 0]);
  expect(await run.conversations()).toMatchObject([{ id: 'new', turns: 2, verdict: 'incorrect' }]);
  expect(await run.counts()).toEqual([1, 0, 0, 0]);
});

test('a row that a larger root shadows leaves its conversation, though nothing was written about it', async () => {
  const run = await live();
  const part = spoken({ conversation: 'part', trace: 1, startMs: at(0) + 5_000, seconds: 3 }, WRONG);
  const open = { ...part.interaction, interactionId: `${part.interaction.traceId}-${'b'.repeat(15)}2`, openTop: true };
  await run.at(20, [{ interaction: open, verdict: { ...part.verdict, interactionId: open.interactionId } }]);
  const before = await run.conversations();

  await run.at(21, [spoken({ conversation: 'whole', trace: 1, startMs: at(0), seconds: 30 })]);

  expect(before).toMatchObject([{ id: 'part' }]);
  expect(await run.conversations()).toMatchObject([{ id: 'whole', turns: 1, verdict: 'correct' }]);
  expect(await run.counts()).toEqual([1, 1, 0, 0]);
});

test('a turn that turns up late opens a conversation again, and takes it out of the windows until it closes', async () => {
  const run = await live();
  await run.at(12, [spoken({ conversation: 'a', trace: 1, startMs: at(0) })]);
  const closed = await run.counts();

  await run.at(13, [spoken({ conversation: 'a', trace: 2, startMs: at(5) })]);
  const open = await run.counts();
  await run.at(16);

  expect([closed, open, await run.counts()]).toEqual([
    [1, 1, 0, 0],
    [0, 0, 0, 0],
    [1, 1, 0, 0],
  ]);
});

test('what a later verdict changed is written again for a time that is counted again', async () => {
  const run = await live();
  const turn = { conversation: 'a', trace: 1, startMs: at(0) };
  await run.at(11, [spoken(turn)]);
  await run.at(30, [spoken(turn, WRONG)]);
  const correctAt = () =>
    run.store.rows(
      "SELECT toUnixTimestamp64Milli(at) - {nine:Int64} AS ms, c FROM {db}.estimates FINAL WHERE window = '1h' AND k = 1 " +
        "AND metric = 'pass_pow_k' AND mode = 'bayesian' AND scope = 'pooled' ORDER BY at",
      { nine: NINE },
    );
  const lived = (await correctAt()).map((row) => [Number(row['ms']) / MINUTE, Number(row['c'])]);

  await replayTicks(rollupOf(run.store), { fromMs: null, toMs: null }, RULES);

  expect(lived).toEqual([
    [11, 1],
    [12, 0],
  ]);
  expect((await correctAt()).map((row) => [Number(row['ms']) / MINUTE, Number(row['c'])])).toEqual([
    [11, 0],
    [12, 0],
  ]);
});

test('closes nothing while no worker is heard of, or one is behind', async () => {
  const store = await freshStore();
  await write(store, [spoken({ conversation: 'a', trace: 1, startMs: at(0) })]);
  const rollup = rollupOf(store);
  const beat = (source: string, atMs: number, minute: number) =>
    store.recordHeartbeats([{ worker: source, source, atMs, streamTimeMs: at(minute), details: {} }]);

  const unheard = await runTick(rollup, RULES);
  await beat('t/0', Date.now() - 10 * MINUTE, 60);
  const stale = await runTick(rollup, RULES);
  await beat('t/0', Date.now(), 60);
  await beat('t/1', Date.now(), 5);
  const behind = await runTick(rollup, RULES);

  expect([unheard.atMs, stale.atMs, behind.atMs]).toEqual([null, null, at(5)]);
  expect(await storedTrials(store)).toEqual([]);
});

test('keeps agents apart that share a conversation id', async () => {
  const run = await live();

  await run.at(20, [
    spoken({ conversation: 'a', trace: 1, startMs: at(0) }),
    spoken({ conversation: 'a', trace: 2, startMs: at(1), assistantId: 'other' }, WRONG),
  ]);

  expect([await run.counts(), await run.counts({ assistant: 'other' })]).toEqual([
    [1, 1, 0, 0],
    [1, 0, 0, 0],
  ]);
});

test('says rules only where neither an expectation nor a judge decided anything', async () => {
  const run = await live();
  const byRule = {
    kind: 'scored',
    criterion: 'arguments',
    value: 1,
    passed: true,
    decidedBy: 'rule',
    reason: '',
    details: {},
  } as const;
  const score = {
    rule: [byRule],
    judge: [{ ...byRule, decidedBy: 'judge' }],
    answer: [{ ...byRule, criterion: 'answer' }],
  } as const;

  await run.at(
    20,
    Object.entries(score).map(([assistantId, scores], index) =>
      spoken({ conversation: assistantId, trace: index + 1, startMs: at(0), assistantId }, { scores }),
    ),
  );
  const rows = await run.store.rows(
    "SELECT DISTINCT assistant_id AS agent, assessment = 'rules_only' AS rules FROM {db}.estimates_current WHERE window = '1h' ORDER BY agent",
  );

  expect(rows).toEqual([
    { agent: 'answer', rules: 0 },
    { agent: 'judge', rules: 0 },
    { agent: 'rule', rules: 1 },
  ]);
});

test('a conversation whose agent gets another name stays the trial that it was', async () => {
  const run = await live();
  const turn = { conversation: 'a', trace: 1, startMs: at(0) };
  await run.at(11, [spoken({ ...turn, assistantId: 'service' })]);

  const named = spoken({ ...turn, assistantId: 'desk' }, WRONG);
  await run.at(12, [{ ...named, interaction: { ...named.interaction, revision: 50 } }]);
  await run.at(13);

  expect(await run.conversations()).toMatchObject([{ id: 'a', turns: 1, verdict: 'incorrect' }]);
  expect([await run.counts({ assistant: 'service' }), await run.counts({ assistant: 'desk' })]).toEqual([
    [0, 0, 0, 0],
    [1, 0, 0, 0],
  ]);
  expect(await run.store.rows('SELECT assistant_id AS agent, correct FROM {db}.trials FINAL')).toEqual([
    { agent: 'service', correct: true },
  ]);
});

test('rows per task say that nothing is left when a time is counted again after its labels are gone', async () => {
  const run = await live();
  const turn = { conversation: 'a', trace: 1, startMs: at(0), task: 'refund' };
  await run.at(11, [spoken(turn)]);
  const unlabelled = spoken({ ...turn, task: null });
  await run.at(30, [{ ...unlabelled, interaction: { ...unlabelled.interaction, revision: 50 } }]);
  const perTask = async () =>
    (
      await run.store.rows(
        "SELECT toUnixTimestamp64Milli(at) AS ms, n, c FROM {db}.estimates FINAL WHERE window = '1h' AND k = 1 " +
          "AND metric = 'pass_pow_k' AND mode = 'bayesian' AND scope = 'per_task' ORDER BY at",
      )
    ).map((row) => [(Number(row['ms']) - NINE) / MINUTE, Number(row['n']), Number(row['c'])]);
  const lived = await perTask();

  await replayTicks(rollupOf(run.store), { fromMs: null, toMs: null }, RULES);
  const once = await perTask();
  await replayTicks(rollupOf(run.store), { fromMs: null, toMs: null }, RULES);

  expect(lived).toEqual([[11, 1, 1]]);
  expect(once).toEqual([[11, 0, 0]]);
  expect(await perTask()).toEqual(once);
});

test('windows by count tell apart by id what closed in one millisecond', async () => {
  const run = await live();
  const said = [
    ['a', WRONG],
    ['b', WRONG],
    ['bb', WAITS],
    ['c', {}],
    ['cc', WAITS],
    ['d', {}],
    ['e', {}],
    ['f', {}],
    ['g', {}],
  ] as const;

  await run.at(
    20,
    said.map(([conversation, verdict], trace) => spoken({ conversation, trace: trace + 1, startMs: at(0) }, verdict)),
  );
  const [row] = await run.store.rows(
    "SELECT n, c, outstanding FROM {db}.estimates_current WHERE window = 'last_5' AND k = 1 AND metric = 'pass_pow_k' " +
      "AND mode = 'bayesian' AND scope = 'pooled'",
  );

  // The last five trials are c, d, e, f and g; of those that wait cc closed after c in the order of ids, bb before it.
  expect([row?.['n'], row?.['c'], row?.['outstanding']].map(Number)).toEqual([5, 5, 1]);
});

test('reads once what is written while stream time stands still, and counts it at the next tick', async () => {
  const run = await live();
  const turn = { conversation: 'a', trace: 1, startMs: at(0) };
  await run.at(11, [spoken(turn)]);
  // As if the tick had been an hour ago, and the correction half an hour.
  await write(run.store, [spoken(turn, WRONG)]);
  await run.store.command(
    'ALTER TABLE {db}.verdicts UPDATE written_at = now64(3) - toIntervalMinute(30) WHERE 1 SETTINGS mutations_sync = 2',
  );
  await run.store.command('TRUNCATE TABLE {db}.rollup_ticks');
  const rollup = rollupOf(run.store);
  await rollup.writeTick(
    { atMs: at(11), readAtMicros: (await rollup.clockMicros()) - 3_600_000_000 },
    { conversations: 0, trials: 0, estimates: 0 },
  );
  let read = 0;
  const counting = {
    ...rollup,
    touched: async (...asked: Parameters<typeof rollup.touched>) => {
      const turns = await rollup.touched(...asked);
      read += turns.length;
      return turns;
    },
  };
  const tick = createTick(counting, RULES);
  const reads: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    read = 0;
    await tick();
    reads.push(read);
  }
  const still = await run.counts();
  await run.at(12);

  expect(reads[0]).toBeGreaterThan(0);
  expect(reads.slice(1)).toEqual([0, 0]);
  expect(still).toEqual([1, 1, 0, 0]);
  expect(await run.counts()).toEqual([1, 0, 0, 0]);
});

/** Which versions are compared over the last twenty, and n of both. */
async function versionsCompared(store: TestStore): Promise<readonly unknown[]> {
  const rows = await storedComparisons(store);
  return rows
    .filter(({ kind, window, k }) => kind === 'version' && window === 'last_20' && k === 1)
    .map((row) => [row.before_version, row.before_n, row.agent_version, row.n]);
}

const saidBy = (conversation: string, trace: number, minute: number, agentVersion: string | null) =>
  spoken({ conversation, trace, startMs: at(minute), agentVersion });

test('a version whose conversations all turned out to be of another one is no longer compared', async () => {
  const run = await live();
  await run.at(20, [saidBy('a', 1, 0, '1'), saidBy('b', 2, 5, '2')]);
  // Its root comes late, and with it the version.
  await run.at(31, [saidBy('c', 3, 20, null)]);
  const before = await versionsCompared(run.store);

  const rooted = saidBy('c', 3, 20, '2');
  await run.at(32, [{ ...rooted, interaction: { ...rooted.interaction, revision: 50 } }]);

  expect(before).toEqual([['2', 1, null, 1]]);
  expect(await versionsCompared(run.store)).toEqual([['1', 1, '2', 2]]);
});

test('a version is the newest from its first close on, and not while its first conversation goes on', async () => {
  const run = await live();
  await run.at(20, [saidBy('a', 1, 0, '1'), saidBy('b', 2, 5, '2')]);

  // Each turn puts off the close, which lay at 31, then 38, then 45.
  await run.at(22, [saidBy('c', 3, 21, '3')]);
  await run.at(30, [saidBy('c', 4, 28, '3')]);
  await run.at(36, [saidBy('d', 5, 25, '2'), saidBy('c', 6, 35, '3')]);
  const open = await versionsCompared(run.store);
  await run.at(46);

  expect(open).toEqual([['1', 1, '2', 2]]);
  expect(await versionsCompared(run.store)).toEqual([['2', 2, '3', 1]]);
});

test('a version whose first conversation was taken back began with the next one', async () => {
  const run = await live();
  const mistaken = saidBy('x', 1, 0, '2');
  await run.at(20, [mistaken, saidBy('a', 2, 3, '1')]);
  await run.at(40, [saidBy('b', 3, 25, '2')]);
  const before = await versionsCompared(run.store);

  const rooted = saidBy('x', 1, 0, '1');
  await run.at(41, [{ ...rooted, interaction: { ...rooted.interaction, revision: 50 } }]);
  await run.at(60, [saidBy('c', 4, 42, '2')]);

  expect(before).toEqual([['2', 2, '1', 1]]);
  expect(await versionsCompared(run.store)).toEqual([['1', 2, '2', 2]]);
});
