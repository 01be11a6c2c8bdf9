/**
 * Watches the trials of one series against one objective. Pure: a state and a trial give a state, so that a run can be
 * checkpointed anywhere and replayed.
 *
 * Watching: evidence for a drop grows and shrinks; when its mean reaches A, on a failure, the alert opens. Open: the
 * change stays where it was estimated, severity may rise, evidence of recovery is gathered; when that reaches 1/alpha and
 * the alert has been open long enough, it closes and watching begins anew with no evidence. A trial at or before the
 * last one is ignored in both. Trials alone move it: without them nothing opens and nothing closes.
 */
import type { Severity, Transition, Trial } from '../model/estimate.js';
import type { ChangePoint } from './change-point.js';
import { foldChangePoint, NO_CHANGE } from './change-point.js';
import type { Candidate, FoldRules, Position, ReadyToFold } from './fold-order.js';
import { isAhead, readyToFold } from './fold-order.js';
import type { Objective } from './objective.js';
import { assertObjective } from './objective.js';
import { foldRecovery, logMeanRecovery, NO_RECOVERY } from './recovery.js';
import { certaintyOfDrop, severityOf } from './severity.js';
import { betsAgainst, foldEvidence, logFactor, meanEvidence } from './shiryaev-roberts.js';

/** Plain JSON; all numbers are finite. */
export interface DetectorState {
  /** The last conversation that was folded or left out; null at the start. */
  readonly position: Position | null;
  /** Trials folded. */
  readonly folded: number;
  /** Conversations passed over, see `readyToFold`. */
  readonly leftOut: number;
  readonly phase: Watching | Open;
}

interface Watching {
  readonly kind: 'watching';
  /** ln(1 + M_j), a bet each. */
  readonly evidence: readonly number[];
  /** The change as each bet sees it. */
  readonly changes: readonly ChangePoint[];
}

interface Open {
  readonly kind: 'open';
  readonly openedAtMs: number;
  readonly severity: Severity;
  /** `firstClosedAtMs` of the first trial since the estimated change. */
  readonly changedAtMs: number;
  readonly trials: number;
  readonly correct: number;
  /** ln C_j. */
  readonly recovery: readonly number[];
}

export interface Fold {
  readonly state: DetectorState;
  readonly transition?: Transition;
}

/** Nothing seen yet. Throws RangeError for an objective that cannot be watched. */
export function startDetector(objective: Objective): DetectorState {
  assertObjective(objective);
  return { position: null, folded: 0, leftOut: 0, phase: watch(objective) };
}

function watch({ p0 }: Objective): Watching {
  const bets = betsAgainst(p0);
  return { kind: 'watching', evidence: bets.map(() => 0), changes: bets.map(() => NO_CHANGE) };
}

/**
 * Takes one trial. The trials of a series have to come in order of close; one at or before the last is ignored, so that
 * replaying what was folded changes nothing. The objective has to be the one that the state was started with.
 */
export function foldTrial(state: DetectorState, trial: Trial, objective: Objective): Fold {
  if (!isAhead(trial, state.position)) return { state };
  const { conversationId, firstClosedAtMs } = trial;
  const { phase, transition } =
    state.phase.kind === 'watching'
      ? foldWatching(state.phase, trial, objective)
      : foldOpen(state.phase, trial, objective);
  const next: DetectorState = {
    position: { conversationId, firstClosedAtMs },
    folded: state.folded + 1,
    leftOut: state.leftOut,
    phase,
  };
  return transition === undefined ? { state: next } : { state: next, transition };
}

interface Moved {
  readonly phase: DetectorState['phase'];
  readonly transition?: Transition;
}

