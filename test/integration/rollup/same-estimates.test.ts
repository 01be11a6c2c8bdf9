import { expect, test } from 'vitest';

import { replayTicks } from '../../../src/rollup/replay.js';
import { runTick } from '../../../src/rollup/tick.js';
import type { RollupStore } from '../../../src/store/rollup-store.js';
import { seededRandom } from '../../support/random.js';
import {
  asLines,
  conversationsOf,
  expectedComparisons,
  expectedEstimates,
  MINUTE,
  NINE,
  rollupOf,
  RULES,
  storedComparisons,
  storedEstimates,
  storedTrials,
  streamTime,
  traffic,
  write,
} from '../../support/rollup.js';
import { freshStore, type TestStore } from '../../support/store.js';

/** Long enough that all has closed and has left the hour's window. */
const END = NINE + 130 * MINUTE;
const TRAFFIC = traffic(11, 40);

/** Time goes on by some ticks, and what ended meanwhile is written. `atEachStep` is what the rollups do then. */
async function live(store: TestStore, seed: number, atEachStep: () => Promise<unknown>): Promise<void> {
  await store.recordPolicy({ policy: 'policy-1', sinceMs: NINE, settings: {} });
  const random = seededRandom(seed);
  let written = 0;
  for (let nowMs = NINE; nowMs < END;) {
    nowMs = Math.min(END, nowMs + Math.floor(random() * 13 * MINUTE));
    const ended = TRAFFIC.filter(({ interaction }) => interaction.endedAtMs <= nowMs).length;
    if (ended > written) await write(store, TRAFFIC.slice(written, ended));
    written = ended;
    await streamTime(store, nowMs);
    await atEachStep();
  }
}

async function expectAll(store: TestStore): Promise<void> {
  const trials = conversationsOf(TRAFFIC, END).flatMap(({ trial }) => (trial === null ? [] : [trial]));
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  const expected = expectedEstimates(TRAFFIC, END);

  const compared = expectedComparisons(TRAFFIC, END);

  expect(asLines(await storedEstimates(store))).toEqual(asLines(expected));
  expect(asLines(await storedComparisons(store))).toEqual(asLines(compared));
  expect(await storedTrials(store)).toEqual(
    trials
      .map(({ conversationId: id, correct, firstClosedAtMs }) => ({ id, correct, ms: firstClosedAtMs - NINE }))
      .sort(byId),
  );
  expect(expected.length).toBeGreaterThan(2_000);
  expect(trials.length).toBeGreaterThan(10);
  for (const kind of ['version', 'window']) {
    expect(compared.filter((row) => row.kind === kind && row.worse !== null).length).toBeGreaterThan(3);
  }
}

test('writes what counting one by one gives, however many ticks are made up for at once', async () => {
  const store = await freshStore();
  const rollup = rollupOf(store);

  await live(store, 1, () => runTick(rollup, RULES));

  await expectAll(store);
});

test('two at once write the same', async () => {
  const store = await freshStore();
  const [one, other] = [rollupOf(store), rollupOf(store)];

  await live(store, 2, () => Promise.all([runTick(one, RULES), runTick(other, RULES)]));

  await expectAll(store);
});

/** A rollup that dies at a write: just before it, or just after it without knowing. */
function mortal(store: RollupStore, dies: () => 'before' | 'after' | null): RollupStore {
  const guarded =
    <Args extends unknown[]>(write: (...args: Args) => Promise<void>) =>
    async (...args: Args): Promise<void> => {
      const when = dies();
      if (when === 'before') throw new Error('killed before a write');
      await write(...args);
      if (when === 'after') throw new Error('killed after a write');
    };
  return {
    ...store,
    writeConversations: guarded(store.writeConversations.bind(store)),
    writeTrials: guarded(store.writeTrials.bind(store)),
    writeEstimates: guarded(store.writeEstimates.bind(store)),
    writeComparisons: guarded(store.writeComparisons.bind(store)),
    writeTick: guarded(store.writeTick.bind(store)),
  };
}

test('killed at random between its writes, it writes the same', async () => {
  const store = await freshStore();
  const random = seededRandom(3);
  let killed = 0;
  const rollup = mortal(rollupOf(store), () => {
    const fate = random();
    return fate < 0.3 ? 'before' : fate < 0.6 ? 'after' : null;
  });

  await live(store, 3, () =>
    runTick(rollup, RULES).catch((error: Error) => {
      expect(error.message).toMatch(/^killed/);
      killed += 1;
    }),
  );
  await runTick(rollupOf(store), RULES);

  await expectAll(store);
  expect(killed).toBeGreaterThan(5);
});

test('a range that is counted again from empty estimates and comparisons gives the same', async () => {
  const store = await freshStore();
  const rollup = rollupOf(store);
  await live(store, 4, () => runTick(rollup, RULES));
  await store.command('TRUNCATE TABLE {db}.estimates');
  await store.command('TRUNCATE TABLE {db}.comparisons');

  const progress: number[] = [];
  await replayTicks(rollup, { fromMs: null, toMs: NINE + 70 * MINUTE }, RULES, (ratio) => progress.push(ratio));
  await replayTicks(rollup, { fromMs: NINE + 70 * MINUTE + 1, toMs: null }, RULES, (ratio) => progress.push(ratio));

  await expectAll(store);
  expect(progress.filter((ratio) => ratio === 1)).toHaveLength(2);
});

test('a time that is counted again leaves what was compared later', async () => {
  const store = await freshStore();
  const rollup = rollupOf(store);
  await live(store, 5, () => runTick(rollup, RULES));

  await replayTicks(rollup, { fromMs: null, toMs: NINE + 70 * MINUTE }, RULES);

  await expectAll(store);
});

test('a first run on a store that is full already makes up for the ticks before it', async () => {
  const store = await freshStore();
  await store.recordPolicy({ policy: 'policy-1', sinceMs: NINE, settings: {} });
  await write(store, TRAFFIC);
  await streamTime(store, END);

  await runTick(rollupOf(store), RULES);

  await expectAll(store);
});
