import type { ConversationVerdict } from '../model/estimate.js';
import type { Verdict, VerdictLabel } from '../model/score.js';

/**
 * Incorrect if one interaction is; else unscored if one that is not neutral is unscored, or all are neutral (or there is
 * none); else correct. The order of the verdicts does not matter.
 */
export function conversationVerdict(
  verdicts: readonly Pick<Verdict, 'label' | 'neutral' | 'leftOut' | 'outstanding'>[],
): ConversationVerdict {
  const leftOut = verdicts.some((verdict) => verdict.leftOut);
  const outstanding = verdicts.reduce((sum, verdict) => sum + verdict.outstanding, 0);
  const label = labelOf(verdicts);
  return {
    label,
    counts: label !== 'unscored' && outstanding === 0 && !leftOut,
    leftOut,
    outstanding,
    incorrectWhateverComes: label === 'incorrect' && outstanding > 0,
  };
}

function labelOf(verdicts: readonly Pick<Verdict, 'label' | 'neutral'>[]): VerdictLabel {
  if (verdicts.some(({ label }) => label === 'incorrect')) return 'incorrect';
  const judged = verdicts.filter(({ neutral }) => !neutral);
  if (judged.length === 0 || judged.some(({ label }) => label === 'unscored')) return 'unscored';
  return 'correct';
}
