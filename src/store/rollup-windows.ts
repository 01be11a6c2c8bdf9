/** Which windows of closed conversations changed at which tick. */
import type { Series, Window } from '../model/estimate.js';
import { seriesFromRow } from './rollup-rows.js';
import { time, type Rows } from './rollup-sql.js';

export interface ChangedWindows {
  /** Ticks after `fromMs` and not after `toMs`, both multiples of `tickMs`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly tickMs: number;
  readonly windows: readonly Window[];
  /**
   * Rows of a later version than this change, at the first tick, what was counted before. null: nothing was counted
   * before; instead, ticks that have estimates already are counted again.
   */
  readonly countedMicros: number | null;
}

/** Windows of a series that something came into, went out of, or was judged anew in, since the tick before. */
export interface WindowChange {
  readonly atMs: number;
  /** As the tables hash it: a whole number of 64 bits. */
  readonly seriesId: string;
  /** Without a task. */
  readonly series: Series;
  /** Positions in `windows`. */
  readonly windows: readonly number[];
  /** Of them, those that have rows of scope `per_task` already, in a range that is counted again. */
  readonly perTask: readonly number[];
}

const CLOSED_MS = 'toUnixTimestamp64Milli(first_closed_at)';
const SERIES = 'assistant_id, agent_version, environment, policy';

export async function changedWindows(rows: Rows, query: ChangedWindows): Promise<readonly WindowChange[]> {
  const { fromMs, toMs, tickMs, windows, countedMicros } = query;
  const all = windows.map((_, index) => index);
  const spans = windows.map((window) => (window.kind === 'time' ? window.spanMs : 0));
  const params = {
    from: fromMs,
    to: toMs,
    tick: tickMs,
    all,
    spans,
    counted: countedMicros ?? 0,
    first: fromMs + tickMs,
  };
  // A conversation that comes in comes into every window; it leaves those by time when it is as old as they are long.
  const tickOf = (ms: string) => `intDiv(${ms} + {tick:Int64} - 1, {tick:Int64}) * {tick:Int64}`;
  const within = (ms: string) => `(${ms} > {from:Int64} AND ${ms} <= {to:Int64})`;
  const cameIn = `if(NOT retracted AND ${within(CLOSED_MS)}, arrayMap(w -> (${tickOf(CLOSED_MS)}, w), {all:Array(UInt16)}), [])`;
  const wentOut = `arrayMap(w -> (${tickOf(`${CLOSED_MS} + {spans:Array(Int64)}[w + 1]`)}, w), arrayFilter(
    w -> NOT retracted AND {spans:Array(Int64)}[w + 1] > 0 AND ${within(`${CLOSED_MS} + {spans:Array(Int64)}[w + 1]`)}, {all:Array(UInt16)}))`;
  const counted = `(${CLOSED_MS} <= {from:Int64} OR isNotNull(revises))`;
  const anew =
    `if(version > {counted:UInt64} AND ${counted}, arrayMap(w -> ({first:Int64}, w), arrayFilter(w -> {spans:Array(Int64)}[w + 1] = 0 OR ` +
    `greatest(${CLOSED_MS}, ifNull(toUnixTimestamp64Milli(revises), 0)) > {from:Int64} - {spans:Array(Int64)}[w + 1], {all:Array(UInt16)})), [])`;
  const bound = (name: string, back: string) => `first_closed_at ${name} fromUnixTimestamp64Milli(${back}, 'UTC')`;
  const ranges = [0, ...spans.filter((span) => span > 0)].map(
    (span) => `(${bound('>', `{from:Int64} - ${span}`)} AND ${bound('<=', `{to:Int64} - ${span}`)})`,
  );
  const revised = countedMicros !== null;
  const sources = [
    `SELECT series, ${SERIES}, arrayJoin(arrayConcat(${[cameIn, wentOut, ...(revised ? [anew] : [])].join(',\n')})) AS change, false AS per_task
    FROM {db}.conversations FINAL
    WHERE ${[...ranges, ...(revised ? [`(version > {counted:UInt64} AND ${counted})`] : [])].join('\n OR ')}`,
    ...(revised
      ? []
      : [
          `SELECT series, ${SERIES}, (toUnixTimestamp64Milli(at), toUInt16(indexOf({names:Array(String)}, window) - 1)) AS change,
            scope = 'per_task' AS per_task
          FROM {db}.estimates
          WHERE metric = 'pass_pow_k' AND has({names:Array(String)}, window) AND at > ${time('from')} AND at <= ${time('to')}`,
        ]),
  ];
  const found = await rows(
    `SELECT toString(series) AS series_id, ${SERIES}, change.1 AS at_ms, groupUniqArray(change.2) AS windows,
      groupUniqArrayIf(change.2, per_task) AS windows_per_task
    FROM (${sources.join('\nUNION ALL\n')})
    GROUP BY series, ${SERIES}, at_ms ORDER BY at_ms, series`,
    revised ? params : { ...params, names: windows.map(({ name }) => name) },
  );
  return found.map((row) => ({
    atMs: Number(row['at_ms']),
    seriesId: String(row['series_id']),
    series: seriesFromRow(row),
    windows: (row['windows'] as readonly unknown[]).map(Number).sort((a, b) => a - b),
    perTask: (row['windows_per_task'] as readonly unknown[]).map(Number),
  }));
}
