import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EstimateRules } from '../../../src/estimate/pass.js';
import { estimate } from '../../../src/estimate/pass.js';
import { estimatePerTask } from '../../../src/estimate/per-task.js';
import type { Counts, Estimate } from '../../../src/model/estimate.js';
import { betaDraw, uniform } from '../../support/beta-draws.js';

/** What rounding may add in a comparison of two figures. */
const ROUNDING = 1e-9;

const k = fc.integer({ min: 1, max: 50 });
const shape = fc.oneof(fc.constantFrom(0.5, 1), fc.double({ min: 0.5, max: 20, noNaN: true }));
const rules: fc.Arbitrary<EstimateRules> = fc.record({
  ks: fc.array(k, { minLength: 1, maxLength: 4 }),
  prior: fc.record({ a: shape, b: shape }),
  level: fc.constantFrom(0.5, 0.8, 0.9, 0.95, 0.99),
  mode: fc.constantFrom('bayesian', 'frequentist'),
});
const counts: fc.Arbitrary<Counts> = fc
  .tuple(fc.oneof(fc.nat(5), fc.nat(2_000), fc.nat(1_000_000)), fc.nat(100))
  .chain(([trials, outstanding]) =>
    fc.record({
      trials: fc.constant(trials),
      correct: fc.oneof(fc.nat(trials), fc.constantFrom(0, trials)),
      outstanding: fc.constant(outstanding),
      outstandingIncorrect: fc.nat(outstanding),
    }),
  );
const bayesian = rules.map((rule): EstimateRules => ({ ...rule, mode: 'bayesian' }));

function figuresOf({ mean, lower, upper, boundLower, boundUpper }: Estimate) {
  return [mean, lower, upper, boundLower, boundUpper].filter((figure) => figure !== null);
}

describe('estimate', () => {
  test('keeps every figure within 0..1, and lower ends below upper ones', () => {
    fc.assert(
      fc.property(counts, rules, (of, rule) => {
        for (const figure of estimate(of, rule)) {
          for (const value of figuresOf(figure)) expect(value >= 0 && value <= 1).toBe(true);
          if (figure.lower !== null) expect(figure.lower).toBeLessThanOrEqual(figure.upper ?? NaN);
          if (figure.boundLower !== null) expect(figure.boundLower).toBeLessThanOrEqual(figure.boundUpper ?? NaN);
          if (rule.mode === 'bayesian') expect([figure.mean, figure.lower, figure.upper]).not.toContain(null);
        }
      }),
    );
  });

  test('never falls when one more trial was correct', () => {
    fc.assert(
      fc.property(counts, rules, (of, rule) => {
        fc.pre(of.correct < of.trials);
        const less = estimate(of, rule);
        const more = estimate({ ...of, correct: of.correct + 1 }, rule);

        less.forEach((figure, at) => {
          const before = figuresOf(figure);
          figuresOf(more[at] as Estimate).forEach((value, index) => {
            expect(value).toBeGreaterThanOrEqual((before[index] ?? NaN) - ROUNDING);
          });
        });
      }),
    );
  });

  test('has pass@K rise and pass^K fall with K, and both the same at K = 1', () => {
    fc.assert(
      fc.property(counts, rules, k, (of, rule, lowest) => {
        const all = estimate(of, { ...rule, ks: [1, lowest, lowest + 1] });
        const [atOne, powOne, at, pow, atNext, powNext] = all.map(figuresOf);

        atOne?.forEach((value, index) => expect(value).toBeCloseTo(powOne?.[index] ?? NaN, 9));
        at?.forEach((value, index) => expect(atNext?.[index]).toBeGreaterThanOrEqual(value - ROUNDING));
        pow?.forEach((value, index) => expect(powNext?.[index]).toBeLessThanOrEqual(value + ROUNDING));
      }),
    );
  });

  test('mirrors pass^K of the failures in pass@K', () => {
    fc.assert(
      fc.property(counts, bayesian, (of, rule) => {
        const failures = { ...of, correct: of.trials - of.correct };
        const mirrored = estimate(failures, { ...rule, prior: { a: rule.prior.b, b: rule.prior.a } });

        estimate(of, rule).forEach((figure, at) => {
          const other = mirrored[figure.metric === 'pass_at_k' ? at + 1 : at - 1];
          expect(figure.mean).toBeCloseTo(1 - (other?.mean ?? NaN), 9);
          expect(figure.lower).toBeCloseTo(1 - (other?.upper ?? NaN), 9);
          expect(figure.upper).toBeCloseTo(1 - (other?.lower ?? NaN), 9);
        });
      }),
    );
  });

  test('narrows the interval of a share that stays the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.double({ min: 0, max: 1, noNaN: true }), (trials, share) => {
        const correct = Math.round(share * trials);
        const rule: EstimateRules = { ks: [1], prior: { a: 1, b: 1 }, level: 0.95, mode: 'bayesian' };
        const widths = [1, 8, 64].map((times) => {
          const of = { trials: trials * times, correct: correct * times, outstanding: 0, outstandingIncorrect: 0 };
          const [figure] = estimate(of, rule);
          return (figure?.upper ?? NaN) - (figure?.lower ?? NaN);
        });

        expect(widths).toEqual(widths.toSorted((one, other) => other - one));
      }),
    );
  });

  test('holds the mean within the wide interval, and the wider interval around the narrower', () => {
    fc.assert(
      fc.property(counts, bayesian, (of, rule) => {
        // A mean can leave an interval of little mass; of 99 % it cannot while K is small.
        const wide = estimate(of, { ...rule, ks: [1, 2, 3], level: 0.99 });
        const narrow = estimate(of, { ...rule, ks: [1, 2, 3], level: 0.5 });

        wide.forEach((figure, at) => {
          expect(figure.mean).toBeGreaterThanOrEqual((figure.lower ?? NaN) - ROUNDING);
          expect(figure.mean).toBeLessThanOrEqual((figure.upper ?? NaN) + ROUNDING);
          expect(figure.lower).toBeLessThanOrEqual((narrow[at]?.lower ?? NaN) + ROUNDING);
          expect(figure.upper).toBeGreaterThanOrEqual((narrow[at]?.upper ?? NaN) - ROUNDING);
        });
      }),
    );
  });

  test('agrees with Monte Carlo within its error', () => {
    const draws = 20_000;
    const cases = fc.record({
      n: fc.nat(200),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      k: fc.constantFrom(1, 3, 8),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(cases, ({ n, share, k: attempts, seed }) => {
        const of = { trials: n, correct: Math.round(share * n), outstanding: 0, outstandingIncorrect: 0 };
        const [at, pow] = estimate(of, { ks: [attempts], prior: { a: 1, b: 1 }, level: 0.9, mode: 'bayesian' });
        const random = uniform(seed);
        const p = Array.from({ length: draws }, () => betaDraw(1 + of.correct, 1 + n - of.correct, random));

        for (const [figure, sample] of [
          [at, p.map((value) => 1 - (1 - value) ** attempts)],
          [pow, p.map((value) => value ** attempts)],
        ] as const) {
          const mean = sample.reduce((sum, value) => sum + value, 0) / draws;
          const sd = Math.sqrt(sample.reduce((sum, value) => sum + (value - mean) ** 2, 0) / draws);
          // Six standard errors: less than one false alarm in 10^8.
          expect(Math.abs((figure?.mean ?? NaN) - mean)).toBeLessThan((6 * sd) / Math.sqrt(draws) + 1e-12);
          // A binomial count of the draws below an end: sd sqrt(0.05 * 0.95 / draws) = 0.00154.
          for (const [end, mass] of [
            [figure?.lower, 0.05],
            [figure?.upper, 0.95],
          ] as const) {
            const below = sample.filter((value) => value <= (end ?? NaN)).length / draws;
            expect(Math.abs(below - mass)).toBeLessThan(6 * 0.00154);
          }
        }
      }),
      { numRuns: 25, seed: 20_260_101 },
    );
  });
});

