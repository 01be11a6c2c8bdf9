/**
 * What is in windows of closed conversations, counted by the engine.
 *
 * A window by count begins at its edge: the oldest of its trials. The engine finds the edges' times by sorting the times
 * of each series alone, and counts what closed after them; a window function over all rows took five times as long. What
 * closed in the very millisecond of an edge, seldom more than the edge itself, is told apart by its id here.
 */
import type { Counts, Window, WindowCounts } from '../model/estimate.js';
import { time, type Row, type Rows } from './rollup-sql.js';

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

/** Conversations of a query; it holds some 16 bytes of each in memory. */
const CONVERSATIONS_AT_ONCE = 10_000_000;
const SERIES_AT_ONCE = 2_000;
/** Series times ticks of a query; each answers with some rows. */
const ANSWERS_AT_ONCE = 20_000;
/** How many times further back to look for what a window by count lacks. */
const REACH = 4;
const DAY_MS = 86_400_000;

/** The counts of each series at each tick; series by series and tick by tick in any order. */
export async function countsOfWindows(rows: Rows, query: WindowQuery): Promise<readonly WindowCountsRow[]> {
  const found: WindowCountsRow[] = [];
  for (let at = 0; at < query.seriesIds.length; at += SERIES_AT_ONCE) {
    found.push(...(await countSeries(rows, { ...query, seriesIds: query.seriesIds.slice(at, at + SERIES_AT_ONCE) })));
  }
  return found;
}

/** Looks as far back as the largest window by time, and further for series with too few trials in that time. */
async function countSeries(rows: Rows, query: WindowQuery): Promise<readonly WindowCountsRow[]> {
  const firstMs = query.ticksMs[0] ?? 0;
  const isByCount = query.windows.some(({ kind }) => kind === 'count');
  const spans = query.windows.map((window) => (window.kind === 'time' ? window.spanMs : DAY_MS));
  const spanMs = Math.max(...spans);
  const found: WindowCountsRow[] = [];
  let seriesIds = query.seriesIds;
  for (let backMs = spanMs; seriesIds.length > 0; backMs *= REACH) {
    const fromMs = Math.max(0, firstMs - backMs);
    const counted: Counted[] = [];
    for (const piece of await piecesOf(rows, fromMs, { ...query, seriesIds })) {
      counted.push(...(await countPiece(rows, fromMs, piece)));
    }
    const filled = new Set(
      counted.filter(({ row, isFull }) => row.atMs === firstMs && isFull).map(({ row }) => row.seriesId),
    );
    const lacking = seriesIds.filter((id) => !filled.has(id));
    const isAll = !isByCount || lacking.length === 0 || fromMs === 0 || (await isEarliest(rows, fromMs));
    found.push(...counted.map(({ row }) => row).filter(({ seriesId }) => isAll || filled.has(seriesId)));
    seriesIds = isAll ? [] : lacking;
  }
  return found;
}

/** Is there nothing before? Answered from the parts' own bounds. */
async function isEarliest(rows: Rows, fromMs: number): Promise<boolean> {
  const [row] = await rows(
    `SELECT toUnixTimestamp64Milli(min(started_at)) AS ms FROM {db}.conversations HAVING count() > 0`,
    {},
  );
  return row === undefined || Number(row['ms']) >= fromMs;
}

// A conversation starts before it closes, and the table is in order of start.
const CLOSED_WITHIN = `series IN {series:Array(UInt64)} AND first_closed_at > ${time('from')} AND first_closed_at <= ${time('to')}
  AND started_at <= ${time('to')}`;

