import { expect, test } from 'vitest';
import { estimatePerTask } from '../../../src/estimate/per-task.js';
import { betaDraw, uniform } from '../../support/beta-draws.js';

const DRAWS = 50_000;
const MIXES = [
  { name: 'two equal tasks', tasks: [10, 7, 10, 7] },
  { name: 'one that always and one that never works', tasks: [50, 50, 50, 0] },
  { name: 'a rare and a frequent task', tasks: [2, 1, 200, 180] },
  { name: 'a mixture', tasks: [20, 20, 30, 27, 5, 1, 1, 0] },
  { name: 'many rare tasks', tasks: Array.from({ length: 20 }, () => [5, 4]).flat() },
];

test.each(MIXES)('has the mean of draws, and an interval that holds about 95 % of them, for $name', ({ tasks }) => {
  const random = uniform(7);
  const counts = pairs(tasks).map(([trials, correct]) => ({
    trials,
    correct,
    outstanding: 0,
    outstandingIncorrect: 0,
  }));
  for (const k of [1, 3, 10]) {
    const figures = estimatePerTask(counts, { ks: [k], prior: { a: 1, b: 1 }, level: 0.95, mode: 'bayesian' });
    const samples = { pass_at_k: new Float64Array(DRAWS), pass_pow_k: new Float64Array(DRAWS) };
    for (let draw = 0; draw < DRAWS; draw += 1) {
      let passAtK = 0;
      let passPowK = 0;
      for (const { trials, correct } of counts) {
        const p = betaDraw(1 + correct, 1 + trials - correct, random);
        passAtK += 1 - (1 - p) ** k;
        passPowK += p ** k;
      }
      samples.pass_at_k[draw] = passAtK / counts.length;
      samples.pass_pow_k[draw] = passPowK / counts.length;
    }

    for (const { metric, mean, lower, upper } of figures) {
      const sample = samples[metric];
      const sampleMean = sample.reduce((sum, value) => sum + value, 0) / DRAWS;
      const held = sample.filter((value) => value >= (lower ?? NaN) && value <= (upper ?? NaN)).length / DRAWS;
      // The sd of a value within 0..1 is at most 0.5: six standard errors are 0.0134 at worst.
      expect(Math.abs((mean ?? NaN) - sampleMean)).toBeLessThan(0.0134);
      expect(held).toBeGreaterThan(0.92);
      expect(held).toBeLessThan(0.99);
    }
  }
});

function pairs(flat: readonly number[]): [number, number][] {
  return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at] ?? NaN, flat[2 * at + 1] ?? NaN]);
}
