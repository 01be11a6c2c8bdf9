import type { EstimateRules } from '../estimate/pass.js';
import type { Window } from '../model/estimate.js';

/** What the rollup computes. */
export interface RollupRules {
  /** A conversation closes when no turn came for this long. Milliseconds, > 0. */
  readonly idleMs: number;
  /** Ticks are the multiples of this, in stream time. Milliseconds, > 0. */
  readonly tickMs: number;
  /** At least one; their names differ. */
  readonly windows: readonly Window[];
  readonly figures: Omit<EstimateRules, 'mode'>;
  /** The smallest difference of pass^K that matters between two sides, 0 <= margin < 1. */
  readonly margin: number;
}

/**
 * A worker that was not heard of for so long no longer holds time back. Workers beat every 10 s, and a partition whose
 * worker died has another one within 30 s and the time of a join.
 */
export const FRESH_MS = 120_000;

/**
 * What was written so long before the last tick began to read is read again: an insert carries the time at which it
 * began, and takes up to a minute.
 */
export const OVERLAP_MS = 120_000;

/** The last tick at or before a time. */
export function tickAt(ms: number, tickMs: number): number {
  return Math.floor(ms / tickMs) * tickMs;
}
