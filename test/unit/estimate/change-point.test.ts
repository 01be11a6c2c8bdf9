import { expect, test } from 'vitest';
import { foldChangePoint, NO_CHANGE } from '../../../src/estimate/change-point.js';
import { logFactor } from '../../../src/estimate/shiryaev-roberts.js';

test('begins anew when the product of the factors falls to 1', () => {
  // p0 = 0.5, l = 1: a failure multiplies with 1.5, a success with 0.5.
  const outcomes = [true, false, false, true, true, false];
  let change = NO_CHANGE;
  const seen = outcomes.map((correct, at) => {
    change = foldChangePoint(change, logFactor(1, 0.5, correct), correct, at);
    return [change.trials, change.correct, change.sinceMs];
  });

  // Products: 0.5 -> 1; 1.5; 2.25; 1.125; 0.5625 -> 1; 1.5.
  expect(seen).toEqual([
    [0, 0, null],
    [1, 0, 1],
    [2, 0, 1],
    [3, 1, 1],
    [0, 0, null],
    [1, 0, 5],
  ]);
});
