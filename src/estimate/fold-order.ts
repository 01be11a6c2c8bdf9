import type { Trial } from '../model/estimate.js';

/** A closed conversation that is a trial, or will be one: `correct` null is outstanding. Those that never will be are left away. */
export interface Candidate extends Pick<Trial, 'conversationId' | 'firstClosedAtMs'> {
  readonly correct: boolean | null;
}

/** The place of a conversation in the order of close. */
export type Position = Pick<Trial, 'conversationId' | 'firstClosedAtMs'>;

export interface FoldRules {
  /** How long an outstanding conversation is waited for, in milliseconds after its close. */
  readonly waitMs: number;
  /** Times in which nothing could be seen, `toMs` exclusive and null while it lasts: what closes then is left out. */
  readonly blind: readonly { readonly fromMs: number; readonly toMs: number | null }[];
}

export interface ReadyToFold {
  readonly trials: readonly Trial[];
  /** Where to go on: the last conversation that was folded or left out. */
  readonly position: Position | null;
  /** Conversations passed over: in the stretch of one that was waited for in vain, or closed while blind. */
  readonly leftOut: number;
  /** Trials at or before the position that was given: they turned up too late, or were seen already. */
  readonly behind: number;
  /** The outstanding conversation that the others wait for. */
  readonly waitingFor: Position | null;
}

/**
 * The trials after `position` that may be folded at `nowMs` (the tick's stream time), in order of close.
 *
 * A conversation that is outstanding `waitMs` after its close is given up with all that closed between it and the last
 * outstanding one of that time: beside a judge that is away, what settles is what rules alone could fail, and to fold
 * it would page for a healthy agent. What is given up is decided as of that moment and not as of `nowMs`, so the
 * result does not depend on when ticks came, as long as no verdict changes in between. Order of `candidates`: any.
 */
export function readyToFold(
  candidates: readonly Candidate[],
  position: Position | null,
  nowMs: number,
  { waitMs, blind }: FoldRules,
): ReadyToFold {
  const ordered = [...candidates].sort(comparePositions).filter(({ firstClosedAtMs }) => firstClosedAtMs <= nowMs);
  const ahead = ordered.filter((candidate) => isAhead(candidate, position));
  const behind = ordered.slice(0, ordered.length - ahead.length).filter(({ correct }) => correct !== null).length;
  const unseen = ({ firstClosedAtMs }: Position) =>
    blind.some(({ fromMs, toMs }) => fromMs <= firstClosedAtMs && firstClosedAtMs < (toMs ?? Infinity));

  const trials: Trial[] = [];
  let leftOut = 0;
  let waitingFor: Position | null = null;
  let next = 0;
  for (let candidate = ahead[next]; candidate !== undefined; candidate = ahead[next]) {
    const { conversationId, firstClosedAtMs, correct } = candidate;
    if (unseen(candidate)) {
      leftOut += 1;
      next += 1;
    } else if (correct !== null) {
      trials.push({ conversationId, firstClosedAtMs, correct });
      next += 1;
    } else {
      const givenUpAtMs = firstClosedAtMs + waitMs;
      if (givenUpAtMs > nowMs) {
        waitingFor = { conversationId, firstClosedAtMs };
        break;
      }
      let last = next;
      for (let at = next + 1; (ahead[at]?.firstClosedAtMs ?? Infinity) <= givenUpAtMs; at += 1) {
        const other = ahead[at] as Candidate;
        if (other.correct === null && !unseen(other)) last = at;
      }
      leftOut += last + 1 - next;
      next = last + 1;
    }
  }
  return { trials, position: positionOf(ahead[next - 1]) ?? position, leftOut, behind, waitingFor };
}

/** Order of close: by `firstClosedAtMs`, then by the bytes of the id, as ClickHouse sorts strings. */
export function comparePositions(a: Position, b: Position): number {
  if (a.firstClosedAtMs !== b.firstClosedAtMs) return a.firstClosedAtMs - b.firstClosedAtMs;
  return a.conversationId === b.conversationId
    ? 0
    : Buffer.compare(Buffer.from(a.conversationId), Buffer.from(b.conversationId));
}

/** Does it come after the position in the order? Everything comes after null. */
export function isAhead(candidate: Position, position: Position | null): boolean {
  return position === null || comparePositions(candidate, position) > 0;
}

function positionOf(candidate: Position | undefined): Position | undefined {
  if (candidate === undefined) return undefined;
  return { conversationId: candidate.conversationId, firstClosedAtMs: candidate.firstClosedAtMs };
}
