import { estimateRows } from '../estimate/estimate-rows.js';
import { knownEstimates } from '../estimate/known-estimates.js';
import type { EstimateRow, Window, WindowCounts } from '../model/estimate.js';
import type { WindowQuery } from '../store/rollup-counts.js';
import type { RollupStore } from '../store/rollup-store.js';
import {
  changedComparisons,
  needsOf,
  newestPairs,
  newestVersions,
  rowsOfComparison,
  withTwice,
} from './comparisons.js';
import type { CountsAt, Need } from './comparisons.js';
import type { RollupRules } from './rules.js';

/** Ticks after `fromMs` and not after `toMs`, both ticks themselves. */
export interface TickRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const NOTHING: WindowCounts = {
  trials: 0,
  correct: 0,
  outstanding: 0,
  outstandingIncorrect: 0,
  unscored: 0,
  leftOut: 0,
  judged: false,
  tasks: new Map(),
};

const ROWS_AT_ONCE = 10_000;

/**
 * Writes the estimates of every window that changed within the range, at the ticks at which it did, and the comparisons
 * that changed, as of the last of these ticks; gives how many estimates.
 *
 * `countedMicros`: rows of conversations of a later version than this revise what was counted up to `fromMs`; they change
 * the windows at the first tick. null: a range that is counted again, as conversations are judged now.
 */
export async function estimateTicks(
  store: RollupStore,
  { fromMs, toMs }: TickRange,
  countedMicros: number | null,
  { tickMs, windows, figures, margin }: RollupRules,
): Promise<number> {
  const readAtMicros = await store.clockMicros();
  const changes = await store.changedWindows({ fromMs, toMs, tickMs, windows, countedMicros });
  if (changes.length === 0) return 0;
  const starts = await store.seriesStarts([...new Set(changes.map(({ series }) => series.assistantId))]);
  const { all, twiceAt } = withTwice(windows);
  const pairs = newestPairs(await store.standingStarts(newestVersions(changes, starts, toMs), toMs));
  const comparisons = changedComparisons(changes, pairs, twiceAt);
  const countsAt = await count(store, [...changes, ...comparisons.flatMap(needsOf)], all);

  const estimateOf = knownEstimates();
  let written = 0;
  // One lot is stored while the next one is computed.
  let storing: Promise<unknown> = Promise.resolve();
  let rows: EstimateRow[] = [];
  const storeRows = async (): Promise<void> => {
    await storing;
    written += rows.length;
    storing = store.writeEstimates(rows, readAtMicros);
    // Thrown where it is awaited.
    storing.catch(() => undefined);
    rows = [];
  };
  for (const { series, seriesId, atMs, windows: changed, perTask } of changes) {
    for (const index of changed) {
      const window = windows[index];
      if (window === undefined) continue;
      const counts = countsAt(seriesId, atMs, index);
      // Rows that were there and have nothing to say any more are written over.
      const options = { estimateOf, perTask: counts.tasks.size > 0 || perTask.includes(index) };
      const more = estimateRows(series, window.name, counts, atMs, figures, options);
      if (rows.length + more.length > ROWS_AT_ONCE) await storeRows();
      rows.push(...more);
    }
  }
  if (rows.length > 0) await storeRows();
  await storing;
  const compared = comparisons.flatMap((one) => rowsOfComparison(one, windows, countsAt, { ...figures, margin }));
  await store.writeComparisons(compared, readAtMicros);
  return written;
}

async function count(store: RollupStore, needs: readonly Need[], windows: readonly Window[]): Promise<CountsAt> {
  const keyOf = (seriesId: string, atMs: number, window: Window | undefined) => `${seriesId} ${atMs} ${window?.name}`;
  const counted = new Map<string, WindowCounts>();
  for (const query of queriesOf(needs, windows)) {
    for (const { seriesId, atMs, windows: counts } of await store.countWindows(query)) {
      query.windows.forEach((window, at) => counted.set(keyOf(seriesId, atMs, window), counts[at] ?? NOTHING));
    }
  }
  return (seriesId, atMs, index) => counted.get(keyOf(seriesId, atMs, windows[index])) ?? NOTHING;
}

/**
 * Which queries count that. Most series of a tick only lost a conversation from one window by time: they are read as far
 * back as that goes, and not together with those that have to be read as far back as all windows.
 */
function queriesOf(needs: readonly Need[], windows: readonly Window[]): readonly WindowQuery[] {
  const spans = windows.map((window) => (window.kind === 'time' ? window.spanMs : 0));
  // A window by count may reach further than any by time.
  const all = { spanMs: Math.max(...spans), isByCount: true };
  const bySeries = new Map<string, { spanMs: number; isByCount: boolean; readonly ticksMs: Set<number> }>();
  for (const { seriesId, atMs, windows: needed } of needs) {
    const known = bySeries.get(seriesId) ?? { spanMs: 0, isByCount: false, ticksMs: new Set() };
    bySeries.set(seriesId, known);
    known.ticksMs.add(atMs);
    if (needed.some((index) => windows[index]?.kind === 'count')) Object.assign(known, all);
    else known.spanMs = Math.max(known.spanMs, ...needed.map((index) => spans[index] ?? 0));
  }
  const bySpan = new Map<number, { isByCount: boolean; readonly seriesIds: string[]; readonly ticksMs: Set<number> }>();
  for (const [seriesId, { spanMs, isByCount, ticksMs }] of bySeries) {
    const known = bySpan.get(spanMs) ?? { isByCount: false, seriesIds: [], ticksMs: new Set() };
    bySpan.set(spanMs, known);
    known.isByCount ||= isByCount;
    known.seriesIds.push(seriesId);
    for (const atMs of ticksMs) known.ticksMs.add(atMs);
  }
  return [...bySpan].map(([spanMs, { isByCount, seriesIds, ticksMs }]) => ({
    windows: windows.filter((window) => (window.kind === 'time' ? window.spanMs <= spanMs : isByCount)),
    seriesIds,
    ticksMs: [...ticksMs].sort((a, b) => a - b),
  }));
}
