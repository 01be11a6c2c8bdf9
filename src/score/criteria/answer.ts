import type { Expectation } from '../../model/expectation.js';
import type { Interaction } from '../../model/interaction.js';
import { saysCut } from '../../model/json-text.js';
import type { Score } from '../../model/score.js';
import { answerRule } from '../answer-rule.js';
import { THRESHOLD_TOLERANCE } from '../assess-tools.js';
import { partialFlag, waitsForPerson } from '../coverage.js';
import { abstain, decided } from '../make-score.js';
import type { ScoringPolicy } from '../policy.js';

/**
 * Criterion `answer`: the final answer against the expected one. Without a judge it is decided where a rule can decide
 * both ways (`answerRule`), which depends on the expected answer alone; anything else abstains with `no_judge`.
 * Details: `rule`.
 */
export function scoreAnswer(interaction: Interaction, expectation: Expectation | null, policy: ScoringPolicy): Score {
  if (!policy.enabled.answer) return abstain('answer', 'disabled', 'switched off');
  const expected = expectation?.answer;
  if (expected === undefined) return abstain('answer', 'no_expectation', 'nobody said which answer is expected');
  if (waitsForPerson(interaction)) return abstain('answer', 'interrupted', 'waits for a person');
  const part = partialFlag(interaction);
  if (part !== undefined) return abstain('answer', 'not_captured', `recorded only in part (${part})`);
  const { answer, coverage } = interaction;
  if (answer === null || coverage.includes('answer_truncated') || saysCut(answer)) {
    const why = answer === null ? 'answer not captured' : 'a recorder cut the answer';
    return abstain('answer', 'not_captured', why);
  }
  const rule = answerRule(expected, policy.answer.labels);
  if (rule === null) return abstain('answer', 'no_judge', 'only a judge can compare free text');
  const value = rule.accepts(answer, interaction.query ?? '') ? 1 : 0;
  const reason =
    value === 1 ? `the expected ${rule.kind} is the answer` : `the expected ${rule.kind} is not the answer`;
  return decided('answer', value, value >= policy.answer.threshold - THRESHOLD_TOLERANCE, reason, { rule: rule.kind });
}
