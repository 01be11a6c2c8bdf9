import { estimate } from '../../src/estimate/pass.js';
import { betaDraw, uniform } from '../support/beta-draws.js';

/** What the usual way draws for one estimate. */
const DRAWS = 5_000;
const LEVEL = 0.95;
const KS = [1, 3, 5, 10];

export interface EstimateBench {
  readonly workload: string;
  /** Figures (pass@K or pass^K with mean and interval) a second. */
  readonly exactPerSecond: number;
  readonly monteCarloPerSecond: number;
  readonly ratio: number;
  /** Largest difference of a mean or an end of an interval, Monte Carlo from exact. */
  readonly monteCarloError: number;
}

/**
 * Measures our figures a second beside a straightforward Monte Carlo: one sample of the posterior for a series, then
 * each K's transform, mean and sorted quantiles. `series` is the number of series; Monte Carlo does a part of them.
 */
export function benchEstimate(series = 20_000): EstimateBench {
  const random = uniform(1);
  const counts = Array.from({ length: series }, () => {
    const trials = 1 + Math.floor(random() * 1_000);
    const correct = Math.round(trials * (0.6 + 0.4 * random()));
    return { trials, correct, outstanding: 0, outstandingIncorrect: 0 };
  });
  const rules = { ks: KS, prior: { a: 1, b: 1 }, level: LEVEL, mode: 'bayesian' as const };
  const figures = 2 * KS.length;
  const part = counts.slice(0, Math.max(1, Math.floor(series / 200)));
  // Loads the library and lets both be compiled before the clock runs.
  part.forEach((of) => estimate(of, rules));
  part.slice(0, 10).forEach(({ trials, correct }) => monteCarlo(1 + correct, 1 + trials - correct, random));

  const exactSeconds = seconds(() => counts.forEach((of) => estimate(of, rules)));
  let monteCarloError = 0;
  const samples: number[][][] = [];
  const monteCarloSeconds = seconds(() => {
    for (const { trials, correct } of part) samples.push(monteCarlo(1 + correct, 1 + trials - correct, random));
  });
  part.forEach((of, at) => {
    estimate(of, rules).forEach(({ mean, lower, upper }, figure) => {
      [mean, lower, upper].forEach((exact, end) => {
        const drawn = samples[at]?.[figure]?.[end] ?? NaN;
        monteCarloError = Math.max(monteCarloError, Math.abs(drawn - (exact ?? NaN)));
      });
    });
  });

  const exactPerSecond = (series * figures) / exactSeconds;
  const monteCarloPerSecond = (part.length * figures) / monteCarloSeconds;
  return {
    workload: `${series} series of 1..1000 conversations, K = ${KS.join(', ')}, ${DRAWS} draws`,
    exactPerSecond,
    monteCarloPerSecond,
    ratio: exactPerSecond / monteCarloPerSecond,
    monteCarloError,
  };
}

/** [mean, lower, upper] of pass@K and pass^K for each K, in the order of `estimate`. */
function monteCarlo(a: number, b: number, random: () => number): number[][] {
  const p = Float64Array.from({ length: DRAWS }, () => betaDraw(a, b, random));
  return KS.flatMap((k) => [summary(p.map((value) => 1 - (1 - value) ** k)), summary(p.map((value) => value ** k))]);
}

function summary(sample: Float64Array): number[] {
  const sorted = sample.sort();
  const mean = sorted.reduce((sum, value) => sum + value, 0) / DRAWS;
  const quantile = (at: number) => sorted[Math.round(at * (DRAWS - 1))] ?? NaN;
  return [mean, quantile((1 - LEVEL) / 2), quantile((1 + LEVEL) / 2)];
}

function seconds(work: () => void): number {
  const started = performance.now();
  work();
  return (performance.now() - started) / 1_000;
}
