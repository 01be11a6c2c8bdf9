import type { Beginning } from '../estimate/beginning.js';
import { DAY_MS } from '../estimate/beginning.js';
import type { DetectorState } from '../estimate/detector.js';
import { startDetector } from '../estimate/detector.js';
import { isAhead } from '../estimate/fold-order.js';
import type { FrozenObjective } from '../estimate/frozen-objective.js';
import { beginningFor, freezeObjective } from '../estimate/frozen-objective.js';
import type { Objective } from '../estimate/objective.js';
import { endSight, FULL_SIGHT } from '../estimate/sight.js';
import type { Closed } from '../estimate/watch.js';
import { watchBeginning, watchObjective, watchSight } from '../estimate/watch.js';
import type { AlertRow, DetectorKept, SeriesKey, SightKept, StateRow } from './alert-rows.js';
import { blindRow, dropRow, endedRow, keptAfter, numberedBy } from './alert-rows.js';
import type { AlertRules, WatchedObjective } from './alert-rules.js';

/** A closed conversation as the store has it; `writtenAtMs`: of a trial, else 0. */
export interface ReadConversation extends Closed {
  readonly writtenAtMs: number;
}

/** What is kept of the detector of an objective. */
export interface KeptObjective {
  readonly frozen: FrozenObjective;
  /** null: it is not watched, see `FrozenObjective`. */
  readonly kept: DetectorKept | null;
  readonly behind: number;
  /** When its row was written; trials that were written later and lie behind its position came too late. */
  readonly writtenAtMs: number;
}

export interface KeptSeries {
  readonly sight: SightKept;
  /** By name of the objective; absent: not frozen yet. */
  readonly objectives: ReadonlyMap<string, KeptObjective>;
}

export const NOTHING_KEPT: KeptSeries = {
  sight: { state: FULL_SIGHT, opened: 0, openedAtMs: null },
  objectives: new Map(),
};

export interface SeriesInput {
  readonly series: SeriesKey;
  readonly kept: KeptSeries;
  /** All that closed since the positions of what is kept, those of beginnings included. */
  readonly conversations: readonly ReadConversation[];
  readonly nowMs: number;
}

/** Had the series no conversation that closed in (after, until], while another one of the same agent had? */
export type IsSuperseded = (series: SeriesKey, afterMs: number, untilMs: number) => Promise<boolean>;

export interface SeriesStep {
  readonly alerts: readonly AlertRow[];
  /** What has changed. */
  readonly states: readonly StateRow[];
  /** When time alone may change it, although nothing comes; null: never. */
  readonly dueMs: number | null;
  /** An objective was frozen whose detector begins before what was given: to be stepped again from what is kept now. */
  readonly isToReadAgain: boolean;
}

/** The objectives that are for a series. */
export function objectivesFor({ assistantId, environment }: SeriesKey, rules: AlertRules): readonly WatchedObjective[] {
  return rules.objectives.filter(
    ({ assistants, environments }) =>
      (assistants.length === 0 || assistants.includes(assistantId)) &&
      (environments.length === 0 || environments.includes(environment ?? '')),
  );
}

/**
 * One series from where it was left to `nowMs`: first whether it can be seen, then its objectives. A function of what is
 * kept and of what has closed: cut into ticks in any way, it gives the same rows.
 */
export async function watchSeries(
  input: SeriesInput,
  rules: AlertRules,
  isSuperseded: IsSuperseded,
): Promise<SeriesStep> {
  const alerts: AlertRow[] = [];
  const states: StateRow[] = [];
  const { series, kept, conversations, nowMs } = input;
  const ends = endsOf(input, rules.supersededMs);
  const asked = new Map<number, Promise<boolean>>();
  const superseded = (atMs: number): Promise<boolean> => {
    const answer = asked.get(atMs) ?? isSuperseded(series, atMs - rules.supersededMs, atMs);
    asked.set(atMs, answer);
    return answer;
  };

  const sight = await stepSight(input, ends, rules, superseded);
  alerts.push(...sight.alerts);
  const seeing = sight.state.kept;
  // What lies ahead of now; what lies behind it was decided in this step, or waits for what has yet to come.
  const dues = conversations
    .filter((one) => isAhead(one, seeing.state.position))
    .map(({ firstClosedAtMs }) => firstClosedAtMs + rules.blind.afterMs);
  let isOpen = seeing.state.blind !== null;
  const withdrawn = withdrawObjectives(input, rules);
  alerts.push(...withdrawn.alerts);
  states.push(...withdrawn.states);

  const beginnings: Record<string, Beginning> = {};
  let isToReadAgain = false;
  for (const rule of objectivesFor(series, rules)) {
    let before = kept.objectives.get(rule.name);
    if (before === undefined) {
      const begun = begin(rule, seeing, input, rules.waitMs);
      if (begun.frozen === null) {
        beginnings[rule.name] = begun.beginning;
        dues.push(...begun.duesMs);
        continue;
      }
      before = begun.frozen;
      if (!begun.isAllGiven) {
        states.push(stateRow(series, rule.name, before, before.behind));
        isToReadAgain = true;
        continue;
      }
    }
    const step = await stepObjective(rule.name, before, seeing, input, ends, rules, superseded);
    alerts.push(...step.alerts);
    isOpen ||= step.isOpen;
    if (step.waitsUntilMs !== null) dues.push(step.waitsUntilMs);
    if (step.changed || !kept.objectives.has(rule.name)) states.push(step.state);
  }
  if (seeing !== kept.sight || !areSame(beginnings, kept.sight.beginnings ?? {})) {
    const withBeginnings: SightKept = { ...seeing, beginnings };
    states.push({ ...sight.state, kept: withBeginnings });
  }
  if (isOpen) dues.push(lastCloseMs(input) + rules.supersededMs);
  const ahead = dues.filter((dueMs) => dueMs > nowMs);
  return { alerts, states, dueMs: ahead.length === 0 ? null : ahead.reduce((a, b) => Math.min(a, b)), isToReadAgain };
}

