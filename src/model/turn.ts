import type { AgentSpan } from './agent-span.js';
import type { SpanId, TraceId } from './span.js';

/** The spans of one user turn, found in a trace: what an Interaction is built from. */
export interface Turn {
  readonly traceId: TraceId;
  /** The turn root's id; a phantom's when `root` is null. */
  readonly rootSpanId: SpanId;
  /** null when the root was never seen. */
  readonly root: AgentSpan | null;
  /** Root first, then its descendants in order of start (ties by span id). Holds skeletons as well. */
  readonly spans: readonly AgentSpan[];
  /** Spans above the root, topmost first: they may name the conversation or hold ground truth. */
  readonly ancestors: readonly AgentSpan[];
  /** The topmost span names a parent that never came. */
  readonly openTop: boolean;
  /** Cut at a bound: more spans existed than are here. */
  readonly cut: boolean;
  /** Decided before its time, because memory ran short. */
  readonly early: boolean;
  /** A silence longer than `orphanMs` parted it from other spans of the same turn. */
  readonly split: boolean;
}
