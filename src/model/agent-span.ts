import type { Expectation } from './expectation.js';
import type { Json } from './json.js';
import type { Messages, RecordedArguments, ToolDefinition } from './message.js';
import type { Span } from './span.js';

/** What a span is, across all dialects. `other` is transparent: it joins what is above and below it. */
export type AgentSpanKind =
  | 'agent'
  | 'workflow'
  | 'llm'
  | 'tool'
  | 'retriever'
  | 'embedding'
  | 'guardrail'
  | 'handoff'
  | 'mcp'
  | 'evaluator'
  | 'other';

/** Text that a source recorded: usable, or cut so that what is asked for cannot be told from it. */
export type RecordedText = { readonly text: string } | { readonly cut: true };

export interface ToolFailure {
  /** The tool's own error text; null when only the fact was recorded. */
  readonly message: string | null;
  /** A control-flow exception (an interrupt for approval): the call waits and has not failed. */
  readonly interrupt: boolean;
}

/**
 * What a dialect can read off one span, a name a row of the precedence table. Blank values and placeholders
 * (`<REDACTED>`, `N/A`, ...) are never given.
 */
export interface SpanFacts {
  readonly conversationId: string;
  readonly userId: string;
  readonly agentName: string;
  readonly agentVersion: string;
  readonly environment: string;
  /** A label of the kind of task, for per-task estimates. */
  readonly task: string;
  readonly model: string;
  readonly responseId: string;
  /** The user's question, where the span states it as its own input. */
  readonly query: RecordedText;
  /** The final answer, where the span states it as its own output. */
  readonly answer: RecordedText;
  readonly inputMessages: Messages;
  readonly outputMessages: Messages;
  readonly finishReason: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly toolName: string;
  readonly toolCallId: string;
  readonly toolArguments: RecordedArguments;
  readonly toolResult: Json;
  readonly toolFailure: ToolFailure;
  /** The model's provider carried the tool out itself; only `true` is ever given. */
  readonly toolByProvider: boolean;
  readonly toolDefinitions: readonly ToolDefinition[];
  /** Agents between which control passes; on spans of kind `handoff`. */
  readonly handoff: { readonly from: string | null; readonly to: string | null };
  readonly caseId: string;
  readonly dataset: string;
  readonly runId: string;
  readonly expectation: Expectation;
}

export type Fact = keyof SpanFacts;

/**
 * From this rank on a source stands on the resource, which all spans of a process share: it is tried after all spans.
 * (Rows in which the resource has a place of its own, such as the agent's version, do not use it.)
 */
export const RESOURCE_RANK = 10_000;

/** A value with the place of its source in the row of the precedence table; a lower rank is tried first. */
export interface Ranked<T> {
  readonly rank: number;
  readonly value: T;
  /** Where it stood, for explanations: an attribute or event name. */
  readonly source: string;
}

/**
 * A Span read by the dialects. Fields are chosen per field, never per span: two dialects may have written on it.
 * Reading is lazy; the same question twice costs one decoding.
 */
export interface AgentSpan {
  readonly span: Span;
  readonly kind: AgentSpanKind;
  /** The dialect that told the kind; null when none claims the span (a skeleton: ids, times, conversation). */
  readonly dialect: string | null;
  /** A framework's own helper that looks like a tool (`final_answer`, `(merged tools)`) and is none. */
  readonly pseudoTool: boolean;
  /** A span of Tracegrade's own judge; never graded. */
  readonly ownJudge: boolean;
  /** All sources of a fact on this span, best first. */
  readings<F extends Fact>(fact: F): readonly Ranked<SpanFacts[F]>[];
  /** The best source of a fact on this span. */
  read<F extends Fact>(fact: F): Ranked<SpanFacts[F]> | undefined;
  /** Gives back the memory of what was read, where any is held; it is decoded again when asked for again. */
  forget?(): void;
}
