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
  /** The interaction that a span belonged to; also under the id of a phantom root. */
  readonly interactions: ReadonlyMap<SpanId, PastInteraction>;
  readonly ancestors: ReadonlyMap<SpanId, PastAncestor>;
  /** Ids of parents that never came while the interactions below them were open. */
  readonly missingParents: ReadonlyMap<SpanId, number>;
  /** The latest roots that can hold spans by time, oldest first. */
  readonly roots: readonly PastInteraction[];
}

interface OpenPastTrace extends PastTrace {
  readonly interactions: Map<SpanId, PastInteraction>;
  ancestors: ReadonlyMap<SpanId, PastAncestor>;
  missingParents: ReadonlyMap<SpanId, number>;
  readonly roots: PastInteraction[];
}

/** Most traces have one interaction below nothing; they share these, which are never written to. */
const NO_ANCESTORS: ReadonlyMap<SpanId, PastAncestor> = new Map();
const NO_PARENTS: ReadonlyMap<SpanId, number> = new Map();

/** A trace may hold turns for ever; only the latest can still get spans that have lost their parent. */
const ROOTS_PER_TRACE = 64;

/** Spans above interactions keep their content, for the conversation's name; a tenth of the interactions is plenty. */
const ANCESTORS_PER_INTERACTION = 0.1;

export class DecidedMemory {
  private readonly traces = new Map<TraceId, OpenPastTrace>();
  private readonly order = new Map<PastInteraction, TraceId>();
  /** Goes on where it stopped: one that starts anew passes over all that has been deleted before the oldest. */
  private readonly oldest = this.order.entries();
  private readonly ancestorOrder = new Map<PastAncestor, TraceId>();
  private readonly oldestAncestor = this.ancestorOrder.entries();
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
    trace.interactions.set(interaction.rootSpanId, interaction);
    for (const spanId of interaction.spanIds) trace.interactions.set(spanId, interaction);
    this.countMissingParent(trace, interaction, 1);
    if (interaction.holder !== null) {
      trace.roots.push(interaction);
      if (trace.roots.length > ROOTS_PER_TRACE) trace.roots.shift();
    }
    this.order.set(interaction, traceId);
    this.spans += interaction.spanIds.length;
    if (ancestors.length > 0) {
      if (trace.ancestors === NO_ANCESTORS) trace.ancestors = new Map();
      for (const ancestor of ancestors) {
        (trace.ancestors as Map<SpanId, PastAncestor>).set(ancestor.span.span.spanId, ancestor);
        this.ancestorOrder.set(ancestor, traceId);
      }
    }

    while (this.order.size > bounds.rememberedInteractions || this.spans > bounds.rememberedSpans) this.forgetOldest();
    const ancestorBound = Math.ceil(bounds.rememberedInteractions * ANCESTORS_PER_INTERACTION);
    while (this.ancestorOrder.size > ancestorBound) this.forgetOldestAncestor();
  }

  private opened(traceId: TraceId): OpenPastTrace {
    let trace = this.traces.get(traceId);
    if (trace === undefined) {
      trace = { interactions: new Map(), ancestors: NO_ANCESTORS, missingParents: NO_PARENTS, roots: [] };
      this.traces.set(traceId, trace);
    }
    return trace;
  }

  private forgetOldest(): void {
    const [interaction, traceId] = this.oldest.next().value as [PastInteraction, TraceId];
    this.order.delete(interaction);
    this.spans -= interaction.spanIds.length;
    const trace = this.traces.get(traceId) as OpenPastTrace;
    for (const spanId of [interaction.rootSpanId, ...interaction.spanIds]) {
      if (trace.interactions.get(spanId) === interaction) trace.interactions.delete(spanId);
    }
    this.countMissingParent(trace, interaction, -1);
    const root = trace.roots.indexOf(interaction);
    if (root >= 0) trace.roots.splice(root, 1);
    this.closeIfEmpty(traceId, trace);
  }

  private forgetOldestAncestor(): void {
    const [ancestor, traceId] = this.oldestAncestor.next().value as [PastAncestor, TraceId];
    this.ancestorOrder.delete(ancestor);
    const trace = this.traces.get(traceId) as OpenPastTrace;
    const spanId = ancestor.span.span.spanId;
    if (trace.ancestors.get(spanId) === ancestor) (trace.ancestors as Map<SpanId, PastAncestor>).delete(spanId);
    this.closeIfEmpty(traceId, trace);
  }

  private countMissingParent(trace: OpenPastTrace, { missingParentId }: PastInteraction, change: 1 | -1): void {
    if (missingParentId === null) return;
    if (trace.missingParents === NO_PARENTS) trace.missingParents = new Map();
    const counts = trace.missingParents as Map<SpanId, number>;
    const count = (counts.get(missingParentId) ?? 0) + change;
    if (count > 0) counts.set(missingParentId, count);
    else counts.delete(missingParentId);
  }

  private closeIfEmpty(traceId: TraceId, trace: OpenPastTrace): void {
    if (trace.interactions.size === 0 && trace.ancestors.size === 0) this.traces.delete(traceId);
  }
}
