import type { BetaPrior, Counts, Estimate } from '../model/estimate.js';
import type { BetaQuantile } from './beta.js';
import { betaQuantile } from './beta.js';

/** How figures are made from counts. */
export interface EstimateRules {
  /** The K of pass@K and pass^K, whole numbers >= 1. */
  readonly ks: readonly number[];
  readonly prior: BetaPrior;
  /** Mass of the equal-tailed interval, 0 < level < 1. */
  readonly level: number;
  /** `bayesian`: posterior mean and interval. `frequentist`: c/n put into the formula, no interval. */
  readonly mode: 'bayesian' | 'frequentist';
}

export type Metric = Estimate['metric'];
export const METRICS: readonly Metric[] = ['pass_at_k', 'pass_pow_k'];

/**
 * pass@K and pass^K of the counts for every K: K in the order of the rules, pass@K before pass^K.
 *
 *   p ~ Beta(a0 + c, b0 + n - c),   pass@K = 1 - (1 - p)^K,   pass^K = p^K
 *
 * Both rise with p, so the equal-tailed interval is the image of the quantiles of p, and the means have closed forms.
 * Without trials the Bayesian figures are the prior's and the frequentist ones null. The bounds are of the observed
 * share: with u outstanding, w of them incorrect already, it ends within [c/(n+u), (c+u-w)/(n+u)]; null when n + u = 0.
 * Throws RangeError for counts, a K, a prior or a level outside their ranges.
 */
export function estimate(counts: Counts, rules: EstimateRules): readonly Estimate[] {
  const points = pointEstimates(counts, rules);
  if (rules.mode === 'frequentist') return points;
  const { lower, upper } = credibleInterval(posterior(counts, rules.prior), rules.level);
  return points.map((point) => ({
    ...point,
    lower: passOf(point.metric, point.k, lower),
    upper: passOf(point.metric, point.k, upper),
  }));
}

/** `estimate` without the ends of intervals, in which most of its time goes: `lower` and `upper` are null. */
export function pointEstimates(counts: Counts, rules: EstimateRules): readonly Estimate[] {
  assertCounts(counts);
  assertRules(rules);
  const { trials, correct, outstanding, outstandingIncorrect } = counts;
  const decided = trials + outstanding;
  const worst = decided > 0 ? share(correct, decided) : null;
  const best = decided > 0 ? share(correct + outstanding - outstandingIncorrect, decided) : null;
  const observed = trials > 0 ? share(correct, trials) : null;
  const p = posterior(counts, rules.prior);

  return rules.ks.flatMap((k) =>
    METRICS.map((metric) => ({
      metric,
      k,
      mean: rules.mode === 'bayesian' ? passMean(metric, k, p) : observed && passOf(metric, k, observed),
      lower: null,
      upper: null,
      boundLower: worst && passOf(metric, k, worst),
      boundUpper: best && passOf(metric, k, best),
    })),
  );
}

/** The posterior of the success rate: Beta(a0 + c, b0 + n - c). */
export function posterior(counts: Pick<Counts, 'trials' | 'correct'>, prior: BetaPrior): BetaPrior {
  return { a: prior.a + counts.correct, b: prior.b + counts.trials - counts.correct };
}

/**
 * Posterior mean of pass@K or pass^K for p ~ Beta(a, b).
 *
 *   E[p^K] = prod_{i<K} (a+i)/(a+b+i),   E[pass@K] = 1 - prod_{i<K} (b+i)/(a+b+i)
 *
 * The second is summed in logarithms, so that a figure near 0 keeps its digits.
 */
export function passMean(metric: Metric, k: number, { a, b }: BetaPrior): number {
  if (metric === 'pass_pow_k') return meanOfPower(k, a, b);
  let log = 0;
  for (let i = 0; i < k; i += 1) log += Math.log1p(-a / (a + b + i));
  return -Math.expm1(log);
}

/** E[p^K] for p ~ Beta(a, b). */
export function meanOfPower(k: number, a: number, b: number): number {
  let product = 1;
  for (let i = 0; i < k; i += 1) product *= (a + i) / (a + b + i);
  return product;
}

/** Equal-tailed interval of the given mass of a Beta(a, b) variable. */
export function credibleInterval({ a, b }: BetaPrior, level: number): { lower: BetaQuantile; upper: BetaQuantile } {
  const tail = (1 - level) / 2;
  // The upper end mirrored is a lower end, which spares rounding 1 - tail.
  const mirrored = betaQuantile(tail, b, a);
  return {
    lower: betaQuantile(tail, a, b),
    upper: { value: mirrored.complement, complement: mirrored.value },
  };
}

/** pass@K = 1 - (1-p)^K or pass^K = p^K for a known p. */
export function passOf(metric: Metric, k: number, p: BetaQuantile): number {
  if (metric === 'pass_pow_k') return p.value ** k;
  return p.value < 0.5 ? -Math.expm1(k * Math.log1p(-p.value)) : 1 - p.complement ** k;
}

function share(part: number, whole: number): BetaQuantile {
  return { value: part / whole, complement: (whole - part) / whole };
}

export function assertCounts({ trials, correct, outstanding, outstandingIncorrect }: Counts): void {
  assertWhole('trials', trials);
  assertWhole('correct', correct);
  assertWhole('outstanding', outstanding);
  assertWhole('outstandingIncorrect', outstandingIncorrect);
  if (correct > trials) throw new RangeError(`correct must be <= trials (${trials}), got ${correct}`);
  if (outstandingIncorrect > outstanding) {
    throw new RangeError(`outstandingIncorrect must be <= outstanding (${outstanding}), got ${outstandingIncorrect}`);
  }
}

function assertWhole(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${name} must be a whole number >= 0, got ${value}`);
}

/** A prior of more trials than anybody has seen leaves nothing to estimate, and its quantiles are not to be had. */
const MAX_PRIOR = 1e9;

export function assertRules({ ks, prior, level }: EstimateRules): void {
  ks.forEach(assertK);
  for (const [name, value] of Object.entries({ 'prior.a': prior.a, 'prior.b': prior.b })) {
    if (!(value > 0 && value <= MAX_PRIOR)) throw new RangeError(`${name} must be > 0 and <= 1e9, got ${value}`);
  }
  if (!(level > 0 && level < 1)) throw new RangeError(`level must be > 0 and < 1, got ${level}`);
}

export function assertK(k: number): void {
  if (!Number.isSafeInteger(k) || k < 1) throw new RangeError(`K must be a whole number >= 1, got ${k}`);
}