/** Of the same objectives, and nothing taken: `watchBeginning` then gives what it was given. */
function areSame(a: Readonly<Record<string, Beginning>>, b: Readonly<Record<string, Beginning>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** Closes what is open under objectives that are no longer for the series: nothing would be folded into it any more. */
function withdrawObjectives(
  { series, kept, nowMs }: SeriesInput,
  rules: AlertRules,
): Pick<SeriesStep, 'alerts' | 'states'> {
  const alerts: AlertRow[] = [];
  const states: StateRow[] = [];
  const asked = new Set(objectivesFor(series, rules).map(({ name }) => name));
  for (const [name, before] of kept.objectives) {
    const { frozen, kept: detector } = before;
    if (asked.has(name) || frozen.objective === null || detector?.state.phase.kind !== 'open') continue;
    const open = { objective: frozen.objective, kept: detector, phase: detector.state.phase };
    const end = endedAlert(series, name, frozen, open, nowMs, 'withdrawn');
    alerts.push(end.alert);
    states.push(stateRow(series, name, { ...before, kept: end.kept }, before.behind));
  }
  return { alerts, states };
}

interface OpenDetector {
  readonly objective: Objective;
  readonly kept: DetectorKept;
  readonly phase: Extract<DetectorState['phase'], { kind: 'open' }>;
}

/** The end, without evidence, of an alert that is open; the watch begins anew. */
function endedAlert(
  series: SeriesKey,
  name: string,
  frozen: FrozenObjective,
  { objective, kept, phase }: OpenDetector,
  atMs: number,
  reason: 'superseded' | 'withdrawn',
): { readonly alert: AlertRow; readonly kept: DetectorKept } {
  const numbered = numberedBy(kept, 'closed', atMs);
  const state = { ...kept.state, phase: startDetector(objective).phase };
  return {
    alert: endedRow(series, name, frozen, numbered, phase, atMs, reason),
    kept: { ...keptAfter(kept, 'closed', numbered), state },
  };
}

/** When it would be known that nothing more came for `supersededMs`: behind every such gap up to now, oldest first. */
function endsOf({ kept, conversations, nowMs }: SeriesInput, supersededMs: number): readonly number[] {
  const position = kept.sight.state.position;
  const closes = conversations.map(({ firstClosedAtMs }) => firstClosedAtMs).filter((atMs) => atMs <= nowMs);
  if (position !== null) closes.push(position.firstClosedAtMs);
  closes.sort((a, b) => a - b);
  return closes
    .filter((atMs, i) => (closes[i + 1] ?? nowMs + 1) - atMs > supersededMs)
    .map((atMs) => atMs + supersededMs)
    .filter((atMs) => atMs <= nowMs);
}

function lastCloseMs({ kept, conversations, nowMs }: SeriesInput): number {
  const closes = conversations.map(({ firstClosedAtMs }) => firstClosedAtMs).filter((atMs) => atMs <= nowMs);
  return closes.reduce((a, b) => Math.max(a, b), kept.sight.state.position?.firstClosedAtMs ?? 0);
}

interface SightStep {
  readonly alerts: readonly AlertRow[];
  readonly state: StateRow & { readonly kept: SightKept };
}

async function stepSight(
  { series, kept, conversations, nowMs }: SeriesInput,
  ends: readonly number[],
  rules: AlertRules,
  superseded: (atMs: number) => Promise<boolean>,
): Promise<SightStep> {
  const alerts: AlertRow[] = [];
  const { severity } = rules.blind;
  let sight = kept.sight;
  for (const untilMs of [...ends, nowMs]) {
    const look = watchSight(sight.state, conversations, untilMs, rules.blind);
    for (const transition of look.transitions) {
      const numbered = numberedBy(sight, transition.kind, transition.atMs);
      alerts.push(blindRow(series, severity, numbered, transition));
      sight = keptAfter(sight, transition.kind, numbered);
    }
    if (look.state !== sight.state) sight = { ...sight, state: look.state };
    const { blind } = sight.state;
    if (blind !== null && untilMs > blind.decidedAtMs && ends.includes(untilMs) && (await superseded(untilMs))) {
      const numbered = numberedBy(sight, 'closed', untilMs);
      const { sinceMs } = blind;
      const end = { kind: 'closed', reason: 'superseded', atMs: untilMs, sinceMs } as const;
      alerts.push(blindRow(series, severity, numbered, end));
      sight = { ...keptAfter(sight, 'closed', numbered), state: endSight(sight.state) };
    }
  }
  const { position, seen } = sight.state;
  const state = { series, objective: '', frozen: null, position, folded: seen, leftOut: 0, behind: 0 };
  return { alerts, state: { ...state, kept: sight, version: seen + 1 } };
}

interface Begun {
  readonly beginning: Beginning;
  /** null: not yet. */
  readonly frozen: KeptObjective | null;
  /** The detector begins nowhere before what was given. */
  readonly isAllGiven: boolean;
  /** When time alone may freeze it. */
  readonly duesMs: readonly number[];
}

function begin(
  rule: WatchedObjective,
  sight: SightKept,
  { kept, conversations, nowMs }: SeriesInput,
  waitMs: number,
): Begun {
  const fresh = beginningFor(rule);
  const known = kept.sight.beginnings?.[rule.name];
  // A baseline of another size is counted from the first trial on.
  const before = known?.baselineTrials === fresh.baselineTrials ? known : fresh;
  const { beginning, decidedUntilMs, waitingFor } = watchBeginning(before, sight.state, conversations, nowMs, waitMs);
  const frozen = freezeObjective(rule, beginning, decidedUntilMs);
  if (frozen === null) {
    const duesMs = waitingFor === null ? [] : [waitingFor.firstClosedAtMs + waitMs];
    if (beginning.firstMs !== null) duesMs.push(beginning.firstMs + DAY_MS);
    return { beginning, frozen: null, isAllGiven: true, duesMs };
  }
  const { objective, after } = frozen;
  const detector: DetectorKept | null =
    objective === null
      ? null
      : { state: { ...startDetector(objective), position: after }, opened: 0, openedAtMs: null };
  return {
    beginning,
    frozen: { frozen, kept: detector, behind: 0, writtenAtMs: Infinity },
    isAllGiven: before.position === null || (after !== null && !isAhead(before.position, after)),
    duesMs: [],
  };
}

interface ObjectiveStep {
  readonly alerts: readonly AlertRow[];
  readonly state: StateRow;
  readonly changed: boolean;
  readonly isOpen: boolean;
  /** When it no longer waits for an outstanding conversation; null: it waits for none. */
  readonly waitsUntilMs: number | null;
}

async function stepObjective(
  name: string,
  before: KeptObjective,
  sight: SightKept,
  { series, conversations, nowMs }: SeriesInput,
  ends: readonly number[],
  { waitMs }: AlertRules,
  superseded: (atMs: number) => Promise<boolean>,
): Promise<ObjectiveStep> {
  const { frozen } = before;
  const alerts: AlertRow[] = [];
  if (before.kept === null || frozen.objective === null) {
    const state = stateRow(series, name, before, before.behind);
    return { alerts, state, changed: false, isOpen: false, waitsUntilMs: null };
  }
  let kept: DetectorKept = before.kept;
  let waitsUntilMs: number | null = null;
  for (const untilMs of [...ends, nowMs]) {
    const fold = watchObjective(kept.state, sight.state, conversations, untilMs, frozen.objective, waitMs);
    for (const transition of fold.transitions) {
      const numbered = numberedBy(kept, transition.kind, transition.atMs);
      alerts.push(dropRow(series, name, frozen, numbered, transition));
      kept = keptAfter(kept, transition.kind, numbered);
    }
    kept = { ...kept, state: fold.state };
    waitsUntilMs = fold.waitingFor === null ? null : fold.waitingFor.firstClosedAtMs + waitMs;
    const { phase } = kept.state;
    if (phase.kind === 'open' && untilMs > phase.openedAtMs && ends.includes(untilMs) && (await superseded(untilMs))) {
      const open = { objective: frozen.objective, kept, phase };
      const end = endedAlert(series, name, frozen, open, untilMs, 'superseded');
      alerts.push(end.alert);
      kept = end.kept;
    }
  }
  const late = conversations.filter(
    (one) => one.writtenAtMs > before.writtenAtMs && !isAhead(one, before.kept?.state.position ?? null),
  ).length;
  const behind = before.behind + late;
  const isOpen = kept.state.phase.kind === 'open';
  return {
    alerts,
    state: stateRow(series, name, { ...before, kept }, behind),
    changed: late > 0 || alerts.length > 0 || hasMoved(before.kept.state, kept.state),
    isOpen,
    waitsUntilMs,
  };
}

function hasMoved(before: DetectorState, after: DetectorState): boolean {
  return before.folded !== after.folded || before.leftOut !== after.leftOut;
}

function stateRow(series: SeriesKey, objective: string, { frozen, kept }: KeptObjective, behind: number): StateRow {
  const { position = frozen.after, folded = 0, leftOut = 0 } = kept?.state ?? {};
  return { series, objective, frozen, position, folded, leftOut, behind, kept, version: folded + leftOut + 1 };
}
