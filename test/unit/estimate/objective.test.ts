import { expect, test } from 'vitest';
import type { Objective } from '../../../src/estimate/objective.js';
import {
  assertObjective,
  DEFAULT_OBJECTIVE,
  falseAlarmRun,
  p0OfBaseline,
  p0OfPassPowK,
} from '../../../src/estimate/objective.js';

test('takes the K-th root of the least pass^K', () => {
  expect(p0OfPassPowK(0.729, 3)).toBeCloseTo(0.9, 14);
  expect(p0OfPassPowK(0.8, 1)).toBe(0.8);
  expect(() => p0OfPassPowK(1, 3)).toThrow(new RangeError('s must be > 0 and < 1, got 1'));
  expect(() => p0OfPassPowK(0.5, 0)).toThrow(new RangeError('K must be a whole number >= 1, got 0'));
});

test('takes the lower of the 5 % bound and mean - delta of a baseline', () => {
  const prior = { a: 1, b: 1 };
  // Nothing seen: Beta(1, 1) has mean 0.5 and 5 % below 0.05.
  expect(p0OfBaseline({ trials: 0, correct: 0 }, prior, 0.03)).toBeCloseTo(0.05, 12);
  // 299 of 299: Beta(300, 1) has 5 % below 0.05^(1/300) = 0.99006; its mean 300/301 less 0.03 is lower.
  expect(p0OfBaseline({ trials: 299, correct: 299 }, prior, 0.03)).toBeCloseTo(300 / 301 - 0.03, 12);
  // The same with delta = 0.001: now the bound is lower.
  expect(p0OfBaseline({ trials: 299, correct: 299 }, prior, 0.001)).toBeCloseTo(0.05 ** (1 / 300), 12);
});

test('watches for no drop where none of delta is possible', () => {
  expect(p0OfBaseline({ trials: 300, correct: 3 }, { a: 1, b: 1 }, 0.03)).toBeNull();
});

test.each([
  { days: 90, perDay: 100, run: 9_000 },
  { days: 90, perDay: 2, run: 1_000 },
  { days: 90, perDay: 1e6, run: 1_000_000 },
  { days: 0, perDay: Infinity, run: 1_000 },
])('allows one false alarm in $days days of $perDay conversations: A = $run', ({ days, perDay, run }) => {
  expect(falseAlarmRun(days, perDay)).toBe(run);
});

test('refuses negative days and rates', () => {
  expect(() => falseAlarmRun(-1, 5)).toThrow(new RangeError('falseAlarmDays must be >= 0, got -1'));
  expect(() => falseAlarmRun(1, NaN)).toThrow(new RangeError('conversationsPerDay must be >= 0, got NaN'));
});

const good: Objective = { ...DEFAULT_OBJECTIVE, p0: 0.93, falseAlarmRun: 1_000 };

test.each<[Partial<Objective>, string]>([
  [{ p0: 1 }, 'p0 must be > 0 and < 1, got 1'],
  [{ p0: 0.02 }, 'delta must be > 0 and < 0.02, got 0.03'],
  [{ delta: 0 }, 'delta must be > 0 and < 0.93, got 0'],
  [{ falseAlarmRun: Infinity }, 'falseAlarmRun must be finite and >= 1, got Infinity'],
  [{ alphaClose: 0 }, 'alphaClose must be > 0 and < 1, got 0'],
  [{ minOpenMs: NaN }, 'minOpenMs must be >= 0, got NaN'],
  [{ pageCertainty: 1 }, 'pageCertainty must be > 0 and < 1, got 1'],
  [{ prior: { a: 0, b: 1 } }, 'prior.a must be > 0 and < Infinity, got 0'],
])('refuses %j', (change, message) => {
  expect(() => assertObjective({ ...good, ...change })).toThrow(new RangeError(message));
});
