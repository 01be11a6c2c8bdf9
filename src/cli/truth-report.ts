import { turnName, type DatasetTurn } from '../score/datasets.js';
import type { MatchedBy } from '../score/expectations.js';
import type { TrackedExpectations } from '../score/tracked-expectations.js';
import { counted } from './counted.js';

/** An interaction that fits several turns with different ground truth. */
export interface AmbiguousMatch {
  readonly interactionId: string;
  readonly by: MatchedBy;
  readonly turns: readonly DatasetTurn[];
}

/** What became of the datasets in a run. */
export interface TruthUsed {
  readonly expectations: TrackedExpectations;
  readonly ambiguous: readonly AmbiguousMatch[];
}

// More lines are no help to a reader; the JSON holds all.
const MOST_LINES = 20;

/** For a person: how many turns were used, and which were not, by name. */
export function* truthNotes({ expectations, ambiguous }: TruthUsed): Generator<string> {
  yield `${expectations.matched.size} of ${counted(expectations.turns.length, 'turn')} of the datasets matched an interaction`;
  const unmatched = expectations.unmatched();
  for (const turn of unmatched.slice(0, MOST_LINES)) yield `no interaction fits ${turnName(turn)}`;
  if (unmatched.length > MOST_LINES)
    yield `and ${counted(unmatched.length - MOST_LINES, 'more turn')} that no interaction fits`;
  for (const { interactionId, by, turns } of ambiguous.slice(0, MOST_LINES)) {
    const named = turns.slice(0, 3).map(turnName).join(', ');
    const more = turns.length > 3 ? `, and ${turns.length - 3} more` : '';
    yield `interaction ${interactionId} fits ${counted(turns.length, 'turn')} of the datasets by ${by}, none was guessed: ${named}${more}`;
  }
  if (ambiguous.length > MOST_LINES)
    yield `and ${counted(ambiguous.length - MOST_LINES, 'more that fits', 'more that fit')} several turns`;
}

/** For scripts: the same, whole. */
export function truthJson({ expectations, ambiguous }: TruthUsed) {
  return {
    turns: expectations.turns.length,
    matched: expectations.matched.size,
    unmatched: expectations.unmatched().map(turnJson),
    ambiguous: ambiguous.map(({ interactionId, by, turns }) => ({
      interaction_id: interactionId,
      by,
      turns: turns.map(turnJson),
    })),
  };
}

function turnJson({ place, conversationId, caseId }: DatasetTurn) {
  return { place, session_id: conversationId, qa_id: caseId };
}
