import type { DetectorState } from '../../src/estimate/detector.js';
import { foldTrial, startDetector } from '../../src/estimate/detector.js';
import type { Objective } from '../../src/estimate/objective.js';
import { DEFAULT_OBJECTIVE } from '../../src/estimate/objective.js';
import { betsAgainst } from '../../src/estimate/shiryaev-roberts.js';
import { betaCdf } from '../../src/estimate/beta.js';
import type { Severity, Trial } from '../../src/model/estimate.js';
import { uniform } from '../support/beta-draws.js';

export const P0 = 0.93;
/** One conversation a minute, so that the minimum open time is 30 conversations. */
const STEP_MS = 60_000;

function objectiveOf(run: number): Objective {
  return { ...DEFAULT_OBJECTIVE, p0: P0, falseAlarmRun: run };
}

function trial(at: number, correct: boolean): Trial {
  return { conversationId: 's', firstClosedAtMs: at * STEP_MS, correct };
}

export interface RunLength {
  readonly alarms: number;
  /** Trials an alarm. */
  readonly mean: number;
}

/**
 * Mean number of trials to a false alarm at a constant p: one long stream in which the detector begins anew after each
 * alarm. The opening side alone and in plain numbers, many times as fast as the detector; see `agrees`.
 */
export function runLength(run: number, p: number, trials: number, seed: number): RunLength {
  const random = uniform(seed);
  const bets = betsAgainst(P0);
  const right = Float64Array.from(bets, (bet) => 1 + bet * (P0 - 1));
  const wrong = Float64Array.from(bets, (bet) => 1 + bet * P0);
  const m = new Float64Array(bets.length);
  let alarms = 0;
  for (let at = 0; at < trials; at += 1) {
    const correct = random() < p;
    const factors = correct ? right : wrong;
    let sum = 0;
    for (let j = 0; j < m.length; j += 1) sum += m[j] = ((m[j] as number) + 1) * (factors[j] as number);
    if (!correct && sum >= run * m.length) {
      alarms += 1;
      m.fill(0);
    }
  }
  return { alarms, mean: trials / alarms };
}

/** Does the detector itself open as often, in the same stream? */
export function agrees(run: number, p: number, trials: number, seed: number): boolean {
  const random = uniform(seed);
  const objective = objectiveOf(run);
  let state = startDetector(objective);
  let alarms = 0;
  for (let at = 0; at < trials; at += 1) {
    const fold = foldTrial(state, trial(at, random() < p), objective);
    state = fold.transition?.kind === 'opened' ? startDetector(objective) : fold.state;
    if (fold.transition !== undefined) alarms += 1;
  }
  return alarms === runLength(run, p, trials, seed).alarms;
}

export interface Naive {
  /** Takes one trial; true when the alert changes its state. */
  take(correct: boolean): boolean;
  readonly open: boolean;
}

/** The usual way: open while P(p < p0) > 0.95 of the last 200 trials (at least 30), looked at after each. */
export function naive(): Naive {
  const last = new Uint8Array(200);
  const certain = new Map<number, boolean>();
  let seen = 0;
  let right = 0;
  let open = false;
  return {
    get open() {
      return open;
    },
    take(correct) {
      const at = seen % last.length;
      if (seen >= last.length) right -= last[at] ?? 0;
      last[at] = correct ? 1 : 0;
      right += correct ? 1 : 0;
      seen += 1;
      const n = Math.min(seen, last.length);
      if (n < 30) return false;
      const key = n * 1_000 + right;
      let now = certain.get(key);
      if (now === undefined) {
        now = betaCdf({ value: P0, complement: 1 - P0 }, 1 + right, 1 + n - right) > 0.95;
        certain.set(key, now);
      }
      const changed = now !== open;
      open = now;
      return changed;
    },
  };
}

/** Mean number of trials to the first opening, each stream from its start, cut at `limit`; and flips per 3000 trials. */
export function naiveRunLength(p: number, streams: number, limit: number, seed: number) {
  const random = uniform(seed);
  let trials = 0;
  let alarms = 0;
  let flips = 0;
  let alarmed = 0;
  for (let stream = 0; stream < streams; stream += 1) {
    const rule = naive();
    let first = 0;
    for (let at = 1; at <= limit; at += 1) {
      if (rule.take(random() < p)) {
        flips += 1;
        if (first === 0) first = at;
      }
    }
    trials += first === 0 ? limit : first;
    if (first > 0) alarms += 1;
    if (first > 0 && first <= 3_000) alarmed += 1;
  }
  return { mean: trials / alarms, alarmedBy3000: alarmed / streams, flipsPer3000: (3_000 * flips) / (streams * limit) };
}

