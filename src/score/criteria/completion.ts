import type { Interaction } from '../../model/interaction.js';
import type { Score } from '../../model/score.js';
import { waitsForPerson } from '../coverage.js';
import { abstain } from '../make-score.js';
import type { ScoringPolicy } from '../policy.js';

/** Criterion `completion`: did the answer do what was asked? Only a judge can say. */
export function scoreCompletion(interaction: Interaction, policy: ScoringPolicy): Score {
  if (!policy.enabled.completion) return abstain('completion', 'disabled', 'switched off');
  if (waitsForPerson(interaction)) return abstain('completion', 'interrupted', 'waits for a person');
  if (interaction.query === null || interaction.answer === null) {
    return abstain('completion', 'not_captured', `${interaction.query === null ? 'query' : 'answer'} not captured`);
  }
  return abstain('completion', 'no_judge', 'no judge is configured');
}
