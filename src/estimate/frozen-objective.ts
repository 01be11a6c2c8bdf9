import type { Beginning } from './beginning.js';
import { DAY_MS, RATE_TRIALS, startBeginning } from './beginning.js';
import type { Position } from './fold-order.js';
import type { Objective } from './objective.js';
import { falseAlarmRun, p0OfBaseline, p0OfPassPowK } from './objective.js';

/** What an operator asks of a series, before its numbers are frozen. */
export interface ObjectiveRule extends Omit<Objective, 'p0' | 'falseAlarmRun'> {
  /** Names it in rows and messages. */
  readonly name: string;
  readonly target: ObjectiveTarget;
  /** Days between false alarms, >= 0. */
  readonly falseAlarmDays: number;
}

export type ObjectiveTarget =
  | { readonly kind: 'pass_pow_k'; /** 0 < atLeast < 1. */ readonly atLeast: number; readonly k: number }
  | { readonly kind: 'success_rate'; /** 0 < atLeast < 1. */ readonly atLeast: number }
  /** No worse than over its first conversations. */
  | { readonly kind: 'baseline'; readonly conversations: number };

/** An objective with the numbers that it has for one series, for good. Plain JSON. */
export interface FrozenObjective {
  /** null: the series is too bad at first for a drop of delta to be possible; it is not watched. */
  readonly objective: Objective | null;
  readonly target: ObjectiveTarget;
  readonly falseAlarmDays: number;
  /** As the series began; it makes `falseAlarmRun`. null: so many at one moment that there is no rate. */
  readonly conversationsPerDay: number | null;
  /** Of the baseline; null for a target that is given. */
  readonly baseline: { readonly trials: number; readonly correct: number } | null;
  /** The detector takes what comes after it. null: from the first conversation on. */
  readonly after: Position | null;
}

/**
 * Trials a day, from the first hundred of a series, or from its first day where that has fewer. null: not known yet.
 * `decidedUntilMs`: no more trials come that close at or before it. A function of the trials, not of when it is asked.
 */
export function trialsPerDay({ firstMs, rateEndMs, firstDay }: Beginning, decidedUntilMs: number): number | null {
  if (firstMs === null) return null;
  const dayEndsMs = firstMs + DAY_MS;
  if (rateEndMs !== null && rateEndMs < dayEndsMs) return ((RATE_TRIALS - 1) * DAY_MS) / (rateEndMs - firstMs);
  return decidedUntilMs < dayEndsMs ? null : firstDay;
}

/** As a series begins that is to be held to this objective. */
export function beginningFor({ target }: ObjectiveRule): Beginning {
  return startBeginning(target.kind === 'baseline' ? target.conversations : 0);
}

/**
 * Freezes an objective for a series, from its first trials in order of close; null while they do not suffice.
 *
 * A = false-alarm days x trials a day. A given target is watched from the first trial on (those it was frozen with are
 * folded as well), a baseline from the first trial behind it. Trials behind those that it needs change nothing.
 */
export function freezeObjective(
  rule: ObjectiveRule,
  beginning: Beginning,
  decidedUntilMs: number,
): FrozenObjective | null {
  const { name: _name, target, falseAlarmDays, ...rest } = rule;
  const perDay = trialsPerDay(beginning, decidedUntilMs);
  if (perDay === null) return null;
  const run = falseAlarmRun(falseAlarmDays, perDay);
  const frozen = { target, falseAlarmDays, conversationsPerDay: Number.isFinite(perDay) ? perDay : null };
  if (target.kind !== 'baseline') {
    const p0 = target.kind === 'pass_pow_k' ? p0OfPassPowK(target.atLeast, target.k) : target.atLeast;
    return { objective: { p0, falseAlarmRun: run, ...rest }, ...frozen, baseline: null, after: null };
  }
  const { baselineEnd, correct } = beginning;
  if (baselineEnd === null) return null;
  const baseline = { trials: target.conversations, correct };
  const p0 = p0OfBaseline(baseline, rest.prior, rest.delta);
  return {
    objective: p0 === null ? null : { p0, falseAlarmRun: run, ...rest },
    ...frozen,
    baseline,
    after: baselineEnd,
  };
}
