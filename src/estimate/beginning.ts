import type { Trial } from '../model/estimate.js';
import type { Position } from './fold-order.js';
import { isAhead } from './fold-order.js';

/**
 * What has been seen of the first trials of a series while an objective is not frozen: as much as it is frozen from, so
 * that nothing has to be read twice. Plain JSON.
 */
export interface Beginning {
  /** How many trials make the baseline; 0: none is asked for. */
  readonly baselineTrials: number;
  /** The last conversation that was taken or passed over; null at the start. */
  readonly position: Position | null;
  readonly trials: number;
  /** Of those of the baseline, the correct ones. */
  readonly correct: number;
  /** The last trial of the baseline; null while it is not complete. */
  readonly baselineEnd: Position | null;
  /** Close of the first trial; null: there was none. */
  readonly firstMs: number | null;
  /** Close of the `RATE_TRIALS`-th. */
  readonly rateEndMs: number | null;
  /** Trials that closed within a day of the first. */
  readonly firstDay: number;
}

export const DAY_MS = 86_400_000;
/** More would not make A, which is a matter of powers of ten, better; fewer vary by a third. */
export const RATE_TRIALS = 100;

export function startBeginning(baselineTrials: number): Beginning {
  return {
    baselineTrials,
    position: null,
    trials: 0,
    correct: 0,
    baselineEnd: null,
    firstMs: null,
    rateEndMs: null,
    firstDay: 0,
  };
}

/** Takes one more trial; they have to come in order of close, and one at or before the last is ignored. */
export function foldBeginning(beginning: Beginning, trial: Trial): Beginning {
  if (!isAhead(trial, beginning.position)) return beginning;
  const { conversationId, firstClosedAtMs, correct } = trial;
  const position = { conversationId, firstClosedAtMs };
  const trials = beginning.trials + 1;
  const firstMs = beginning.firstMs ?? firstClosedAtMs;
  return {
    baselineTrials: beginning.baselineTrials,
    position,
    trials,
    correct: beginning.correct + (correct && trials <= beginning.baselineTrials ? 1 : 0),
    baselineEnd: trials === beginning.baselineTrials ? position : beginning.baselineEnd,
    firstMs,
    rateEndMs: trials === RATE_TRIALS ? firstClosedAtMs : beginning.rateEndMs,
    firstDay: beginning.firstDay + (firstClosedAtMs < firstMs + DAY_MS ? 1 : 0),
  };
}
