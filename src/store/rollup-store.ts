import { randomUUID } from 'node:crypto';

import type { ComparisonRow, EstimateRow, JudgedTurn, Series } from '../model/estimate.js';
import type { Verdict } from '../model/score.js';
import { clockMicros } from './clock.js';
import type { Engine } from './engine.js';
import type { ConversationRow, Lines, SeriesStart, TickRow, TrialRow, WrittenRows } from './rollup-rows.js';
import {
  CONVERSATION_SELECT,
  comparisonLines,
  conversationFromRow,
  conversationLines,
  estimateLines,
  seriesFromRow,
  tickLines,
  trialLines,
} from './rollup-rows.js';
import { countsOfWindows } from './rollup-counts.js';
import type { WindowCountsRow, WindowQuery } from './rollup-counts.js';
import { CONVERSATION_KEY, time, type Row } from './rollup-sql.js';
import { changedWindows } from './rollup-windows.js';
import type { ChangedWindows, WindowChange } from './rollup-windows.js';
import { standingStarts } from './series-starts.js';

/** Where an interaction stands in `verdicts`. */
export interface TurnKey {
  readonly interactionId: string;
  /** Milliseconds since the Unix epoch; the day of it is what counts. */
  readonly startedAtMs: number;
}

/** A row of `verdicts` that was written, be it the one that stands or not. */
export interface TouchedTurn extends TurnKey {
  readonly conversationId: string;
  readonly traceId: string;
  readonly writtenAtMs: number;
}

/** Which verdicts to look for: those written within a time, of some policies, or whose turn started within a time. */
export type Touch =
  | {
      readonly by: 'written';
      readonly fromMs: number;
      readonly toMs: number;
      readonly policies: readonly string[] | null;
    }
  | { readonly by: 'started'; readonly fromMs: number; readonly toMs: number };

/**
 * What the rollup asks of the store, and writes to it. Every question is bounded by what was touched or by what the
 * windows hold, never by what the tables hold.
 */
export interface RollupStore {
  /** Microseconds since the Unix epoch. */
  clockMicros(): Promise<number>;
  lastTick(): Promise<TickRow | null>;
  /** The least stream time of the sources that were heard of within `freshMs`; null when there is none. */
  streamTimeMs(freshMs: number): Promise<number | null>;
  /** Policies that came back into force since then: their verdicts stand again. */
  policiesBack(sinceMs: number): Promise<readonly string[]>;
  /** In order of writing, from `afterMs` (exclusive) on; at least `limit` of them, if there are so many. */
  touched(touch: Touch, afterMs: number, limit: number): Promise<readonly TouchedTurn[]>;
  /** Turns that had an unseen root, in traces of which something was touched: they may be shadowed by now. */
  openTops(traceIds: readonly string[]): Promise<readonly TouchedTurn[]>;
  /** Conversations without a trial, one of whose closes is within (from, to]. */
  closing(fromMs: number, toMs: number, idleMs: number): Promise<readonly { readonly conversationId: string }[]>;
  /** All rows of the conversations with these ids, or with these interactions; void ones included. */
  conversations(ids: readonly string[]): Promise<readonly ConversationRow[]>;
  /** As `verdicts_current` has them. */
  turns(keys: readonly TurnKey[]): Promise<readonly JudgedTurn[]>;
  /** When the first conversation closes; null without any. */
  earliestCloseMs(): Promise<number | null>;
  /** When each series of these agents began, at the earliest: its first trials may have been taken back since. */
  seriesStarts(assistantIds: readonly string[]): Promise<readonly SeriesStart[]>;
  /** Those of them that have a trial which stands and closed until `untilMs`, with the first close of these. */
  standingStarts(starts: readonly SeriesStart[], untilMs: number): Promise<readonly SeriesStart[]>;
  changedWindows(query: ChangedWindows): Promise<readonly WindowChange[]>;
  countWindows(query: WindowQuery): Promise<readonly WindowCountsRow[]>;

  writeConversations(rows: readonly ConversationRow[]): Promise<void>;
  writeTrials(rows: readonly TrialRow[], readAtMicros: number): Promise<void>;
  writeEstimates(rows: readonly EstimateRow[], readAtMicros: number): Promise<void>;
  writeComparisons(rows: readonly ComparisonRow[], readAtMicros: number): Promise<void>;
  writeTick(tick: TickRow, written: WrittenRows): Promise<void>;
}

type RollupTable = 'conversations' | 'trials' | 'estimates' | 'comparisons' | 'rollup_ticks';

export interface RollupStoreDeps {
  readonly nowMs: () => number;
  readonly on?: { batchStored(event: { table: RollupTable; rows: number; ms: number }): void };
}

