import { assertCounts, assertK } from './pass.js';

/**
 * Unbiased pass@K from n trials of one and the same task with c successes: the share of the K-subsets of the trials
 * that hold a success.
 *
 *   1 - C(n-c, K) / C(n, K)
 *
 * Source: Chen et al. 2021, arXiv 2107.03374, equation 1. null (undefined) for K > n. Throws RangeError for K < 1, or
 * counts that are no whole numbers with 0 <= c <= n.
 */
export function unbiasedPassAtK(trials: number, correct: number, k: number): number | null {
  const allFail = subsetsWithin(trials, correct, k, trials - correct);
  return allFail === null ? null : 1 - allFail;
}

/**
 * Unbiased pass^K from n trials of one and the same task with c successes: the share of the K-subsets that hold
 * nothing but successes.
 *
 *   C(c, K) / C(n, K)
 *
 * Source: Yao et al. 2024, arXiv 2406.12045. Undefined and refused as above.
 */
export function unbiasedPassPowK(trials: number, correct: number, k: number): number | null {
  return subsetsWithin(trials, correct, k, correct);
}

/** C(part, K) / C(n, K); 0 when part < K, because then a factor is 0. */
function subsetsWithin(trials: number, correct: number, k: number, part: number): number | null {
  assertCounts({ trials, correct, outstanding: 0, outstandingIncorrect: 0 });
  assertK(k);
  if (k > trials) return null;
  let product = 1;
  for (let i = 0; i < k && product > 0; i += 1) product *= (part - i) / (trials - i);
  return product;
}
