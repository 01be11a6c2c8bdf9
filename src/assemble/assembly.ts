/**
 * The reducer: spans in, decided interactions out. A mutable state without timers and without a clock.
 *
 * Life of an interaction:
 *
 *     open --(ready)--> decided, in its late window --(window over)--> settled, remembered --> forgotten
 *       ^                           |
 *       '--(no root yet, and spans came again)
 *
 * - *open*: its spans are held. Ready is: the root has ended, nothing is missing above it, and `quietMs` without a new
 *   span of it; else `orphanMs` after its last span or `maxTurnMs` after its first, whichever comes first.
 * - *decided*: reported in `decided`; its spans are still held. A span that joins now gives one new revision when the
 *   window is over. An interaction that was decided without its root and gets spans again is open again after it.
 * - *settled*: reported in `settled` with the log entries of its spans; the pipeline releases them when the store has
 *   acknowledged the interaction. Only ids and times are remembered (decided-memory.ts).
 * - Ignored: copies of a span that are not fuller (`duplicate`), spans that join a settled interaction (`late`), one
 *   that was cut (`cut`), our own judge's (`ownJudge`); spans of traces that no dialect claims (`unclaimed`), and
 *   claimed ones that are no turn (`noTurn`: set-up, retrievals by themselves).
 *
 * The turns of a trace are found when the trace is due and has changed, about once in `quietMs` while spans pour in, by a
 * pure function of the spans that are held; so neither order nor batching can matter. Timers fire before the arrivals of
 * their step and at their own times, as if `step` had been called at each of them.
 *
 * It trades memory for never reading the log backwards: everything undecided is held, within the bounds of
 * bounds.ts. A shutdown needs nothing of it: what is open or in its late window stays in the log and is read again, by
 * whoever reads the log next. Offline, `finish` lets all times pass.
 */
import type { AgentSpan } from '../model/agent-span.js';
import type { Interaction } from '../model/interaction.js';
import type { Offset } from '../model/received.js';
import type { Span, SpanId, TraceId } from '../model/span.js';
import type { Turn } from '../model/turn.js';
import type { Hands, Pressure } from './bounds.js';
import { overTrace, relieve, shrinkTrace } from './bounds.js';
import type { HeldSpan } from './held-span.js';
import { hasEnded, isAgent, isFuller } from './held-span.js';
import type { AssembleRules } from './rules.js';
import type { Assembly, Reported, Trace } from './state.js';
import type { Ancestor, Group } from './turns.js';
import { groupTurns } from './turns.js';

export interface Arrival {
  readonly span: AgentSpan;
  /** The log entry that the span came from; null: read from a file. */
  readonly offset: Offset | null;
}

export interface AssembleDeps {
  readonly build: (turn: Turn) => Interaction;
  /** Reads a span again after it was given bytes of its own; without it buffers stay as they are. */
  readonly interpret?: (span: Span) => AgentSpan;
}

export interface Decision {
  readonly interaction: Interaction;
  readonly turn: Turn;
  /** An earlier revision of it was reported before. */
  readonly revised: boolean;
}

export interface Settled {
  readonly interactionId: string;
  /** One an entry and span; to be released once the store has the interaction. */
  readonly offsets: readonly Offset[];
}

export type DropReason = 'duplicate' | 'late' | 'cut' | 'ownJudge' | 'unclaimed' | 'noTurn';

/** Of this step. arrived = assembled + the drops + the growth of `openSpans`. */
export interface StepCounts extends Readonly<Record<DropReason, number>> {
  readonly arrived: number;
  /** Spans that became part of a decision; counted once. */
  readonly assembled: number;
}

export interface Step {
  readonly decided: readonly Decision[];
  readonly settled: readonly Settled[];
  /** Entries of dropped spans, one a span: nothing waits for them. */
  readonly released: readonly Offset[];
  readonly counts: StepCounts;
  /** When `step` has to be called again though nothing arrives; null: never. Stream time. */
  readonly nextDueMs: number | null;
}

export type { Assembly } from './state.js';
export { createAssembly } from './state.js';

/** Spans that arrived and are neither assembled nor dropped yet. */
export function openSpans(state: Assembly): number {
  return state.openSpans;
}

/**
 * Lets stream time pass up to `nowMs`, then takes the arrivals. Time does not run backwards: a smaller `nowMs` counts
 * as the largest so far.
 *
 * The rows that are decided do not depend on the order of spans that arrive within `quietMs` of each other, on how
 * they are batched, or on duplicates. Exceptions, flagged and counted: traces cut at a bound, and late spans.
 */
