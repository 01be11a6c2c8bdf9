import type { Interaction } from './interaction.js';
import type { Verdict } from './score.js';

/** An interaction with its judgement: what is stored, printed and counted. */
export interface Graded {
  readonly interaction: Interaction;
  readonly verdict: Verdict;
}
