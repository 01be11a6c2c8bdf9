import type { BetaPrior, Counts, Estimate } from '../model/estimate.js';
import { probabilityOfDrop } from './compare.js';
import { credibleInterval, passMean, passOf, posterior } from './pass.js';

export interface ComparisonRules {
  readonly metric: Estimate['metric'];
  readonly k: number;
  /** The smallest difference of the figure that matters, 0 <= margin < 1. */
  readonly margin: number;
  readonly prior: BetaPrior;
  /** Mass of the intervals, between 0 and 1. */
  readonly level: number;
}

export interface ComparedFigure {
  readonly trials: number;
  readonly correct: number;
  readonly mean: number;
  readonly lower: number;
  readonly upper: number;
}

export interface Chances {
  /** P(figure of B < figure of A - margin). */
  readonly worse: number;
  /** P(figure of B > figure of A + margin). */
  readonly better: number;
  /** 1 - worse - better. */
  readonly within: number;
}

export interface Comparison extends Chances {
  readonly a: ComparedFigure;
  readonly b: ComparedFigure;
}

type SuccessCounts = Pick<Counts, 'trials' | 'correct'>;

/** How B stands to A: the figures of both, and `chancesOf` them. */
export function compareCounts(a: SuccessCounts, b: SuccessCounts, rules: ComparisonRules): Comparison {
  return { a: figureOf(a, rules), b: figureOf(b, rules), ...chancesOf(a, b, rules) };
}

/**
 * How probably B is worse, or better, than A, from independent posteriors of their success rates. pass@K of p is 1 - pass^K
 * of 1 - p, so that a drop of the one is a rise of the other; both are computed by `probabilityOfDrop`, whose domain and
 * accuracy hold here. Without a margin one of the two is certain, and then nothing depends on K.
 */
export function chancesOf(a: SuccessCounts, b: SuccessCounts, rules: Omit<ComparisonRules, 'level'>): Chances {
  const { metric, k, margin, prior } = rules;
  const [ofA, ofB] = [posterior(a, prior), posterior(b, prior)];
  const [from, to] = metric === 'pass_pow_k' ? [ofA, ofB] : [mirrored(ofB), mirrored(ofA)];
  const worse = probabilityOfDrop(from, to, k, margin);
  const better = margin === 0 ? 1 - worse : probabilityOfDrop(to, from, k, margin);
  const within = Math.max(0, 1 - worse - better);
  return { worse, better, within };
}

function mirrored({ a, b }: BetaPrior): BetaPrior {
  return { a: b, b: a };
}

/** The figure with its interval. */
export function figureOf(counts: SuccessCounts, { metric, k, prior, level }: ComparisonRules): ComparedFigure {
  const p = posterior(counts, prior);
  const interval = credibleInterval(p, level);
  const { trials, correct } = counts;
  const [lower, upper] = [passOf(metric, k, interval.lower), passOf(metric, k, interval.upper)];
  return { trials, correct, mean: passMean(metric, k, p), lower, upper };
}
