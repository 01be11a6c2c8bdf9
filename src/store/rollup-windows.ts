/**
 * Windows of closed conversations, counted by the engine: which of them changed at which tick, and what is in them.
 */
import type { Counts, Series, Window, WindowCounts } from '../model/estimate.js';
import { seriesFromRow } from './rollup-rows.js';

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
}

export interface WindowQuery {
  /** Ascending. */
  readonly ticksMs: readonly number[];
  readonly seriesIds: readonly string[];
  readonly windows: readonly Window[];
}

export interface WindowCountsRow {
  readonly atMs: number;
  readonly seriesId: string;
  /** In the order of the query's windows. Series without a conversation in the largest window have no row. */
  readonly windows: readonly WindowCounts[];
}

type Row = Readonly<Record<string, unknown>>;
type Rows = (sql: string, params: Readonly<Record<string, unknown>>) => Promise<readonly Row[]>;

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
    `SELECT series, ${SERIES}, arrayJoin(arrayConcat(${[cameIn, wentOut, ...(revised ? [anew] : [])].join(',\n')})) AS change
    FROM {db}.conversations FINAL
    WHERE ${[...ranges, ...(revised ? [`(version > {counted:UInt64} AND ${counted})`] : [])].join('\n OR ')}`,
    ...(revised
      ? []
      : [
          `SELECT series, ${SERIES}, (toUnixTimestamp64Milli(at), toUInt16(indexOf({names:Array(String)}, window) - 1)) AS change
          FROM {db}.estimates
          WHERE metric = 'pass_pow_k' AND scope = 'pooled' AND has({names:Array(String)}, window) AND at > ${time('from')} AND at <= ${time('to')}`,
        ]),
  ];
  const found = await rows(
    `SELECT toString(series) AS series_id, ${SERIES}, change.1 AS at_ms, groupUniqArray(change.2) AS windows
    FROM (${sources.join('\nUNION ALL\n')})
    GROUP BY series, ${SERIES}, at_ms ORDER BY at_ms, series`,
    revised ? params : { ...params, names: windows.map(({ name }) => name) },
  );
  return found.map((row) => ({
    atMs: Number(row['at_ms']),
    seriesId: String(row['series_id']),
    series: seriesFromRow(row),
    windows: (row['windows'] as readonly unknown[]).map(Number).sort((a, b) => a - b),
  }));
}

/** Of a conversation at each tick; bounds what one query holds in memory (some 100 bytes each). */
const ROWS_AT_ONCE = 3_000_000;
const SERIES_AT_ONCE = 2_000;
/** How many times further back to look for what a window by count lacks. */
const REACH = 4;
const DAY_MS = 86_400_000;

/** The counts of each series at each tick; series by series and tick by tick in any order. */
export async function countsOfWindows(rows: Rows, query: WindowQuery): Promise<readonly WindowCountsRow[]> {
  const found: WindowCountsRow[] = [];
  for (let at = 0; at < query.seriesIds.length; at += SERIES_AT_ONCE) {
    const some = query.seriesIds.slice(at, at + SERIES_AT_ONCE);
    for (const { fromMs, series } of await reachesOf(rows, some, query)) {
      for (const { seriesIds, ticksMs } of piecesOf(series, query.ticksMs)) {
        found.push(...(await countPiece(rows, fromMs, { ...query, seriesIds, ticksMs })));
      }
    }
  }
  return found;
}

interface SeriesSize {
  readonly seriesId: string;
  readonly conversations: number;
}

interface Reach {
  /** Nothing that closed until then is in a window of these series. */
  readonly fromMs: number;
  readonly series: readonly SeriesSize[];
}

/** How far back the windows of each series reach: to the largest by time, or further where trials are rare. */
async function reachesOf(rows: Rows, seriesIds: readonly string[], query: WindowQuery): Promise<readonly Reach[]> {
  const firstMs = query.ticksMs[0] ?? 0;
  const lastMs = query.ticksMs.at(-1) ?? 0;
  const trials = Math.max(0, ...query.windows.map((window) => (window.kind === 'count' ? window.trials : 0)));
  const spanMs = Math.max(DAY_MS, ...query.windows.map((window) => (window.kind === 'time' ? window.spanMs : 0)));
  const reaches: Reach[] = [];
  let lacking = seriesIds;
  for (let backMs = spanMs; lacking.length > 0; backMs *= REACH) {
    const fromMs = Math.max(0, firstMs - backMs);
    const sizes = await rows(
      `SELECT toString(series) AS series_id, count() AS conversations, countIf(counts AND first_closed_at <= ${time('first')}) AS trials
      FROM {db}.conversations FINAL
      WHERE NOT retracted AND series IN {series:Array(UInt64)} AND ${CLOSED_WITHIN}
      GROUP BY series`,
      { series: lacking.map(BigInt), from: fromMs, first: firstMs, to: lastMs },
    );
    const all = fromMs === 0 || (await isEarliest(rows, fromMs));
    const reached = sizes.filter((row) => all || Number(row['trials']) >= trials);
    reaches.push({
      fromMs,
      series: reached.map((row) => ({
        seriesId: String(row['series_id']),
        conversations: Number(row['conversations']),
      })),
    });
    const done = new Set(reached.map((row) => row['series_id']));
    lacking = all ? [] : lacking.filter((id) => !done.has(id));
  }
  return reaches;
}

