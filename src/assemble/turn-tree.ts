import type { AgentSpan, AgentSpanKind } from '../model/agent-span.js';
import type { SpanId } from '../model/span.js';
import type { Turn } from '../model/turn.js';

/** Spans that only join what is above and below them. */
const TRANSPARENT: ReadonlySet<AgentSpanKind> = new Set<AgentSpanKind>(['other', 'workflow', 'mcp']);

interface Place {
  /** The nearest span above that is an agent, a model call, a tool, ...; null at the top. */
  readonly above: AgentSpan | null;
  /** The nearest agent above; null when there is none. */
  readonly agent: AgentSpan | null;
  /** A tool stands above: the span belongs to a sub-agent or a helper of that tool. */
  readonly underTool: boolean;
}

const TOP: Place = { above: null, agent: null, underTool: false };

/** The spans of a turn as a tree. A span whose parent is not in the turn stands directly under the root. */
export class TurnTree {
  private readonly places = new Map<AgentSpan, Place>();
  /** Where most spans of a turn stand. */
  private readonly underRoot: Place;
  private byId: ReadonlyMap<SpanId, AgentSpan> | null = null;

  constructor(private readonly turn: Turn) {
    this.underRoot = turn.root === null ? TOP : this.below(turn.root, TOP);
  }

  above(span: AgentSpan): AgentSpan | null {
    return this.place(span).above;
  }

  agent(span: AgentSpan): AgentSpan | null {
    return this.place(span).agent;
  }

  underTool(span: AgentSpan): boolean {
    return this.place(span).underTool;
  }

  private parent(span: AgentSpan): AgentSpan | null {
    if (span === this.turn.root) return null;
    const id = span.span.parentSpanId;
    this.byId ??= new Map(this.turn.spans.map((each) => [each.span.spanId, each]));
    return (id === undefined ? undefined : this.byId.get(id)) ?? this.turn.root;
  }

  private place(span: AgentSpan): Place {
    const { root } = this.turn;
    if (span === root) return TOP;
    if (root !== null && span.span.parentSpanId === root.span.spanId) return this.underRoot;
    return this.places.get(span) ?? this.findPlace(span);
  }

  /** Climbs to the first span whose place is known, then comes down; without recursion, and safe against circles. */
  private findPlace(span: AgentSpan): Place {
    const path: AgentSpan[] = [];
    const seen = new Set<AgentSpan>();
    let current: AgentSpan | null = span;
    while (current !== null && !this.places.has(current) && !seen.has(current)) {
      path.push(current);
      seen.add(current);
      current = this.parent(current);
    }
    // A circle is cut open where the climb met it.
    let parent = current !== null && this.places.has(current) ? current : null;
    for (const child of path.toReversed()) {
      this.places.set(child, parent === null ? TOP : this.below(parent, this.places.get(parent) ?? TOP));
      parent = child;
    }
    return this.places.get(span) ?? TOP;
  }

  /** The place of what stands under a span that has this place itself. */
  private below(parent: AgentSpan, place: Place): Place {
    const opaque = !TRANSPARENT.has(parent.kind);
    return {
      above: opaque ? parent : place.above,
      agent: parent.kind === 'agent' ? parent : place.agent,
      underTool: place.underTool || (parent.kind === 'tool' && parent !== this.turn.root),
    };
  }
}
