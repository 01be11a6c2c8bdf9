import type { Beginning } from './beginning.js';
import { foldBeginning } from './beginning.js';
import type { DetectorState, SeriesFold } from './detector.js';
import { foldSeries } from './detector.js';
import type { Candidate, FoldRules, Position, ReadyToFold } from './fold-order.js';
import { comparePositions, isAhead, readyToFold } from './fold-order.js';
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
    const { conversationId, firstClosedAtMs } = conversation;
    const fold = foldSighting(watching, { conversationId, firstClosedAtMs, seen: seenOf(conversation) }, rules);
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

export interface BeginningFold extends Pick<ReadyToFold, 'waitingFor'> {
  readonly beginning: Beginning;
  /** No trial comes any more that closes at or before it. */
  readonly decidedUntilMs: number;
}

/**
 * Takes what may be folded of a series while an objective is not frozen, see `watchObjective`. Conversations that are no
 * trial are passed over as well, so that a series without trials is not read from its beginning for ever.
 */
export function watchBeginning(
  beginning: Beginning,
  sight: SightState,
  conversations: readonly Closed[],
  nowMs: number,
  waitMs: number,
): BeginningFold {
  const untilMs = horizon(sight, nowMs);
  const ready = readyToFold(candidatesOf(conversations), beginning.position, untilMs, foldRules(sight, waitMs));
  const { waitingFor } = ready;
  const folded = ready.trials.reduce(foldBeginning, beginning);
  let { position } = ready;
  for (const one of conversations) {
    const isPassed = one.firstClosedAtMs <= untilMs && (waitingFor === null || isAhead(waitingFor, one));
    if (isPassed && isAhead(one, position)) {
      position = { conversationId: one.conversationId, firstClosedAtMs: one.firstClosedAtMs };
    }
  }
  const hasMoved = position !== null && isAhead(position, beginning.position);
  return {
    beginning: hasMoved ? { ...folded, position } : beginning,
    decidedUntilMs: waitingFor === null ? untilMs : waitingFor.firstClosedAtMs - 1,
    waitingFor,
  };
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
