import type { Severity } from '../model/estimate.js';
import { betaCdf } from './beta.js';
import type { Objective } from './objective.js';
import { posterior } from './pass.js';

/**
 * P(p < p0 - delta) for p ~ Beta(a0 + c, b0 + n - c), over the trials since the estimated change.
 *
 * It ranks alerts by the size of the drop. It is no error rate: the stretch was chosen because it looked bad.
 */
export function certaintyOfDrop(trials: number, correct: number, objective: Objective): number {
  const q = objective.p0 - objective.delta;
  const { a, b } = posterior({ trials, correct }, objective.prior);
  return betaCdf({ value: q, complement: 1 - q }, a, b);
}

/** `page` from the objective's certainty on, else what it was before: severity is never lowered. */
export function severityOf(certainty: number, objective: Objective, before: Severity = 'ticket'): Severity {
  return certainty >= objective.pageCertainty ? 'page' : before;
}
