/**
 * Since when a series is worse, as one bet sees it: since the last time that the product of its factors fell to 1,
 *
 *   W <- max(1, W (1 + l (p0 - x)))
 *
 * which is the maximum-likelihood change point of Page's cumulative sum (Page 1954, Biometrika 41) for that bet.
 */
export interface ChangePoint {
  /** ln W. >= 0. */
  readonly logProduct: number;
  /** Trials since, and how many of them are correct. */
  readonly trials: number;
  readonly correct: number;
  /** `firstClosedAtMs` of the first of them; null when there is none. */
  readonly sinceMs: number | null;
}

export const NO_CHANGE: ChangePoint = { logProduct: 0, trials: 0, correct: 0, sinceMs: null };

/** One more trial; `factor` is ln of the bet's factor for it. */
export function foldChangePoint(before: ChangePoint, factor: number, correct: boolean, atMs: number): ChangePoint {
  const logProduct = before.logProduct + factor;
  if (!(logProduct > 0)) return NO_CHANGE;
  return {
    logProduct,
    trials: before.trials + 1,
    correct: before.correct + (correct ? 1 : 0),
    sinceMs: before.sinceMs ?? atMs,
  };
}
