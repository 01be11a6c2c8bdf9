import type { AgentSpan, ToolFailure } from '../model/agent-span.js';
import type { Json } from '../model/json.js';
import type { RecordedArguments } from '../model/message.js';
import { argumentsKey } from './arguments-key.js';
import { overlap } from './model-calls.js';
import type { TurnTree } from './turn-tree.js';

/** One execution of a tool, from all the spans that record it: an MCP client's span inside the tool's, say. */
export class ToolRun {
  readonly outer: AgentSpan;
  readonly name: string;
  readonly callId: string | undefined;
  /** Best source first. */
  readonly arguments: readonly RecordedArguments[];
  readonly result: Json | undefined;
  /** The failure that the outermost span tells; else that of the last span inside it. */
  readonly failure: ToolFailure | undefined;
  readonly startNano: bigint;
  readonly endNano: bigint;

  constructor(
    /** The outermost first. */
    readonly spans: readonly AgentSpan[],
    readonly agent: AgentSpan | null,
  ) {
    this.outer = spans[0] as AgentSpan;
    this.name = this.outer.read('toolName')?.value ?? '';
    this.callId = first(spans, (span) => span.read('toolCallId')?.value);
    const recorded: RecordedArguments[] = [];
    for (const span of spans) for (const { value } of span.readings('toolArguments')) recorded.push(value);
    this.arguments = recorded;
    this.result = first(spans, (span) => span.read('toolResult')?.value);
    this.failure =
      this.outer.read('toolFailure')?.value ?? (spans[spans.length - 1] as AgentSpan).read('toolFailure')?.value;
    this.startNano = this.outer.span.startUnixNano;
    this.endNano = this.outer.span.endUnixNano;
  }

  /** The captured arguments as comparable text; null when none were. */
  get argumentsKey(): string | null {
    const captured = this.arguments.find((args) => args.status === 'captured');
    return captured === undefined ? null : argumentsKey(captured);
  }

  /** It waits for a person. */
  get waits(): boolean {
    return this.failure?.interrupt ?? false;
  }

  /** Do two runs share a moment? */
  overlaps(other: ToolRun): boolean {
    return overlap(this.outer, other.outer);
  }
}

function first<T>(spans: readonly AgentSpan[], read: (span: AgentSpan) => T | undefined): T | undefined {
  for (const span of spans) {
    const value = read(span);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** What the frameworks' helpers that only look like tools are called in a turn. */
export function pseudoToolNames(spans: readonly AgentSpan[]): ReadonlySet<string> {
  const helpers = spans.filter((span) => span.kind === 'tool' && span.pseudoTool);
  return helpers.length === 0 ? NONE : new Set(helpers.flatMap((span) => span.read('toolName')?.value ?? []));
}

const NONE: ReadonlySet<string> = new Set();

/** The tool runs of a turn in order of start. A tool span directly inside another of the same name is one run with it. */
export function toolRuns(spans: readonly AgentSpan[], tree: TurnTree): readonly ToolRun[] {
  const tools = spans.filter((span) => span.kind === 'tool' && !span.pseudoTool);
  const inner = tools.filter((span) => outermostSame(span, tree) !== span);
  if (inner.length === 0) return tools.map((span) => new ToolRun([span], tree.agent(span)));
  const runOf = new Map(tools.map((span) => [span, [span]]));
  for (const span of inner) {
    runOf.get(outermostSame(span, tree))?.push(span);
    runOf.delete(span);
  }
  return [...runOf.values()].map((members) => new ToolRun(members, tree.agent(members[0] as AgentSpan)));
}

function outermostSame(span: AgentSpan, tree: TurnTree): AgentSpan {
  if (tree.above(span)?.kind !== 'tool') return span;
  const name = span.read('toolName')?.value;
  let outer = span;
  for (;;) {
    const above = tree.above(outer);
    if (above?.kind !== 'tool' || above.pseudoTool || above.read('toolName')?.value !== name || above === span)
      return outer;
    outer = above;
  }
}