/** Of a query; a server refuses one that is longer than 256 KiB. */
const IDS_AT_ONCE = 1_000;
const ID_BYTES_AT_ONCE = 64 * 1024;
const ROWS_PER_INSERT = 10_000;

const TOUCHED_SELECT =
  'interaction_id, conversation_id, trace_id, toUnixTimestamp64Milli(started_at) AS started_ms, ' +
  'toUnixTimestamp64Milli(written_at) AS written_ms';

export function createRollupStore(
  engine: Pick<Engine, 'rows' | 'insert' | 'database'>,
  deps: RollupStoreDeps,
): RollupStore {
  const rows = (sql: string, params?: Readonly<Record<string, unknown>>): Promise<Row[]> =>
    engine.rows(sql.replaceAll('{db}', `\`${engine.database}\``), params);
  const one = async (sql: string, params?: Readonly<Record<string, unknown>>): Promise<Row | undefined> =>
    (await rows(sql, params))[0];

  async function write(table: RollupTable, { columns, lines }: Lines): Promise<void> {
    for (const part of partsOf(lines)) {
      const startedMs = deps.nowMs();
      await engine.insert(table, columns, part, randomUUID());
      deps.on?.batchStored({ table, rows: part.length, ms: deps.nowMs() - startedMs });
    }
  }

  async function shadowedOf(open: readonly (TurnKey & { readonly traceId: string })[]): Promise<ReadonlySet<string>> {
    const shadowed = new Set<string>();
    for (const part of batchesOf(open, ({ traceId }) => traceId)) {
      const startsMs = part.map(({ startedAtMs }) => startedAtMs);
      const found = await rows(
        `SELECT DISTINCT o.interaction_id AS id
        FROM (SELECT interaction_id, trace_id, started_at FROM {db}.open_tops WHERE trace_id IN {traces:Array(String)}) AS o
        INNER JOIN
        (
          SELECT trace_id, started_at AS covered_from, ended_at AS covered_to
          FROM {db}.interactions
          WHERE NOT open_top AND trace_id IN {traces:Array(String)}
            AND toDate(started_at) BETWEEN toDate(${time('from')}) - 1
              AND toDate(${time('to')})
        ) AS w ON o.trace_id = w.trace_id
        WHERE o.started_at BETWEEN w.covered_from AND w.covered_to`,
        {
          traces: [...new Set(part.map(({ traceId }) => traceId))],
          from: Math.min(...startsMs),
          to: Math.max(...startsMs),
        },
      );
      for (const row of found) shadowed.add(String(row['id']));
    }
    return shadowed;
  }

  return {
    clockMicros: () => clockMicros({ rows }),
    async lastTick() {
      const row = await one(
        'SELECT toUnixTimestamp64Milli(at) AS at_ms, read_at FROM {db}.rollup_ticks FINAL ORDER BY at DESC LIMIT 1',
      );
      return row === undefined ? null : { atMs: Number(row['at_ms']), readAtMicros: Number(row['read_at']) };
    },
    async streamTimeMs(freshMs) {
      // A partition that moved to another worker is where that worker says it is; every spool has a worker of its own.
      const row = await one(
        `SELECT count() AS sources, toUnixTimestamp64Milli(min(time)) AS ms FROM
        (
          SELECT argMax(stream_time, at) AS time
          FROM {db}.heartbeats
          WHERE at > now64(3) - toIntervalMillisecond({fresh:Int64})
          GROUP BY source, if(source = 'spool', worker, '')
        )`,
        { fresh: freshMs },
      );
      return row === undefined || Number(row['sources']) === 0 ? null : Number(row['ms']);
    },
    async policiesBack(sinceMs) {
      const back = await rows(
        `SELECT policy FROM {db}.policies GROUP BY policy
        HAVING uniqExact(since) > 1 AND max(since) >= ${time('since')}`,
        { since: sinceMs },
      );
      return back.map((row) => String(row['policy']));
    },
    async touched(touch, afterMs, limit) {
      const params = { from: touch.fromMs, to: touch.toMs, after: afterMs, limit };
      if (touch.by === 'started') {
        const found = await rows(
          `SELECT ${TOUCHED_SELECT.replace('(written_at)', '(started_at)')} FROM {db}.verdicts
          WHERE started_at > ${time('after')} AND started_at BETWEEN ${time('from')} AND ${time('to')}
          ORDER BY started_at LIMIT {limit:UInt32} WITH TIES`,
          params,
        );
        return found.map(touchedFromRow);
      }
      const found = await rows(
        `SELECT ${TOUCHED_SELECT} FROM {db}.verdicts
        WHERE written_at > ${time('after')} AND written_at BETWEEN ${time('from')} AND ${time('to')}
          ${touch.policies === null ? '' : 'AND policy IN {policies:Array(String)}'}
        ORDER BY written_at LIMIT {limit:UInt32} WITH TIES`,
        touch.policies === null ? params : { ...params, policies: touch.policies },
      );
      return found.map(touchedFromRow);
    },
    async openTops(traceIds) {
      const found: TouchedTurn[] = [];
      for (const traces of batchesOf(traceIds, (id) => id)) {
        const part = await rows(
          `SELECT interaction_id, '' AS conversation_id, trace_id, toUnixTimestamp64Milli(started_at) AS started_ms, 0 AS written_ms
          FROM {db}.open_tops WHERE trace_id IN {traces:Array(String)}`,
          { traces },
        );
        found.push(...part.map(touchedFromRow));
      }
      return found;
    },
    async closing(fromMs, toMs, idleMs) {
      const found = await rows(
        `SELECT DISTINCT conversation_id FROM {db}.conversations FINAL
        WHERE NOT retracted AND isNull(trial)
          AND (
            (first_closed_at > ${time('from')}
              AND first_closed_at <= ${time('to')})
            OR (ended_at > fromUnixTimestamp64Milli({from:Int64} - {idle:Int64}, 'UTC')
              AND ended_at <= fromUnixTimestamp64Milli({to:Int64} - {idle:Int64}, 'UTC'))
          )`,
        { from: fromMs, to: toMs, idle: idleMs },
      );
      return found.map((row) => ({ conversationId: String(row['conversation_id']) }));
    },
    async conversations(ids) {
      const found: ConversationRow[] = [];
      for (const part of batchesOf(ids, (id) => id)) {
        // The condition is on the key alone, so the newest of what it leaves is what FINAL would give, without merging days.
        const some = await rows(
          `SELECT ${CONVERSATION_SELECT} FROM {db}.conversations
          WHERE (${CONVERSATION_KEY}) IN
          (
            SELECT ${CONVERSATION_KEY}
            FROM {db}.conversation_index WHERE id IN {ids:Array(String)}
          )
          ORDER BY version DESC LIMIT 1 BY series, started_at, conversation_id`,
          { ids: part },
        );
        found.push(...some.map(conversationFromRow));
      }
      // A conversation can be found by ids of several parts.
      return [...new Map(found.map((row) => [keyOfRow(row), row])).values()];
    },
    async turns(keys) {
      const found: VerdictRow[] = [];
      for (const part of batchesOf(keys, ({ interactionId }) => interactionId)) {
        const some = await rows(
          `SELECT ${VERDICT_SELECT}
          FROM {db}.verdicts AS v FINAL
          LEFT JOIN (SELECT policy, max(since) AS in_force FROM {db}.policies GROUP BY policy) AS p ON v.policy = p.policy
          WHERE interaction_id IN {ids:Array(String)} AND toDate(started_at) IN {days:Array(Date)}`,
          {
            ids: part.map(({ interactionId }) => interactionId),
            days: [...new Set(part.map(({ startedAtMs }) => new Date(startedAtMs).toISOString().slice(0, 10)))],
          },
        );
        found.push(...some.map(verdictRow));
      }
      const shadowed = await shadowedOf(found.filter(({ openTop }) => openTop));
      return standing(found.filter(({ openTop, interactionId }) => !(openTop && shadowed.has(interactionId))));
    },
    async earliestCloseMs() {
      const row = await one(
        'SELECT count() AS rows, toUnixTimestamp64Milli(min(first_closed_at)) AS ms FROM {db}.conversations',
      );
      return row === undefined || Number(row['rows']) === 0 ? null : Number(row['ms']);
    },
    async seriesStarts(assistantIds) {
      const found: SeriesStart[] = [];
      for (const names of batchesOf(assistantIds, (id) => id)) {
        const some = await rows(
          `SELECT toString(series) AS series_id, assistant_id, agent_version, environment, policy,
            toUnixTimestamp64Milli(first_closed_at) AS closed_ms
          FROM {db}.series_starts FINAL WHERE assistant_id IN {names:Array(String)}`,
          { names },
        );
        for (const row of some) {
          const [seriesId, firstClosedAtMs] = [String(row['series_id']), Number(row['closed_ms'])];
          found.push({ seriesId, series: seriesFromRow(row), firstClosedAtMs });
        }
      }
      return found;
    },
    standingStarts: (starts, untilMs) => standingStarts(rows, starts, untilMs),
    changedWindows: (query) => changedWindows(rows, query),
    countWindows: (query) => countsOfWindows(rows, query),

    writeConversations: (of) => write('conversations', conversationLines(of)),
    writeTrials: (of, readAtMicros) => write('trials', trialLines(of, readAtMicros)),
    writeEstimates: (of, readAtMicros) => write('estimates', estimateLines(of, readAtMicros)),
    writeComparisons: (of, readAtMicros) => write('comparisons', comparisonLines(of, readAtMicros)),
    writeTick: (tick, written) => write('rollup_ticks', tickLines(tick, written)),
  };
}

