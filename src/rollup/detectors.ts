/**
 * The detectors of all series, between ticks in the store: reads what is kept and what has closed since, and writes the
 * transitions, then what is kept now. A kill between the two writes the same transitions again, as the same rows; so do
 * two rollups at once. What is remembered here between steps only spares looking at series to which nothing happened;
 * the first step of a process looks at all.
 */
import { DAY_MS } from '../estimate/beginning.js';
import type { FrozenObjective } from '../estimate/frozen-objective.js';
import type { Store } from '../store/clickhouse.js';
import { clockMicros } from '../store/clock.js';
import { seriesFromRow } from '../store/rollup-rows.js';
import { CONVERSATION_KEY } from '../store/rollup-sql.js';
import type { DetectorKept, SeriesKey, SightKept } from './alert-rows.js';
import { SERIES_SQL } from './alert-rows.js';
import type { AlertRules } from './alert-rules.js';
import { writeAlerts, writeStates } from './alert-writes.js';
import type { AlertRow } from './alert-rows.js';
import type { KeptObjective, KeptSeries, ReadConversation } from './series-watch.js';
import { NOTHING_KEPT, objectivesFor, watchSeries } from './series-watch.js';

export type DetectorStore = Pick<Store, 'rows' | 'insertRows'>;

export interface Detectors {
  /** Takes what has closed up to `nowMs`, the tick's stream time. Gives the transitions that it wrote. */
  step(nowMs: number): Promise<readonly AlertRow[]>;
}

/** Series whose kept states are read together. */
const KEPT_AT_ONCE = 2_000;
/** Series whose conversations are read together: a query of 120 kB; and those of which more than a day has to be read. */
const CHUNK = 1_000;
const FAR_CHUNK = 200;
/** How many times as far back as the least a chunk may have to read for one of its series, beside an hour. */
const CHUNK_SPREAD = 4;
const HOUR_MS = 3_600_000;
/** Rows that are read of a series at a time. */
const READ_ROWS = 20_000;
const MAX_READ_ROWS = 2_000_000;
/** Rows that were inserted so long before they could be read are looked for again. */
const INSERT_MS = 60_000;

export function createDetectors(store: DetectorStore, rules: AlertRules): Detectors {
  const pending: Pending = new Map();
  let last: { readonly nowMs: number; readonly clockMicros: number } | null = null;

  return {
    async step(nowMs) {
      const nowMicros = await clockMicros(store);
      const touched = last === null ? await allSeries(store) : await touchedSeries(store, last, nowMs);
      for (const [id, { series, dueMs }] of pending) if (dueMs <= nowMs) touched.set(id, series);
      const sinceMs = Math.trunc((last?.clockMicros ?? nowMicros) / 1_000) - INSERT_MS;

      const written: AlertRow[] = [];
      const ids = [...touched.keys()];
      const times = { nowMs, sinceMs, clockMicros: nowMicros };
      for (let at = 0; at < ids.length; at += KEPT_AT_ONCE) {
        const some = new Map(ids.slice(at, at + KEPT_AT_ONCE).map((id) => [id, touched.get(id) as SeriesKey]));
        const kept = await readKept(store, [...some.keys()]);
        for (const chunk of chunksOf(some, kept, rules, nowMs)) {
          written.push(...(await stepChunk(store, rules, chunk, kept, times, pending)));
        }
      }
      last = { nowMs, clockMicros: nowMicros };
      return written;
    },
  };
}

/** Series that time alone may change, and when, in stream time. */
type Pending = Map<string, { readonly series: SeriesKey; readonly dueMs: number }>;

interface Times {
  readonly nowMs: number;
  /** Trials that were written since then are counted where they come too late. */
  readonly sinceMs: number;
  readonly clockMicros: number;
}

