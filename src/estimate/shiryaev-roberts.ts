/**
 * The opening side of an alert: a Shiryaev-Roberts e-detector of "the success rate is at least p0", a mixture over bets.
 *
 *   M_j <- (M_j + 1) (1 + l_j (p0 - x)),   x = 1 for a correct trial, else 0;   alarm when mean_j M_j >= A
 *
 * Before a change each factor has mean at most 1 whatever came before, so mean M_j rises by at most 1 a trial on average,
 * and the mean number of trials to a false alarm is at least A, however often one looks.
 * Source: Shin, Ramdas and Rinaldo, "E-detectors", arXiv 2203.03532, section 2.2.
 *
 * Kept as v_j = ln(1 + M_j), which is 0 at the start, never below, and finite: M_j underflows in a healthy series.
 */

/** Large bets find large drops, small ones small drops. */
const BETS: readonly number[] = [0.5, 1, 2, 3, 4.5];

/** A factor must stay above 0, and this share of the way there leaves M at 1/10 of itself after one success. */
const LARGEST_STAKE = 0.9;

/** The bets against p >= p0: those of 0.5, 1, 2, 3, 4.5 that are at most 0.9/(1-p0). Ascending, never empty. 0 < p0 < 1. */
export function betsAgainst(p0: number): readonly number[] {
  return BETS.filter((bet) => bet * (1 - p0) <= LARGEST_STAKE);
}

/** ln of the factor that one trial multiplies a bet's evidence with. Finite for the bets of `betsAgainst(p0)`. */
export function logFactor(bet: number, p0: number, correct: boolean): number {
  return Math.log1p(bet * (correct ? p0 - 1 : p0));
}

/** v_j = ln(1 + M_j) after one more trial, from the v_j before: ln(1 + e^(v_j + g_j)), g_j the bet's `logFactor`. */
export function foldEvidence(logEvidence: number, factor: number): number {
  return Math.log1p(Math.exp(logEvidence + factor));
}

/** mean_j M_j of v_j = ln(1 + M_j). >= 0. */
export function meanEvidence(logEvidence: readonly number[]): number {
  let sum = 0;
  for (const v of logEvidence) sum += Math.expm1(v);
  return sum / logEvidence.length;
}
