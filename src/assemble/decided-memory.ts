/**
 * What is remembered of decided interactions once their spans have left the memory, so that a re-delivered span costs
 * nothing, a late one is known as late, and a larger root that comes too late knows that it lacks its first part.
 *
 * An interaction is remembered from the end of its late window until newer ones push it out (oldest first). What is
 * forgotten is treated as never seen: a re-delivered span then makes a row with the same id and less evidence, or an
 * open-topped one, and the store keeps the better row. It trades about 100 bytes a span id for that. Nothing of it
 * survives a restart, and nothing needs to.
 */
import type { AgentSpan } from '../model/agent-span.js';
import type { SpanId, TraceId } from '../model/span.js';
import { Fifo } from './fifo.js';

/**
 * How an interaction ended: `whole` (root seen and ended), `partial` (decided without that: what still comes makes a
 * second part), `cut` at a bound, or `ownJudge` (never graded).
 */
export type Ending = 'whole' | 'partial' | 'cut' | 'ownJudge';

/** The time of an agent or workflow root below no missing parent. */
export interface Holder {
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  /** The parent in another process that was never seen; null when there is none. */
  readonly callerId: SpanId | null;
}

export interface PastInteraction {
  readonly rootSpanId: SpanId;
  readonly ending: Ending;
  /** What its root was: a phantom that was never seen, an agent or workflow, or another span. */
  readonly root: 'phantom' | 'agent' | 'other';
  /** The parent named by its topmost span, when that never came. */
  readonly missingParentId: SpanId | null;
  /** What has lost its parent may belong to it by time; null when it may not. */
  readonly holder: Holder | null;
  readonly spanIds: readonly SpanId[];
  /** Those of `spanIds` below a border inside the turn. */
  readonly crossed: readonly SpanId[];
  /** Those of `spanIds` whose copy had not ended. */
  readonly unended: ReadonlySet<SpanId>;
}

/** A span that stood above decided interactions; it can be the parent of later ones, too. */
export interface PastAncestor {
  readonly span: AgentSpan;
  /** Spans above it, topmost first. */
  readonly above: readonly AgentSpan[];
  readonly missingParentId: SpanId | null;
}

/** What is remembered of one trace. */
export interface PastTrace {
  /** The interaction that a span belonged to, the latest if there were several; also by the id of a phantom root. */
  interactionOf(spanId: SpanId): PastInteraction | undefined;
  readonly ancestors: ReadonlyMap<SpanId, PastAncestor>;
  /** Ids of parents that never came while the interactions below them were open. */
  readonly missingParents: ReadonlyMap<SpanId, number>;
  /** The latest roots that can hold spans by time, oldest first. */
  readonly roots: readonly PastInteraction[];
}

/** Most traces have one interaction below nothing; they share these, which are never written to. */
const NO_ANCESTORS: ReadonlyMap<SpanId, PastAncestor> = new Map();
const NO_PARENTS: ReadonlyMap<SpanId, number> = new Map();

/** Up to so many ids are looked through; beyond, they have an index. Most traces have a handful. */
const IDS_WITHOUT_INDEX = 32;

/** A trace may hold turns for ever; only the latest can still get spans that have lost their parent. */
const ROOTS_PER_TRACE = 64;

class OpenPastTrace implements PastTrace {
  /** Oldest first. */
  private interactions: PastInteraction[] = [];
  private index: Map<SpanId, PastInteraction> | null = null;
  private ids = 0;
  ancestors: ReadonlyMap<SpanId, PastAncestor> = NO_ANCESTORS;
  missingParents: ReadonlyMap<SpanId, number> = NO_PARENTS;
  roots: readonly PastInteraction[] = [];

  constructor(readonly traceId: TraceId) {}

  interactionOf(spanId: SpanId): PastInteraction | undefined {
    if (this.index !== null) return this.index.get(spanId);
    return this.interactions.findLast((past) => past.rootSpanId === spanId || past.spanIds.includes(spanId));
  }

  /** Nothing is remembered of it any more. */
  get isEmpty(): boolean {
    return this.interactions.length === 0 && this.ancestors.size === 0;
  }

