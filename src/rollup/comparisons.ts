import { comparisonRows, type ComparedSide, type ComparisonRowRules } from '../estimate/comparison-rows.js';
import type { ComparisonRow, Series, Window, WindowCounts } from '../model/estimate.js';
import type { SeriesStart } from '../store/rollup-rows.js';
import type { WindowChange } from '../store/rollup-windows.js';

/**
 * The windows, and behind them each of them twice as long, whose counts less those of the window are what came before it:
 * window i has its like at `windows.length + i`.
 */
export function withTwice(windows: readonly Window[]): readonly Window[] {
  return [...windows, ...windows.map(twice)];
}

function twice(window: Window): Window {
  const name = `${window.name} and before`;
  return window.kind === 'time'
    ? { name, kind: 'time', spanMs: 2 * window.spanMs }
    : { name, kind: 'count', trials: 2 * window.trials };
}

/** Two versions of one agent, environment and policy. */
export interface VersionPair {
  readonly before: SeriesStart;
  readonly now: SeriesStart;
}

/**
 * Of each agent, environment and policy that changed, the version that began last until `untilMs`, and the one before it.
 * What has only one version has no pair.
 */
export function newestPairs(
  changes: readonly WindowChange[],
  starts: readonly SeriesStart[],
  untilMs: number,
): readonly VersionPair[] {
  const changed = new Set(changes.map(({ series }) => agentKey(series)));
  const agents = new Map<string, SeriesStart[]>();
  for (const start of starts) {
    const key = agentKey(start.series);
    if (!changed.has(key) || start.firstClosedAtMs > untilMs) continue;
    agents.set(key, [...(agents.get(key) ?? []), start]);
  }
  return [...agents.values()].flatMap((versions) => {
    const [now, before] = versions.sort(latestFirst);
    return now === undefined || before === undefined ? [] : [{ before, now }];
  });
}

function agentKey({ assistantId, environment, policy }: Series): string {
  return JSON.stringify([assistantId, environment, policy]);
}

function latestFirst(a: SeriesStart, b: SeriesStart): number {
  return b.firstClosedAtMs - a.firstClosedAtMs || (a.seriesId < b.seriesId ? 1 : -1);
}

/** Counts of a series at a tick that are needed; `windows`: positions in `withTwice`. */
export interface Need {
  readonly seriesId: string;
  readonly atMs: number;
  readonly windows: readonly number[];
}

/** Counts of a series at a tick in the window at this position of `withTwice`. */
export type CountsAt = (seriesId: string, atMs: number, window: number) => WindowCounts;

interface Side {
  readonly seriesId: string;
  readonly series: Series;
}

/** A comparison that changed, and the tick that it is as of. */
export interface ChangedComparison {
  readonly kind: ComparisonRow['kind'];
  /** Of kind `window` both sides are the same series. */
  readonly before: Side;
  readonly now: Side;
  readonly window: number;
  /** Of kind `window`: the position of the window of twice the length. */
  readonly twice: number | null;
  readonly atMs: number;
}

/**
 * The comparisons that changed, each as of the last tick at which it did: how many ticks are made up for at once does not
 * show. `changes` are of the windows of `withTwice`, in order of time, of which the first `many` are the windows themselves.
 */
export function changedComparisons(
  changes: readonly WindowChange[],
  pairs: readonly VersionPair[],
  many: number,
): readonly ChangedComparison[] {
  const changedAt = lastChanges(changes, 2 * many);
  const seriesOf = new Map(changes.map(({ seriesId, series }) => [seriesId, { seriesId, series }]));
  const found: ChangedComparison[] = [];
  for (let window = 0; window < many; window += 1) {
    const twice = many + window;
    for (const now of seriesOf.values()) {
      const atMs = Math.max(changedAt(now.seriesId, window), changedAt(now.seriesId, twice));
      if (atMs >= 0) found.push({ kind: 'window', before: now, now, window, twice, atMs });
    }
    for (const { before, now } of pairs) {
      const atMs = Math.max(changedAt(before.seriesId, window), changedAt(now.seriesId, window));
      if (atMs >= 0) found.push({ kind: 'version', before, now, window, twice: null, atMs });
    }
  }
  return found;
}

/** The counts that its rows are made from. */
export function needsOf({ before, now, window, twice, atMs }: ChangedComparison): readonly Need[] {
  if (twice !== null) return [{ seriesId: now.seriesId, atMs, windows: [window, twice] }];
  return [before, now].map(({ seriesId }) => ({ seriesId, atMs, windows: [window] }));
}

export function rowsOfComparison(
  { kind, before, now, window, twice, atMs }: ChangedComparison,
  windows: readonly Window[],
  countsAt: CountsAt,
  rules: ComparisonRowRules,
): readonly ComparisonRow[] {
  const name = windows[window]?.name ?? '';
  const of = ({ seriesId }: Side, index: number) => countsAt(seriesId, atMs, index);
  const later = { series: now.series, counts: of(now, window) };
  const counts = twice === null ? of(before, window) : less(of(now, twice), later.counts);
  return comparisonRows(kind, { before: { series: before.series, counts }, now: later }, name, atMs, rules);
}

function less(all: ComparedSide['counts'], some: ComparedSide['counts']): ComparedSide['counts'] {
  return { trials: all.trials - some.trials, correct: all.correct - some.correct };
}

/** When a window of a series changed last; -1: it did not. */
function lastChanges(changes: readonly WindowChange[], many: number): (seriesId: string, window: number) => number {
  const last = new Map<string, number[]>();
  for (const { seriesId, atMs, windows } of changes) {
    const ticks = last.get(seriesId) ?? new Array<number>(many).fill(-1);
    for (const window of windows) ticks[window] = atMs;
    last.set(seriesId, ticks);
  }
  return (seriesId, window) => last.get(seriesId)?.[window] ?? -1;
}
