import type { SpanId, TraceId } from '../model/span.js';
import type { Turn } from '../model/turn.js';
import { DecidedMemory } from './decided-memory.js';
import { DueQueue } from './due-queue.js';
import type { HeldSpan } from './held-span.js';
import type { Group } from './turns.js';

/** What has been reported of an interaction whose spans are still held. */
export interface Reported {
  readonly turn: Turn;
  readonly interactionId: string;
  readonly revision: number;
  /** The state of the spans that it was built from. */
  seq: number;
  /** null: open again. */
  windowEndMs: number | null;
}

/** A trace with spans that are held. */
export interface Trace {
  readonly name: TraceId;
  dueMs: number;
  readonly spans: Map<SpanId, HeldSpan>;
  /** Its turns, as long as its spans are the ones that they were found from; null: to be found anew. */
  groups: Group[] | null;
  readonly reported: Map<SpanId, Reported>;
  bytes: number;
  /** Held spans that a dialect claims. */
  claimed: number;
}

/** The reducer's state. Change it only through `step` and `finish`. */
export interface Assembly {
  readonly traces: Map<TraceId, Trace>;
  readonly due: DueQueue<Trace>;
  readonly memory: DecidedMemory;
  /** Indexes of `traces` for the bounds, oldest first: no claimed span; late windows; a root has ended. */
  readonly unclaimed: Set<Trace>;
  readonly inWindow: Set<Trace>;
  readonly rootEnded: Set<Trace>;
  nowMs: number;
  seq: number;
  heldSpans: number;
  heldBytes: number;
  openSpans: number;
}

export function createAssembly(): Assembly {
  return {
    traces: new Map(),
    due: new DueQueue(),
    memory: new DecidedMemory(),
    unclaimed: new Set(),
    inWindow: new Set(),
    rootEnded: new Set(),
    nowMs: -Infinity,
    seq: 0,
    heldSpans: 0,
    heldBytes: 0,
    openSpans: 0,
  };
}
