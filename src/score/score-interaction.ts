import type { Expectation } from '../model/expectation.js';
import type { Interaction } from '../model/interaction.js';
import type { OpenQuestions } from '../model/judge.js';
import type { Verdict } from '../model/score.js';
import { scoreAnswer } from './criteria/answer.js';
import { scoreArguments } from './criteria/arguments.js';
import { scoreCompletion } from './criteria/completion.js';
import { policyIsConfigured, scorePolicy } from './criteria/policy.js';
import { scoreTools } from './criteria/tools.js';
import { NO_WORD, questionsOf, settled, type JudgeWord } from './open-criterion.js';
import type { ScoringPolicy } from './policy.js';
import { policyHash } from './policy.js';
import { decideVerdict } from './verdict.js';

/** An interaction after the rules have seen it. */
export interface Assessment {
  /** What they leave open for the judge; null: nothing, or there is no judge. */
  readonly open: OpenQuestions | null;
  /** A Score for each criterion, and what follows from them. Open criteria are `pending` without a word. */
  verdict(word?: JudgeWord): Verdict;
}

/**
 * Judges one interaction by its rules. `expectation` is the ground truth that counts (see `effectiveExpectation`); null
 * when there is none. Pure: equal inputs give equal verdicts.
 *
 * A criterion of which a part is open waits for that part, also when another part has failed already: else an outage of
 * the judge would let failures through and nothing else.
 */
export function assess(interaction: Interaction, expectation: Expectation | null, policy: ScoringPolicy): Assessment {
  const criteria = [
    scoreTools(interaction, expectation, policy),
    scoreArguments(interaction, policy),
    scoreAnswer(interaction, expectation, policy),
    scoreCompletion(interaction, policy),
    scorePolicy(interaction, expectation, policy),
  ];
  const configured = policyIsConfigured(expectation, policy);
  return {
    open: questionsOf(criteria),
    verdict(word = NO_WORD) {
      const scores = criteria.map((each) => settled(each, word));
      const decision = decideVerdict(scores, policy.required, configured);
      return {
        interactionId: interaction.interactionId,
        policy: policyHash(policy),
        ...(word.leftOut === null ? decision : leftOut(decision)),
        scores,
      };
    },
  };
}

/** Left out is left out, whatever the rules say: a conversation that fails by rules alone must count no more often. */
function leftOut(decision: ReturnType<typeof decideVerdict>): ReturnType<typeof decideVerdict> {
  const label = decision.label === 'incorrect' ? 'incorrect' : 'unscored';
  return { ...decision, label, neutral: false, leftOut: true };
}

/** The verdict of `assess`. */
export function score(
  interaction: Interaction,
  expectation: Expectation | null,
  policy: ScoringPolicy,
  word: JudgeWord = NO_WORD,
): Verdict {
  return assess(interaction, expectation, policy).verdict(word);
}
