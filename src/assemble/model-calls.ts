import type { AgentSpan, Fact, SpanFacts } from '../model/agent-span.js';
import type { Message, Messages, ToolCallPart } from '../model/message.js';
import { asksForTool, messageText } from '../model/message-text.js';
import { bestOf } from './best-of.js';
import { inOrder } from './in-order.js';
import type { TurnTree } from './turn-tree.js';

/** One request to a model, from all the spans that record it: two layers may be instrumented. */
export class ModelCall {
  readonly startNano: bigint;
  /** Its start when it has not ended. */
  readonly endNano: bigint;
  /** It broke off or was refused: what it says counts only where others confirm it. */
  readonly failed: boolean;
  private outputs: Messages | null | undefined;

  constructor(
    /** The innermost first: it is closest to the provider. */
    readonly spans: readonly AgentSpan[],
    /** The agent that asked; null when none stands above. */
    readonly agent: AgentSpan | null,
    readonly underTool: boolean,
  ) {
    let { startUnixNano: start, endUnixNano: end } = (spans[0] as AgentSpan).span;
    for (const { span } of spans) {
      if (span.startUnixNano < start) start = span.startUnixNano;
      if (span.endUnixNano > end) end = span.endUnixNano;
    }
    this.startNano = start;
    this.endNano = end === 0n ? start : end;
    const failure = this.read('toolFailure');
    this.failed = (failure !== undefined && !failure.interrupt) || this.read('finishReason') === 'error';
  }

  get id(): string {
    return (this.spans[0] as AgentSpan).span.spanId;
  }

  /** The best source of a fact on any of its spans. */
  read<F extends Fact>(fact: F): SpanFacts[F] | undefined {
    return bestOf(this.spans, fact)?.value;
  }

  get input(): Messages | undefined {
    return this.read('inputMessages');
  }

  /**
   * What the model said. Where the best source has nothing in it, or no call though the model stopped for one, the
   * next sources are asked: some recorders write the text in one place and the calls in another.
   */
  get output(): Messages | undefined {
    if (this.outputs === undefined) this.outputs = this.readOutput() ?? null;
    return this.outputs ?? undefined;
  }

  private readOutput(): Messages | undefined {
    const first = this.read('outputMessages');
    if (first !== undefined && !this.lacks(first.messages)) return first;
    const all = this.spans.flatMap((span) => span.readings('outputMessages')).sort((a, b) => a.rank - b.rank);
    const better = all.find(({ value }) => !this.lacks(value.messages));
    return better?.value ?? first;
  }

  private lacks(messages: readonly Message[]): boolean {
    if (messages.every((message) => message.parts.length === 0)) return true;
    return this.read('finishReason') === 'tool_call' && !messages.some(hasCall);
  }

  /** Was anything of the output recorded? */
  get spoke(): boolean {
    return this.output?.messages.some((message) => message.parts.length > 0) ?? false;
  }

  get calls(): readonly ToolCallPart[] {
    return (this.output?.messages ?? []).flatMap((message) =>
      message.parts.filter((part) => part.type === 'tool_call'),
    );
  }

  /** The text of an output that asks for no tool: an answer. Undefined when it asks for one or was not recorded whole. */
  get answerText(): string | undefined {
    const output = this.output;
    if (output === undefined || !output.complete || output.messages.some(asksForTool)) return undefined;
    const text = output.messages
      .filter((message) => message.role === 'assistant')
      .map(messageText)
      .filter((part) => part !== '')
      .join('\n');
    return text === '' ? undefined : text;
  }
}

function hasCall(message: Message): boolean {
  return message.parts.some((part) => part.type === 'tool_call');
}

/**
 * The model calls of a turn in order of start. Spans of one request are one call: those with one response id at one
 * time, and a span inside another model span, unless the two say different things. A model span around several others
 * is only a wrapper.
 */
