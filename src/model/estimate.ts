/** The prior of the success rate: Beta(a, b), a > 0 and b > 0. */
export interface BetaPrior {
  readonly a: number;
  readonly b: number;
}

/** Counts of the closed conversations of a series in a window. 0 <= correct <= trials. */
export interface Counts {
  /** Conversations that count. */
  readonly trials: number;
  readonly correct: number;
  /** Conversations with something outstanding; they never enter the posterior. */
  readonly outstanding: number;
  /** Of the outstanding ones, those that are incorrect whatever comes. */
  readonly outstandingIncorrect: number;
}

/** `rules_only`: neither an expectation nor a judge decided anything, so the figures say only that no rule objected. */
export type Assessment = 'reliable' | 'inconsistent' | 'needs_improvement' | 'not_enough_evidence' | 'rules_only';

/** pass@K or pass^K of a series. `lower`..`upper` is the equal-tailed interval; null in frequentist mode. */
export interface Estimate {
  readonly metric: 'pass_at_k' | 'pass_pow_k';
  readonly k: number;
  /** null when it is undefined (frequentist without trials). */
  readonly mean: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** What the figure would be if all outstanding conversations turned out worst, or best. */
  readonly boundLower: number | null;
  readonly boundUpper: number | null;
}