/** Series that have to be read about equally far back, together: one that is far behind costs the others nothing. */
function chunksOf(
  some: ReadonlyMap<string, SeriesKey>,
  kept: ReadonlyMap<string, KeptSeries>,
  rules: AlertRules,
  nowMs: number,
): readonly ReadonlyMap<string, SeriesKey>[] {
  const ordered = [...some]
    .map(([id, series]) => ({ id, series, leastMs: positionsOf(series, kept.get(id) ?? NOTHING_KEPT, rules).leastMs }))
    .sort((a, b) => b.leastMs - a.leastMs);
  const chunks: Map<string, SeriesKey>[] = [];
  let reachMs = -Infinity;
  for (const { id, series, leastMs } of ordered) {
    let chunk = chunks.at(-1);
    const backMs = nowMs - leastMs;
    if (chunk === undefined || chunk.size >= (backMs > DAY_MS ? FAR_CHUNK : CHUNK) || backMs > reachMs) {
      chunk = new Map();
      chunks.push(chunk);
      reachMs = CHUNK_SPREAD * Math.max(HOUR_MS, backMs);
    }
    chunk.set(id, series);
  }
  return chunks;
}

async function stepChunk(
  store: DetectorStore,
  rules: AlertRules,
  chunk: ReadonlyMap<string, SeriesKey>,
  keptBefore: ReadonlyMap<string, KeptSeries>,
  times: Times,
  pending: Pending,
): Promise<readonly AlertRow[]> {
  const written: AlertRow[] = [];
  let rest = chunk;
  let kept = keptBefore;
  for (let limit = READ_ROWS; rest.size > 0;) {
    const reads = await readConversations(store, rules, rest, kept, times, limit);
    const alerts: AlertRow[] = [];
    const states = [];
    const again = new Map<string, SeriesKey>();
    for (const [id, series] of rest) {
      const { conversations, cutAtMs } = reads.get(id) ?? { conversations: [], cutAtMs: null };
      const nowMs = cutAtMs ?? times.nowMs;
      const input = { series, kept: kept.get(id) ?? NOTHING_KEPT, conversations, nowMs };
      const step = await watchSeries(input, rules, (...asked) => isSuperseded(store, ...asked));
      alerts.push(...step.alerts);
      states.push(...step.states);
      if (cutAtMs !== null || step.isToReadAgain) again.set(id, series);
      else if (step.dueMs !== null) pending.set(id, { series, dueMs: step.dueMs });
      else pending.delete(id);
    }
    await writeAlerts(store, alerts, times.clockMicros);
    await writeStates(store, states);
    written.push(...alerts);
    rest = again;
    // Nothing was folded of so many rows: there are more of one series that have to be seen together.
    if (states.length === 0) limit *= 8;
    if (limit > MAX_READ_ROWS) break;
    if (rest.size > 0) kept = await readKept(store, [...rest.keys()]);
  }
  return written;
}

type SeriesById = Map<string, SeriesKey>;

const byId = (rows: readonly Readonly<Record<string, unknown>>[]): SeriesById =>
  new Map(rows.map((row) => [String(row['series']), seriesFromRow(row)]));

async function allSeries(store: DetectorStore): Promise<SeriesById> {
  return byId(await store.rows(`SELECT DISTINCT ${SERIES_SQL} FROM {db}.conversations`));
}

/** Series of which something closed since the last step, or was written about what had closed before. */
async function touchedSeries(
  store: DetectorStore,
  last: { readonly nowMs: number; readonly clockMicros: number },
  nowMs: number,
): Promise<SeriesById> {
  const rows = await store.rows(
    `SELECT DISTINCT ${SERIES_SQL} FROM {db}.conversations
     WHERE (first_closed_at > ${time(last.nowMs)} AND first_closed_at <= ${time(nowMs)}) OR version >= {since:UInt64}
     UNION DISTINCT
     SELECT DISTINCT ${SERIES_SQL} FROM {db}.trials WHERE written_at >= ${time(last.clockMicros / 1_000 - INSERT_MS)}`,
    { since: last.clockMicros - INSERT_MS * 1_000 },
  );
  return byId(rows);
}

async function readKept(store: DetectorStore, ids: readonly string[]): Promise<ReadonlyMap<string, KeptSeries>> {
  const rows = await store.rows(
    // Under another name: a condition on `series` would mean the text, and not find it by the key.
    `SELECT toString(series) AS series_id, objective, frozen, state, behind, toUnixTimestamp64Milli(written_at) AS written
     FROM {db}.detector_state FINAL WHERE series IN (${listOf(ids)})`,
  );
  const kept = new Map<string, { sight: SightKept; objectives: Map<string, KeptObjective> }>();
  for (const row of rows) {
    const id = String(row['series_id']);
    const of = kept.get(id) ?? { sight: NOTHING_KEPT.sight, objectives: new Map<string, KeptObjective>() };
    kept.set(id, of);
    const state: unknown = JSON.parse(String(row['state']));
    if (row['objective'] === '') {
      of.sight = state as SightKept;
      continue;
    }
    of.objectives.set(String(row['objective']), {
      frozen: JSON.parse(String(row['frozen'])) as FrozenObjective,
      kept: state as DetectorKept | null,
      behind: Number(row['behind']),
      writtenAtMs: Number(row['written']),
    });
  }
  return kept;
}

