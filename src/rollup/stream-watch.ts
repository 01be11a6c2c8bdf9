import { FULL_STREAM_SIGHT, watchStream } from '../estimate/stream-sight.js';
import type { Store } from '../store/clickhouse.js';
import { clockMicros } from '../store/clock.js';
import type { AlertRow, StreamKept } from './alert-rows.js';
import { ALL_SERIES, blindRow, keptAfter, numberedBy } from './alert-rows.js';
import type { AlertRules } from './alert-rules.js';
import { writeAlerts, writeStates } from './alert-writes.js';

const MINUTE_MS = 60_000;
/** How far back a first look goes; the heartbeats of more than 30 days are gone anyway. */
export const FIRST_LOOK_MS = 24 * 3_600_000;
/** Heartbeats of a minute are all there so long after its end. */
const SETTLED_MS = 30_000;

/** Up to where minutes are over, and their heartbeats written. */
export function overUntil(wallMs: number): number {
  return Math.floor((wallMs - SETTLED_MS) / MINUTE_MS) * MINUTE_MS;
}

/**
 * Looks at the workers' heartbeats up to `wallMs`, and writes what of it makes all blind, or ends that. A function of the
 * heartbeats and of what was kept: minutes are looked at once they are over.
 */
export async function stepStream(
  store: Pick<Store, 'rows' | 'insertRows'>,
  rules: AlertRules['blind'],
  wallMs: number,
): Promise<readonly AlertRow[]> {
  const [row] = await store.rows(
    `SELECT state, version FROM {db}.detector_state FINAL WHERE assistant_id = '' AND objective = '' AND policy = ''`,
  );
  const kept: StreamKept =
    row === undefined
      ? { state: FULL_STREAM_SIGHT, opened: 0, openedAtMs: null }
      : (JSON.parse(String(row['state'])) as StreamKept);
  const untilMs = overUntil(wallMs);
  const fromMs = kept.state.lastMs ?? untilMs - FIRST_LOOK_MS;
  const [minutes, newest, readMicros] = await Promise.all([
    store.rows(
      `SELECT toUnixTimestamp64Milli(min(at)) AS first, toUnixTimestamp64Milli(max(at)) AS last, max(lag_ms) AS lag
       FROM {db}.heartbeats
       WHERE at > fromUnixTimestamp64Milli({from:Int64}) AND at < fromUnixTimestamp64Milli({until:Int64})
       GROUP BY toStartOfMinute(at) ORDER BY first`,
      { from: fromMs, until: untilMs },
    ),
    store.rows(`SELECT count() AS beats FROM {db}.heartbeats WHERE at >= fromUnixTimestamp64Milli({from:Int64})`, {
      from: untilMs,
    }),
    clockMicros(store),
  ]);
  const read = minutes.map((minute) => ({
    firstMs: Number(minute['first']),
    lastMs: Number(minute['last']),
    lagMs: Number(minute['lag']),
  }));
  // A sign of life in a minute that is not over yet ends the silence up to that minute.
  const silentUntilMs = Number(newest[0]?.['beats']) > 0 ? untilMs : wallMs;

  const { state, transitions } = watchStream(kept.state, read, silentUntilMs, rules);
  let sight = kept;
  const alerts = transitions.map((transition) => {
    const numbered = numberedBy(sight, transition.kind, transition.atMs);
    sight = keptAfter(sight, transition.kind, numbered);
    return blindRow(ALL_SERIES, rules.severity, numbered, transition);
  });
  if (state === kept.state) return [];
  await writeAlerts(store, alerts, readMicros);
  const version = (state.lastMs ?? 0) * 2 + (state.blind === null ? 0 : 1);
  const none = { objective: '', frozen: null, position: null, folded: 0, leftOut: 0, behind: 0 };
  await writeStates(store, [{ series: ALL_SERIES, ...none, kept: { ...sight, state }, version }]);
  return alerts;
}
