import { expect, test } from 'vitest';

import { windowNamed } from '../../../src/estimate/windows.js';
import type { Verdict } from '../../../src/model/score.js';
import { createAlerting } from '../../../src/rollup/alerting.js';
import { runTick } from '../../../src/rollup/tick.js';
import { ALERTING_RULES, alertsOf, NO_EVENTS } from '../../support/alerts.js';
import { MINUTE, NINE, rollupOf, RULES, spoken, streamTime, write } from '../../support/rollup.js';
import { freshStore, type TestStore } from '../../support/store.js';

const TICKS = { ...RULES, tickMs: 30 * MINUTE, windows: [windowNamed('7d')] };

/** Conversations of a turn a minute, from `from` on; each verdict by its place. */
function talk(from: number, count: number, verdict: (at: number) => Partial<Verdict>) {
  return Array.from({ length: count }, (_, at) =>
    spoken({ conversation: `c${from + at}`, trace: from + at + 1, startMs: NINE + (from + at) * MINUTE }, verdict(at)),
  );
}

async function mean(store: TestStore) {
  const [row] = await store.rows(
    `SELECT n, c, mean FROM {db}.estimates_current
     WHERE metric = 'pass_pow_k' AND k = 1 AND mode = 'bayesian' AND scope = 'pooled'`,
  );
  return row;
}

/** One in 25 is wrong. */
const HEALTHY = (at: number): Partial<Verdict> => ({ label: at % 25 === 24 ? 'incorrect' : 'correct' });

test('an outage of the judge over 500 conversations moves neither the mean nor a detector, and is an alert', async () => {
  const store = await freshStore();
  const alerting = createAlerting(store, ALERTING_RULES, NO_EVENTS);
  const until = async (minute: number) => {
    await streamTime(store, NINE + minute * MINUTE);
    const { atMs } = await runTick(rollupOf(store), TICKS);
    await alerting.step({ nowMs: atMs, wallMs: Date.now() });
  };
  await write(store, talk(0, 200, HEALTHY));
  await until(240);
  const before = await mean(store);

  // Rules alone fail 3 %; everything waits for the judge.
  await write(
    store,
    talk(240, 500, (at) => ({ label: at % 33 === 5 ? 'incorrect' : 'unscored', outstanding: 1 })),
  );
  for (const minute of [420, 600, 780]) await until(minute);

  expect(await mean(store)).toEqual(before);
  // 200 with 8 wrong: Beta(193, 9).
  expect(before).toMatchObject({ n: 200, c: 192, mean: expect.closeTo(193 / 202, 12) as number });
  expect((await alertsOf(store)).map(({ kind, transition }) => [kind, transition])).toEqual([['blind', 'opened']]);
});

test('what sampling leaves out moves the mean nowhere, whatever rules say of it', async () => {
  const store = await freshStore();
  // Of 500 one in ten is looked at, of which one in 25 is wrong; of the others rules would fail half.
  const sampled = (at: number): Partial<Verdict> =>
    at % 10 === 0 ? HEALTHY(at / 10) : { label: at % 2 === 0 ? 'incorrect' : 'unscored', leftOut: true };
  await write(store, talk(0, 500, sampled));
  await streamTime(store, NINE + 540 * MINUTE);
  const { atMs } = await runTick(rollupOf(store), TICKS);
  await createAlerting(store, ALERTING_RULES, NO_EVENTS).step({ nowMs: atMs, wallMs: Date.now() });

  // 50 with 2 wrong: Beta(49, 3).
  expect(await mean(store)).toMatchObject({ n: 50, c: 48, mean: expect.closeTo(49 / 52, 12) as number });
  expect(await alertsOf(store)).toEqual([]);
});