export function step(
  state: Assembly,
  arrivals: readonly Arrival[],
  nowMs: number,
  rules: AssembleRules,
  deps: AssembleDeps,
): Step {
  const run = new Run(state, rules, deps);
  run.passTime(nowMs);
  for (const arrival of arrivals) run.receive(arrival);
  // After the whole batch, so that no interaction is decided between two spans of one request.
  relieve(run);
  return run.result();
}

/** For scoring offline: decides and settles all that is held, as if all quiet times had passed. */
export function finish(state: Assembly, rules: AssembleRules, deps: AssembleDeps): Step {
  const run = new Run(state, rules, deps);
  run.passTime(Infinity);
  return run.result();
}

/** One call of `step`: the state, and what it reports. */
class Run implements Hands {
  private readonly decided: Decision[] = [];
  private readonly settled: Settled[] = [];
  private readonly released: Offset[] = [];
  private readonly counts = {
    arrived: 0,
    assembled: 0,
    duplicate: 0,
    late: 0,
    cut: 0,
    ownJudge: 0,
    unclaimed: 0,
    noTurn: 0,
  };

  constructor(
    readonly state: Assembly,
    readonly rules: AssembleRules,
    private readonly deps: AssembleDeps,
  ) {}

  result(): Step {
    const { decided, settled, released, counts } = this;
    return { decided, settled, released, counts, nextDueMs: this.state.due.nextMs() };
  }

  passTime(nowMs: number): void {
    const { state } = this;
    for (let due = state.due.take(nowMs); due !== undefined; due = state.due.take(nowMs)) {
      state.nowMs = Math.max(state.nowMs, due.atMs);
      this.evaluate(due.item, state.nowMs, 'none');
    }
    if (nowMs !== Infinity) state.nowMs = Math.max(state.nowMs, nowMs);
  }

  receive({ span, offset }: Arrival): void {
    const { state } = this;
    const { traceId, spanId } = span.span;
    this.counts.arrived += 1;

    const known = state.traces.get(traceId);
    const held = known?.spans.get(spanId);
    if (known !== undefined && held !== undefined) {
      this.counts.duplicate += 1;
      if (isFuller(span, held.span)) this.replace(known, held, span, offset);
      else this.release(offset);
      return;
    }
    const repeated = this.repeatOfPast(span);
    if (repeated !== null) {
      this.counts[repeated] += 1;
      this.release(offset);
      return;
    }

    const trace = known ?? this.openTrace(traceId);
    trace.groups = null;
    const nowMs = state.nowMs;
    state.seq += 1;
    trace.spans.set(spanId, {
      span,
      offset,
      firstMs: nowMs,
      lastMs: nowMs,
      seq: state.seq,
      assembled: false,
      decidedIn: null,
      compact: false,
    });
    state.heldSpans += 1;
    state.openSpans += 1;
    this.account(trace, span, 1);
    this.touch(trace, span);
  }

  /** Why a span need not be held: what it would tell is part of an interaction that is decided for good. */
  private repeatOfPast(span: AgentSpan): DropReason | null {
    const { traceId, spanId } = span.span;
    const past = this.state.memory.trace(traceId);
    const interaction = past?.interactionOf(spanId);
    if (interaction === undefined) return past?.ancestors.has(spanId) === true ? 'duplicate' : null;
    const phantom = interaction.root === 'phantom' && interaction.rootSpanId === spanId;
    const tellsMore = phantom || (interaction.unended.has(spanId) && hasEnded(span));
    if (!tellsMore) return 'duplicate';
    if (interaction.ending === 'partial') return null;
    return interaction.ending === 'whole' ? 'late' : interaction.ending;
  }

  private openTrace(traceId: TraceId): Trace {
    const trace: Trace = {
      name: traceId,
      dueMs: Infinity,
      spans: new Map(),
      groups: null,
      reported: new Map(),
      bytes: 0,
      claimed: 0,
    };
    this.state.traces.set(traceId, trace);
    this.state.unclaimed.add(trace);
    return trace;
  }

  private replace(trace: Trace, held: HeldSpan, span: AgentSpan, offset: Offset | null): void {
    this.release(held.offset);
    this.account(trace, held.span, -1);
    trace.groups = null;
    this.state.seq += 1;
    held.span = span;
    held.offset = offset;
    held.lastMs = this.state.nowMs;
    held.seq = this.state.seq;
    held.compact = false;
    this.account(trace, span, 1);
    this.touch(trace, span);
  }

