import type { Assessment, Estimate } from '../model/estimate.js';

/** Boundaries of the published table; see `assess`. */
const RELIABLE_PASS_AT = 0.95;
const RELIABLE_PASS_POW = 0.7;
const NEEDS_IMPROVEMENT_PASS_AT = 0.7;

type Figures = Pick<Estimate, 'k' | 'lower' | 'upper'>;

/**
 * The label of a series, from its pass@K and pass^K of the same K.
 *
 * | pass@K | pass^K | label | in Gaussia's table |
 * |---|---|---|---|
 * | > 0.95 | > 0.70 | reliable | yes |
 * | > 0.95 | < 0.50 | inconsistent | yes |
 * | > 0.95 | 0.50 .. 0.70 | inconsistent | gap: it can succeed and is not reliable |
 * | 0.70 .. 0.95 | any | inconsistent | gap: the low success rate begins below 0.70 |
 * | < 0.70 | any | needs improvement | yes |
 *
 * Both figures rise with the success rate, so the labels follow one another along it; the label holds when both ends of
 * the interval have it, and else there is not enough evidence. That is also the answer where there are no intervals
 * (frequentist figures): a point does not say how sure it is, so assess the Bayesian figures of the same counts.
 * Throws RangeError when the two are of different K.
 */
export function assess(passAtK: Figures, passPowK: Figures): Assessment {
  if (passAtK.k !== passPowK.k) throw new RangeError(`pass^K must be of K = ${passAtK.k}, got ${passPowK.k}`);
  if (passAtK.lower === null || passPowK.lower === null) return 'not_enough_evidence';
  if (passAtK.upper === null || passPowK.upper === null) return 'not_enough_evidence';
  const worst = labelOf(passAtK.lower, passPowK.lower);
  const best = labelOf(passAtK.upper, passPowK.upper);
  return worst === best ? worst : 'not_enough_evidence';
}

function labelOf(passAtK: number, passPowK: number): Assessment {
  if (passAtK < NEEDS_IMPROVEMENT_PASS_AT) return 'needs_improvement';
  return passAtK > RELIABLE_PASS_AT && passPowK > RELIABLE_PASS_POW ? 'reliable' : 'inconsistent';
}
