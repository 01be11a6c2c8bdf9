import { expect, test } from 'vitest';
import { unbiasedPassAtK, unbiasedPassPowK } from '../../../src/estimate/unbiased.js';

test('counts the subsets of 7 of 10 for K = 3', () => {
  // C(3,3)/C(10,3) = 1/120 and C(7,3)/C(10,3) = 35/120.
  expect(unbiasedPassAtK(10, 7, 3)).toBeCloseTo(119 / 120, 15);
  expect(unbiasedPassPowK(10, 7, 3)).toBeCloseTo(35 / 120, 15);
});

test('agrees with the count of all subsets', () => {
  // Every K-subset of n trials of which the first c succeeded, counted one by one as bit sets.
  for (let n = 1; n <= 8; n += 1) {
    for (let c = 0; c <= n; c += 1) {
      for (let k = 1; k <= n; k += 1) {
        const subsets = Array.from({ length: 2 ** n }, (_, set) => set).filter((set) => bits(set) === k);
        const some = subsets.filter((set) => (set & (2 ** c - 1)) !== 0).length;
        const all = subsets.filter((set) => (set & ~(2 ** c - 1)) === 0).length;

        expect(unbiasedPassAtK(n, c, k)).toBeCloseTo(some / subsets.length, 12);
        expect(unbiasedPassPowK(n, c, k)).toBeCloseTo(all / subsets.length, 12);
      }
    }
  }
});

function bits(set: number): number {
  return set.toString(2).replaceAll('0', '').length;
}

test('is undefined for K > n, not 0 and not 1', () => {
  expect(unbiasedPassAtK(2, 2, 3)).toBeNull();
  expect(unbiasedPassPowK(2, 2, 3)).toBeNull();
  expect(unbiasedPassPowK(0, 0, 1)).toBeNull();
});

test('refuses K < 1 and counts that cannot be', () => {
  expect(() => unbiasedPassAtK(3, 2, 0)).toThrow(new RangeError('K must be a whole number >= 1, got 0'));
  expect(() => unbiasedPassPowK(3, 5, 2)).toThrow(new RangeError('correct must be <= trials (3), got 5'));
  expect(() => unbiasedPassPowK(-1, 0, 2)).toThrow(RangeError);
});
