import type { Trial } from '../model/estimate.js';
import type { DetectorState, SeriesFold } from './detector.js';
import { foldSeries } from './detector.js';
import type { Candidate, FoldRules, Position, ReadyToFold } from './fold-order.js';
import { comparePositions, readyToFold } from './fold-order.js';
import type { Objective } from './objective.js';
import type { Sighting, SightRules, SightState, SightTransition } from './sight.js';
import { foldSighting } from './sight.js';

/** A closed conversation of a series, of those that were not left out by sampling or budget. */
export interface Closed extends Position {
  /** null: outstanding. */
  readonly correct: boolean | null;
  /** It is no trial and waits for nothing: nothing in it could be scored. */
  readonly unscored: boolean;
}

/** Looks at all conversations that closed `afterMs` before `nowMs` or earlier. Those seen before may be given again. */
export function watchSight(
  state: SightState,
  conversations: readonly Closed[],
  nowMs: number,
  rules: SightRules,
): { readonly state: SightState; readonly transitions: readonly SightTransition[] } {
  const transitions: SightTransition[] = [];
  let watching = state;
  for (const conversation of [...conversations].sort(comparePositions)) {
    if (conversation.firstClosedAtMs + rules.afterMs > nowMs) break;
    const fold = foldSighting(watching, { ...conversation, seen: seenOf(conversation) }, rules);
    watching = fold.state;
    if (fold.transition !== undefined) transitions.push(fold.transition);
  }
  return { state: watching, transitions };
}

function seenOf({ correct, unscored }: Closed): Sighting['seen'] {
  if (unscored) return 'unscored';
  return correct === null ? 'outstanding' : 'trial';
}

/**
 * `foldSeries` with the stretches left out in which the series was blind. While it is blind the detector stands still at
 * the moment when that was decided: how much has to be left out is known when it is over.
 */
export function watchObjective(
  state: DetectorState,
  sight: SightState,
  conversations: readonly Closed[],
  nowMs: number,
  objective: Objective,
  waitMs: number,
): SeriesFold {
  return foldSeries(state, candidatesOf(conversations), horizon(sight, nowMs), objective, foldRules(sight, waitMs));
}

/** What may be folded from the beginning of a series on, see `watchObjective`; and the time up to which it is decided. */
export function watchedTrials(
  sight: SightState,
  conversations: readonly Closed[],
  nowMs: number,
  waitMs: number,
): { readonly trials: readonly Trial[]; readonly decidedUntilMs: number } {
  const untilMs = horizon(sight, nowMs);
  const ready: ReadyToFold = readyToFold(candidatesOf(conversations), null, untilMs, foldRules(sight, waitMs));
  const decidedUntilMs = ready.waitingFor === null ? untilMs : ready.waitingFor.firstClosedAtMs - 1;
  return { trials: ready.trials, decidedUntilMs };
}

function candidatesOf(conversations: readonly Closed[]): readonly Candidate[] {
  return conversations.filter(({ unscored }) => !unscored);
}

function horizon({ blind }: SightState, nowMs: number): number {
  return blind?.reason === 'outstanding' ? Math.min(nowMs, blind.decidedAtMs) : nowMs;
}

function foldRules({ stretches }: SightState, waitMs: number): FoldRules {
  return { waitMs, blind: stretches.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + 1 })) };
}
