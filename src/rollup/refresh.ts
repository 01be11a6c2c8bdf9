import { conversationOf } from '../estimate/conversations.js';
import type { Conversation, JudgedTurn } from '../model/estimate.js';
import { conversationVerdict } from '../score/conversation-verdict.js';
import type { ConversationRow, TickRow, TrialRow } from '../store/rollup-rows.js';
import { keyOfRow, type RollupStore, type TouchedTurn, type TurnKey } from '../store/rollup-store.js';

/** What conversations are made anew from: turns that were touched, and ids of conversations that are due. */
export interface Due {
  readonly turns: readonly TouchedTurn[];
  readonly conversationIds: readonly string[];
}

export interface RefreshRules {
  readonly idleMs: number;
  /** The tick: trials settle by it. Milliseconds of stream time. */
  readonly atMs: number;
  /** The last tick whose estimates are written; null: there is none. */
  readonly counted: TickRow | null;
  /** Version of the rows, unless they replace a later one. */
  readonly readAtMicros: number;
}

export interface Refreshed {
  readonly conversations: number;
  readonly trials: number;
}

/**
 * Makes the conversations of what is due as the verdicts now say, and writes those that differ from the store's.
 *
 * A row that nothing speaks for any more is marked void: all its turns moved elsewhere, or its first turn or series
 * changed, which is another key. The first settled verdict goes from row to row and is written to `trials` once. Trials
 * are written first: a run that dies between the two writes the same ones again, and the earliest stands.
 */
export async function refreshConversations(store: RollupStore, due: Due, rules: RefreshRules): Promise<Refreshed> {
  const open = await store.openTops([...new Set(due.turns.map(({ traceId }) => traceId))]);
  const touched = [...due.turns, ...open];
  const ids = new Set([
    ...touched.map(({ interactionId }) => interactionId),
    ...touched.map(({ conversationId }) => conversationId).filter((id) => id !== ''),
    ...due.conversationIds,
  ]);
  let rows = await store.conversations([...ids]);
  let turns = await store.turns(turnKeys(touched, rows));
  // A turn that has moved names its new conversation only now.
  const moved = idsOf(turns).filter((id) => !ids.has(id));
  if (moved.length > 0) {
    rows = await store.conversations([...ids, ...moved]);
    turns = await store.turns(turnKeys(touched, rows));
  }

  // Turns of a conversation that was not asked for may be missing.
  const whole = new Set([...ids, ...moved]);
  const changes = identities(turns, rows)
    .filter(({ conversationId }) => whole.has(conversationId))
    .map((identity) => changeOf(identity, rules));
  const written = changes.flatMap((change) => change.rows);
  const trials = changes.flatMap((change) => change.trials);
  if (trials.length > 0) await store.writeTrials(trials, rules.readAtMicros);
  if (written.length > 0) await store.writeConversations(written);
  return { conversations: written.length, trials: trials.length };
}

function turnKeys(touched: readonly TouchedTurn[], rows: readonly ConversationRow[]): readonly TurnKey[] {
  const keys = rows.flatMap(({ interactionIds, interactionStartsMs }) =>
    interactionIds.map((interactionId, at) => ({ interactionId, startedAtMs: interactionStartsMs[at] ?? 0 })),
  );
  const days = new Map(
    [...touched, ...keys].map((key) => [`${key.interactionId} ${Math.floor(key.startedAtMs / DAY_MS)}`, key]),
  );
  return [...days.values()];
}

const DAY_MS = 86_400_000;

function idsOf(of: readonly { readonly conversationId: string }[]): readonly string[] {
  return [...new Set(of.map(({ conversationId }) => conversationId))];
}

interface Identity {
  readonly conversationId: string;
  readonly turns: JudgedTurn[];
  readonly rows: ConversationRow[];
  /** Rows with that id of whatever agent. */
  readonly namesakes: ConversationRow[];
}