/** Is there nothing before? Answered from the parts' own bounds. */
async function isEarliest(rows: Rows, fromMs: number): Promise<boolean> {
  const [row] = await rows(
    `SELECT toUnixTimestamp64Milli(min(started_at)) AS ms FROM {db}.conversations HAVING count() > 0`,
    {},
  );
  return row === undefined || Number(row['ms']) >= fromMs;
}

function* piecesOf(
  series: readonly SeriesSize[],
  ticksMs: readonly number[],
): Iterable<{ readonly seriesIds: readonly string[]; readonly ticksMs: readonly number[] }> {
  let seriesIds: string[] = [];
  let conversations = 0;
  const emit = function* () {
    const ticks = Math.max(1, Math.floor(ROWS_AT_ONCE / Math.max(1, conversations)));
    for (let at = 0; at < ticksMs.length; at += ticks) yield { seriesIds, ticksMs: ticksMs.slice(at, at + ticks) };
  };
  for (const one of series) {
    if (seriesIds.length > 0 && conversations + one.conversations > ROWS_AT_ONCE) {
      yield* emit();
      seriesIds = [];
      conversations = 0;
    }
    seriesIds.push(one.seriesId);
    conversations += one.conversations;
  }
  if (seriesIds.length > 0) yield* emit();
}

// A conversation starts before it closes, and the table is in order of start.
const CLOSED_WITHIN = `first_closed_at > ${time('from')} AND first_closed_at <= ${time('to')} AND started_at <= ${time('to')}`;

/** What a conversation is to the counts, by its place in the list. */
const KINDS = ['correct', 'incorrect', 'waits', 'waitsIncorrect', 'unscored', 'leftOut'] as const;

async function countPiece(rows: Rows, fromMs: number, query: WindowQuery): Promise<readonly WindowCountsRow[]> {
  const { seriesIds, ticksMs, windows } = query;
  const held = windows.map((window, index) => {
    // In a window by count: fewer trials than that closed after it.
    const within = window.kind === 'time' ? `closed_ms > at_ms - ${window.spanMs}` : `newer < ${window.trials}`;
    return `countIf(${within}) AS w${index}`;
  });
  const found = await rows(
    `SELECT toString(series) AS series_id, at_ms, task, kind, judged, ${held.join(', ')}
    FROM
    (
      SELECT series, at_ms, task, closed_ms, kind, judged,
        sum(kind <= 1) OVER (PARTITION BY series, at_ms ORDER BY closed_ms DESC, conversation_id DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - (kind <= 1) AS newer
      FROM
      (
        SELECT series, task, ${CLOSED_MS} AS closed_ms, conversation_id, judged, arrayJoin({ticks:Array(Int64)}) AS at_ms,
          multiIf(counts AND verdict = 'correct', 0, counts, 1, left_out, 5, outstanding = 0, 4, incorrect_whatever_comes, 3, 2) AS kind
        FROM {db}.conversations FINAL
        WHERE NOT retracted AND series IN {series:Array(UInt64)} AND ${CLOSED_WITHIN}
      )
      WHERE closed_ms <= at_ms
    )
    GROUP BY series, at_ms, task, kind, judged`,
    { series: seriesIds.map(BigInt), ticks: ticksMs, from: fromMs, to: ticksMs.at(-1) },
  );

  const groups = new Map<string, Row[]>();
  for (const row of found) {
    const key = `${String(row['series_id'])} ${String(row['at_ms'])}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [row]);
    else known.push(row);
  }
  return [...groups.values()].map((members): WindowCountsRow => {
    const [first] = members as [Row];
    return {
      atMs: Number(first['at_ms']),
      seriesId: String(first['series_id']),
      windows: windows.map((_, index) => countedWindow(members, `w${index}`)),
    };
  });
}

/** The members are the rows of one series and tick: one a task, kind, and whether it was judged. */
function countedWindow(members: readonly Row[], column: string): WindowCounts {
  const all = members.map((row) => ({
    task: row['task'] as string | null,
    kind: KINDS[Number(row['kind'])],
    judged: row['judged'] === true,
    count: Number(row[column]),
  }));
  const held = all.filter(({ count }) => count > 0);
  const countsOf = (of: typeof held): Counts & { readonly unscored: number; readonly leftOut: number } => {
    const many = (...kinds: (typeof KINDS)[number][]) =>
      of.reduce((sum, { kind, count }) => (kind !== undefined && kinds.includes(kind) ? sum + count : sum), 0);
    return {
      trials: many('correct', 'incorrect'),
      correct: many('correct'),
      outstanding: many('waits', 'waitsIncorrect'),
      outstandingIncorrect: many('waitsIncorrect'),
      unscored: many('waits', 'waitsIncorrect', 'unscored'),
      leftOut: many('leftOut'),
    };
  };
  const labels = new Set(held.flatMap(({ task }) => (task === null ? [] : [task])));
  const tasks = [...labels].map((task): [string, Counts] => {
    const { trials, correct, outstanding, outstandingIncorrect } = countsOf(held.filter((one) => one.task === task));
    return [task, { trials, correct, outstanding, outstandingIncorrect }];
  });
  return { ...countsOf(held), judged: held.some(({ judged }) => judged), tasks: new Map(tasks) };
}

function time(name: string): string {
  return `fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;
}
