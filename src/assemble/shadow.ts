import type { Interaction } from '../model/interaction.js';

/**
 * Leaves out open-topped interactions whose trace has one that is not open-topped and covers their start: a part of
 * it that was seen without what joins them. The same rule as the `_current` views of the store apply.
 */
export function withoutShadowed(interactions: readonly Interaction[]): readonly Interaction[] {
  const whole = new Map<string, Interaction[]>();
  for (const interaction of interactions) {
    if (interaction.openTop) continue;
    const known = whole.get(interaction.traceId);
    if (known === undefined) whole.set(interaction.traceId, [interaction]);
    else known.push(interaction);
  }
  const covers =
    ({ startedAtMs }: Interaction) =>
    (other: Interaction) =>
      other.startedAtMs <= startedAtMs && startedAtMs <= other.endedAtMs;
  return interactions.filter(
    (interaction) => !interaction.openTop || !(whole.get(interaction.traceId) ?? []).some(covers(interaction)),
  );
}