  add(interaction: PastInteraction): void {
    // A list of its own length: nearly all traces have one.
    if (this.interactions.length === 0) this.interactions = [interaction];
    else this.interactions.push(interaction);
    this.ids += interaction.spanIds.length;
    if (this.index !== null) addTo(this.index, interaction);
    else if (this.ids > IDS_WITHOUT_INDEX) {
      this.index = new Map();
      for (const each of this.interactions) addTo(this.index, each);
    }
    this.countMissingParent(interaction, 1);
    if (interaction.holder !== null) this.roots = [...this.roots.slice(1 - ROOTS_PER_TRACE), interaction];
  }

  /** Forgets the oldest, which it gives back. */
  removeOldest(): PastInteraction {
    const oldest = this.interactions.shift() as PastInteraction;
    this.ids -= oldest.spanIds.length;
    if (this.index !== null) {
      for (const spanId of [oldest.rootSpanId, ...oldest.spanIds]) {
        if (this.index.get(spanId) === oldest) this.index.delete(spanId);
      }
    }
    this.countMissingParent(oldest, -1);
    if (this.roots[0] === oldest) this.roots = this.roots.slice(1);
    return oldest;
  }

  private countMissingParent({ missingParentId }: PastInteraction, change: 1 | -1): void {
    if (missingParentId === null) return;
    if (this.missingParents === NO_PARENTS) this.missingParents = new Map();
    const counts = this.missingParents as Map<SpanId, number>;
    const count = (counts.get(missingParentId) ?? 0) + change;
    if (count > 0) counts.set(missingParentId, count);
    else counts.delete(missingParentId);
  }
}

function addTo(index: Map<SpanId, PastInteraction>, interaction: PastInteraction): void {
  index.set(interaction.rootSpanId, interaction);
  for (const spanId of interaction.spanIds) index.set(spanId, interaction);
}

/** Spans above interactions keep their content, for the conversation's name; a tenth of the interactions is plenty. */
const ANCESTORS_PER_INTERACTION = 0.1;

export class DecidedMemory {
  private readonly traces = new Map<TraceId, OpenPastTrace>();
  /** The trace of each interaction, oldest first. */
  private readonly order = new Fifo<OpenPastTrace>();
  private readonly ancestorOrder = new Fifo<{ readonly ancestor: PastAncestor; readonly trace: OpenPastTrace }>();
  private spans = 0;

  trace(traceId: TraceId): PastTrace | undefined {
    return this.traces.get(traceId);
  }

  /** Interactions remembered now. */
  get size(): number {
    return this.order.size;
  }

  /** Span ids remembered now. */
  get spanCount(): number {
    return this.spans;
  }

  remember(
    traceId: TraceId,
    interaction: PastInteraction,
    ancestors: readonly PastAncestor[],
    bounds: { readonly rememberedInteractions: number; readonly rememberedSpans: number },
  ): void {
    const trace = this.opened(traceId);
    trace.add(interaction);
    this.order.push(trace);
    this.spans += interaction.spanIds.length;
    if (ancestors.length > 0) {
      if (trace.ancestors === NO_ANCESTORS) trace.ancestors = new Map();
      for (const ancestor of ancestors) {
        (trace.ancestors as Map<SpanId, PastAncestor>).set(ancestor.span.span.spanId, ancestor);
        this.ancestorOrder.push({ ancestor, trace });
      }
    }

    while (this.order.size > bounds.rememberedInteractions || this.spans > bounds.rememberedSpans) this.forgetOldest();
    const ancestorBound = Math.ceil(bounds.rememberedInteractions * ANCESTORS_PER_INTERACTION);
    while (this.ancestorOrder.size > ancestorBound) this.forgetOldestAncestor();
  }

  private opened(traceId: TraceId): OpenPastTrace {
    let trace = this.traces.get(traceId);
    if (trace === undefined) {
      trace = new OpenPastTrace(traceId);
      this.traces.set(traceId, trace);
    }
    return trace;
  }

  private forgetOldest(): void {
    const trace = this.order.shift() as OpenPastTrace;
    this.spans -= trace.removeOldest().spanIds.length;
    this.closeIfEmpty(trace);
  }

  private forgetOldestAncestor(): void {
    const { ancestor, trace } = this.ancestorOrder.shift() as { ancestor: PastAncestor; trace: OpenPastTrace };
    const spanId = ancestor.span.span.spanId;
    if (trace.ancestors.get(spanId) === ancestor) (trace.ancestors as Map<SpanId, PastAncestor>).delete(spanId);
    this.closeIfEmpty(trace);
  }

  private closeIfEmpty(trace: OpenPastTrace): void {
    if (trace.isEmpty) this.traces.delete(trace.traceId);
  }
}
