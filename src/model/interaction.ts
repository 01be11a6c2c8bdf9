import type { Expectation } from './expectation.js';
import type { Json } from './json.js';
import type { SpanId, TraceId } from './span.js';

export type ArgumentsStatus = 'captured' | 'not_captured' | 'truncated' | 'malformed';

/** What the model call that issued a tool call had been offered. */
export type ToolOffer =
  /** The definitions were not recorded, or the call has no issuing model call. */
  | { readonly kind: 'unknown' }
  /** Definitions were recorded and this tool is not among them. */
  | { readonly kind: 'not_offered' }
  | { readonly kind: 'offered'; readonly schema?: Json; readonly freeText: boolean };

/** One call of a tool, joined from every place where it was recorded. */
export interface ToolCall {
  /** 0-based, in order of issue. */
  readonly position: number;
  /** As recorded; some frameworks repeat ids, so it is no key. */
  readonly callId: string | null;
  readonly name: string;
  /** The JSON value; the raw text when truncated or malformed; null when not captured. */
  readonly arguments: Json;
  readonly argumentsStatus: ArgumentsStatus;
  readonly result: Json;
  readonly resultStatus: 'captured' | 'not_captured' | 'truncated';
  readonly error: string | null;
  readonly failed: boolean;
  /** Waits for a person's approval: neither failed nor scored. */
  readonly pending: boolean;
  /** The agent that made the call, when recorded. */
  readonly owner: string | null;
  /** The owner is the agent of the turn root (or no owner is known). */
  readonly byRoot: boolean;
  /** Milliseconds since the Unix epoch; null without a tool span. */
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly offer: ToolOffer;
  readonly providerExecuted: boolean;
}

/** What the instrumentation did not record, or what happened to the record. "Not captured" is never "wrong". */
export type CoverageFlag =
  | 'root_missing'
  | 'open_top'
  | 'query_not_captured'
  | 'query_truncated'
  | 'answer_not_captured'
  | 'answer_truncated'
  | 'arguments_not_captured'
  | 'arguments_truncated'
  | 'results_not_captured'
  | 'results_truncated'
  | 'tool_definitions_not_captured'
  | 'tool_calls_not_captured'
  | 'agent_not_captured'
  | 'conversation_id_synthetic'
  | 'attributes_dropped'
  | 'unended_spans'
  | 'truncated'
  | 'cut_at_bound'
  | 'decided_early'
  | 'split_by_silence';

/** A turn of the same conversation that came before this one, as this one's own message history tells it. */
export interface EarlierTurn {
  readonly query: string | null;
  readonly answer: string | null;
}

/** One user turn. Facts only, no judgement. */
export interface Interaction {
  /** `traceId-rootSpanId`; the root may be a span that was never seen. */
  readonly interactionId: string;
  readonly traceId: TraceId;
  readonly rootSpanId: SpanId;
  readonly conversationId: string;
  readonly conversationIdSource: 'recorded' | 'synthetic';
  /** Other conversation ids that the trace records. */
  readonly conversationAliases: readonly string[];
  readonly userId: string | null;
  readonly assistantId: string;
  readonly agentVersion: string | null;
  readonly environment: string | null;
  readonly task: string | null;
  readonly caseId: string | null;
  readonly model: string | null;
  readonly dialect: string;
  /** Milliseconds since the Unix epoch. The root's own start once it was seen. */
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Evidence: the sum over the distinct spans of the row of 1 (unended) or 2 (ended). More evidence wins. */
  readonly revision: number;
  /** Its topmost span names a parent that never came. */
  readonly openTop: boolean;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly query: string | null;
  readonly answer: string | null;
  /** The last few, in order, their texts cut (see `findEarlierTurns`); empty when there are none, or none was captured. */
  readonly earlierTurns: readonly EarlierTurn[];
  /** The run stopped to wait for a person. */
  readonly interrupted: boolean;
  readonly toolCalls: readonly ToolCall[];
  readonly handoffs: readonly { readonly from: string | null; readonly to: string | null }[];
  readonly coverage: readonly CoverageFlag[];
  /** Ground truth that stood on the spans; null when there is none. */
  readonly expectation: Expectation | null;
}