interface Read {
  readonly conversations: readonly ReadConversation[];
  /** Not all was read: what closes later was not. null: all was. */
  readonly cutAtMs: number | null;
}

/** How far sight has come, and how far the one of them all that is furthest behind. */
function positionsOf(
  series: SeriesKey,
  { sight, objectives }: KeptSeries,
  rules: AlertRules,
): { readonly sightMs: number; readonly leastMs: number } {
  const sightMs = sight.state.position?.firstClosedAtMs ?? 0;
  const foldMs = objectivesFor(series, rules).map(({ name }) => {
    const objective = objectives.get(name);
    if (objective === undefined) return sight.beginnings?.[name]?.position?.firstClosedAtMs ?? 0;
    return objective.kept === null ? Infinity : (objective.kept.state.position?.firstClosedAtMs ?? 0);
  });
  return { sightMs, leastMs: Math.min(sightMs, ...foldMs) };
}

/** What has closed of these series since the positions that are kept. */
async function readConversations(
  store: DetectorStore,
  rules: AlertRules,
  chunk: ReadonlyMap<string, SeriesKey>,
  kept: ReadonlyMap<string, KeptSeries>,
  { nowMs, sinceMs }: Times,
  limit: number,
): Promise<ReadonlyMap<string, Read>> {
  const from = [...chunk].map(([id, series]) => ({ id, ...positionsOf(series, kept.get(id) ?? NOTHING_KEPT, rules) }));
  const ids = listOf(from.map(({ id }) => id));
  const since = (column: 'sightMs' | 'leastMs') => {
    const times = from.map((one) => millis(one[column])).join(',');
    return `toUnixTimestamp64Milli(first_closed_at) >= transform(series, [${ids}], [${times}], 0)`;
  };
  const leastMs = Math.min(...from.map((one) => one.leastMs));
  const where = `series IN (${ids}) AND first_closed_at <= ${time(nowMs)}`;
  const selected = 'toString(series) AS series_id, conversation_id, toUnixTimestamp64Milli(first_closed_at) AS closed';
  const end = `ORDER BY first_closed_at, conversation_id LIMIT ${limit} BY series`;

  const trials = await store.rows(
    `SELECT ${selected}, argMax(correct, version) AS is_correct, toUnixTimestamp64Milli(max(written_at)) AS written
     FROM {db}.trials
     WHERE ${where} AND first_closed_at >= ${time(leastMs)} AND ${since('leastMs')}
     GROUP BY series, first_closed_at, conversation_id ${end}`,
  );
  const late = await store.rows(
    `SELECT ${selected}, argMax(correct, version) AS is_correct, toUnixTimestamp64Milli(max(written_at)) AS written
     FROM {db}.trials
     WHERE ${where} AND written_at >= ${time(sinceMs)} AND NOT (${since('leastMs')})
     GROUP BY series, first_closed_at, conversation_id ${end}`,
  );
  // Not FINAL, which would read the whole series. Of each of them all versions, which have one key: the newest may have
  // closed before, where a turn moved elsewhere. Without a bound none is missed anyway.
  const bounded =
    leastMs > 0
      ? `AND (${CONVERSATION_KEY}) IN (SELECT ${CONVERSATION_KEY} FROM {db}.conversations WHERE series IN (${ids}) AND first_closed_at >= ${time(leastMs)})`
      : '';
  const others = await store.rows(
    `SELECT ${selected}, waits > 0 AS is_outstanding FROM
     (
       SELECT series, conversation_id, tupleElement(stands, 1) AS waits, tupleElement(stands, 2) AS first_closed_at,
         tupleElement(stands, 3) AS is_out
       FROM
       (
         SELECT series, conversation_id,
           argMax((outstanding, first_closed_at, counts OR left_out OR retracted OR isNotNull(trial)), version) AS stands
         FROM {db}.conversations
         WHERE series IN (${ids}) ${bounded}
         GROUP BY series, started_at, conversation_id
       )
     )
     WHERE ${where} AND NOT is_out AND ${since('leastMs')} AND (waits > 0 OR ${since('sightMs')})
     ${end}`,
  );
  const [trialsOf, lateOf, othersOf] = [trials, late, others].map(bySeries) as [BySeries, BySeries, BySeries];
  return new Map(
    from.map(({ id }) => [id, join(trialsOf.get(id) ?? [], lateOf.get(id) ?? [], othersOf.get(id) ?? [], limit)]),
  );
}

