import { saysCut } from '../../model/json-text.js';
import type { Interaction } from '../../model/interaction.js';
import type { Judgement } from '../../model/judge.js';
import type { Score } from '../../model/score.js';
import { THRESHOLD_TOLERANCE } from '../assess-tools.js';
import { partialFlag, waitsForPerson } from '../coverage.js';
import { abstain, decided } from '../make-score.js';
import type { OpenCriterion } from '../open-criterion.js';
import { NOT_ASKED, withoutValue } from '../open-criterion.js';
import type { ScoringPolicy } from '../policy.js';

/** Criterion `completion`: did the answer do what was asked? Only a judge can say. */
export function scoreCompletion(interaction: Interaction, policy: ScoringPolicy): Score | OpenCriterion {
  if (!policy.enabled.completion) return abstain('completion', 'disabled', 'switched off');
  if (waitsForPerson(interaction)) return abstain('completion', 'interrupted', 'waits for a person');
  const { query, answer, coverage } = interaction;
  if (query === null || answer === null) {
    return abstain('completion', 'not_captured', `${query === null ? 'query' : 'answer'} not captured`);
  }
  if (policy.judge === null) return abstain('completion', 'no_judge', 'no judge is configured');
  const part = partialFlag(interaction);
  if (part !== undefined) return abstain('completion', 'not_captured', `recorded only in part (${part})`);
  if (coverage.includes('answer_truncated') || saysCut(answer)) {
    return abstain('completion', 'not_captured', 'a recorder cut the answer');
  }
  const settle = ({ completion: word }: Judgement): Score => {
    if (word?.kind !== 'decided') return withoutValue('completion', word ?? NOT_ASKED);
    const passed = word.value >= policy.completion.threshold - THRESHOLD_TOLERANCE;
    return decided('completion', word.value, passed, word.reason, {}, word.decidedBy);
  };
  return { kind: 'open', criterion: 'completion', asks: { completion: true }, details: {}, settle };
}