/** Queries that are small enough. Versions are counted twice here, which is near enough, and takes half the time of FINAL. */
async function piecesOf(rows: Rows, fromMs: number, query: WindowQuery): Promise<readonly WindowQuery[]> {
  const { seriesIds, ticksMs } = query;
  const sizes = await rows(
    `SELECT toString(series) AS series_id, count() AS conversations FROM {db}.conversations WHERE ${CLOSED_WITHIN} GROUP BY series`,
    { series: seriesIds.map(BigInt), from: fromMs, to: ticksMs.at(-1) ?? 0 },
  );
  const groups: string[][] = [[]];
  let conversations = 0;
  for (const row of sizes) {
    conversations += Number(row['conversations']);
    if (conversations > CONVERSATIONS_AT_ONCE) {
      groups.push([]);
      conversations = Number(row['conversations']);
    }
    groups.at(-1)?.push(String(row['series_id']));
  }
  const pieces: WindowQuery[] = [];
  for (const group of groups.filter(({ length }) => length > 0)) {
    const ticks = Math.max(1, Math.floor(ANSWERS_AT_ONCE / group.length));
    for (let at = 0; at < ticksMs.length; at += ticks) {
      pieces.push({ ...query, seriesIds: group, ticksMs: ticksMs.slice(at, at + ticks) });
    }
  }
  return pieces;
}

interface Counted {
  readonly row: WindowCountsRow;
  /** The windows by count have all the trials that they can hold. */
  readonly isFull: boolean;
}

/** What a conversation is to the counts, by its place in the list. */
const KINDS = ['correct', 'incorrect', 'waits', 'waitsIncorrect', 'unscored', 'leftOut'] as const;
type Kind = (typeof KINDS)[number];

const TRIALS: readonly Kind[] = ['correct', 'incorrect'];