  private account(trace: Trace, span: AgentSpan, sign: 1 | -1): void {
    trace.bytes += sign * span.span.bytes;
    this.state.heldBytes += sign * span.span.bytes;
    if (span.dialect !== null) trace.claimed += sign;
  }

  /** After a span was added: when the trace is due, what its place in the indexes is, and whether it still fits. */
  private touch(trace: Trace, span: AgentSpan): void {
    const { state, rules } = this;
    const dueMs = state.nowMs + Math.max(1, rules.quietMs);
    if (dueMs < trace.dueMs) state.due.schedule(trace, dueMs);
    if (trace.claimed === 1) state.unclaimed.delete(trace);
    if (
      hasEnded(span) &&
      (span.span.parentSpanId === undefined || span.span.parentIsRemote === true || isAgent(span))
    ) {
      state.rootEnded.add(trace);
    }
    if (overTrace(trace, rules)) shrinkTrace(this, trace);
  }

  /** Finds the turns of a trace, and decides, settles and drops what is due. */
  evaluate(trace: Trace, nowMs: number, pressure: Pressure): void {
    const { state } = this;
    if (trace.claimed === 0 && trace.reported.size === 0) {
      this.dropUnclaimed(trace, nowMs, pressure === 'all');
      return;
    }
    const before = trace.spans.size;
    const groups = this.groups(trace);
    let nextMs = Infinity;
    for (const group of groups) {
      const dueMs = this.dueMs(trace, group);
      if (group.kind === 'turn') nextMs = Math.min(nextMs, this.advance(trace, group, dueMs, nowMs, pressure));
    }
    for (const group of groups) {
      if (group.kind === 'turn') continue;
      const dueMs = this.dueMs(trace, group);
      if (dueMs <= nowMs || pressure === 'all') this.drop(trace, group);
      else nextMs = Math.min(nextMs, dueMs);
    }

    if (trace.reported.size === 0) state.inWindow.delete(trace);
    if (this.closeIfEmpty(trace)) return;
    // What has left may have stood between spans that stay.
    state.due.schedule(trace, trace.spans.size < before ? nowMs : nextMs);
    this.compact(trace);
  }

  /** The groups of a trace; takes back what was reported of interactions that a larger one has swallowed. */
  groups(trace: Trace): Group[] {
    const groups = this.grouped(trace);
    if (trace.reported.size === 0) return groups;
    const known = groups.filter((group) => group.kind === 'turn' && trace.reported.has(group.rootSpanId));
    if (known.length === trace.reported.size) return groups;
    const turns = new Set(groups.filter((group) => group.kind === 'turn').map((group) => group.rootSpanId));
    for (const [rootSpanId, reported] of trace.reported) {
      if (turns.has(rootSpanId)) continue;
      trace.reported.delete(rootSpanId);
      // An open-topped row is shadowed by the row that covers it; a row that was thought whole has to say so now.
      if (reported.turn.openTop || !groups.some((group) => isMember(group, rootSpanId))) continue;
      const turn = { ...reported.turn, openTop: true };
      this.decided.push({ interaction: this.deps.build(turn), turn, revised: true });
    }
    return groups;
  }

  private grouped(trace: Trace): Group[] {
    const past = this.state.memory.trace(trace.name);
    // Memory forgets without being asked, so groups that go by it are not kept.
    if (past !== undefined) return groupTurns(trace.spans, past);
    trace.groups ??= groupTurns(trace.spans, undefined);
    return trace.groups;
  }

  private dueMs(trace: Trace, group: Group): number {
    const { rules } = this;
    const quietMs = group.lastMs + rules.quietMs;
    const orphanMs = group.lastMs + rules.orphanMs;
    switch (group.kind) {
      case 'late':
      case 'cut':
        return quietMs;
      case 'idle':
        if (group.heldAncestors.some((ancestor) => ancestor.turns > 0)) return Infinity;
        if (!group.claimed) return trace.claimed > 0 ? Infinity : quietMs;
        return group.missingParentId === null ? quietMs : orphanMs;
      case 'turn':
      case 'ownJudge': {
        const windowEndMs = trace.reported.get(group.rootSpanId)?.windowEndMs ?? null;
        return windowEndMs ?? this.readyMs(group);
      }
    }
  }

  private readyMs(group: Group): number {
    const { rules } = this;
    const patienceMs = group.complete ? rules.quietMs : rules.orphanMs;
    return Math.min(group.lastMs + patienceMs, group.firstMs + rules.maxTurnMs);
  }

