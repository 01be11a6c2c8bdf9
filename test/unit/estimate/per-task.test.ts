import { expect, test } from 'vitest';
import type { EstimateRules } from '../../../src/estimate/pass.js';
import { estimate } from '../../../src/estimate/pass.js';
import { estimatePerTask } from '../../../src/estimate/per-task.js';
import type { Counts } from '../../../src/model/estimate.js';

const RULES: EstimateRules = { ks: [3], prior: { a: 1, b: 1 }, level: 0.95, mode: 'bayesian' };

function counts(trials: number, correct: number, outstanding = 0): Counts {
  return { trials, correct, outstanding, outstandingIncorrect: 0 };
}

test('tells one kind of task that always fails from all kinds that sometimes fail', () => {
  const tasks = [counts(50, 50), counts(50, 0)];
  const rules: EstimateRules = { ...RULES, mode: 'frequentist' };

  // Half the kinds at 1, half at 0: (1 + 0)/2 per task; pooled p = 1/2 gives 1 - 1/8 and 1/8.
  expect(estimatePerTask(tasks, rules).map(({ mean }) => mean)).toEqual([0.5, 0.5]);
  expect(estimate(counts(100, 50), rules).map(({ mean }) => mean)).toEqual([0.875, 0.125]);
});

test('averages the posterior means over tasks, however many trials each has', () => {
  // Beta(8, 4): E[p^3] = (8/12)(9/13)(10/14) = 30/91. Beta(3, 1): (3/4)(4/5)(5/6) = 1/2.
  const [, passPowK] = estimatePerTask([counts(10, 7), counts(2, 2)], RULES);

  expect(passPowK?.mean).toBeCloseTo((30 / 91 + 1 / 2) / 2, 14);
});

test('leaves a task without trials out of the estimate, and one without conversations out of the bounds', () => {
  const known = [counts(10, 7), counts(4, 4)];
  const [, alone] = estimatePerTask(known, { ...RULES, ks: [2] });

  const [, withOthers] = estimatePerTask([...known, counts(0, 0, 3), counts(0, 0)], { ...RULES, ks: [2] });

  expect(withOthers).toMatchObject({ mean: alone?.mean, lower: alone?.lower, upper: alone?.upper });
  // (0.7^2 + 1 + 0)/3 and (0.7^2 + 1 + 1)/3.
  expect(withOthers?.boundLower).toBeCloseTo(1.49 / 3, 14);
  expect(withOthers?.boundUpper).toBeCloseTo(2.49 / 3, 14);
});

test('gives what the prior says when no task has a trial', () => {
  expect(estimatePerTask([], RULES)).toEqual(estimate(counts(0, 0), RULES));
  expect(estimatePerTask([counts(0, 0), counts(0, 0)], RULES)).toEqual(estimate(counts(0, 0), RULES));
  const frequentist = estimatePerTask([], { ...RULES, mode: 'frequentist' });
  expect(frequentist.map(({ mean }) => mean)).toEqual([null, null]);
});

test('refuses what estimate refuses', () => {
  expect(() => estimatePerTask([counts(3, 5)], RULES)).toThrow(RangeError);
  expect(() => estimatePerTask([], { ...RULES, ks: [0] })).toThrow(RangeError);
});