export interface Episode {
  /** Trials from the drop to the alert, of all streams without a false alarm before it; Infinity when none came. */
  readonly delays: readonly number[];
  /** Share of streams that had opened before the drop. */
  readonly early: number;
  /** Openings and closings from the drop on, mean over the streams. */
  readonly transitions: number;
  readonly upgrades: number;
  readonly openings: number;
  /** Share of first openings that were pages, and of episodes that were pages in the end. */
  readonly pageAtOpen: number;
  readonly pageInTheEnd: number;
  /** Distance of the estimated change from the true one, in trials, median. */
  readonly changeError: number;
  /** Trials from the recovery to the first closing after it, of those that closed. */
  readonly closeDelays: readonly number[];
  readonly naive: { readonly delays: readonly number[]; readonly early: number; readonly transitions: number };
}

const BEFORE = 500;
const BAD = 600;
const AFTER = 1_000;

/** .95 for 500 trials, `dropTo` for 600, .95 for 1000; our detector and the naive rule on the same streams. */
export function episodes(run: number, dropTo: number, streams: number, seed: number): Episode {
  const random = uniform(seed);
  const objective = objectiveOf(run);
  const delays: number[] = [];
  const naiveDelays: number[] = [];
  const closeDelays: number[] = [];
  const changeErrors: number[] = [];
  const sum = { early: 0, transitions: 0, upgrades: 0, openings: 0, pages: 0, ended: 0, first: 0 };
  const naiveSum = { early: 0, transitions: 0 };
  for (let stream = 0; stream < streams; stream += 1) {
    let state: DetectorState = startDetector(objective);
    const rule = naive();
    let delay = Infinity;
    let naiveDelay = Infinity;
    let firstSeverity: Severity | null = null;
    let worst: Severity = 'ticket';
    let closed = false;
    let early = false;
    let naiveEarly = false;
    for (let at = 1; at <= BEFORE + BAD + AFTER; at += 1) {
      const bad = at > BEFORE && at <= BEFORE + BAD;
      const correct = random() < (bad ? dropTo : 0.95);
      const fold = foldTrial(state, trial(at, correct), objective);
      state = fold.state;
      const flipped = rule.take(correct);
      if (at <= BEFORE) {
        early ||= fold.transition?.kind === 'opened';
        naiveEarly ||= flipped;
        continue;
      }
      if (flipped) naiveSum.transitions += 1;
      if (flipped && rule.open && naiveDelay === Infinity) naiveDelay = at - BEFORE;
      if (fold.transition === undefined) continue;
      const { kind, severity, changedAtMs } = fold.transition;
      if (kind === 'upgraded') sum.upgrades += 1;
      else sum.transitions += 1;
      if (kind === 'opened') sum.openings += 1;
      if (kind === 'opened' && delay === Infinity) {
        delay = at - BEFORE;
        firstSeverity = severity;
        if (!early) changeErrors.push(Math.abs(changedAtMs / STEP_MS - (BEFORE + 1)));
      }
      if (severity === 'page') worst = 'page';
      if (kind === 'closed' && !bad && !closed) {
        closed = true;
        closeDelays.push(at - BEFORE - BAD);
      }
    }
    if (early) sum.early += 1;
    else {
      delays.push(delay);
      if (firstSeverity !== null) sum.first += 1;
      if (firstSeverity === 'page') sum.pages += 1;
      if (worst === 'page') sum.ended += 1;
    }
    if (naiveEarly) naiveSum.early += 1;
    else naiveDelays.push(naiveDelay);
  }
  return {
    delays,
    early: sum.early / streams,
    transitions: sum.transitions / streams,
    upgrades: sum.upgrades / streams,
    openings: sum.openings / streams,
    pageAtOpen: sum.pages / sum.first,
    pageInTheEnd: sum.ended / sum.first,
    changeError: quantile(changeErrors, 0.5),
    closeDelays,
    naive: { delays: naiveDelays, early: naiveSum.early / streams, transitions: naiveSum.transitions / streams },
  };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