  /** Moves one turn on if it is due. Returns when it is due next. */
  private advance(trace: Trace, group: Group, dueMs: number, nowMs: number, pressure: Pressure): number {
    const reported = trace.reported.get(group.rootSpanId);
    if (reported?.windowEndMs != null) {
      if (dueMs > nowMs && pressure === 'none') return dueMs;
      const revived = group.seq > reported.seq && !group.complete && this.readyMs(group) > nowMs;
      if (revived && (pressure === 'none' || pressure === 'windows')) {
        reported.windowEndMs = null;
        return this.readyMs(group);
      }
      this.conclude(trace, group, revived && pressure === 'all' ? 'cut' : 'whole');
      return Infinity;
    }
    if (dueMs <= nowMs) return this.decide(trace, group, 'whole').windowEndMs ?? Infinity;
    if (pressure === 'all' || (pressure === 'rooted' && group.complete)) {
      this.conclude(trace, group, group.complete ? 'early' : 'cut');
      return Infinity;
    }
    return dueMs;
  }

  /** Decides a turn if it has spans that no decision has seen, and settles it. */
  conclude(trace: Trace, group: Group, how: 'whole' | 'early' | 'cut'): void {
    const reported = trace.reported.get(group.rootSpanId);
    if (reported === undefined || tellsMore(group, reported)) this.decide(trace, group, how);
    this.settle(trace, group, how === 'cut');
  }

  private decide(trace: Trace, group: Group, how: 'whole' | 'early' | 'cut'): Reported {
    const turn = turnOf(trace.name, group, how);
    const interaction = this.deps.build(turn);
    const before = trace.reported.get(group.rootSpanId);
    // A row with less evidence than the one before could not replace it.
    if (before === undefined || interaction.revision >= before.revision) {
      this.decided.push({ interaction, turn, revised: before !== undefined });
    }
    for (const held of group.members) {
      this.markAssembled(held);
      held.decidedIn = group.rootSpanId;
    }
    for (const { held, beyond } of group.heldAncestors) {
      if (!beyond) this.markAssembled(held);
    }
    if (group.judged.length > 0) this.dropJudged(trace, group);
    const reported: Reported = {
      turn,
      interactionId: interaction.interactionId,
      revision: Math.max(interaction.revision, before?.revision ?? 0),
      seq: group.seq,
      windowEndMs: this.state.nowMs + this.rules.lateMs,
    };
    trace.reported.set(group.rootSpanId, reported);
    this.state.inWindow.add(trace);
    return reported;
  }

  private markAssembled(held: HeldSpan): void {
    if (held.assembled) return;
    held.assembled = true;
    this.counts.assembled += 1;
    this.state.openSpans -= 1;
  }

  private settle(trace: Trace, group: Group, cut: boolean): void {
    const { state, rules } = this;
    const { interactionId } = trace.reported.get(group.rootSpanId) as Reported;
    const leaving: HeldSpan[] = [...group.members];
    const ancestors: Ancestor[] = [];
    for (const ancestor of group.heldAncestors) {
      ancestor.turns -= 1;
      if (ancestor.turns > 0 || ancestor.beyond) continue;
      ancestors.push(ancestor);
      leaving.push(ancestor.held);
    }
    const offsets: Offset[] = [];
    for (const held of leaving) {
      if (held.offset !== null) offsets.push(held.offset);
      this.remove(trace, held);
    }
    trace.reported.delete(group.rootSpanId);
    this.settled.push({ interactionId, offsets });

    const whole = group.root !== null && hasEnded(group.root.span);
    const root = group.root?.span;
    state.memory.remember(
      trace.name,
      {
        rootSpanId: group.rootSpanId,
        ending: cut ? 'cut' : whole ? 'whole' : 'partial',
        root: root === undefined ? 'phantom' : isAgent(root) ? 'agent' : 'other',
        missingParentId: group.missingParentId,
        holder: group.holder,
        crossed: group.crossed,
        spanIds: group.members.map(idOf),
        unended: unendedOf(group.members),
      },
      [...ancestors, ...group.aboveOthers].map(({ held, chain, at, missingParentId }) => ({
        span: this.ownBytes(held),
        above: chain.slice(0, at),
        missingParentId,
      })),
      rules,
    );
  }

  /** Drops a group that is no turn of anybody. */
  drop(trace: Trace, group: Group): void {
    for (const held of group.members) {
      // It may have left already, as an ancestor of a turn.
      if (trace.spans.get(held.span.span.spanId) === held) this.dropSpan(trace, held, reasonOf(group, held));
    }
    if (group.kind === 'ownJudge') this.rememberJudge(trace, group.rootSpanId, group.members);
  }

