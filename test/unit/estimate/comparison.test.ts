import { expect, test } from 'vitest';
import { compareCounts } from '../../../src/estimate/comparison.js';

const RULES = { metric: 'pass_pow_k', k: 1, margin: 0, prior: { a: 1, b: 1 }, level: 0.95 } as const;
const NONE = { trials: 0, correct: 0 };

test('says what two uniform posteriors say: an even chance, and triangles beyond a margin', () => {
  expect(compareCounts(NONE, NONE, RULES)).toMatchObject({ worse: expect.closeTo(0.5, 10) as number });

  // x, y uniform: P(y < x - 0.25) = 0.75^2 / 2 = 0.28125.
  const apart = compareCounts(NONE, NONE, { ...RULES, margin: 0.25 });
  expect(apart.worse).toBeCloseTo(0.28125, 10);
  expect(apart.better).toBeCloseTo(0.28125, 10);
  expect(apart.within).toBeCloseTo(0.4375, 10);
});

test('computes pass@K by its own form: an agent that always fails is worse at any K', () => {
  // p_A uniform, p_B of Beta(1, 2): P(p_B < p_A) = int (1 - (1-x)^2) dx = 2/3, whatever the K without a margin.
  const oneFailure = { trials: 1, correct: 0 };
  for (const k of [1, 3, 10]) {
    expect(compareCounts(NONE, oneFailure, { ...RULES, metric: 'pass_at_k', k }).worse).toBeCloseTo(2 / 3, 9);
  }
  // K = 2, u = 1 - p_A uniform, v = 1 - p_B with density 2v: worse when u^2 < v^2 - 0.25, so u < sqrt(v^2 - 1/4):
  // int_{1/2}^{1} 2v sqrt(v^2 - 1/4) dv = (2/3) (3/4)^(3/2) = 0.4330127018922193.
  const rules = { ...RULES, metric: 'pass_at_k', k: 2, margin: 0.25 } as const;
  expect(compareCounts(NONE, oneFailure, rules).worse).toBeCloseTo(0.4330127018922193, 9);
});

test('gives each side its figure and interval', () => {
  // Beta(8, 4), K = 3: E[p^3] = (8 x 9 x 10)/(12 x 13 x 14) = 0.329670.
  const { a } = compareCounts({ trials: 10, correct: 7 }, NONE, { ...RULES, k: 3 });

  expect(a.mean).toBeCloseTo(720 / 2184, 12);
  expect(a.lower).toBeLessThan(a.mean);
  expect(a.upper).toBeGreaterThan(a.mean);
});