interface VerdictRow extends JudgedTurn {
  readonly traceId: string;
  readonly openTop: boolean;
  readonly version: number;
  /** When its policy came into force. */
  readonly inForceMs: number;
}

// What `goesBeyondRules` says of a score.
const VERDICT_SELECT = `interaction_id, conversation_id, assistant_id, agent_version, environment, task, v.policy AS policy, verdict,
  neutral, left_out, outstanding, trace_id, open_top, version,
  toUnixTimestamp64Milli(started_at) AS started_ms, toUnixTimestamp64Milli(ended_at) AS ended_ms,
  toUnixTimestamp64Milli(p.in_force) AS in_force_ms,
  arrayExists((criterion, by, abstained) -> isNull(abstained) AND (criterion IN ('tools', 'answer') OR ifNull(by, 'rule') != 'rule'),
    scores.criterion, scores.decided_by, scores.abstained) AS judged`;

function verdictRow(row: Row): VerdictRow {
  return {
    interactionId: String(row['interaction_id']),
    conversationId: String(row['conversation_id']),
    ...seriesFromRow(row),
    label: row['verdict'] as Verdict['label'],
    neutral: row['neutral'] === true,
    leftOut: row['left_out'] === true,
    outstanding: Number(row['outstanding']),
    startedAtMs: Number(row['started_ms']),
    endedAtMs: Number(row['ended_ms']),
    judged: Boolean(row['judged']),
    traceId: String(row['trace_id']),
    openTop: row['open_top'] === true,
    version: Number(row['version']),
    inForceMs: Number(row['in_force_ms']),
  };
}

