import type { DatasetTurn } from './datasets.js';
import type { ExpectationIndex } from './expectations.js';

/** An index that remembers which of its turns something asked for. */
export interface TrackedExpectations extends ExpectationIndex {
  /** Turns whose ground truth was used. */
  readonly matched: ReadonlySet<DatasetTurn>;
  /** Turns that no interaction fits, in their order. One that only fits beside others is not among them. */
  unmatched(): readonly DatasetTurn[];
}

/** `index`, told what is asked of it. `before`: turns that count as matched from the beginning, if they are in it. */
export function trackExpectations(
  index: ExpectationIndex,
  before: ReadonlySet<DatasetTurn> = new Set(),
): TrackedExpectations {
  const { turns } = index;
  const matched = new Set(turns.filter((turn) => before.has(turn)));
  const ambiguous = new Set<DatasetTurn>();
  return {
    turns,
    matched,
    match(interaction, turn) {
      const found = index.match(interaction, turn);
      if (found.kind === 'matched') for (const each of found.turns) matched.add(each);
      if (found.kind === 'ambiguous') for (const each of found.turns) ambiguous.add(each);
      return found;
    },
    unmatched: () => turns.filter((turn) => !matched.has(turn) && !ambiguous.has(turn)),
  };
}
