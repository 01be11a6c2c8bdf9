import type { AgentSpan } from '../model/agent-span.js';
import type { Offset } from '../model/received.js';
import type { SpanId } from '../model/span.js';

/** A span that the reducer holds, in its fullest copy so far. */
export interface HeldSpan {
  span: AgentSpan;
  /** The log entry of this copy; null when there is nothing to release. */
  offset: Offset | null;
  /** Stream time when the first copy was read. */
  readonly firstMs: number;
  /** Stream time when this copy was read. */
  lastMs: number;
  /** Grows with every span that is added or replaced; tells whether a decision has seen this copy. */
  seq: number;
  /** It has been part of a decision, so it has its place in the counts. */
  assembled: boolean;
  /** The root of the turn that it was last decided in; null when it was not, or as an ancestor. */
  decidedIn: SpanId | null;
  /** It has bytes of its own. */
  compact: boolean;
}

export function hasEnded(span: AgentSpan): boolean {
  return span.span.endUnixNano !== 0n;
}

/** Spans of these kinds open an interaction of their own when no other stands above them. */
export function isAgent(span: AgentSpan): boolean {
  return span.dialect !== null && (span.kind === 'agent' || span.kind === 'workflow');
}

/** Model and tool calls: what makes an interaction out of spans that have no agent above them. */
export function isCall(span: AgentSpan): boolean {
  return span.dialect !== null && (span.kind === 'llm' || span.kind === 'tool');
}

/** A step of an agent: neither an agent itself nor transparent. */
export function isStep(span: AgentSpan): boolean {
  return span.dialect !== null && !isAgent(span) && span.kind !== 'other';
}

/** Order of start, ties by span id. */
export function byStart(a: AgentSpan, b: AgentSpan): number {
  if (a.span.startUnixNano !== b.span.startUnixNano) return a.span.startUnixNano < b.span.startUnixNano ? -1 : 1;
  return a.span.spanId < b.span.spanId ? -1 : a.span.spanId > b.span.spanId ? 1 : 0;
}

/**
 * Of two copies of one span the fuller wins: ended over unended, then more attributes, then the greater bytes. A
 * total order, so that the copy that is left does not depend on which came first.
 */
export function isFuller(candidate: AgentSpan, held: AgentSpan): boolean {
  if (hasEnded(candidate) !== hasEnded(held)) return hasEnded(candidate);
  const more = candidate.span.attributes.size - held.span.attributes.size;
  if (more !== 0) return more > 0;
  return compareBytes(candidate.span.encoded(), held.span.encoded()) > 0;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at += 1) {
    const difference = (a[at] as number) - (b[at] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