describe('estimatePerTask', () => {
  test('equals the pooled estimate for one task', () => {
    fc.assert(
      fc.property(counts, rules, (of, rule) => {
        expect(estimatePerTask([of], rule)).toEqual(estimate(of, rule));
      }),
    );
  });

  test('does not depend on the order of tasks, and keeps every figure within 0..1', () => {
    fc.assert(
      fc.property(fc.array(counts, { minLength: 2, maxLength: 6 }), rules, (tasks, rule) => {
        const forward = estimatePerTask(tasks, rule);
        const backward = estimatePerTask(tasks.toReversed(), rule);

        forward.forEach((figure, at) => {
          const other = figuresOf(backward[at] as Estimate);
          figuresOf(figure).forEach((value, index) => {
            expect(value >= 0 && value <= 1 + ROUNDING).toBe(true);
            expect(value).toBeCloseTo(other[index] ?? NaN, 7);
          });
        });
      }),
    );
  });

  test('is at least the pooled pass^K and at most the pooled pass@K when tasks differ, as Jensen says', () => {
    const success = fc.integer({ min: 0, max: 50 });
    fc.assert(
      fc.property(fc.array(success, { minLength: 2, maxLength: 6 }), k, (successes, attempts) => {
        const rule: EstimateRules = { ks: [attempts], prior: { a: 1, b: 1 }, level: 0.95, mode: 'frequentist' };
        const tasks = successes.map((correct) => ({ trials: 50, correct, outstanding: 0, outstandingIncorrect: 0 }));
        const pool = {
          trials: 50 * tasks.length,
          correct: successes.reduce((sum, correct) => sum + correct, 0),
          outstanding: 0,
          outstandingIncorrect: 0,
        };
        const [at, pow] = estimatePerTask(tasks, rule);
        const [pooledAt, pooledPow] = estimate(pool, rule);

        expect(pow?.mean).toBeGreaterThanOrEqual((pooledPow?.mean ?? NaN) - ROUNDING);
        expect(at?.mean).toBeLessThanOrEqual((pooledAt?.mean ?? NaN) + ROUNDING);
      }),
    );
  });
});