function foldWatching(phase: Watching, trial: Trial, objective: Objective): Moved {
  const { p0 } = objective;
  const { correct, firstClosedAtMs } = trial;
  const bets = betsAgainst(p0);
  if (bets.length !== phase.evidence.length) {
    throw new RangeError(`state of an objective with ${bets.length} bets expected, got ${phase.evidence.length}`);
  }
  const evidence: number[] = [];
  const changes: ChangePoint[] = [];
  bets.forEach((bet, j) => {
    const factor = logFactor(bet, p0, correct);
    evidence.push(foldEvidence(phase.evidence[j] ?? 0, factor));
    changes.push(foldChangePoint(phase.changes[j] ?? NO_CHANGE, factor, correct, firstClosedAtMs));
  });
  // Near p0 = 1 the evidence creeps upwards without a failure. An alert that is later than it may be keeps its promise.
  const mean = correct ? 0 : meanEvidence(evidence);
  if (!(mean >= objective.falseAlarmRun)) return { phase: { kind: 'watching', evidence, changes } };

  const change = changes[evidence.indexOf(Math.max(...evidence))] ?? NO_CHANGE;
  const certainty = certaintyOfDrop(change.trials, change.correct, objective);
  const open: Open = {
    kind: 'open',
    openedAtMs: firstClosedAtMs,
    severity: severityOf(certainty, objective),
    changedAtMs: change.sinceMs ?? firstClosedAtMs,
    trials: change.trials,
    correct: change.correct,
    recovery: NO_RECOVERY,
  };
  const logThreshold = Math.log(objective.falseAlarmRun);
  return { phase: open, transition: transition('opened', open, trial, Math.log(mean), logThreshold, certainty) };
}

function foldOpen(phase: Open, trial: Trial, objective: Objective): Moved {
  const { p0, delta, alphaClose, minOpenMs } = objective;
  const counted: Open = {
    ...phase,
    trials: phase.trials + 1,
    correct: phase.correct + (trial.correct ? 1 : 0),
    recovery: foldRecovery(phase.recovery, p0 - delta, trial.correct),
  };
  const logEvidence = logMeanRecovery(counted.recovery);
  const logThreshold = -Math.log(alphaClose);
  const closes = logEvidence >= logThreshold && trial.firstClosedAtMs - phase.openedAtMs >= minOpenMs;
  // Nothing is left to ask of a page that stays open.
  if (!closes && phase.severity === 'page') return { phase: counted };

  const certainty = certaintyOfDrop(counted.trials, counted.correct, objective);
  const open = { ...counted, severity: severityOf(certainty, objective, phase.severity) };
  if (closes) {
    return {
      phase: watch(objective),
      transition: transition('closed', open, trial, logEvidence, logThreshold, certainty),
    };
  }
  if (open.severity === phase.severity) return { phase: open };
  return { phase: open, transition: transition('upgraded', open, trial, logEvidence, logThreshold, certainty) };
}

function transition(
  kind: Transition['kind'],
  { severity, changedAtMs, trials, correct }: Open,
  { conversationId, firstClosedAtMs }: Trial,
  logEvidence: number,
  logThreshold: number,
  certainty: number,
): Transition {
  const counts = { trials, correct, certainty };
  return { kind, atMs: firstClosedAtMs, conversationId, severity, logEvidence, logThreshold, changedAtMs, ...counts };
}

export interface SeriesFold extends Pick<ReadyToFold, 'behind' | 'waitingFor'> {
  readonly state: DetectorState;
  readonly transitions: readonly Transition[];
}

/**
 * Takes all that may be folded at `nowMs` of the closed conversations of a series; see `readyToFold`. Candidates that were
 * given before may be given again; all that may still be outstanding have to be.
 */
export function foldSeries(
  state: DetectorState,
  candidates: readonly Candidate[],
  nowMs: number,
  objective: Objective,
  rules: FoldRules,
): SeriesFold {
  const ready = readyToFold(candidates, state.position, nowMs, rules);
  const transitions: Transition[] = [];
  let folding = state;
  for (const trial of ready.trials) {
    const fold = foldTrial(folding, trial, objective);
    folding = fold.state;
    if (fold.transition !== undefined) transitions.push(fold.transition);
  }
  const moved = { ...folding, position: ready.position, leftOut: state.leftOut + ready.leftOut };
  return { state: moved, transitions, behind: ready.behind, waitingFor: ready.waitingFor };
}
