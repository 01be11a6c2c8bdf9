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

export interface Comparison {
  readonly a: ComparedFigure;
  readonly b: ComparedFigure;
  /** P(figure of B < figure of A - margin). */
  readonly worse: number;
  /** P(figure of B > figure of A + margin). */
  readonly better: number;
  /** 1 - worse - better. */
  readonly within: number;
}

type SuccessCounts = Pick<Counts, 'trials' | 'correct'>;

/**
 * How B stands to A, from independent posteriors of their success rates. pass@K of p is 1 - pass^K of 1 - p, so that a drop
 * of the one is a rise of the other; both are computed by `probabilityOfDrop`, whose domain and accuracy hold here.
 */
export function compareCounts(a: SuccessCounts, b: SuccessCounts, rules: ComparisonRules): Comparison {
  const { metric, k, margin, prior } = rules;
  const [ofA, ofB] = [posterior(a, prior), posterior(b, prior)];
  const [from, to] = metric === 'pass_pow_k' ? [ofA, ofB] : [mirrored(ofB), mirrored(ofA)];
  const worse = probabilityOfDrop(from, to, k, margin);
  const better = probabilityOfDrop(to, from, k, margin);
  const within = Math.max(0, 1 - worse - better);
  return { a: figure(a, rules), b: figure(b, rules), worse, better, within };
}

function mirrored({ a, b }: BetaPrior): BetaPrior {
  return { a: b, b: a };
}

function figure(counts: SuccessCounts, { metric, k, prior, level }: ComparisonRules): ComparedFigure {
  const p = posterior(counts, prior);
  const interval = credibleInterval(p, level);
  const { trials, correct } = counts;
  const [lower, upper] = [passOf(metric, k, interval.lower), passOf(metric, k, interval.upper)];
  return { trials, correct, mean: passMean(metric, k, p), lower, upper };
}
