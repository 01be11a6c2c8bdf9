import type { CoverageFlag, Interaction } from '../model/interaction.js';

// The record is known to lack spans: what is absent may have happened.
const IN_PART: readonly CoverageFlag[] = [
  'root_missing',
  'open_top',
  'cut_at_bound',
  'split_by_silence',
  'decided_early',
  'truncated',
];

/** The first flag that says that only a part of the interaction is known; undefined when it is whole. */
export function partialFlag(interaction: Interaction): CoverageFlag | undefined {
  return IN_PART.find((flag) => interaction.coverage.includes(flag));
}

/** It stopped to wait for a person. */
export function waitsForPerson(interaction: Interaction): boolean {
  return interaction.interrupted || interaction.toolCalls.some((call) => call.pending);
}