type Row = Readonly<Record<string, unknown>>;
type BySeries = ReadonlyMap<string, readonly Row[]>;

function bySeries(rows: readonly Row[]): BySeries {
  const grouped = new Map<string, Row[]>();
  for (const row of rows) {
    const id = String(row['series_id']);
    const group = grouped.get(id);
    if (group === undefined) grouped.set(id, [row]);
    else group.push(row);
  }
  return grouped;
}

function join(trials: readonly Row[], late: readonly Row[], others: readonly Row[], limit: number): Read {
  const ends = [trials, late, others]
    .filter((rows) => rows.length >= limit)
    .map((rows) => Number(rows.at(-1)?.['closed']));
  const conversations = new Map<string, ReadConversation>();
  const add = (row: Row, correct: boolean | null, unscored: boolean): void => {
    const conversationId = String(row['conversation_id']);
    if (conversations.has(conversationId)) return;
    const writtenAtMs = Number(row['written'] ?? 0);
    const firstClosedAtMs = Number(row['closed']);
    conversations.set(conversationId, { conversationId, firstClosedAtMs, correct, unscored, writtenAtMs });
  };
  for (const row of [...trials, ...late]) add(row, isTrue(row['is_correct']), false);
  // One that was resumed after its trial may wait for something again; it stays the trial that it is, be it one of the
  // series that it had then or one that closes elsewhere now, which are not among the others.
  for (const row of others) add(row, null, !isTrue(row['is_outstanding']));
  return { conversations: [...conversations.values()], cutAtMs: ends.length === 0 ? null : Math.min(...ends) - 1 };
}

/** A Bool column, or a comparison, which the engine gives as a number. */
function isTrue(value: unknown): boolean {
  return value === true || value === 1;
}

async function isSuperseded(
  store: DetectorStore,
  { assistantId, agentVersion, environment, policy }: SeriesKey,
  afterMs: number,
  untilMs: number,
): Promise<boolean> {
  const own = 'agent_version IS NOT DISTINCT FROM {version:Nullable(String)} AND policy = {policy:String}';
  const within = (at: string) => `${at} > ${time(afterMs)} AND ${at} <= ${time(untilMs)}`;
  // Of each of them all versions, which have one key: the newest may be void, or say another time.
  const [row] = await store.rows(
    `SELECT countIf(${own}) AS own, countIf(NOT (${own})) AS others FROM
     (
       SELECT any(agent_version) AS agent_version, any(policy) AS policy,
         argMax((first_closed_at, retracted), version) AS stands
       FROM {db}.conversations
       WHERE (${CONVERSATION_KEY}) IN
       (
         SELECT ${CONVERSATION_KEY} FROM {db}.conversations
         WHERE assistant_id = {assistant:String} AND environment IS NOT DISTINCT FROM {environment:Nullable(String)}
           AND ${within('first_closed_at')}
       )
       GROUP BY series, started_at, conversation_id
     )
     WHERE NOT stands.2 AND ${within('stands.1')}`,
    { assistant: assistantId, version: agentVersion, environment, policy },
  );
  return Number(row?.['own']) === 0 && Number(row?.['others']) > 0;
}

/** Hashes of 64 bits, as the engine wrote them. The first one says of which type they are, should they all be small. */
function listOf([first, ...others]: readonly string[]): string {
  return [`toUInt64(${first})`, ...others].join(',');
}

/** SQL of a moment. */
function time(ms: number): string {
  return `fromUnixTimestamp64Milli(toInt64(${millis(ms)}), 'UTC')`;
}

function millis(ms: number): number {
  return Math.trunc(Math.min(Math.max(0, ms), END_OF_TIME_MS));
}

/** What DateTime64 can hold goes further, what ClickHouse computes with does not. */
const END_OF_TIME_MS = Date.UTC(2100, 0, 1);
