import { describe, expect, test } from 'vitest';
import type { EstimateRules } from '../../../src/estimate/pass.js';
import { estimate } from '../../../src/estimate/pass.js';
import type { Counts, Estimate } from '../../../src/model/estimate.js';

const RULES: EstimateRules = { ks: [3], prior: { a: 1, b: 1 }, level: 0.95, mode: 'bayesian' };

function counts(trials: number, correct: number, outstanding = 0, outstandingIncorrect = 0): Counts {
  return { trials, correct, outstanding, outstandingIncorrect };
}

function figures(of: Counts, rules: Partial<EstimateRules> = {}) {
  const [passAtK, passPowK] = estimate(of, { ...RULES, ...rules });
  return { passAtK: passAtK as Estimate, passPowK: passPowK as Estimate };
}

describe('posterior mean and interval', () => {
  // From SciPy 1.17.1, printed to six decimals: Beta(a, b), K, then mean and 95 % interval.
  test.each([
    { a: 8, b: 4, k: 3, at: [0.945055, 0.773306, 0.998696], pow: [0.32967, 0.059437, 0.706721] },
    { a: 1, b: 1, k: 3, at: [0.75, 0.073141, 0.999984], pow: [0.25, 0.000016, 0.926859] },
    { a: 1, b: 1, k: 1, at: [0.5, 0.025, 0.975], pow: [0.5, 0.025, 0.975] },
    { a: 91, b: 11, k: 5, at: [0.99997, 0.999838, 0.999999], pow: [0.571739, 0.383218, 0.751094] },
    { a: 901, b: 101, k: 8, at: [1, 1, 1], pow: [0.428756, 0.359082, 0.50026] },
    { a: 5.5, b: 0.5, k: 3, at: [0.99442, 0.945397, 1], pow: [0.797991, 0.239047, 0.99972] },
    { a: 0.5, b: 5.5, k: 3, at: [0.202009, 0.00028, 0.760953], pow: [0.00558, 0, 0.054603] },
    { a: 1e6 + 1, b: 1e3 + 1, k: 10, at: [1, 1, 1], pow: [0.990045, 0.989422, 0.990649] },
  ])('agrees with SciPy for Beta($a, $b) and K = $k', ({ a, b, k, at, pow }) => {
    const { passAtK, passPowK } = figures(counts(0, 0), { ks: [k], prior: { a, b } });

    for (const [figure, expected] of [
      [passAtK, at],
      [passPowK, pow],
    ] as const) {
      expect(Math.abs((figure.mean ?? NaN) - (expected[0] ?? NaN))).toBeLessThan(1e-6);
      expect(Math.abs((figure.lower ?? NaN) - (expected[1] ?? NaN))).toBeLessThan(1e-6);
      expect(Math.abs((figure.upper ?? NaN) - (expected[2] ?? NaN))).toBeLessThan(1e-6);
    }
  });

  test('adds correct trials to the first shape of the prior and the others to the second', () => {
    // Beta(1 + 7, 1 + 3) = Beta(8, 4), whose E[p^3] = 8*9*10 / (12*13*14) = 30/91.
    expect(figures(counts(10, 7)).passPowK.mean).toBeCloseTo(30 / 91, 14);
    expect(figures(counts(10, 7)).passAtK.mean).toBeCloseTo(86 / 91, 14);
  });

  test('gives the interval of the prior without trials', () => {
    // Beta(1, 1) is uniform: its quantiles are 0.025 and 0.975.
    const { passAtK, passPowK } = figures(counts(0, 0));

    expect(passPowK.lower).toBeCloseTo(0.025 ** 3, 14);
    expect(passPowK.upper).toBeCloseTo(0.975 ** 3, 12);
    expect(passAtK.lower).toBeCloseTo(1 - 0.975 ** 3, 12);
    expect(passAtK.upper).toBeCloseTo(1 - 0.025 ** 3, 12);
  });

  test.each([
    { n: 1, c: 0 },
    { n: 1, c: 1 },
  ])('is wide and finite after one trial ($c of $n)', ({ n, c }) => {
    for (const figure of Object.values(figures(counts(n, c), { ks: [1] }))) {
      expect(figure.mean).toBeCloseTo((1 + c) / 3, 14);
      expect((figure.upper ?? NaN) - (figure.lower ?? NaN)).toBeGreaterThan(0.8);
    }
  });

  test('keeps the digits of a pass@K near 0', () => {
    // Beta(0.5, 1e6): E[pass@1] = a/(a+b), and to first order K times as much for K.
    const { passAtK } = figures(counts(0, 0), { ks: [1], prior: { a: 0.5, b: 1e6 } });

    expect((passAtK.mean ?? NaN) / (0.5 / 1000000.5)).toBeCloseTo(1, 14);
  });

  test('gives every K in the order asked, pass@K first', () => {
    const all = estimate(counts(10, 7), { ...RULES, ks: [5, 1] });

    expect(all.map(({ metric, k }) => `${metric} ${k}`)).toEqual([
      'pass_at_k 5',
      'pass_pow_k 5',
      'pass_at_k 1',
      'pass_pow_k 1',
    ]);
  });
});

