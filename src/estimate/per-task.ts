import type { Counts, Estimate } from '../model/estimate.js';
import type { EstimateRules, Metric } from './pass.js';
import {
  assertCounts,
  assertRules,
  credibleInterval,
  estimate,
  meanOfPower,
  passMean,
  pointEstimates,
  posterior,
} from './pass.js';

const NOTHING: Counts = { trials: 0, correct: 0, outstanding: 0, outstandingIncorrect: 0 };

/**
 * pass@K and pass^K of K conversations of one task, averaged over the tasks: the mean of E[p_i^K], where pooling the
 * counts would give E[p^K] of K conversations of any tasks. In the order of `estimate`.
 *
 * Tasks weigh the same, however many trials they have; those without a trial are left out of mean and interval, those
 * without a conversation out of the bounds. Of one task, and of none with a trial, the figures are those of `estimate`.
 * Of several, the interval is the equal-tailed one of the Beta distribution with the exact mean and variance of the
 * average of independent tasks: an approximation, whose 95 % intervals held 93 to 98 % of the posterior in
 * test/property/estimate/per-task.test.ts.
 */
export function estimatePerTask(tasks: readonly Counts[], rules: EstimateRules): readonly Estimate[] {
  tasks.forEach(assertCounts);
  assertRules(rules);
  const tried = tasks.filter(({ trials }) => trials > 0);
  const met = tasks.filter(({ trials, outstanding }) => trials + outstanding > 0);
  const [first = NOTHING] = tried;
  const several = rules.mode === 'bayesian' && tried.length > 1;
  const ofFirst = several ? pointEstimates(first, rules) : estimate(first, rules);
  const ofEach = tried.map((task) => pointEstimates(task, rules));
  const ofMet = met.map((task) => pointEstimates(task, rules));

  return ofFirst.map((base, at) => {
    const interval = several ? matchedInterval(base.metric, base.k, tried, rules) : base;
    return {
      metric: base.metric,
      k: base.k,
      mean: tried.length > 0 ? average(ofEach.map((task) => task[at]?.mean)) : base.mean,
      lower: interval.lower,
      upper: interval.upper,
      boundLower: average(ofMet.map((task) => task[at]?.boundLower)),
      boundUpper: average(ofMet.map((task) => task[at]?.boundUpper)),
    };
  });
}

/** Of figures that are all defined, since tasks that would leave one undefined are not among them; null of none. */
function average(figures: readonly (number | null | undefined)[]): number | null {
  if (figures.length === 0) return null;
  return figures.reduce<number>((sum, figure) => sum + (figure ?? 0), 0) / figures.length;
}

function matchedInterval(metric: Metric, k: number, tasks: readonly Counts[], rules: EstimateRules) {
  const posteriors = tasks.map((task) => posterior(task, rules.prior));
  let mean = 0;
  let complement = 0;
  let variance = 0;
  for (const { a, b } of posteriors) {
    mean += passMean(metric, k, { a, b }) / posteriors.length;
    // 1 - pass@K of p is pass^K of 1 - p, and the other way round.
    complement += passMean(metric === 'pass_at_k' ? 'pass_pow_k' : 'pass_at_k', k, { a: b, b: a }) / posteriors.length;
    variance += (metric === 'pass_at_k' ? powerVariance(k, b, a) : powerVariance(k, a, b)) / posteriors.length ** 2;
  }
  // Beta(m s, (1-m) s) has variance m (1-m) / (s+1).
  const scale = (mean * complement) / variance - 1;
  const matched = { a: mean * scale, b: complement * scale };
  // Less spread than a double can hold.
  if (!(matched.a > 0 && matched.b > 0 && Number.isFinite(scale))) return { lower: mean, upper: mean };
  const { lower, upper } = credibleInterval(matched, rules.level);
  return { lower: lower.value, upper: upper.value };
}

/**
 * Variance of p^K for p ~ Beta(a, b), as E[p^K]^2 (E[p^2K] / E[p^K]^2 - 1), whose second factor is written so that
 * nothing cancels when it is small.
 */
function powerVariance(k: number, a: number, b: number): number {
  let logRatio = 0;
  for (let i = 0; i < k; i += 1) logRatio += Math.log1p((k * b) / ((a + b + k + i) * (a + i)));
  return meanOfPower(k, a, b) ** 2 * Math.expm1(logRatio);
}
