import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { EstimateRules } from '../../src/estimate/pass.js';
import { estimate } from '../../src/estimate/pass.js';

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly input: { n: number; c: number; k: number; prior: [number, number]; ci_level: number };
  readonly expected: {
    readonly pass_at_k: number;
    readonly pass_pow_k: number;
    readonly pass_at_k_ci: readonly [number, number];
    readonly pass_pow_k_ci: readonly [number, number];
  };
  readonly quirk: boolean;
}

const file = readFileSync('test/fixtures/vectors/gaussia.json', 'utf8');
const vectors = (JSON.parse(file) as { vectors: Vector[] }).vectors;
const pass = vectors.filter(({ kind }) => kind === 'pass');

function figures({ n, c, k }: Vector['input'], rules: Omit<EstimateRules, 'ks'>) {
  const counts = { trials: n, correct: c, outstanding: 0, outstandingIncorrect: 0 };
  const [passAtK, passPowK] = estimate(counts, { ...rules, ks: [k] });
  return { passAtK, passPowK };
}

function expectNear(actual: number | null | undefined, expected: number, tolerance: number): void {
  expect(Math.abs((actual ?? NaN) - expected)).toBeLessThanOrEqual(tolerance);
}

describe('pass vectors', () => {
  const rules = { prior: { a: 1, b: 1 }, level: 0.95, mode: 'frequentist' } as const;

  test.each(pass.filter(({ quirk }) => !quirk))('$id: gives the figures of Gaussia', ({ input, expected }) => {
    const { passAtK, passPowK } = figures(input, rules);

    expectNear(passAtK?.mean, expected.pass_at_k, 1e-12);
    expectNear(passPowK?.mean, expected.pass_pow_k, 1e-12);
  });

  test('pass-empty: is undefined without trials', () => {
    const { input } = pass.find(({ id }) => id === 'pass-empty') as Vector;

    const { passAtK, passPowK } = figures(input, rules);

    expect([passAtK?.mean, passPowK?.mean]).toEqual([null, null]);
  });

  const refused = pass.filter(({ quirk, id }) => quirk && id !== 'pass-empty');
  test.each(refused)('$id: is refused', ({ input }) => {
    expect(() => figures(input, rules)).toThrow(RangeError);
  });

  test('are all here', () => {
    expect(pass.length).toBe(23);
    expect(refused.map(({ id }) => id)).toEqual([
      'pass-c-gt-n',
      'pass-k0-partial',
      'pass-k0-none',
      'pass-k0-all',
      'pass-k-negative',
    ]);
  });
});

describe('exact posterior vectors', () => {
  const exact = vectors.filter(({ kind }) => kind === 'bayes_exact');

  test.each(exact)('$id: gives mean and interval', ({ input, expected }) => {
    const [a, b] = input.prior;

    const { passAtK, passPowK } = figures(input, { prior: { a, b }, level: input.ci_level, mode: 'bayesian' });

    expectNear(passAtK?.mean, expected.pass_at_k, 1e-9);
    expectNear(passAtK?.lower, expected.pass_at_k_ci[0], 1e-9);
    expectNear(passAtK?.upper, expected.pass_at_k_ci[1], 1e-9);
    expectNear(passPowK?.mean, expected.pass_pow_k, 1e-9);
    expectNear(passPowK?.lower, expected.pass_pow_k_ci[0], 1e-9);
    expectNear(passPowK?.upper, expected.pass_pow_k_ci[1], 1e-9);
  });

  test('are all here', () => {
    expect(exact.length).toBe(15);
  });
});