export function modelCalls(spans: readonly AgentSpan[], tree: TurnTree): readonly ModelCall[] {
  const llms = spans.filter((span) => span.kind === 'llm' && span.dialect !== null);
  const calls = joinByResponse(joinNested(llms, tree)).map((members) => {
    const first = members[0] as AgentSpan;
    return new ModelCall(members, tree.agent(first), tree.underTool(first));
  });
  return inOrder(calls, (a, b) => compareBigint(a.startNano, b.startNano) || compareText(a.id, b.id));
}

/** Groups of model spans that record one request in layers. */
function joinNested(llms: readonly AgentSpan[], tree: TurnTree): AgentSpan[][] {
  if (!llms.some((span) => tree.above(span)?.kind === 'llm')) return llms.map((span) => [span]);
  const inner = new Map<AgentSpan, AgentSpan[]>();
  for (const span of llms) {
    const above = tree.above(span);
    if (above?.kind === 'llm') inner.set(above, [...(inner.get(above) ?? []), span]);
  }
  const group = new Map<AgentSpan, AgentSpan[]>();
  for (const span of innermostFirst(llms, inner, tree)) {
    const below = inner.get(span) ?? [];
    if (below.length > 1) continue;
    const only = below.length === 1 ? group.get(below[0] as AgentSpan) : undefined;
    if (only !== undefined && sameContent(only[0] as AgentSpan, span)) {
      only.push(span);
      group.set(span, only);
    } else {
      group.set(span, [span]);
    }
  }
  return [...new Set(llms.flatMap((span) => group.get(span) ?? []).map((span) => group.get(span) ?? [span]))];
}

/** Each span after all model spans inside it. */
function innermostFirst(
  llms: readonly AgentSpan[],
  inner: ReadonlyMap<AgentSpan, readonly AgentSpan[]>,
  tree: TurnTree,
): AgentSpan[] {
  const pending = new Map(llms.map((span) => [span, inner.get(span)?.length ?? 0]));
  const order = llms.filter((span) => pending.get(span) === 0);
  for (let at = 0; at < order.length; at += 1) {
    const above = tree.above(order[at] as AgentSpan);
    const left = above === null ? undefined : pending.get(above);
    if (above === null || left === undefined) continue;
    pending.set(above, left - 1);
    if (left === 1) order.push(above);
  }
  return order;
}

function sameContent(inner: AgentSpan, outer: AgentSpan): boolean {
  const [a, b] = [inner, outer].map((span) => signature(span.read('outputMessages')?.value));
  return a === '' || b === '' || a === b;
}

function signature(messages: Messages | undefined): string {
  return (messages?.messages ?? [])
    .flatMap((message) =>
      message.parts.map((part) =>
        part.type === 'text' ? part.text.trim() : part.type === 'tool_call' ? `(${part.name})` : '',
      ),
    )
    .filter((text) => text !== '')
    .join('\n');
}

function joinByResponse(groups: readonly AgentSpan[][]): readonly AgentSpan[][] {
  if (groups.length < 2) return groups;
  const byResponse = new Map<string, AgentSpan[][]>();
  const joined: AgentSpan[][] = [];
  for (const members of groups) {
    const id = members.map((span) => span.read('responseId')?.value).find((value) => value !== undefined);
    const known = id === undefined ? undefined : byResponse.get(id);
    const twin = known?.find((other) => overlap(other[0] as AgentSpan, members[0] as AgentSpan));
    if (twin !== undefined) {
      twin.push(...members);
      continue;
    }
    joined.push(members);
    if (known !== undefined) known.push(members);
    else if (id !== undefined) byResponse.set(id, [members]);
  }
  return joined;
}

/** Do two spans share a moment? One without an end is open. */
export function overlap(a: AgentSpan, b: AgentSpan): boolean {
  const startsBeforeEnd = (x: AgentSpan, y: AgentSpan) =>
    y.span.endUnixNano === 0n || x.span.startUnixNano <= y.span.endUnixNano;
  return startsBeforeEnd(a, b) && startsBeforeEnd(b, a);
}

export function compareBigint(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
