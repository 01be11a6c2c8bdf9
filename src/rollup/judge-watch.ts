import { FULL_JUDGE_SIGHT, watchJudge } from '../estimate/judge-sight.js';
import type { Store } from '../store/clickhouse.js';
import { clockMicros } from '../store/clock.js';
import type { AlertRow, JudgeKept } from './alert-rows.js';
import { ALL_SERIES, blindRow, keptAfter, numberedBy } from './alert-rows.js';
import type { AlertRules } from './alert-rules.js';
import { writeAlerts, writeStates } from './alert-writes.js';
import { FIRST_LOOK_MS, overUntil } from './stream-watch.js';

/** Names this watch among those that are of all series. */
const JUDGE = 'judge';
/** Workers count their answers from their start: what a sign of life says of them is how many more they are than in the one before, not so long ago. */
const BEFORE_MS = 10 * 60_000;

/**
 * Looks at what the workers said of the judge up to `wallMs`, and writes when it stopped answering or answers again. A
 * function of the heartbeats and of what was kept, as `stepStream`.
 */
export async function stepJudge(
  store: Pick<Store, 'rows' | 'insertRows'>,
  rules: AlertRules['blind'],
  wallMs: number,
): Promise<readonly AlertRow[]> {
  const [row] = await store.rows(
    `SELECT state FROM {db}.detector_state FINAL WHERE assistant_id = '' AND objective = {objective:String} AND policy = ''`,
    { objective: JUDGE },
  );
  const kept: JudgeKept =
    row === undefined
      ? { state: FULL_JUDGE_SIGHT, opened: 0, openedAtMs: null }
      : (JSON.parse(String(row['state'])) as JudgeKept);
  const untilMs = overUntil(wallMs);
  const fromMs = kept.state.lastMs ?? untilMs - FIRST_LOOK_MS;
  const [minutes, readMicros] = await Promise.all([
    store.rows(
      `SELECT toUnixTimestamp64Milli(min(at)) AS first, toUnixTimestamp64Milli(max(at)) AS last,
         countIf(judge != '') AS asking,
         countIf(judge = 'closed' AND answers > 0 AND answers != before) AS answering,
         countIf(judge IN ('open', 'half_open')) AS refused
       FROM
       (
         SELECT at, JSONExtractString(details, 'judge') AS judge, JSONExtractUInt(details, 'judgeAnswers') AS answers,
           lagInFrame(answers) OVER (PARTITION BY worker ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
         FROM {db}.heartbeats
         WHERE at > fromUnixTimestamp64Milli({before:Int64}) AND at < fromUnixTimestamp64Milli({until:Int64})
       )
       WHERE at > fromUnixTimestamp64Milli({from:Int64})
       GROUP BY toStartOfMinute(at) ORDER BY first`,
      { before: fromMs - BEFORE_MS, from: fromMs, until: untilMs },
    ),
    clockMicros(store),
  ]);
  const read = minutes.map((minute) => ({
    firstMs: Number(minute['first']),
    lastMs: Number(minute['last']),
    asks: Number(minute['asking']) > 0,
    answers: Number(minute['answering']) > 0,
    refuses: Number(minute['refused']) > 0,
  }));
  if (read.length === 0 || (row === undefined && !read.some(({ asks }) => asks))) return [];

  const { state, transitions } = watchJudge(kept.state, read, rules);
  let sight = kept;
  const alerts = transitions.map((transition) => {
    const numbered = numberedBy(sight, transition.kind, transition.atMs);
    sight = keptAfter(sight, transition.kind, numbered);
    return blindRow(ALL_SERIES, rules.severity, numbered, transition, JUDGE);
  });
  await writeAlerts(store, alerts, readMicros);
  const none = { objective: JUDGE, frozen: null, position: null, folded: 0, leftOut: 0, behind: 0 };
  await writeStates(store, [{ series: ALL_SERIES, ...none, kept: { ...sight, state }, version: state.lastMs ?? 0 }]);
  return alerts;
}
