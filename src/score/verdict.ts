import type { Criterion, Score, Verdict } from '../model/score.js';
import { isLeftOut, isOutstanding } from '../model/score.js';

/** The required criteria, with policy where that is configured. */
export const BY_DEFAULT: readonly Criterion[] = ['tools', 'arguments', 'answer'];

/**
 * The verdict over the required criteria: incorrect when one fails; else unscored when one is outstanding or left out, or
 * none was scored; else correct. Neutral: all of them are not applicable.
 *
 * `required` null means tools, arguments, answer, and policy when it is configured. Where policy is not configured, only
 * its loop rule is left, and that counts beside another scored criterion, never alone. `outstanding` counts required ones.
 */
export function decideVerdict(
  scores: readonly Score[],
  required: readonly Criterion[] | null,
  policyConfigured: boolean,
): Pick<Verdict, 'label' | 'neutral' | 'leftOut' | 'outstanding'> {
  const named = required ?? (policyConfigured ? [...BY_DEFAULT, 'policy'] : BY_DEFAULT);
  const counted = scores.filter((score) => named.includes(score.criterion));
  const scored = counted.filter((score) => score.kind === 'scored');
  const abstained = counted.filter((score) => score.kind === 'abstained').map((score) => score.abstained);
  const outstanding = abstained.filter(isOutstanding).length;
  const leftOut = abstained.some(isLeftOut);

  const beside = required === null && !policyConfigured && scored.length > 0;
  const looped = beside && scores.some((s) => s.criterion === 'policy' && s.kind === 'scored' && !s.passed);
  const failed = looped || scored.some((score) => !score.passed);
  const label = failed ? 'incorrect' : outstanding > 0 || leftOut || scored.length === 0 ? 'unscored' : 'correct';
  return { label, neutral: scored.length === 0 && outstanding === 0 && !leftOut, leftOut, outstanding };
}