/** A conversation is its id and its agent. */
function identities(turns: readonly JudgedTurn[], rows: readonly ConversationRow[]): readonly Identity[] {
  const found = new Map<string, Identity>();
  const sameId = new Map<string, ConversationRow[]>();
  const namesakesOf = (conversationId: string): ConversationRow[] => {
    const known = sameId.get(conversationId) ?? [];
    sameId.set(conversationId, known);
    return known;
  };
  const of = (conversationId: string, assistantId: string): Identity => {
    const key = JSON.stringify([conversationId, assistantId]);
    const known = found.get(key) ?? { conversationId, turns: [], rows: [], namesakes: namesakesOf(conversationId) };
    found.set(key, known);
    return known;
  };
  for (const turn of turns) of(turn.conversationId, turn.assistantId).turns.push(turn);
  for (const row of rows) {
    of(row.conversationId, row.series.assistantId).rows.push(row);
    namesakesOf(row.conversationId).push(row);
  }
  return [...found.values()];
}

interface Change {
  readonly rows: readonly ConversationRow[];
  readonly trials: readonly TrialRow[];
}

function changeOf(identity: Identity, rules: RefreshRules): Change {
  const { turns, rows: old } = identity;
  const { idleMs, atMs, counted, readAtMicros } = rules;
  const conversation = conversationOf(turns, atMs, { idleMs, verdictOf: conversationVerdict });
  const settled = settledOf(identity);
  const fresh = conversation && rowOf(conversation, turns, settled ?? conversation.trial?.correct ?? null);
  const key = fresh && keyOfRow(fresh);

  const rows: ConversationRow[] = [];
  for (const row of old) {
    if (row.retracted || keyOfRow(row) === key) continue;
    rows.push({ ...row, retracted: true, ...replacing(row, counted, readAtMicros) });
  }
  if (fresh !== null) {
    const row = old.find((other) => keyOfRow(other) === key);
    if (row === undefined) rows.push({ ...fresh, version: readAtMicros });
    else if (!same(fresh, row)) rows.push({ ...fresh, ...replacing(row, counted, readAtMicros) });
  }
  const trial = settled === null ? (conversation?.trial ?? null) : null;
  return {
    rows,
    trials: conversation === null || trial === null ? [] : [{ ...trial, series: conversation.series }],
  };
}

/**
 * The first settled verdict, under whatever series. Turns whose agent got another name are another conversation by its
 * key, but what was folded once as a trial, under the old name, is no second one.
 */
function settledOf({ turns, rows, namesakes }: Identity): boolean | null {
  const ids = new Set(turns.map(({ interactionId }) => interactionId));
  const renamed = namesakes.filter(({ interactionIds }) => interactionIds.some((id) => ids.has(id)));
  return [...rows, ...renamed].find(({ trial }) => trial !== null)?.trial ?? null;
}

function rowOf(conversation: Conversation, turns: readonly JudgedTurn[], trial: boolean | null): ConversationRow {
  const starts = new Map(turns.map(({ interactionId, startedAtMs }) => [interactionId, startedAtMs]));
  const { conversationId, series, startedAtMs, endedAtMs, firstClosedAtMs, interactionIds, verdict, judged } =
    conversation;
  return {
    conversationId,
    series,
    startedAtMs,
    endedAtMs,
    firstClosedAtMs,
    interactionIds,
    interactionStartsMs: interactionIds.map((id) => starts.get(id) ?? 0),
    verdict,
    judged,
    trial,
    retracted: false,
    revisesMs: null,
    version: 0,
  };
}

/** What a row has of the one that it replaces: a version above it, and when the estimates counted that, if they did. */
function replacing(
  old: ConversationRow,
  counted: TickRow | null,
  readAtMicros: number,
): Pick<ConversationRow, 'version' | 'revisesMs'> {
  const version = Math.max(readAtMicros, old.version + 1);
  if (counted === null) return { version, revisesMs: null };
  if (old.version > counted.readAtMicros && old.revisesMs !== null) return { version, revisesMs: old.revisesMs };
  return { version, revisesMs: !old.retracted && old.firstClosedAtMs <= counted.atMs ? old.firstClosedAtMs : null };
}

function same(fresh: ConversationRow, old: ConversationRow): boolean {
  const content = (row: ConversationRow) => JSON.stringify({ ...row, revisesMs: null, version: 0 });
  return content(fresh) === content(old);
}
