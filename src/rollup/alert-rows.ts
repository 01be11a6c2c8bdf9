import { createHash } from 'node:crypto';
import type { Beginning } from '../estimate/beginning.js';
import type { DetectorState } from '../estimate/detector.js';
import type { FrozenObjective } from '../estimate/frozen-objective.js';
import type { JudgeSightState, JudgeTransition } from '../estimate/judge-sight.js';
import type { SightState, SightTransition } from '../estimate/sight.js';
import type { StreamSightState, StreamTransition } from '../estimate/stream-sight.js';
import type { Json } from '../model/json.js';
import type { Series, Severity, Transition } from '../model/estimate.js';
import type { Position } from '../estimate/fold-order.js';

/** The columns that name a series; what is of all series has empty ones. */
export type SeriesKey = Omit<Series, 'task'>;

export const ALL_SERIES: SeriesKey = { assistantId: '', agentVersion: null, environment: null, policy: '' };

/** The SQL that reads a SeriesKey (`seriesFromRow`), and the hash that stands for it, as text because it has 64 bits. */
export const SERIES_SQL = 'toString(series) AS series, assistant_id, agent_version, environment, policy';

/** The row of a transition, under the names of its columns. Times in milliseconds since the Unix epoch. */
export interface AlertRow {
  readonly alert_id: string;
  readonly kind: 'drop' | 'blind';
  readonly objective: string;
  readonly transition: Transition['kind'];
  readonly severity: Severity;
  readonly at: number;
  readonly conversation_id: string;
  readonly assistant_id: string;
  readonly agent_version: string | null;
  readonly environment: string | null;
  readonly policy: string;
  readonly opened_at: number;
  readonly changed_at: number | null;
  readonly trials: number;
  readonly correct: number;
  readonly log_evidence: number | null;
  readonly log_threshold: number | null;
  readonly certainty: number | null;
  readonly p0: number | null;
  readonly delta: number | null;
  readonly details: string;
}

export const ALERT_COLUMNS = [
  'alert_id',
  'kind',
  'objective',
  'transition',
  'severity',
  'at',
  'conversation_id',
  'assistant_id',
  'agent_version',
  'environment',
  'policy',
  'opened_at',
  'changed_at',
  'trials',
  'correct',
  'log_evidence',
  'log_threshold',
  'certainty',
  'p0',
  'delta',
  'details',
] as const satisfies readonly (keyof AlertRow)[];

/**
 * What is kept of a watch, as JSON text. `opened`: alerts that it has opened so far, the open one included; it makes
 * their ids, so that an alert has one row for each of its transitions whatever several rollups have seen.
 */
export interface Kept<State> {
  readonly state: State;
  readonly opened: number;
  /** `at` of the opening of the alert that is open. */
  readonly openedAtMs: number | null;
}

export type DetectorKept = Kept<DetectorState>;
export interface SightKept extends Kept<SightState> {
  /** By name of the objectives that are not frozen yet. */
  readonly beginnings?: Readonly<Record<string, Beginning>>;
}
export type StreamKept = Kept<StreamSightState>;
export type JudgeKept = Kept<JudgeSightState>;

/** 16 hex digits: a function of the series, the objective (empty: blindness) and the number of the alert among its own. */
export function alertId(series: SeriesKey, objective: string, ordinal: number): string {
  const { assistantId, agentVersion, environment, policy } = series;
  const name = JSON.stringify([assistantId, agentVersion, environment, policy, objective, ordinal]);
  return createHash('sha256').update(name).digest('hex').slice(0, 16);
}

const SERIES_COLUMNS = ({ assistantId, agentVersion, environment, policy }: SeriesKey) => ({
  assistant_id: assistantId,
  agent_version: agentVersion,
  environment,
  policy,
});

const NO_NUMBERS = {
  changed_at: null,
  trials: 0,
  correct: 0,
  log_evidence: null,
  log_threshold: null,
  certainty: null,
  p0: null,
  delta: null,
} as const;

/** The number of an alert among its own, and when it was opened. */
export interface Numbered {
  readonly ordinal: number;
  readonly openedAtMs: number;
}

/** The alert that a transition belongs to. */
export function numberedBy(
  kept: Pick<Kept<unknown>, 'opened' | 'openedAtMs'>,
  kind: Transition['kind'],
  atMs: number,
): Numbered {
  if (kind === 'opened') return { ordinal: kept.opened + 1, openedAtMs: atMs };
  return { ordinal: kept.opened, openedAtMs: kept.openedAtMs ?? atMs };
}

/** What is kept after that transition; its state is for the caller. */
export function keptAfter<K extends Kept<unknown>>(
  kept: K,
  kind: Transition['kind'],
  { ordinal, openedAtMs }: Numbered,
): K {
  return { ...kept, opened: ordinal, openedAtMs: kind === 'closed' ? null : openedAtMs };
}

