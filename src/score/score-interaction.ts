import type { Expectation } from '../model/expectation.js';
import type { Interaction } from '../model/interaction.js';
import type { JudgeAbstention, OpenQuestions } from '../model/judge.js';
import type { Criterion, Score, Verdict } from '../model/score.js';
import { scoreAnswer } from './criteria/answer.js';
import { scoreArguments } from './criteria/arguments.js';
import { scoreCompletion } from './criteria/completion.js';
import { policyIsConfigured, scorePolicy } from './criteria/policy.js';
import { scoreTools } from './criteria/tools.js';
import { abstain } from './make-score.js';
import { NO_WORD, questionsOf, settled, type JudgeWord } from './open-criterion.js';
import type { ScoringPolicy } from './policy.js';
import { policyHash } from './policy.js';
import { BY_DEFAULT, decideVerdict } from './verdict.js';

/** An interaction after the rules have seen it. */
export interface Assessment {
  /** What they leave open for the judge; null: nothing, or there is no judge. */
  readonly open: OpenQuestions | null;
  /** A Score for each criterion, and what follows from them. Open criteria are `pending` without a word. */
  verdict(word?: JudgeWord): Verdict;
  /**
   * Of an interaction of which nothing is open, while the judge does not answer: the first required criterion that a judge
   * takes part in is outstanding, whatever its rules say.
   */
  withoutJudge(failure: { readonly abstained: JudgeAbstention; readonly reason: string }): Verdict;
}

const JUDGED_CRITERIA: readonly Criterion[] = ['arguments', 'answer', 'completion', 'tools'];

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
  const verdictOf = (scores: readonly Score[]): Verdict => {
    const { label, neutral, leftOut, outstanding } = decideVerdict(scores, policy.required, configured);
    const { interactionId } = interaction;
    return { interactionId, policy: policyHash(policy), label, neutral, leftOut, outstanding, scores };
  };
  return {
    open: questionsOf(criteria),
    verdict(word = NO_WORD) {
      const verdict = verdictOf(criteria.map((each) => settled(each, word)));
      return word.leftOut === null ? verdict : leftOut(verdict);
    },
    withoutJudge({ abstained, reason }) {
      const waits = JUDGED_CRITERIA.find(
        (name) => policy.enabled[name] && (policy.required ?? BY_DEFAULT).includes(name),
      );
      const scores = criteria.map((each) => settled(each, NO_WORD));
      return verdictOf(
        scores.map((score) =>
          score.criterion === waits
            ? abstain(waits, abstained, `${reason}; rules alone settle nothing`, score.details)
            : score,
        ),
      );
    },
  };
}

/** Left out is left out, whatever the rules say: a conversation that fails by rules alone must count no more often. */
function leftOut(verdict: Verdict): Verdict {
  const label = verdict.label === 'incorrect' ? 'incorrect' : 'unscored';
  return { ...verdict, label, neutral: false, leftOut: true };
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
