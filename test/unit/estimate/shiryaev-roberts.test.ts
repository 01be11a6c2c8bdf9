import { expect, test } from 'vitest';
import { betsAgainst, foldEvidence, logFactor, meanEvidence } from '../../../src/estimate/shiryaev-roberts.js';

test.each([
  { p0: 0.93, bets: [0.5, 1, 2, 3, 4.5] }, // 0.9/0.07 = 12.86
  { p0: 0.8, bets: [0.5, 1, 2, 3, 4.5] }, // 0.9/0.2 = 4.5
  { p0: 0.79, bets: [0.5, 1, 2, 3] }, // 0.9/0.21 = 4.29
  { p0: 0.5, bets: [0.5, 1] }, // 0.9/0.5 = 1.8
  { p0: 0.01, bets: [0.5] }, // 0.9/0.99 = 0.909
])('leaves out the bets above 0.9/(1-p0) for p0 = $p0', ({ p0, bets }) => {
  expect(betsAgainst(p0)).toEqual(bets);
});

test('multiplies M + 1 with 1 + l (p0 - x)', () => {
  // p0 = 0.9, l = 2. A failure: M = (0 + 1)(1 + 1.8) = 2.8. A success: (2.8 + 1)(1 - 0.2) = 3.04. A failure: 4.04 * 2.8.
  let v = 0;
  const seen = [false, true, false].map((correct) => {
    v = foldEvidence(v, logFactor(2, 0.9, correct));
    return Math.expm1(v);
  });

  expect(seen[0]).toBeCloseTo(2.8, 12);
  expect(seen[1]).toBeCloseTo(3.04, 12);
  expect(seen[2]).toBeCloseTo(11.312, 12);
});

test('averages M over the bets, not its logarithm', () => {
  // M = 3 and 1: v = ln 4 and ln 2.
  expect(meanEvidence([Math.log(4), Math.log(2)])).toBeCloseTo(2, 14);
  expect(meanEvidence([0, 0])).toBe(0);
});
