import type { Expectation } from '../model/expectation.js';
import type { Interaction } from '../model/interaction.js';
import type { Verdict } from '../model/score.js';
import { scoreAnswer } from './criteria/answer.js';
import { scoreArguments } from './criteria/arguments.js';
import { scoreCompletion } from './criteria/completion.js';
import { policyIsConfigured, scorePolicy } from './criteria/policy.js';
import { scoreTools } from './criteria/tools.js';
import type { ScoringPolicy } from './policy.js';
import { policyHash } from './policy.js';
import { decideVerdict } from './verdict.js';

/**
 * Judges one interaction: a Score for each criterion, and what follows from them. `expectation` is the ground truth that
 * counts (see `effectiveExpectation`); null when there is none. Pure: equal inputs give equal verdicts.
 */
export function score(interaction: Interaction, expectation: Expectation | null, policy: ScoringPolicy): Verdict {
  const scores = [
    scoreTools(interaction, expectation, policy),
    scoreArguments(interaction, policy),
    scoreAnswer(interaction, expectation, policy),
    scoreCompletion(interaction, policy),
    scorePolicy(interaction, expectation, policy),
  ];
  return {
    interactionId: interaction.interactionId,
    policy: policyHash(policy),
    ...decideVerdict(scores, policy.required, policyIsConfigured(expectation, policy)),
    scores,
  };
}
