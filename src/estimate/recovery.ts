/**
 * The closing side of an alert: evidence against "the success rate is still at most q = p0 - delta".
 *
 *   C_j <- max(1, C_j (1 + l_j (x - q))),   l_j = {0.1, 0.25, 0.5, 0.75}/q,   from 1 when the alert opens;
 *   recovered when mean_j C_j >= 1/alpha
 *
 * max(1, .) lets it answer soon after a long bad spell. C_j is the largest product of the latest factors, or 1, so it is
 * at most 1 + M_j of a Shiryaev-Roberts statistic over the same factors, whose means are at most 1 while p <= q: the mean
 * number of trials to a false close is at least 1/alpha - 1. Kept as ln C_j: 0 at the start, never below.
 */

/** Bets as shares of the largest that is possible, 1/q. */
const SHARES: readonly number[] = [0.1, 0.25, 0.5, 0.75];

/** ln C_j when an alert opens. */
export const NO_RECOVERY: readonly number[] = SHARES.map(() => 0);

/** ln C_j after one more trial. 0 < q < 1. */
export function foldRecovery(logEvidence: readonly number[], q: number, correct: boolean): readonly number[] {
  return SHARES.map((share, j) => {
    const bet = share / q;
    return Math.max(0, (logEvidence[j] ?? 0) + Math.log1p(bet * (correct ? 1 - q : -q)));
  });
}

/** ln mean_j C_j. >= 0. */
export function logMeanRecovery(logEvidence: readonly number[]): number {
  const largest = Math.max(...logEvidence);
  let sum = 0;
  for (const log of logEvidence) sum += Math.exp(log - largest);
  return largest + Math.log(sum / logEvidence.length);
}
