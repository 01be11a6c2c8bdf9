import { comparisonRows, type ComparedSide, type ComparisonRowRules } from '../estimate/comparison-rows.js';
import type { ComparisonRow, Series, Window, WindowCounts } from '../model/estimate.js';
import type { SeriesStart } from '../store/rollup-rows.js';
import type { WindowChange } from '../store/rollup-windows.js';

/** Windows to count, and where among them each of the first ones has its like. */
export interface CountedWindows {
  /** Those of the configuration, and behind them some twice as long. */
  readonly all: readonly Window[];
  /** Place in `all` of the window twice as long; its counts less those of the window are what came before. null: none. */
  readonly twiceAt: readonly (number | null)[];
}

/**
 * A window has its like twice as long where one of its kind is at least that long anyway: what is counted for it is read
 * already, so that comparing reads nothing more.
 */
export function withTwice(windows: readonly Window[]): CountedWindows {
  const all = [...windows];
  const twiceAt = windows.map((window) => {
    const long = twice(window);
    return windows.some((other) => other.kind === long.kind && lengthOf(other) >= lengthOf(long))
      ? all.push(long) - 1
      : null;
  });
  return { all, twiceAt };
}

function lengthOf(window: Window): number {
  return window.kind === 'time' ? window.spanMs : window.trials;
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

/** Of an agent; more versions than are taken back one after the other. */
const CANDIDATES = 8;

/**
 * Of each agent, environment and policy that changed, the versions that may be its two newest at `untilMs`: some of those
 * that began last, by what is recorded. What has only one version has none.
 */
export function newestVersions(
  changes: readonly WindowChange[],
  starts: readonly SeriesStart[],
  untilMs: number,
): readonly SeriesStart[] {
  const changed = new Set(changes.map(({ series }) => agentKey(series)));
  const known = starts.filter(
    ({ series, firstClosedAtMs }) => firstClosedAtMs <= untilMs && changed.has(agentKey(series)),
  );
  return byAgent(known)
    .filter(({ length }) => length > 1)
    .flatMap((versions) => versions.slice(0, CANDIDATES));
}

/** Of each agent, environment and policy the version that began last, and the one before it. */
export function newestPairs(starts: readonly SeriesStart[]): readonly VersionPair[] {
  return byAgent(starts).flatMap(([now, before]) =>
    now === undefined || before === undefined ? [] : [{ before, now }],
  );
}

/** Versions together that may be compared, the one that began last first. */
function byAgent(starts: readonly SeriesStart[]): readonly (readonly SeriesStart[])[] {
  const agents = new Map<string, SeriesStart[]>();
  for (const start of starts) {
    const key = agentKey(start.series);
    agents.set(key, [...(agents.get(key) ?? []), start]);
  }
  return [...agents.values()].map((versions) => versions.sort(latestFirst));
}

function agentKey({ assistantId, environment, policy }: Series): string {
  return JSON.stringify([assistantId, environment, policy]);
}

function latestFirst(a: SeriesStart, b: SeriesStart): number {
  return b.firstClosedAtMs - a.firstClosedAtMs || (a.seriesId < b.seriesId ? 1 : -1);
}

/** Counts of a series at a tick that are needed; `windows`: positions in `all` of `CountedWindows`. */
export interface Need {
  readonly seriesId: string;
  readonly atMs: number;
  readonly windows: readonly number[];
}

/** Counts of a series at a tick in the window at this position of `all`. */
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
 * The comparisons that changed, each as of the last tick at which its window did: how many ticks are made up for at once
 * does not show. `changes` are in order of time.
 */
export function changedComparisons(
  changes: readonly WindowChange[],
  pairs: readonly VersionPair[],
  twiceAt: CountedWindows['twiceAt'],
): readonly ChangedComparison[] {
  const changedAt = lastChanges(changes);
  const seriesOf = new Map(changes.map(({ seriesId, series }) => [seriesId, { seriesId, series }]));
  const found: ChangedComparison[] = [];
  twiceAt.forEach((twice, window) => {
    for (const now of twice === null ? [] : seriesOf.values()) {
      const atMs = changedAt(now.seriesId, window);
      if (atMs !== null) found.push({ kind: 'window', before: now, now, window, twice, atMs });
    }
    for (const { before, now } of pairs) {
      const atMs = laterOf(changedAt(before.seriesId, window), changedAt(now.seriesId, window));
      if (atMs !== null) found.push({ kind: 'version', before, now, window, twice: null, atMs });
    }
  });
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

function laterOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** When a window of a series changed last; null: it did not. */
function lastChanges(changes: readonly WindowChange[]): (seriesId: string, window: number) => number | null {
  const last = new Map<string, number>();
  for (const { seriesId, atMs, windows } of changes) {
    for (const window of windows) last.set(`${seriesId} ${window}`, atMs);
  }
  return (seriesId, window) => last.get(`${seriesId} ${window}`) ?? null;
}