describe('frequentist figures', () => {
  test('put c/n into the formulas and have no interval', () => {
    const { passAtK, passPowK } = figures(counts(10, 7), { mode: 'frequentist' });

    expect(passAtK.mean).toBeCloseTo(0.973, 14);
    expect(passPowK.mean).toBeCloseTo(0.343, 14);
    expect([passAtK.lower, passAtK.upper, passPowK.lower, passPowK.upper]).toEqual([null, null, null, null]);
  });

  test('are exactly 0 and 1 at the ends', () => {
    expect(figures(counts(5, 0), { mode: 'frequentist' }).passAtK.mean).toBe(0);
    expect(figures(counts(5, 0), { mode: 'frequentist' }).passPowK.mean).toBe(0);
    expect(figures(counts(5, 5), { mode: 'frequentist' }).passAtK.mean).toBe(1);
    expect(figures(counts(5, 5), { mode: 'frequentist' }).passPowK.mean).toBe(1);
  });

  test('are undefined without trials', () => {
    const { passAtK, passPowK } = figures(counts(0, 0), { mode: 'frequentist' });

    expect([passAtK.mean, passPowK.mean]).toEqual([null, null]);
  });
});

describe('bounds', () => {
  test('span what the outstanding conversations may still turn out', () => {
    // 6 of 8 correct, 2 outstanding, 1 of them incorrect already: the share ends within [6/10, 7/10].
    const { passAtK, passPowK } = figures(counts(8, 6, 2, 1), { ks: [2] });

    expect(passPowK.boundLower).toBeCloseTo(0.36, 14);
    expect(passPowK.boundUpper).toBeCloseTo(0.49, 14);
    expect(passAtK.boundLower).toBeCloseTo(0.84, 14);
    expect(passAtK.boundUpper).toBeCloseTo(0.91, 14);
  });

  test('do not move the estimate', () => {
    const without = figures(counts(8, 6)).passPowK;
    const outstanding = figures(counts(8, 6, 40, 3)).passPowK;

    expect([outstanding.mean, outstanding.lower, outstanding.upper]).toEqual([
      without.mean,
      without.lower,
      without.upper,
    ]);
  });

  test('are 0 and 1 while everything is outstanding, and undefined without conversations', () => {
    expect(figures(counts(0, 0, 4)).passPowK).toMatchObject({ boundLower: 0, boundUpper: 1 });
    expect(figures(counts(0, 0)).passPowK).toMatchObject({ boundLower: null, boundUpper: null });
  });
});

describe('refusals', () => {
  test.each([
    { of: counts(3, 5), message: 'correct must be <= trials (3), got 5' },
    { of: counts(-1, 0), message: 'trials must be a whole number >= 0, got -1' },
    { of: counts(3, -1), message: 'correct must be a whole number >= 0, got -1' },
    { of: counts(3, 1.5), message: 'correct must be a whole number >= 0, got 1.5' },
    { of: counts(NaN, 0), message: 'trials must be a whole number >= 0, got NaN' },
    { of: counts(3, 1, 1, 2), message: 'outstandingIncorrect must be <= outstanding (1), got 2' },
  ])('name the counts: $message', ({ of, message }) => {
    expect(() => estimate(of, RULES)).toThrow(new RangeError(message));
  });

  test.each([
    { rules: { ks: [0] }, message: 'K must be a whole number >= 1, got 0' },
    { rules: { ks: [3, -1] }, message: 'K must be a whole number >= 1, got -1' },
    { rules: { ks: [1.5] }, message: 'K must be a whole number >= 1, got 1.5' },
    { rules: { prior: { a: 0, b: 1 } }, message: 'prior.a must be > 0 and <= 1e9, got 0' },
    { rules: { prior: { a: 1, b: 1e308 } }, message: 'prior.b must be > 0 and <= 1e9, got 1e+308' },
    { rules: { level: 1 }, message: 'level must be > 0 and < 1, got 1' },
  ])('name the rule: $message', ({ rules, message }) => {
    expect(() => estimate(counts(3, 2), { ...RULES, ...rules })).toThrow(new RangeError(message));
    expect(() => estimate(counts(3, 2), { ...RULES, ...rules, mode: 'frequentist' })).toThrow(RangeError);
  });
});
