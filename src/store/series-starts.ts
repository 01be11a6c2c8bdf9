/**
 * When series began. `series_starts` has the earliest close that a trial of the series ever had; the conversation may be
 * gone since, or stand under another name or close. So what is to be compared is looked up: mostly one row a series.
 */
import type { SeriesStart } from './rollup-rows.js';
import { CONVERSATION_KEY, time, type Rows } from './rollup-sql.js';

const IS_TRIAL = 'NOT retracted AND counts AND isNotNull(trial)';
const DAY_MS = 86_400_000;
/** How many times further to look for the first one that stands. */
const REACH = 4;
const SERIES_AT_ONCE = 2_000;

/** Those of the series that have a trial which stands and closed until `untilMs`, with the first close of these. */
export async function standingStarts(
  rows: Rows,
  starts: readonly SeriesStart[],
  untilMs: number,
): Promise<readonly SeriesStart[]> {
  const found: SeriesStart[] = [];
  for (let at = 0; at < starts.length; at += SERIES_AT_ONCE) {
    const some = starts.slice(at, at + SERIES_AT_ONCE);
    const standing = await standingOf(rows, some);
    const moved = some.filter(({ seriesId }) => !standing.has(seriesId));
    const anew = await firstCloses(rows, moved, untilMs);
    for (const start of some) {
      const firstClosedAtMs = standing.has(start.seriesId) ? start.firstClosedAtMs : anew.get(start.seriesId);
      if (firstClosedAtMs !== undefined) found.push({ ...start, firstClosedAtMs });
    }
  }
  return found;
}

/** Ids of the series whose first trial stands as it is recorded. */
async function standingOf(rows: Rows, starts: readonly SeriesStart[]): Promise<ReadonlySet<string>> {
  if (starts.length === 0) return new Set();
  // Of each conversation all versions, which have one key.
  const found = await rows(
    `SELECT DISTINCT toString(series) AS series_id FROM
    (
      SELECT series, argMax((first_closed_at, ${IS_TRIAL}), version) AS stands
      FROM {db}.conversations
      WHERE (${CONVERSATION_KEY}) IN
      (
        SELECT ${CONVERSATION_KEY} FROM {db}.conversations
        WHERE series IN {series:Array(UInt64)}
          AND first_closed_at IN (SELECT fromUnixTimestamp64Milli(arrayJoin({closes:Array(Int64)}), 'UTC'))
      )
      GROUP BY series, started_at, conversation_id
    )
    WHERE stands.2 AND toUnixTimestamp64Milli(stands.1) = transform(series, {series:Array(UInt64)}, {closes:Array(Int64)}, toInt64(-1))`,
    {
      series: starts.map(({ seriesId }) => BigInt(seriesId)),
      closes: starts.map(({ firstClosedAtMs }) => firstClosedAtMs),
    },
  );
  return new Set(found.map((row) => String(row['series_id'])));
}

/** First close of what stands, by series; it is never before what is recorded. */
async function firstCloses(
  rows: Rows,
  starts: readonly SeriesStart[],
  untilMs: number,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const fromMs = Math.min(...starts.map(({ firstClosedAtMs }) => firstClosedAtMs));
  let missing = starts.map(({ seriesId }) => seriesId);
  for (let reachMs = DAY_MS; missing.length > 0; reachMs *= REACH) {
    const toMs = Math.min(untilMs, fromMs + reachMs);
    const some = await rows(
      `SELECT toString(series) AS series_id, toUnixTimestamp64Milli(min(first_closed_at)) AS closed_ms
      FROM {db}.conversations FINAL
      WHERE series IN {series:Array(UInt64)} AND ${IS_TRIAL}
        AND first_closed_at >= ${time('from')}
        AND first_closed_at <= ${time('to')}
      GROUP BY series`,
      { series: missing.map(BigInt), from: fromMs, to: toMs },
    );
    for (const row of some) found.set(String(row['series_id']), Number(row['closed_ms']));
    missing = toMs >= untilMs ? [] : missing.filter((id) => !found.has(id));
  }
  return found;
}
