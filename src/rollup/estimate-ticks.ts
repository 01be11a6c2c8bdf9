import { estimateRows } from '../estimate/estimate-rows.js';
import type { EstimateRow, WindowCounts } from '../model/estimate.js';
import type { RollupStore } from '../store/rollup-store.js';
import type { WindowChange } from '../store/rollup-windows.js';
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
 * Writes the estimates of every window that changed within the range, at the ticks at which it did; gives how many rows.
 *
 * `countedMicros`: rows of conversations of a later version than this revise what was counted up to `fromMs`; they change
 * the windows at the first tick. null: a range that is counted again, as conversations are judged now.
 */
export async function estimateTicks(
  store: RollupStore,
  { fromMs, toMs }: TickRange,
  countedMicros: number | null,
  { tickMs, windows, figures }: RollupRules,
): Promise<number> {
  const readAtMicros = await store.clockMicros();
  const changes = await store.changedWindows({ fromMs, toMs, tickMs, windows, countedMicros });
  if (changes.length === 0) return 0;

  const counts = await store.countWindows({
    ticksMs: [...new Set(changes.map(({ atMs }) => atMs))],
    seriesIds: [...new Set(changes.map(({ seriesId }) => seriesId))],
    windows,
  });
  const counted = new Map(counts.map((row) => [`${row.seriesId} ${row.atMs}`, row.windows]));
  let written = 0;
  let rows: EstimateRow[] = [];
  for (const change of changes) {
    const found = counted.get(`${change.seriesId} ${change.atMs}`);
    rows.push(...rowsOf(change, found, { windows, figures }));
    if (rows.length >= ROWS_AT_ONCE) {
      await store.writeEstimates(rows, readAtMicros);
      written += rows.length;
      rows = [];
    }
  }
  if (rows.length > 0) await store.writeEstimates(rows, readAtMicros);
  return written + rows.length;
}

function rowsOf(
  { series, atMs, windows: changed }: WindowChange,
  counts: readonly WindowCounts[] | undefined,
  { windows, figures }: Pick<RollupRules, 'windows' | 'figures'>,
): readonly EstimateRow[] {
  return changed.flatMap((index) => {
    const window = windows[index];
    return window === undefined ? [] : estimateRows(series, window.name, counts?.[index] ?? NOTHING, atMs, figures);
  });
}
