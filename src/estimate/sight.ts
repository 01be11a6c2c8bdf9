/**
 * Watches whether a series can be seen at all. Pure: the closed conversations of the series in order of close, each as it
 * stood a stated time after its close, give a state.
 *
 * Seeing: the latest `window` conversations are remembered. When `outstandingShare` of them wait for something (a judge
 * that is away, mostly) the series is blind, from the first of them on. When so many as `unscoredRun` in a row have
 * nothing that could be scored, although there have been trials before, it is blind as well (an instrumentation that
 * stopped recording content, mostly).
 * Blind: outstanding ends when less than half of that share of the latest is outstanding; unscored ends with a trial.
 * No conversation, no change: silence neither opens nor closes.
 */
import type { Position } from './fold-order.js';
import { isAhead } from './fold-order.js';

/** Conversations that sampling or the budget left out are left away: nobody meant to look at them. */
export interface Sighting extends Position {
  readonly seen: 'trial' | 'outstanding' | 'unscored';
}

export interface SightRules {
  /** How many of the latest conversations are looked at. A whole number >= 2. */
  readonly window: number;
  /** Blind from this share of outstanding ones on. 0 < share <= 1. */
  readonly outstandingShare: number;
  /** Blind from so many in a row without anything to score. A whole number >= 1. */
  readonly unscoredRun: number;
  /** How long after its close a conversation is looked at, in milliseconds. */
  readonly afterMs: number;
}

export type BlindReason = 'outstanding' | 'unscored';

/**
 * Closes that detectors leave out, both ends included, in milliseconds since the Unix epoch: from behind the moment when
 * blindness was decided to the last outstanding one. What closed before had been given to detectors already, as far as
 * they did not wait, so that what they leave out does not depend on when ticks came.
 */
export interface BlindStretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Plain JSON. */
export interface SightState {
  readonly position: Position | null;
  readonly seen: number;
  readonly hadTrial: boolean;
  /** The latest, oldest first. */
  readonly recent: readonly { readonly atMs: number; readonly outstanding: boolean }[];
  readonly unscored: { readonly count: number; readonly sinceMs: number };
  /** Close of the last outstanding one; null: there was none. */
  readonly lastOutstandingMs: number | null;
  /** `decidedAtMs`: when the conversation that decided was looked at; `sinceMs`: close of the first one not seen. */
  readonly blind: { readonly reason: BlindReason; readonly sinceMs: number; readonly decidedAtMs: number } | null;
  /** Stretches of outstanding conversations that are over. The latest only. */
  readonly stretches: readonly BlindStretch[];
}

export interface SightTransition {
  readonly kind: 'opened' | 'closed';
  readonly reason: BlindReason;
  /** When the conversation that decided was looked at. */
  readonly atMs: number;
  readonly conversationId: string;
  /** `atMs` of the opening. */
  readonly decidedAtMs: number;
  /** Close of the first conversation that could not be seen. */
  readonly sinceMs: number;
  /** Of the latest conversations: how many there are, and how many of them are outstanding. */
  readonly conversations: number;
  readonly outstanding: number;
}

/** More than a detector is ever behind. */
const KEPT_STRETCHES = 100;

export const FULL_SIGHT: SightState = {
  position: null,
  seen: 0,
  hadTrial: false,
  recent: [],
  unscored: { count: 0, sinceMs: 0 },
  lastOutstandingMs: null,
  blind: null,
  stretches: [],
};

/** Takes one more conversation; one at or before the last is ignored. */
export function foldSighting(
  state: SightState,
  sighting: Sighting,
  rules: SightRules,
): { readonly state: SightState; readonly transition?: SightTransition } {
  if (!isAhead(sighting, state.position)) return { state };
  const { conversationId, firstClosedAtMs: atMs, seen } = sighting;
  const recent = state.recent.slice(-(rules.window - 1));
  recent.push({ atMs, outstanding: seen === 'outstanding' });
  const unscored =
    seen === 'unscored'
      ? { count: state.unscored.count + 1, sinceMs: state.unscored.count === 0 ? atMs : state.unscored.sinceMs }
      : seen === 'trial'
        ? FULL_SIGHT.unscored
        : state.unscored;
  const next: SightState = {
    ...state,
    position: { conversationId, firstClosedAtMs: atMs },
    seen: state.seen + 1,
    hadTrial: state.hadTrial || seen === 'trial',
    recent,
    unscored,
    lastOutstandingMs: seen === 'outstanding' ? atMs : state.lastOutstandingMs,
  };
  const waiting = recent.filter(({ outstanding }) => outstanding);
  const evidence = {
    atMs: atMs + rules.afterMs,
    conversationId,
    conversations: recent.length,
    outstanding: waiting.length,
  };

  if (state.blind === null) {
    const blind = blindness(next, waiting, rules, atMs + rules.afterMs);
    return blind === null
      ? { state: next }
      : { state: { ...next, blind }, transition: { kind: 'opened', ...blind, ...evidence } };
  }
  const { reason } = state.blind;
  const over = reason === 'unscored' ? seen === 'trial' : waiting.length < (rules.outstandingShare / 2) * recent.length;
  if (!over) return { state: next };
  return {
    state: endSight(next),
    transition: { kind: 'closed', ...state.blind, ...evidence },
  };
}

/** The end of blindness, for whatever reason. */
export function endSight(state: SightState): SightState {
  const { blind, lastOutstandingMs, stretches } = state;
  if (blind === null) return state;
  const stretch = { fromMs: blind.decidedAtMs + 1, toMs: lastOutstandingMs ?? blind.decidedAtMs };
  const isEmpty = blind.reason === 'unscored' || stretch.toMs < stretch.fromMs;
  return {
    ...state,
    // Begun anew, so that no stretch reaches back into what detectors were given in between.
    recent: [],
    unscored: FULL_SIGHT.unscored,
    blind: null,
    stretches: isEmpty ? stretches : [...stretches, stretch].slice(-KEPT_STRETCHES),
  };
}

function blindness(
  { recent, unscored, hadTrial }: SightState,
  waiting: SightState['recent'],
  rules: SightRules,
  decidedAtMs: number,
): SightState['blind'] {
  const [first] = waiting;
  const isFull = recent.length === rules.window;
  if (first !== undefined && isFull && waiting.length >= rules.outstandingShare * rules.window) {
    return { reason: 'outstanding', sinceMs: first.atMs, decidedAtMs };
  }
  if (!hadTrial || unscored.count < rules.unscoredRun) return null;
  return { reason: 'unscored', sinceMs: unscored.sinceMs, decidedAtMs };
}
