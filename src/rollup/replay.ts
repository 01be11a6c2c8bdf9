import type { WrittenRows } from '../store/rollup-rows.js';
import type { RollupStore } from '../store/rollup-store.js';
import { estimateTicks } from './estimate-ticks.js';
import { tickAt, type RollupRules } from './rules.js';
import { refreshAll } from './tick.js';

export interface ReplayRange {
  /** Milliseconds since the Unix epoch; null: the first close. */
  readonly fromMs: number | null;
  /** null: the last tick. */
  readonly toMs: number | null;
}

export interface Replay extends WrittenRows {
  /** The range in ticks; null: there was nothing to do. */
  readonly range: { readonly fromMs: number; readonly toMs: number } | null;
}

const NOTHING: Replay = { range: null, conversations: 0, trials: 0, estimates: 0 };

const TICKS_AT_ONCE = 60;
/** Conversations that close within the range have begun before it; those that lasted longer stay as they are. */
const BEFORE_MS = 86_400_000;

/**
 * Makes the conversations of a time anew and writes its estimates again, tick by tick, as the conversations are judged
 * now. Never goes beyond what the rollup has come to, and leaves that where it is, so it may run beside one.
 */
export async function replayTicks(
  store: RollupStore,
  range: ReplayRange,
  rules: RollupRules,
  onProgress: (doneRatio: number) => void = () => undefined,
): Promise<Replay> {
  const counted = await store.lastTick();
  if (counted === null) return NOTHING;
  const toMs = tickAt(Math.min(range.toMs ?? counted.atMs, counted.atMs), rules.tickMs);
  const refreshed = await refreshAll(
    store,
    { by: 'started', fromMs: Math.max(0, (range.fromMs ?? 0) - BEFORE_MS), toMs },
    { idleMs: rules.idleMs, atMs: counted.atMs, counted, readAtMicros: await store.clockMicros() },
  );
  const earliestMs = await store.earliestCloseMs();
  const fromMs = tickAt(Math.max(range.fromMs ?? 0, earliestMs ?? Infinity) - 1, rules.tickMs);
  if (!(fromMs < toMs)) return { ...NOTHING, ...refreshed };

  let estimates = 0;
  for (let doneMs = fromMs; doneMs < toMs;) {
    const next = Math.min(toMs, doneMs + TICKS_AT_ONCE * rules.tickMs);
    estimates += await estimateTicks(store, { fromMs: doneMs, toMs: next }, null, rules);
    doneMs = next;
    onProgress((doneMs - fromMs) / (toMs - fromMs));
  }
  return { range: { fromMs, toMs }, ...refreshed, estimates };
}
