import type { AgentSpan, AgentSpanKind, Fact, Ranked, SpanFacts } from '../../src/model/agent-span.js';
import type { Interaction } from '../../src/model/interaction.js';
import type { Json } from '../../src/model/json.js';
import type { Message, Messages } from '../../src/model/message.js';
import type { Attributes, OtlpSpanKind, Span } from '../../src/model/span.js';
import type { Turn } from '../../src/model/turn.js';

/** A span as a test writes it down: short names, times in milliseconds. */
export interface SpanSketch {
  readonly trace?: string;
  readonly id: string;
  readonly parent?: string;
  /** `skeleton`: no dialect claims it. */
  readonly kind?: AgentSpanKind | 'skeleton';
  readonly start?: number;
  /** Absent: 10 after the start. 0: not ended. */
  readonly end?: number;
  readonly remote?: boolean;
  readonly otlpKind?: OtlpSpanKind;
  readonly attributes?: Readonly<Record<string, Json>>;
  readonly facts?: Partial<SpanFacts>;
  readonly ownJudge?: boolean;
  readonly bytes?: number;
}

/** Milliseconds since the epoch at which the times of sketches begin. */
export const EPOCH_MS = 1_796_020_000_000;

/** A short name as an id of `digits` hex digits: its code units in hex, filled up with zeros. */
export function hexId(name: string, digits: number): string {
  const hex = [...name].map((letter) => letter.charCodeAt(0).toString(16).padStart(2, '0')).join('');
  return hex.padEnd(digits, '0');
}

export function traceIdOf(name: string): string {
  return hexId(name, 32);
}

export function spanIdOf(name: string): string {
  return hexId(name, 16);
}

export function agentSpan(sketch: SpanSketch): AgentSpan {
  const facts = sketch.facts ?? {};
  const readings = <F extends Fact>(fact: F): readonly Ranked<SpanFacts[F]>[] => {
    const value = facts[fact] as SpanFacts[F] | undefined;
    return value === undefined ? [] : [{ rank: 0, value, source: fact }];
  };
  const skeleton = (sketch.kind ?? 'llm') === 'skeleton';
  return {
    span: spanOf(sketch),
    kind: skeleton ? 'other' : ((sketch.kind ?? 'llm') as AgentSpanKind),
    dialect: skeleton ? null : 'test',
    pseudoTool: false,
    ownJudge: sketch.ownJudge ?? false,
    readings,
    read: (fact) => readings(fact)[0],
  };
}

function spanOf(sketch: SpanSketch): Span {
  const attributes = attributesOf(sketch.attributes ?? {});
  const start = sketch.start ?? 0;
  const end = sketch.end ?? start + 10;
  const encoded = new TextEncoder().encode(JSON.stringify(sketch));
  const span: Span = {
    traceId: traceIdOf(sketch.trace ?? 't'),
    spanId: spanIdOf(sketch.id),
    parentSpanId: sketch.parent === undefined ? undefined : spanIdOf(sketch.parent),
    parentIsRemote: sketch.remote,
    name: sketch.id,
    kind: sketch.otlpKind ?? 1,
    startUnixNano: nanos(start),
    endUnixNano: end === 0 ? 0n : nanos(end),
    statusCode: 0,
    statusMessage: '',
    attributes,
    events: [],
    links: [],
    droppedAttributes: 0,
    resource: { attributes: attributesOf({}) },
    scope: { name: 'test', version: '' },
    bytes: sketch.bytes ?? encoded.length,
    encoded: () => encoded,
    compact: () => span,
  };
  return span;
}

function nanos(ms: number): bigint {
  return BigInt(EPOCH_MS + ms) * 1_000_000n;
}

function attributesOf(values: Readonly<Record<string, Json>>): Attributes {
  const keys = Object.keys(values);
  return {
    size: keys.length,
    has: (key) => key in values,
    get: (key) => values[key],
    keys: () => keys,
  };
}

/** Messages of a conversation: `u:hello`, `a:answer`, `a!tool` (a call), `t:result`. */
export function messages(...texts: readonly string[]): Messages {
  return { messages: texts.map(message), complete: true };
}

function message(text: string): Message {
  const content = text.slice(2);
  if (text.startsWith('u')) return { role: 'user', parts: [{ type: 'text', text: content }] };
  if (text.startsWith('t')) return { role: 'tool', parts: [{ type: 'tool_result', result: content, isError: false }] };
  if (text.startsWith('a:')) return { role: 'assistant', parts: [{ type: 'text', text: content }] };
  const call = {
    type: 'tool_call',
    name: content,
    arguments: { status: 'captured', value: {} },
    providerExecuted: false,
  } as const;
  return { role: 'assistant', parts: [call] };
}

/** The plainest interaction of a turn: which spans it was built from, and what a store needs to know of it. */
export function plainInteraction(turn: Turn): Interaction {
  const all = [...turn.ancestors, ...turn.spans];
  const started = turn.root === null ? turn.spans.map(startMs) : [startMs(turn.root)];
  return {
    interactionId: `${turn.traceId}-${turn.rootSpanId}`,
    traceId: turn.traceId,
    rootSpanId: turn.rootSpanId,
    conversationId: turn.traceId,
    conversationIdSource: 'synthetic',
    conversationAliases: [],
    userId: null,
    assistantId: 'agent',
    agentVersion: null,
    environment: null,
    task: null,
    caseId: null,
    model: null,
    dialect: 'test',
    startedAtMs: Math.min(...started),
    endedAtMs: Math.max(...turn.spans.map(endMs)),
    revision: all.reduce((sum, span) => sum + (span.span.endUnixNano === 0n ? 1 : 2), 0),
    openTop: turn.openTop,
    inputTokens: null,
    outputTokens: null,
    query: null,
    answer: namesOf(turn).join(' '),
    earlierTurns: [],
    interrupted: false,
    toolCalls: [],
    handoffs: [],
    coverage: [],
    expectation: null,
  };
}

/** Names of the turn's spans, the root first. */
export function namesOf(turn: Turn): string[] {
  return turn.spans.map((span) => span.span.name);
}

function startMs(span: AgentSpan): number {
  return Number(span.span.startUnixNano / 1_000_000n);
}

function endMs(span: AgentSpan): number {
  return span.span.endUnixNano === 0n ? startMs(span) : Number(span.span.endUnixNano / 1_000_000n);
}
