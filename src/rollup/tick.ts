import type { TickRow, WrittenRows } from '../store/rollup-rows.js';
import type { RollupStore, Touch } from '../store/rollup-store.js';
import { estimateTicks } from './estimate-ticks.js';
import { refreshConversations, type Refreshed, type RefreshRules } from './refresh.js';
import { FRESH_MS, OVERLAP_MS, tickAt, type RollupRules } from './rules.js';

/** What a run of the rollup did. */
export interface TickReport extends WrittenRows {
  /** The tick that the tables have come to; null: there is no stream time yet. */
  readonly atMs: number | null;
}

const NOTHING: Refreshed & WrittenRows = { conversations: 0, trials: 0, estimates: 0 };

const TOUCHED_AT_ONCE = 2_000;
/** Ticks that are made up for together; after each lot the next run would go on from there. */
const TICKS_AT_ONCE = 60;
/** On a store that has no tick yet: how far back ticks are made up for. `tracegrade rollup --from` does the rest. */
const FIRST_MS = 86_400_000;

/** A run of the rollup, for one after the other. */
export type Tick = (stop?: AbortSignal) => Promise<TickReport>;

/**
 * Brings conversations, trials and estimates up to the last tick that stream time has passed.
 *
 * Where it goes on is the last row of `rollup_ticks`, which it writes last. A run that dies before is repeated by the
 * next one, and two at once write the same rows. Ticks are multiples of `tickMs` in stream time, so those that were
 * missed are made up for at the times that they would have had. While stream time stands still there is no such row to
 * write; up to where verdicts were read meanwhile is remembered here, and spares reading them again: one that starts
 * anew does. Rejects between two steps when `stop` is aborted.
 */
export function createTick(store: RollupStore, rules: RollupRules): Tick {
  let standstill: Standstill | null = null;
  return async (stop) => {
    const streamMs = await store.streamTimeMs(FRESH_MS);
    if (streamMs === null) return { ...NOTHING, atMs: null };
    const counted = await store.lastTick();
    const atMs = Math.max(tickAt(streamMs, rules.tickMs), counted?.atMs ?? 0);
    const readAtMicros = await store.clockMicros();

    stop?.throwIfAborted();
    const refresh: RefreshRules = { idleMs: rules.idleMs, atMs, counted, readAtMicros };
    const sinceMicros = isOf(standstill, counted) ? standstill.readAtMicros : (counted?.readAtMicros ?? null);
    let refreshed = await refreshTouched(store, sinceMicros, refresh, () => stop?.throwIfAborted());
    if (counted !== null && atMs > counted.atMs) {
      const closing = await store.closing(counted.atMs, atMs, rules.idleMs);
      refreshed = sumOf(refreshed, await refreshClosing(store, closing, refresh));
    }
    standstill = counted === null ? null : { counted, readAtMicros };

    let total = { ...refreshed, estimates: 0 };
    let fromMs = counted?.atMs ?? (await firstTick(store, atMs, rules.tickMs));
    let countedMicros = counted?.readAtMicros ?? readAtMicros;
    while (fromMs < atMs) {
      stop?.throwIfAborted();
      const toMs = Math.min(atMs, fromMs + TICKS_AT_ONCE * rules.tickMs);
      const estimates = await estimateTicks(store, { fromMs, toMs }, countedMicros, rules);
      const written = { ...refreshed, estimates };
      await store.writeTick({ atMs: toMs, readAtMicros }, written);
      total = { ...total, estimates: total.estimates + estimates };
      refreshed = { conversations: 0, trials: 0 };
      countedMicros = readAtMicros;
      fromMs = toMs;
    }
    return { ...total, atMs };
  };
}

/** One run by itself. */
export function runTick(store: RollupStore, rules: RollupRules, stop?: AbortSignal): Promise<TickReport> {
  return createTick(store, rules)(stop);
}

/** What was read behind a tick, before there is another one. */
interface Standstill {
  readonly counted: TickRow;
  readonly readAtMicros: number;
}

/** Another rollup may have written another tick meanwhile, and then has read what it is about to count. */
function isOf(standstill: Standstill | null, counted: TickRow | null): standstill is Standstill {
  if (standstill === null || counted === null) return false;
  return standstill.counted.atMs === counted.atMs && standstill.counted.readAtMicros === counted.readAtMicros;
}

/** What was written since the last run began to read, and what stands again because its policy came back. */
async function refreshTouched(
  store: RollupStore,
  sinceMicros: number | null,
  rules: RefreshRules,
  onDone: () => void,
): Promise<Refreshed> {
  const toMs = Math.ceil(rules.readAtMicros / 1_000);
  // A clock that was put back would leave out all that is written until it has caught up.
  const fromMs = sinceMicros === null ? 0 : Math.min(Math.floor(sinceMicros / 1_000), toMs) - OVERLAP_MS;
  const written = await refreshAll(store, { by: 'written', fromMs, toMs, policies: null }, rules, onDone);
  const policies = sinceMicros === null ? [] : await store.policiesBack(fromMs);
  if (policies.length === 0) return written;
  return sumOf(written, await refreshAll(store, { by: 'written', fromMs: 0, toMs, policies }, rules, onDone));
}

/** Makes all conversations anew that were touched so, some at a time. */
export async function refreshAll(
  store: RollupStore,
  touch: Touch,
  rules: RefreshRules,
  onDone: (upToMs: number) => void = () => undefined,
): Promise<Refreshed> {
  let sum: Refreshed = NOTHING;
  let afterMs = touch.fromMs - 1;
  for (;;) {
    const turns = await store.touched(touch, afterMs, TOUCHED_AT_ONCE);
    for (let at = 0; at < turns.length; at += TOUCHED_AT_ONCE) {
      const due = { turns: turns.slice(at, at + TOUCHED_AT_ONCE), conversationIds: [] };
      sum = sumOf(sum, await refreshConversations(store, due, rules));
    }
    const last = turns.at(-1);
    if (last === undefined || turns.length < TOUCHED_AT_ONCE) return sum;
    afterMs = last.writtenAtMs;
    onDone(afterMs);
  }
}

async function refreshClosing(
  store: RollupStore,
  closing: readonly { readonly conversationId: string }[],
  rules: RefreshRules,
): Promise<Refreshed> {
  let sum: Refreshed = NOTHING;
  for (let at = 0; at < closing.length; at += TOUCHED_AT_ONCE) {
    const conversationIds = closing.slice(at, at + TOUCHED_AT_ONCE).map(({ conversationId }) => conversationId);
    sum = sumOf(sum, await refreshConversations(store, { turns: [], conversationIds }, rules));
  }
  return sum;
}

/** Where the first run begins: before the first close, but not further back than a day. */
async function firstTick(store: RollupStore, atMs: number, tickMs: number): Promise<number> {
  const earliestMs = await store.earliestCloseMs();
  const firstMs = earliestMs === null ? atMs - tickMs : tickAt(earliestMs - 1, tickMs);
  return Math.max(0, Math.min(firstMs, atMs - tickMs), tickAt(atMs - FIRST_MS, tickMs));
}

function sumOf(a: Refreshed, b: Refreshed): Refreshed {
  return { conversations: a.conversations + b.conversations, trials: a.trials + b.trials };
}