/** Of the rows of an interaction the one under the newest policy; a replaced root may have left one on another day. */
function standing(found: readonly VerdictRow[]): JudgedTurn[] {
  const best = new Map<string, VerdictRow>();
  for (const row of found) {
    const other = best.get(row.interactionId);
    if (other === undefined || isNewer(row, other)) best.set(row.interactionId, row);
  }
  return [...best.values()].map(({ traceId: _t, openTop: _o, version: _v, inForceMs: _i, ...turn }) => turn);
}

function isNewer(a: VerdictRow, b: VerdictRow): boolean {
  if (a.inForceMs !== b.inForceMs) return a.inForceMs > b.inForceMs;
  if (a.policy !== b.policy) return a.policy > b.policy;
  return a.version > b.version;
}

function touchedFromRow(row: Row): TouchedTurn {
  return {
    interactionId: String(row['interaction_id']),
    conversationId: String(row['conversation_id']),
    traceId: String(row['trace_id']),
    startedAtMs: Number(row['started_ms']),
    writtenAtMs: Number(row['written_ms']),
  };
}

/** The key of a row of `conversations`. */
export function keyOfRow({ series, startedAtMs, conversationId }: ConversationRow): string {
  return JSON.stringify([seriesKey(series), startedAtMs, conversationId]);
}

/** Equal for what is estimated together: the task is no part of it. */
export function seriesKey({ assistantId, agentVersion, environment, policy }: Series): string {
  return JSON.stringify([assistantId, agentVersion, environment, policy]);
}

/** As many as a query takes. */
function* batchesOf<T>(items: Iterable<T>, idOf: (item: T) => string): Iterable<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(idOf(item)) + 16;
    if (batch.length > 0 && (batch.length === IDS_AT_ONCE || bytes + size > ID_BYTES_AT_ONCE)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** An insert touches one partition (a month), since a server refuses one that touches many. */
function* partsOf(lines: Lines['lines']): Iterable<string[]> {
  const months = new Map<string, string[]>();
  let lastMs = NaN;
  let last: string[] = [];
  for (const { ms, text } of lines) {
    // Mostly the same tick, and a date's text takes as long as the row's.
    if (ms !== lastMs) {
      const month = new Date(ms).toISOString().slice(0, 7);
      last = months.get(month) ?? [];
      months.set(month, last);
      lastMs = ms;
    }
    last.push(text);
  }
  for (const month of months.values()) {
    for (let at = 0; at < month.length; at += ROWS_PER_INSERT) yield month.slice(at, at + ROWS_PER_INSERT);
  }
}
