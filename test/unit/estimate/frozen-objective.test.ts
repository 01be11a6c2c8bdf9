import { expect, test } from 'vitest';
import { foldBeginning, startBeginning } from '../../../src/estimate/beginning.js';
import {
  beginningFor,
  freezeObjective,
  trialsPerDay,
  type ObjectiveRule,
} from '../../../src/estimate/frozen-objective.js';
import { DEFAULT_OBJECTIVE } from '../../../src/estimate/objective.js';
import type { Trial } from '../../../src/model/estimate.js';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

function trials(count: number, everyMs: number, correct: (at: number) => boolean = () => true): Trial[] {
  return Array.from({ length: count }, (_, at) => ({
    conversationId: String(at).padStart(4, '0'),
    firstClosedAtMs: 1_000 + at * everyMs,
    correct: correct(at),
  }));
}

const begun = (given: readonly Trial[]) => given.reduce(foldBeginning, startBeginning(0));

function freeze(rule: ObjectiveRule, given: readonly Trial[], decidedUntilMs: number) {
  return freezeObjective(rule, given.reduce(foldBeginning, beginningFor(rule)), decidedUntilMs);
}

const RULE: ObjectiveRule = {
  ...DEFAULT_OBJECTIVE,
  name: 'reliable',
  target: { kind: 'pass_pow_k', atLeast: 0.8, k: 3 },
  falseAlarmDays: 90,
};

test('takes the rate from the first hundred trials, whatever comes later', () => {
  // 100 trials are 99 intervals of a minute: 1440 a day.
  expect(trialsPerDay(begun(trials(100, MINUTE_MS)), 0)).toBe(1440);
  expect(trialsPerDay(begun([...trials(100, MINUTE_MS), ...trials(500, 100 * MINUTE_MS).slice(100)]), DAY_MS * 9)).toBe(
    1440,
  );
});

test('takes the rate of a slow series from its first day, when that is over', () => {
  // One in 30 minutes: 48 within the first day.
  const slow = trials(60, 30 * MINUTE_MS);

  expect(trialsPerDay(begun(slow), 1_000 + DAY_MS - 1)).toBeNull();
  expect(trialsPerDay(begun(slow), 1_000 + DAY_MS)).toBe(48);
  expect(trialsPerDay(begun(slow), 1_000 + DAY_MS * 5)).toBe(48);
  expect(trialsPerDay(begun([]), DAY_MS)).toBeNull();
});

test('freezes pass^K >= s as the success rate whose K-th power it is, watched from the first trial on', () => {
  const frozen = freeze(RULE, trials(100, 10 * MINUTE_MS), 0);

  // 0.8^(1/3) = 0.928317766722556; 144 a day for 90 days are 12 960.
  expect(frozen?.objective?.p0).toBeCloseTo(0.928317766722556, 14);
  expect(frozen?.objective?.falseAlarmRun).toBeCloseTo(12_960, 6);
  expect(frozen).toMatchObject({ conversationsPerDay: 144, baseline: null, after: null });
});

test('freezes a baseline from its first trials alone, and begins behind them', () => {
  const rule: ObjectiveRule = { ...RULE, target: { kind: 'baseline', conversations: 300 } };
  // 15 of the first 300 fail, all of the others.
  const given = trials(400, MINUTE_MS, (at) => at < 300 && at % 20 !== 0);

  const frozen = freeze(rule, given, 0);

  // Beta(286, 16): lower 5 % bound 0.9242 (SciPy beta.ppf), mean 286/302 - 0.03 = 0.917020.
  expect(frozen?.objective?.p0).toBeCloseTo(286 / 302 - 0.03, 12);
  expect(frozen?.baseline).toEqual({ trials: 300, correct: 285 });
  expect(frozen?.after).toEqual({ conversationId: '0299', firstClosedAtMs: 1_000 + 299 * MINUTE_MS });
  expect(freeze(rule, given.slice(0, 299), DAY_MS)).toBeNull();
});

test('freezes a series that is bad from the beginning as one that is not watched', () => {
  const rule: ObjectiveRule = { ...RULE, target: { kind: 'baseline', conversations: 100 } };

  expect(
    freeze(
      rule,
      trials(100, MINUTE_MS, (at) => at === 0),
      0,
    ),
  ).toMatchObject({
    objective: null,
    baseline: { trials: 100, correct: 1 },
  });
});

test('keeps A within its bounds when all came at one moment', () => {
  const frozen = freeze(RULE, trials(100, 0), 0);

  expect(frozen?.objective?.falseAlarmRun).toBe(1_000_000);
  expect(frozen?.conversationsPerDay).toBeNull();
});

test('needs nothing twice: trials that were taken already change nothing', () => {
  const rule: ObjectiveRule = { ...RULE, target: { kind: 'baseline', conversations: 30 } };
  const given = trials(40, MINUTE_MS, (at) => at % 3 !== 0);
  const half = given.slice(0, 20).reduce(foldBeginning, beginningFor(rule));

  const whole = given.reduce(foldBeginning, half);

  // Of the first 30 trials, 0, 3, ..., 27 are incorrect: 20 are correct.
  expect(whole).toMatchObject({ trials: 40, correct: 20, firstDay: 40, baselineEnd: { conversationId: '0029' } });
});
