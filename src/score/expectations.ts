import type { Expectation } from '../model/expectation.js';
import type { Interaction } from '../model/interaction.js';
import type { Json } from '../model/json.js';
import { canonicalJson } from '../model/json.js';
import type { DatasetTurn } from './datasets.js';

/** By what an interaction found its turn of a dataset. */
export type MatchedBy = 'case_id' | 'turn' | 'query';

export type ExpectationMatch =
  | {
      readonly kind: 'matched';
      readonly expectation: Expectation;
      readonly by: MatchedBy;
      /** Of the first of `turns`. */
      readonly place: string;
      /** All that fit: several when they state the same. */
      readonly turns: readonly DatasetTurn[];
    }
  /** Several turns with different ground truth fit. Nothing is guessed. */
  | { readonly kind: 'ambiguous'; readonly by: MatchedBy; readonly turns: readonly DatasetTurn[] }
  | { readonly kind: 'none' };

export interface ExpectationIndex {
  readonly turns: readonly DatasetTurn[];
  /**
   * The ground truth of an interaction: by case id, else by conversation id and turn (0-based; left out where it is not
   * known, as in a stream; a turn of the same conversation that has the recorded query goes before one that has only the
   * place), else by normalised query. Of several turns with one query, those of the same conversation id
   * are preferred, then those of the same assistant.
   */
  match(interaction: Interaction, turn?: number): ExpectationMatch;
}

export function buildExpectationIndex(turns: readonly DatasetTurn[]): ExpectationIndex {
  if (turns.length === 0) return { turns, match: () => ({ kind: 'none' }) };
  const byCase = group(turns, (turn) => turn.caseId);
  const byTurn = group(turns, (turn) =>
    turn.conversationId === null ? null : turnKey(turn.conversationId, turn.turn),
  );
  const byQuery = group(turns, (turn) => (turn.query === null ? null : normaliseQuery(turn.query)));

  const match = (interaction: Interaction, turn?: number): ExpectationMatch => {
    const ofCase = interaction.caseId === null ? undefined : byCase.get(interaction.caseId);
    if (ofCase !== undefined) return only(ofCase, 'case_id');

    const ids = [interaction.conversationId, ...interaction.conversationAliases];
    const asked = interaction.query === null ? undefined : byQuery.get(normaliseQuery(interaction.query));
    const ofQuery = interaction.coverage.includes('query_truncated') ? [] : (asked ?? []);
    const ofConversation = ofQuery.filter(
      ({ conversationId }) => conversationId !== null && ids.includes(conversationId),
    );
    const ofTurn =
      turn === undefined
        ? undefined
        : ids.map((id) => byTurn.get(turnKey(id, turn))).find((found) => found !== undefined);
    if (ofTurn !== undefined) {
      // Where a trace is missing, the places of those behind it have moved, and the query still says which it is.
      const moved = ofConversation.length > 0 && !ofTurn.some((each) => ofConversation.includes(each));
      return moved ? only(ofConversation, 'query') : only(ofTurn, 'turn');
    }
    if (ofQuery.length === 0) return { kind: 'none' };
    const near = ofConversation.length > 0 ? ofConversation : ofQuery;
    const ofAssistant = near.filter(({ assistantId }) => assistantId === interaction.assistantId);
    return only(ofAssistant.length > 0 ? ofAssistant : near, 'query');
  };
  return { turns, match };
}

/** One text for queries that differ in case, in blanks, or in how Unicode writes them. */
export function normaliseQuery(query: string): string {
  return query.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}

/**
 * The ground truth that counts where both the spans and a file state some: the file's, statement by statement, because it
 * can be corrected after the run; what it does not state is taken from the spans. Expected tools and how they are compared
 * are one statement.
 */
export function effectiveExpectation(onSpans: Expectation | null, inFile: Expectation | null): Expectation | null {
  if (onSpans === null || inFile === null) return inFile ?? onSpans;
  if (inFile.tools === undefined) return { ...onSpans, ...inFile };
  const { mode: _mode, argumentsMatch: _match, ...rest } = onSpans;
  return { ...rest, ...inFile };
}

function turnKey(conversationId: string, turn: number): string {
  return `${turn} ${conversationId}`;
}

function group(
  turns: readonly DatasetTurn[],
  keyOf: (turn: DatasetTurn) => string | null,
): ReadonlyMap<string, readonly DatasetTurn[]> {
  const groups = new Map<string, DatasetTurn[]>();
  for (const turn of turns) {
    const key = keyOf(turn);
    if (key === null) continue;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [turn]);
    else known.push(turn);
  }
  return groups;
}

function only(turns: readonly DatasetTurn[], by: MatchedBy): ExpectationMatch {
  const [first] = turns;
  if (first === undefined) return { kind: 'none' };
  const texts = new Set(turns.map(({ expectation }) => canonicalJson(expectation as unknown as Json)));
  if (texts.size > 1) return { kind: 'ambiguous', by, turns };
  return { kind: 'matched', expectation: first.expectation, by, place: first.place, turns };
}