/** The row of a transition of a detector. */
export function dropRow(
  series: SeriesKey,
  name: string,
  frozen: FrozenObjective,
  { ordinal, openedAtMs }: Numbered,
  transition: Transition,
): AlertRow {
  return {
    alert_id: alertId(series, name, ordinal),
    kind: 'drop',
    objective: name,
    transition: transition.kind,
    severity: transition.severity,
    at: transition.atMs,
    conversation_id: transition.conversationId,
    ...SERIES_COLUMNS(series),
    opened_at: openedAtMs,
    changed_at: transition.changedAtMs,
    trials: transition.trials,
    correct: transition.correct,
    log_evidence: transition.logEvidence,
    log_threshold: transition.logThreshold,
    certainty: transition.certainty,
    p0: frozen.objective?.p0 ?? null,
    delta: frozen.objective?.delta ?? null,
    details: dropDetails(transition.kind === 'closed' ? 'recovered' : 'evidence', frozen),
  };
}

/** The row that closes an alert without evidence: another series has taken its place, or nobody asks for its objective. */
export function endedRow(
  series: SeriesKey,
  name: string,
  frozen: FrozenObjective,
  { ordinal, openedAtMs }: Numbered,
  { severity, changedAtMs, trials, correct }: Extract<DetectorState['phase'], { kind: 'open' }>,
  atMs: number,
  reason: 'superseded' | 'withdrawn',
): AlertRow {
  return {
    alert_id: alertId(series, name, ordinal),
    kind: 'drop',
    objective: name,
    transition: 'closed',
    severity,
    at: atMs,
    conversation_id: '',
    ...SERIES_COLUMNS(series),
    opened_at: openedAtMs,
    ...NO_NUMBERS,
    changed_at: changedAtMs,
    trials,
    correct,
    p0: frozen.objective?.p0 ?? null,
    delta: frozen.objective?.delta ?? null,
    details: dropDetails(reason, frozen),
  };
}

function dropDetails(reason: string, frozen: FrozenObjective): string {
  const { target, falseAlarmDays, conversationsPerDay, baseline, objective } = frozen;
  const { falseAlarmRun = null, alphaClose = null, minOpenMs = null, pageCertainty = null } = objective ?? {};
  const numbers = { falseAlarmRun, falseAlarmDays, conversationsPerDay, alphaClose, minOpenMs, pageCertainty };
  return JSON.stringify({ reason, target, baseline, ...numbers });
}

/** The row of a change of sight: of a series, or of all; `watch` tells apart those who watch all. */
export function blindRow(
  series: SeriesKey,
  severity: Severity,
  { ordinal, openedAtMs }: Numbered,
  transition: SightTransition | StreamTransition | JudgeTransition | SupersededSight,
  watch = '',
): AlertRow {
  const { kind, reason, sinceMs, atMs } = transition;
  const counts =
    'conversations' in transition
      ? { conversations: transition.conversations, outstanding: transition.outstanding }
      : {};
  const details: Json = { reason, since: new Date(sinceMs).toISOString(), ...counts };
  return {
    alert_id: alertId(series, watch, ordinal),
    kind: 'blind',
    objective: '',
    transition: kind,
    severity,
    at: atMs,
    conversation_id: 'conversationId' in transition ? transition.conversationId : '',
    ...SERIES_COLUMNS(series),
    opened_at: openedAtMs,
    ...NO_NUMBERS,
    details: JSON.stringify(details),
  };
}

export interface SupersededSight {
  readonly kind: 'closed';
  readonly reason: 'superseded';
  readonly atMs: number;
  readonly sinceMs: number;
}

/** A row of `detector_state`. */
export interface StateRow {
  readonly series: SeriesKey;
  /** Empty: the watch of sight. */
  readonly objective: string;
  readonly frozen: FrozenObjective | null;
  readonly position: Position | null;
  readonly folded: number;
  readonly leftOut: number;
  readonly behind: number;
  readonly kept: Kept<unknown> | null;
  readonly version: number;
}

export const STATE_COLUMNS = [
  'assistant_id',
  'agent_version',
  'environment',
  'policy',
  'objective',
  'frozen',
  'position_at',
  'position_id',
  'folded',
  'left_out',
  'behind',
  'state',
  'version',
] as const;

export function stateValues(row: StateRow): readonly unknown[] {
  const { series, position } = row;
  return [
    ...Object.values(SERIES_COLUMNS(series)),
    row.objective,
    JSON.stringify(row.frozen),
    position?.firstClosedAtMs ?? null,
    position?.conversationId ?? '',
    row.folded,
    row.leftOut,
    row.behind,
    JSON.stringify(row.kept),
    row.version,
  ];
}
