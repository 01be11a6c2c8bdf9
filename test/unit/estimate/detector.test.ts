import { expect, test } from 'vitest';
import type { DetectorState } from '../../../src/estimate/detector.js';
import { foldSeries, foldTrial, startDetector } from '../../../src/estimate/detector.js';
import type { Objective } from '../../../src/estimate/objective.js';
import { DEFAULT_OBJECTIVE } from '../../../src/estimate/objective.js';
import type { Transition } from '../../../src/model/estimate.js';

const MINUTE_MS = 60_000;
const OBJECTIVE: Objective = { ...DEFAULT_OBJECTIVE, p0: 0.5, falseAlarmRun: 20 };

/** Folds one trial a minute, the first at 1 min; `x` is a failure. */
function run(outcomes: string, objective = OBJECTIVE, start?: DetectorState) {
  let state = start ?? startDetector(objective);
  const first = (state.position?.firstClosedAtMs ?? 0) / MINUTE_MS + 1;
  const transitions: Transition[] = [];
  [...outcomes].forEach((outcome, at) => {
    const firstClosedAtMs = (first + at) * MINUTE_MS;
    const fold = foldTrial(state, { conversationId: 'c', firstClosedAtMs, correct: outcome !== 'x' }, objective);
    state = fold.state;
    if (fold.transition !== undefined) transitions.push(fold.transition);
  });
  return { state, transitions };
}

test('opens when the mean evidence reaches A', () => {
  // p0 = 0.5: bets 0.5 and 1, factors of a failure 1.25 and 1.5. After n failures M = 1.25 + ... + 1.25^n = 5 (1.25^n - 1),
  // and 3 (1.5^n - 1). n = 5: 10.259 and 19.781, mean 15.02; n = 6: 14.073 and 31.172, mean 22.62 >= 20.
  expect(run('xxxxx').transitions).toEqual([]);
  const [opened] = run('xxxxxx').transitions;

  expect(opened).toMatchObject({ kind: 'opened', atMs: 6 * MINUTE_MS, changedAtMs: MINUTE_MS, trials: 6, correct: 0 });
  expect(Math.exp(opened?.logEvidence ?? NaN)).toBeCloseTo((5 * (1.25 ** 6 - 1) + 3 * (1.5 ** 6 - 1)) / 2, 10);
  expect(opened?.logThreshold).toBeCloseTo(Math.log(20), 14);
  // Beta(1, 7): P(p < 0.47) = 1 - 0.53^7 = 0.988.
  expect(opened?.certainty).toBeCloseTo(1 - 0.53 ** 7, 12);
  expect(opened?.severity).toBe('page');
});

test('counts from the change that the leading bet sees', () => {
  // Six successes leave M = 3 (1 - 0.75^6) = 2.466 and 1 - 0.5^6 = 0.984, and each holds both products at 1. n failures
  // make it (2.466 + 5) 1.25^n - 5 and (0.984 + 3) 1.5^n - 3. n = 4: 13.2 and 17.2; n = 5: 17.8 and 27.3, mean 22.5 >= 20.
  const [opened] = run('......xxxxxx').transitions;

  expect(opened).toMatchObject({ kind: 'opened', atMs: 11 * MINUTE_MS, changedAtMs: 7 * MINUTE_MS });
  expect(opened).toMatchObject({ trials: 5, correct: 0 });
});

test('opens on a failure only', () => {
  // Near p0 = 1 each success adds nearly 1 to M. 5000 of them would pass A = 1000.
  const objective = { ...OBJECTIVE, p0: 0.99999, falseAlarmRun: 1_000 };
  const healthy = run('.'.repeat(5_000), objective);

  expect(healthy.transitions).toEqual([]);
  expect(run('x', objective, healthy.state).transitions).toMatchObject([{ kind: 'opened' }]);
});

test('raises a ticket to a page once, and lowers nothing', () => {
  const cautious = { ...OBJECTIVE, pageCertainty: 0.999 };
  // P(p < 0.47) after n failures alone: 1 - 0.53^(n+1). 0.988 at 6; 0.53^11 = 0.00093, so 0.999 is passed at n = 10.
  const kinds = run(`xxxxxxxxxxxx${'.'.repeat(8)}`, cautious).transitions.map(({ kind, severity, trials }) => [
    kind,
    severity,
    trials,
  ]);

  expect(kinds.slice(0, 2)).toEqual([
    ['opened', 'ticket', 6],
    ['upgraded', 'page', 10],
  ]);
  expect(kinds.length).toBe(2);
});

test('closes on evidence of recovery, and not before the minimum open time', () => {
  // q = 0.47, factors of a success 1 + r 0.53/0.47: 1.1128, 1.2819, 1.5638, 1.8457. Mean of their n-th powers
  // at n = 5: (1.71 + 3.46 + 9.35 + 21.42)/4 = 8.98; n = 6: (1.90 + 4.44 + 14.63 + 39.53)/4 = 15.1; n = 7: 25.9 >= 20.
  const soon = { ...OBJECTIVE, minOpenMs: 0 };
  expect(run('xxxxxx......', soon).transitions.map(({ kind }) => kind)).toEqual(['opened']);
  const closed = run('xxxxxx.......', soon);
  expect(closed.transitions.map(({ kind, atMs }) => [kind, atMs / MINUTE_MS])).toEqual([
    ['opened', 6],
    ['closed', 13],
  ]);
  expect(closed.state.phase).toEqual(startDetector(soon).phase);

  // 30 minutes after minute 6.
  expect(run(`xxxxxx${'.'.repeat(40)}`).transitions.map(({ kind, atMs }) => [kind, atMs / MINUTE_MS])).toEqual([
    ['opened', 6],
    ['closed', 36],
  ]);
});

test('stays open while nothing comes, and while it goes on failing', () => {
  const open = run('xxxxxx');
  expect(foldSeries(open.state, [], 1e12, OBJECTIVE, { waitMs: 0, blind: [] }).state).toEqual(open.state);
  expect(run(`xxxxxx${'.x'.repeat(200)}`).transitions.length).toBe(1);
});

test('refuses an objective that cannot be watched, and a state of another objective', () => {
  expect(() => startDetector({ ...OBJECTIVE, p0: 1 })).toThrow('p0 must be > 0 and < 1, got 1');
  const state = startDetector({ ...OBJECTIVE, p0: 0.9 });
  expect(() => run('x', OBJECTIVE, state)).toThrow('state of an objective with 2 bets expected, got 5');
});

test('passes over a judge outage in which only rule failures settle', () => {
  const objective = { ...DEFAULT_OBJECTIVE, p0: 0.93, falseAlarmRun: 1_000 };
  const rules = { waitMs: 60 * MINUTE_MS, blind: [] };
  // A conversation a minute: 100 good, 500 of which every 33rd fails by rules and the rest is outstanding, 100 good.
  const settled = { correct: true as boolean | null };
  const candidates = Array.from({ length: 700 }, (_, at) => ({
    ...settled,
    conversationId: `c${at}`,
    firstClosedAtMs: at * MINUTE_MS,
    ...(at >= 100 && at < 600 && { correct: at % 33 === 0 ? false : null }),
  }));

  const fold = foldSeries(startDetector(objective), candidates, 800 * MINUTE_MS, objective, rules);

  expect(fold.transitions).toEqual([]);
  expect(fold.state.folded).toBe(200);
  expect(fold.state.leftOut).toBe(500);
});
