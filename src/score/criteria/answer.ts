import type { Expectation } from '../../model/expectation.js';
import type { Interaction } from '../../model/interaction.js';
import type { Judgement } from '../../model/judge.js';
import { REDACTED } from '../../model/json.js';
import { saysCut } from '../../model/json-text.js';
import type { Score } from '../../model/score.js';
import { answerRule, saysTheSame } from '../answer-rule.js';
import { THRESHOLD_TOLERANCE } from '../assess-tools.js';
import { partialFlag, waitsForPerson } from '../coverage.js';
import { abstain, decided } from '../make-score.js';
import type { OpenCriterion } from '../open-criterion.js';
import { NOT_ASKED, withoutValue } from '../open-criterion.js';
import type { ScoringPolicy } from '../policy.js';

/**
 * Criterion `answer`: the final answer against the expected one. Without a judge it is decided where a rule can decide
 * both ways (`answerRule`), which depends on the expected answer alone; anything else abstains with `no_judge`. With a
 * judge rules only accept, also a text that says the same word by word (`saysTheSame`), and the judge decides the rest.
 * Details: `rule`.
 */
export function scoreAnswer(
  interaction: Interaction,
  expectation: Expectation | null,
  policy: ScoringPolicy,
): Score | OpenCriterion {
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
  const passes = (value: number) => value >= policy.answer.threshold - THRESHOLD_TOLERANCE;
  const rule = answerRule(expected, policy.answer.labels);
  if (rule?.accepts(answer, interaction.query ?? '') === true) {
    return decided('answer', 1, true, `the expected ${rule.kind} is the answer`, { rule: rule.kind });
  }
  if (policy.judge === null) {
    if (answer.includes(REDACTED)) return abstain('answer', 'not_captured', 'redacted before it was stored');
    if (rule === null) return abstain('answer', 'no_judge', 'only a judge can compare free text');
    return decided('answer', 0, passes(0), `the expected ${rule.kind} is not the answer`, { rule: rule.kind });
  }
  if (saysTheSame(answer, expected)) {
    return decided('answer', 1, true, 'the answer says the expected one word by word', { rule: 'text' });
  }
  const settle = ({ answer: word }: Judgement): Score => {
    if (word?.kind !== 'decided') return withoutValue('answer', word ?? NOT_ASKED);
    return decided('answer', word.value, passes(word.value), word.reason, {}, word.decidedBy);
  };
  return { kind: 'open', criterion: 'answer', asks: { answer: true }, details: {}, settle };
}
