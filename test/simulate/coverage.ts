import { estimate } from '../../src/estimate/pass.js';
import type { BetaPrior } from '../../src/model/estimate.js';
import { betaDraw, uniform } from '../support/beta-draws.js';

export const NS = [10, 30, 100, 300, 1_000];
export const KS = [1, 3, 10];
const LEVEL = 0.95;

/** [lower, upper] by c, then by figure: pass@K and pass^K of each K. */
function intervalsOf(n: number, prior: BetaPrior): readonly (readonly [number, number])[][] {
  return Array.from({ length: n + 1 }, (_, correct) =>
    estimate(
      { trials: n, correct, outstanding: 0, outstandingIncorrect: 0 },
      { ks: KS, prior, level: LEVEL, mode: 'bayesian' },
    ).map(({ lower, upper }) => [lower ?? NaN, upper ?? NaN] as const),
  );
}

/** The true figures for a success rate, in the order of `estimate`. */
function truth(p: number): number[] {
  return KS.flatMap((k) => [1 - (1 - p) ** k, p ** k]);
}

export interface CoverageRow {
  readonly n: number;
  /** Share of streams whose interval held the true figure: by K, of pass@K and of pass^K. */
  readonly covered: readonly number[];
}

/** p drawn from the prior, then n trials of it; how often each figure's 95 % interval holds its true value. */
export function priorCoverage(prior: BetaPrior, streams: number, seed: number): readonly CoverageRow[] {
  const random = uniform(seed);
  return NS.map((n) => {
    const intervals = intervalsOf(n, prior);
    const covered = KS.flatMap(() => [0, 0]);
    for (let stream = 0; stream < streams; stream += 1) {
      const p = betaDraw(prior.a, prior.b, random);
      let correct = 0;
      for (let trial = 0; trial < n; trial += 1) if (random() < p) correct += 1;
      truth(p).forEach((figure, at) => {
        const [lower, upper] = intervals[correct]?.[at] ?? [NaN, NaN];
        if (lower <= figure && figure <= upper) covered[at] = (covered[at] ?? 0) + 1;
      });
    }
    return { n, covered: covered.map((count) => count / streams) };
  });
}

/**
 * At a fixed p the share is a sum over the n + 1 counts that can be seen, so it is computed and not drawn. All figures
 * of a p rise with it, hence pass^1 stands for all of them.
 */
export function fixedCoverage(p: number, n: number, prior: BetaPrior): number {
  const intervals = intervalsOf(n, prior);
  let covered = 0;
  // ln C(n, c) p^c (1-p)^(n-c), from one c to the next.
  let log = n * Math.log1p(-p);
  intervals.forEach((figures, correct) => {
    const [lower, upper] = figures[1] ?? [NaN, NaN];
    if (lower <= p && p <= upper) covered += Math.exp(log);
    log += Math.log((n - correct) / (correct + 1)) + Math.log(p) - Math.log1p(-p);
  });
  return covered;
}
