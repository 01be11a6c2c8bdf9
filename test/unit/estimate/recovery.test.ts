import { expect, test } from 'vitest';
import { foldRecovery, logMeanRecovery, NO_RECOVERY } from '../../../src/estimate/recovery.js';

test('multiplies C with 1 + l (x - q), bets 0.1, 0.25, 0.5 and 0.75 of 1/q', () => {
  // q = 0.8, so (1 - q)/q = 0.25: a success gives 1.025, 1.0625, 1.125, 1.1875; a failure 0.9, 0.75, 0.5, 0.25.
  const afterTwo = foldRecovery(foldRecovery(NO_RECOVERY, 0.8, true), 0.8, true);
  const factors = [1.025, 1.0625, 1.125, 1.1875];
  factors.forEach((factor, j) => expect(Math.exp(afterTwo[j] ?? NaN)).toBeCloseTo(factor ** 2, 14));

  const afterFailure = foldRecovery(afterTwo, 0.8, false);
  // 1.025^2 * 0.9 = 0.945..., and less for the others: all are held at 1.
  expect(afterFailure).toEqual(NO_RECOVERY);
});

test('starts from 1 and averages C, not its logarithm', () => {
  expect(logMeanRecovery(NO_RECOVERY)).toBe(0);
  // C = 1, 1, 1, 5: mean 2.
  expect(logMeanRecovery([0, 0, 0, Math.log(5)])).toBeCloseTo(Math.LN2, 14);
});

test('stays a number when evidence passes what a double can hold', () => {
  expect(logMeanRecovery([1e6, 0, 0, 0])).toBeCloseTo(1e6 - Math.log(4), 6);
});