async function countPiece(rows: Rows, fromMs: number, query: WindowQuery): Promise<readonly Counted[]> {
  const { seriesIds, ticksMs, windows } = query;
  const trials = windows.flatMap((window) => (window.kind === 'count' ? [window.trials] : []));
  const edges = trials.map((_, index) => `edge${index}`);
  const held = windows.map((window, index) => {
    const within =
      window.kind === 'time'
        ? `closed_ms > at_ms - ${window.spanMs}`
        : `closed_ms > edge${trials.indexOf(window.trials)}`;
    return `countIf(${within}) AS w${index}`;
  });
  const ticks = 'arrayJoin({ticks:Array(Int64)}) AS at_ms';
  // Behind the end of an array is 0: a window that is not full holds all.
  const atTicks = `INNER JOIN
    (
      SELECT series, ${ticks}, arrayFirstIndex(ms -> ms <= at_ms, closes) AS newest,
        ${trials.map((n, index) => `if(newest = 0, 0, closes[newest + ${n} - 1]) AS edge${index}`).join(', ')}
      FROM (SELECT series, arrayReverseSort(groupArrayIf(closed_ms, kind <= 1)) AS closes FROM closed GROUP BY series)
    ) AS at_ticks USING series`;
  const found = await rows(
    `WITH closed AS
    (
      SELECT series, task, toUnixTimestamp64Milli(first_closed_at) AS closed_ms, conversation_id, judged,
        multiIf(counts AND verdict = 'correct', 0, counts, 1, left_out, 5, outstanding = 0, 4, incorrect_whatever_comes, 3, 2) AS kind
      FROM {db}.conversations FINAL
      WHERE NOT retracted AND ${CLOSED_WITHIN}
    )
    SELECT toString(series) AS series_id, at_ms, task, kind, judged, ${held.join(', ')},
      [${edges.map((edge) => `any(${edge})`).join(', ')}] AS edges_ms,
      ${edges.length === 0 ? '[]' : `groupArrayIf((closed_ms, conversation_id), ${edges.map((edge) => `closed_ms = ${edge}`).join(' OR ')})`} AS on_edges
    FROM ${edges.length === 0 ? `(SELECT *, ${ticks} FROM closed)` : `closed ${atTicks}`}
    WHERE closed_ms <= at_ms
    GROUP BY series, at_ms, task, kind, judged`,
    { series: seriesIds.map(BigInt), ticks: ticksMs, from: fromMs, to: ticksMs.at(-1) ?? 0 },
  );

  const groups = new Map<string, Row[]>();
  for (const row of found) {
    const key = `${String(row['series_id'])} ${String(row['at_ms'])}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [row]);
    else known.push(row);
  }
  return [...groups.values()].map((rowsOfOne): Counted => {
    const [first] = rowsOfOne as [Row];
    const edgesMs = (first['edges_ms'] as readonly unknown[]).map(Number);
    const members = rowsOfOne.map(memberOf);
    return {
      row: {
        atMs: Number(first['at_ms']),
        seriesId: String(first['series_id']),
        windows: windows.map((window, index) =>
          countedWindow(
            window.kind === 'time'
              ? ofTime(members, index)
              : ofCount(members, index, window.trials, edgesMs[trials.indexOf(window.trials)] ?? 0),
          ),
        ),
      },
      isFull: edgesMs.every((edgeMs) => edgeMs > 0),
    };
  });
}

/** The conversations of a series at a tick that are alike. */
interface Member {
  readonly task: string | null;
  readonly kind: Kind;
  readonly judged: boolean;
  /** Window by window; of those by count, what closed after the millisecond of the edge. */
  readonly counts: readonly number[];
  /** What closed in the millisecond of an edge. */
  readonly onEdges: readonly { readonly closedMs: number; readonly id: string }[];
}

function memberOf(row: Row): Member {
  const counts: number[] = [];
  for (let index = 0; row[`w${index}`] !== undefined; index += 1) counts.push(Number(row[`w${index}`]));
  return {
    task: row['task'] as string | null,
    kind: KINDS[Number(row['kind'])] as Kind,
    judged: row['judged'] === true,
    counts,
    onEdges: (row['on_edges'] as readonly (readonly [unknown, unknown])[]).map(([ms, id]) => ({
      closedMs: Number(ms),
      id: String(id),
    })),
  };
}

interface Held {
  readonly member: Member;
  readonly count: number;
}

function ofTime(members: readonly Member[], index: number): readonly Held[] {
  return members.map((member) => ({ member, count: member.counts[index] ?? 0 }));
}

/** With those of the edge's millisecond that come at or after the edge in the order of close, which goes on by the bytes of the id. */
function ofCount(members: readonly Member[], index: number, trials: number, edgeMs: number): readonly Held[] {
  const counts = new Map(members.map((member) => [member, member.counts[index] ?? 0]));
  let lacking = trials;
  for (const { member, count } of ofTime(members, index)) if (TRIALS.includes(member.kind)) lacking -= count;
  const onEdge = members
    .flatMap((member) =>
      member.onEdges.filter(({ closedMs }) => closedMs === edgeMs).map(({ id }) => ({ member, id: Buffer.from(id) })),
    )
    .sort((a, b) => Buffer.compare(b.id, a.id));
  for (const { member } of onEdge) {
    if (lacking === 0) break;
    counts.set(member, (counts.get(member) ?? 0) + 1);
    if (TRIALS.includes(member.kind)) lacking -= 1;
  }
  return [...counts].map(([member, count]) => ({ member, count }));
}

function countedWindow(all: readonly Held[]): WindowCounts {
  const held = all.filter(({ count }) => count > 0);
  const countsOf = (of: typeof held): Counts & { readonly unscored: number; readonly leftOut: number } => {
    const many = (...kinds: Kind[]) =>
      of.reduce((sum, { member, count }) => (kinds.includes(member.kind) ? sum + count : sum), 0);
    return {
      trials: many('correct', 'incorrect'),
      correct: many('correct'),
      outstanding: many('waits', 'waitsIncorrect'),
      outstandingIncorrect: many('waitsIncorrect'),
      unscored: many('waits', 'waitsIncorrect', 'unscored'),
      leftOut: many('leftOut'),
    };
  };
  const labels = new Set(held.flatMap(({ member: { task } }) => (task === null ? [] : [task])));
  const tasks = [...labels].map((task): [string, Counts] => {
    const { trials, correct, outstanding, outstandingIncorrect } = countsOf(
      held.filter(({ member }) => member.task === task),
    );
    return [task, { trials, correct, outstanding, outstandingIncorrect }];
  });
  return { ...countsOf(held), judged: held.some(({ member }) => member.judged), tasks: new Map(tasks) };
}