  private dropJudged(trace: Trace, group: Group): void {
    for (const held of group.judged) this.dropSpan(trace, held, 'ownJudge');
    const [first] = group.judged;
    if (first !== undefined) this.rememberJudge(trace, first.span.span.spanId, group.judged);
  }

  private rememberJudge(trace: Trace, rootSpanId: SpanId, judged: readonly HeldSpan[]): void {
    const fixed = { ending: 'ownJudge', root: 'other', missingParentId: null, holder: null, crossed: [] } as const;
    const ids = { spanIds: judged.map(idOf), unended: unendedOf(judged) };
    this.state.memory.remember(trace.name, { rootSpanId, ...fixed, ...ids }, [], this.rules);
  }

  /** Spans of a trace in which no dialect claims any: each is held for the quiet time. */
  private dropUnclaimed(trace: Trace, nowMs: number, all: boolean): void {
    let nextMs = Infinity;
    for (const held of trace.spans.values()) {
      const dueMs = held.lastMs + this.rules.quietMs;
      if (all || dueMs <= nowMs) this.dropSpan(trace, held, 'unclaimed');
      else nextMs = Math.min(nextMs, dueMs);
    }
    if (this.closeIfEmpty(trace)) return;
    this.state.unclaimed.add(trace);
    this.state.due.schedule(trace, nextMs);
  }

  private dropSpan(trace: Trace, held: HeldSpan, reason: DropReason): void {
    if (!held.assembled) {
      this.counts[reason] += 1;
      this.state.openSpans -= 1;
    }
    this.release(held.offset);
    this.remove(trace, held);
  }

  private remove(trace: Trace, held: HeldSpan): void {
    trace.spans.delete(held.span.span.spanId);
    trace.groups = null;
    this.state.heldSpans -= 1;
    this.account(trace, held.span, -1);
  }

  private release(offset: Offset | null): void {
    if (offset !== null) this.released.push(offset);
  }

  closeIfEmpty(trace: Trace): boolean {
    if (trace.spans.size > 0) return false;
    const { state } = this;
    state.traces.delete(trace.name);
    state.unclaimed.delete(trace);
    state.inWindow.delete(trace);
    state.rootEnded.delete(trace);
    state.due.schedule(trace, Infinity);
    return true;
  }

  /** What stays longer than the quiet time must not keep the whole request in memory that it came with. */
  private compact(trace: Trace): void {
    for (const held of trace.spans.values()) {
      if (!held.compact && !held.assembled) {
        held.span = this.ownBytes(held);
        held.compact = true;
        trace.groups = null;
      }
    }
  }

  private ownBytes(held: HeldSpan): AgentSpan {
    if (held.compact || this.deps.interpret === undefined) return held.span;
    const compact = held.span.span.compact();
    return compact === held.span.span ? held.span : this.deps.interpret(compact);
  }
}

/**
 * The group holds what its last decision has not seen: a span that came since, or one that stood elsewhere in the trace
 * until something between it and the turn was decided, and so may be older than all that the decision saw.
 */
function tellsMore(group: Group, reported: Reported): boolean {
  if (group.seq > reported.seq) return true;
  if (group.members.some((held) => held.decidedIn !== group.rootSpanId)) return true;
  return group.heldAncestors.some(({ held, beyond }) => !beyond && !held.assembled);
}

function isMember(group: Group, spanId: SpanId): boolean {
  return group.kind === 'turn' && group.members.some((held) => held.span.span.spanId === spanId);
}

function turnOf(traceId: TraceId, group: Group, how: 'whole' | 'early' | 'cut'): Turn {
  return {
    traceId,
    rootSpanId: group.rootSpanId,
    root: group.root?.span ?? null,
    spans: group.members.map((held) => held.span),
    ancestors: group.ancestors,
    openTop: group.missingParentId !== null,
    cut: how === 'cut',
    early: how === 'early',
    split: group.split,
  };
}

function reasonOf(group: Group, held: HeldSpan): DropReason {
  switch (group.kind) {
    case 'late':
    case 'cut':
    case 'ownJudge':
      return group.kind;
    case 'idle':
    case 'turn':
      if (held.span.ownJudge) return 'ownJudge';
      return held.span.dialect === null ? 'unclaimed' : 'noTurn';
  }
}

function idOf(held: HeldSpan): SpanId {
  return held.span.span.spanId;
}

function unendedOf(members: readonly HeldSpan[]): ReadonlySet<SpanId> {
  const unended = members.filter((held) => !hasEnded(held.span));
  return unended.length > 0 ? new Set(unended.map(idOf)) : NONE;
}

const NONE: ReadonlySet<SpanId> = new Set();
