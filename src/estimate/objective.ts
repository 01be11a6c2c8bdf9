import type { BetaPrior, Counts } from '../model/estimate.js';
import { betaQuantile } from './beta.js';
import { posterior } from './pass.js';

/** What a series is held to, frozen when its watch begins. p is the success rate of a conversation. */
export interface Objective {
  /** The alert opens on evidence against p >= p0. 0 < p0 < 1. */
  readonly p0: number;
  /** The smallest drop that matters, 0 < delta < p0: the alert closes on evidence against p <= p0 - delta. */
  readonly delta: number;
  /** A: the mean number of conversations to a false alarm is at least this. >= 1. */
  readonly falseAlarmRun: number;
  /** Close when the evidence of recovery reaches 1/alphaClose. 0 < alphaClose < 1. */
  readonly alphaClose: number;
  /** An alert stays open at least this long, in milliseconds between closes of conversations. >= 0. */
  readonly minOpenMs: number;
  /** Page when P(p < p0 - delta) reaches this. 0 < pageCertainty < 1. */
  readonly pageCertainty: number;
  /** Prior of that probability. */
  readonly prior: BetaPrior;
}

export const DEFAULT_OBJECTIVE: Omit<Objective, 'p0' | 'falseAlarmRun'> = {
  delta: 0.03,
  alphaClose: 0.05,
  minOpenMs: 30 * 60_000,
  pageCertainty: 0.95,
  prior: { a: 1, b: 1 },
};

/** The p0 of "pass^K >= s": s^(1/K), because pass^K = p^K. RangeError unless 0 < s < 1 and K is a whole number >= 1. */
export function p0OfPassPowK(s: number, k: number): number {
  assertWithin('s', s, 0, 1);
  if (!Number.isSafeInteger(k) || k < 1) throw new RangeError(`K must be a whole number >= 1, got ${k}`);
  return s ** (1 / k);
}

/** Mass below the lower bound of a baseline. */
const BASELINE_TAIL = 0.05;

/**
 * The p0 of "no worse than at first", from the counts of the baseline:
 *
 *   min(lower 5 % bound, mean - delta) of Beta(a0 + c, b0 + n - c)
 *
 * null when that is at most delta: from there no drop of delta is possible. RangeError unless 0 < delta < 1.
 */
export function p0OfBaseline(
  counts: Pick<Counts, 'trials' | 'correct'>,
  prior: BetaPrior,
  delta: number,
): number | null {
  assertWithin('delta', delta, 0, 1);
  const { a, b } = posterior(counts, prior);
  const p0 = Math.min(betaQuantile(BASELINE_TAIL, a, b).value, a / (a + b) - delta);
  return p0 > delta ? p0 : null;
}

// Below, alarms come within days in small series; above, a series' lifetime is too short to tell the difference.
const MIN_FALSE_ALARM_RUN = 1_000;
const MAX_FALSE_ALARM_RUN = 1_000_000;

/**
 * A = days between false alarms x conversations a day, within 1000 .. 1 000 000. RangeError unless both are numbers >= 0.
 */
export function falseAlarmRun(falseAlarmDays: number, conversationsPerDay: number): number {
  for (const [name, value] of Object.entries({ falseAlarmDays, conversationsPerDay })) {
    if (!(value >= 0)) throw new RangeError(`${name} must be >= 0, got ${value}`);
  }
  const run = falseAlarmDays * conversationsPerDay;
  // 0 x Infinity says nothing; the smaller bound alarms sooner.
  return Math.min(MAX_FALSE_ALARM_RUN, Math.max(MIN_FALSE_ALARM_RUN, Number.isNaN(run) ? 0 : run));
}

/** Throws RangeError, with the value and its range, for an objective that cannot be watched. */
export function assertObjective(objective: Objective): void {
  const { p0, delta, falseAlarmRun: run, alphaClose, minOpenMs, pageCertainty, prior } = objective;
  assertWithin('p0', p0, 0, 1);
  assertWithin('delta', delta, 0, p0);
  if (!(run >= 1 && Number.isFinite(run))) throw new RangeError(`falseAlarmRun must be finite and >= 1, got ${run}`);
  assertWithin('alphaClose', alphaClose, 0, 1);
  if (!(minOpenMs >= 0)) throw new RangeError(`minOpenMs must be >= 0, got ${minOpenMs}`);
  assertWithin('pageCertainty', pageCertainty, 0, 1);
  assertWithin('prior.a', prior.a, 0, Infinity);
  assertWithin('prior.b', prior.b, 0, Infinity);
}

function assertWithin(name: string, value: number, low: number, high: number): void {
  if (!(value > low && value < high)) throw new RangeError(`${name} must be > ${low} and < ${high}, got ${value}`);
}
