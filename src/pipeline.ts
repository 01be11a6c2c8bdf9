/**
 * The one place that knows the order: receive -> interpret -> assemble -> score -> store.
 *
 * Online (`createPipeline`) a log entry is held as long as a span of it may still be needed, and is released when
 * both are true: its interactions are settled (their late windows are over) and the store has acknowledged all of
 * their rows. A crash at any moment therefore re-reads what was not stored, and since rows are idempotent, what is
 * stored twice counts once. Offline (`createOfflineGrader`) there is no log and no waiting: everything that was read is decided.
 */
import {
  createAssembly,
  finish,
  openSpans,
  step,
  type AssembleDeps,
  type Settled,
  type Step,
} from './assemble/assembly.js';
import { buildInteraction } from './assemble/interaction.js';
import type { AssembleRules } from './assemble/rules.js';
import { withoutShadowed } from './assemble/shadow.js';
import { interpret } from './interpret/interpret.js';
import type { AgentSpan } from './model/agent-span.js';
import type { Graded } from './model/graded.js';
import type { Interaction } from './model/interaction.js';
import type { Outcome } from './model/outcome.js';
import type { Offset, ReceivedBatch } from './model/received.js';
import type { Score, Verdict } from './model/score.js';
import type { Span, TraceId } from './model/span.js';
import type { Turn } from './model/turn.js';
import { effectiveExpectation, type ExpectationIndex, type ExpectationMatch } from './score/expectations.js';
import { CRITERIA, policyHash, type ScoringPolicy } from './score/policy.js';
import { score } from './score/score-interaction.js';

export interface PipelineRules {
  readonly assemble: AssembleRules;
  readonly policy: ScoringPolicy;
}

export type SpanCounts = Step['counts'];

/** What happens in the pipeline, one function an event. */
export interface PipelineEvents {
  spansCounted(counts: SpanCounts, openSpans: number): void;
  /** `revised`: it was graded before, with less evidence. */
  interactionGraded(graded: Graded, revised: boolean): void;
  /**
   * A fault of ours. The interaction is kept with what can be said of it: nothing captured, or not scored. One trace
   * that we cannot bear must not stop all others, nor come back with every restart.
   */
  gradingFailed(fault: {
    readonly traceId: TraceId;
    readonly stage: 'built' | 'scored';
    readonly error: unknown;
  }): void;
  /** Ground truth on the spans that is cut or of another shape: nothing is graded against it. */
  expectationUnreadable(interaction: Interaction, members: readonly string[]): void;
  /** Several turns of the datasets with different ground truth fit; none was guessed. */
  expectationAmbiguous(interaction: Interaction, match: Extract<ExpectationMatch, { kind: 'ambiguous' }>): void;
}

export interface PipelineDeps {
  readonly expectations: ExpectationIndex;
  readonly events: PipelineEvents;
  /**
   * `ok` when the store has the rows, `rejected` when it has refused them for good and said so in `rejections`,
   * `retryable` when it was closed before: what is not stored is not released. Pending while the store is away.
   */
  store(graded: Graded): Promise<Outcome>;
  /** These entries of the log are no longer needed. */
  readonly release: (offsets: readonly Offset[]) => void;
}

export interface Pipeline {
  /** Takes one entry of the log. `nowMs`: stream time at its arrival. */
  receive(batch: ReceivedBatch, nowMs: number): void;
  /** Lets stream time pass. */
  pass(nowMs: number): void;
  /** The log has no room: decides the older half of what is open before its time, late windows and ended roots first. */
  relieve(): void;
  /** When `pass` has something to do though nothing arrives; null: never. Stream time. */
  readonly nextDueMs: number | null;
  readonly openSpans: number;
  /** Interactions whose rows the store has not acknowledged yet. */
  readonly unstored: number;
  /** Resolves when the store has answered for all that is decided by now. */
  whenStored(): Promise<void>;
}

function assembleDeps(events: Pick<PipelineEvents, 'gradingFailed'>): AssembleDeps {
  const build = (turn: Turn): Interaction => {
    try {
      return buildInteraction(turn);
    } catch (error) {
      events.gradingFailed({ traceId: turn.traceId, stage: 'built', error });
      return buildInteraction(unread(turn));
    }
  };
  return { build, interpret };
}

/** The turn with nothing legible in it. */
function unread(turn: Turn): Turn {
  const blank = (span: AgentSpan): AgentSpan => ({
    span: span.span,
    kind: span.kind,
    dialect: span.dialect,
    pseudoTool: span.pseudoTool,
    ownJudge: span.ownJudge,
    readings: () => [],
    read: () => undefined,
  });
  return {
    ...turn,
    root: turn.root && blank(turn.root),
    spans: turn.spans.map(blank),
    ancestors: turn.ancestors.map(blank),
  };
}

export function createPipeline(rules: PipelineRules, deps: PipelineDeps): Pipeline {
  const assembly = createAssembly();
  const assembling = assembleDeps(deps.events);
  const holds = createHolds(deps.release);
  /** Rows on their way, by interaction: do they need their spans no more? A revision may be beside its forerunner. */
  const unstored = new Map<string, Promise<boolean>>();
  let nextDueMs: number | null = null;

  function take(result: Step): void {
    nextDueMs = result.nextDueMs;
    for (const { interaction, revised } of result.decided) {
      const graded = grade(interaction, undefined, rules.policy, deps);
      deps.events.interactionGraded(graded, revised);
      const id = interaction.interactionId;
      const stored = storeAfter(unstored.get(id), graded);
      unstored.set(id, stored);
      void stored.then((done) => {
        if (done && unstored.get(id) === stored) unstored.delete(id);
      });
    }
    holds.release(result.released);
    for (const settled of result.settled) releaseWhenStored(settled);
    deps.events.spansCounted(result.counts, openSpans(assembly));
  }

  async function storeAfter(before: Promise<boolean> | undefined, graded: Graded): Promise<boolean> {
    const outcome = await deps.store(graded);
    return outcome.status !== 'retryable' && (await (before ?? true));
  }

  function releaseWhenStored({ interactionId, offsets }: Settled): void {
    const stored = unstored.get(interactionId);
    if (stored === undefined) holds.release(offsets);
    else void stored.then((done) => done && holds.release(offsets));
  }

  return {
    receive(batch, nowMs) {
      const { offset } = batch;
      if (offset !== null) holds.hold(offset, batch.spans.length);
      const arrivals = batch.spans.map((span) => ({ span: interpret(span), offset }));
      take(step(assembly, arrivals, nowMs, rules.assemble, assembling));
    },
    pass(nowMs) {
      take(step(assembly, [], nowMs, rules.assemble, assembling));
    },
    relieve() {
      const maxOpenTraces = Math.floor(assembly.traces.size / 2);
      take(step(assembly, [], assembly.nowMs, { ...rules.assemble, maxOpenTraces }, assembling));
    },
    get nextDueMs() {
      return nextDueMs;
    },
    get openSpans() {
      return openSpans(assembly);
    },
    get unstored() {
      return unstored.size;
    },
    async whenStored() {
      await Promise.all(unstored.values());
    },
  };
}

/** Counts how many spans of each entry are still needed; at zero the entry is released. */
function createHolds(release: (offsets: readonly Offset[]) => void) {
  const needed = new Map<Offset, number>();
  return {
    hold(offset: Offset, spans: number): void {
      needed.set(offset, (needed.get(offset) ?? 0) + spans);
    },
    release(offsets: readonly Offset[]): void {
      const free: Offset[] = [];
      for (const offset of offsets) {
        const left = (needed.get(offset) ?? 0) - 1;
        if (left > 0) needed.set(offset, left);
        else if (needed.delete(offset)) free.push(offset);
      }
      if (free.length > 0) release(free);
    },
  };
}

function grade(
  interaction: Interaction,
  turn: number | undefined,
  policy: ScoringPolicy,
  deps: Pick<PipelineDeps, 'expectations' | 'events'>,
): Graded {
  try {
    const match = deps.expectations.match(interaction, turn);
    if (match.kind === 'ambiguous') deps.events.expectationAmbiguous(interaction, match);
    const inFile = match.kind === 'matched' ? match.expectation : null;
    const expectation = effectiveExpectation(interaction.expectation, inFile);
    if (expectation?.unreadable !== undefined) {
      deps.events.expectationUnreadable(interaction, expectation.unreadable);
    }
    return { interaction, verdict: score(interaction, expectation, policy) };
  } catch (error) {
    deps.events.gradingFailed({ traceId: interaction.traceId, stage: 'scored', error });
    return { interaction, verdict: unscored(interaction, policy) };
  }
}

function unscored({ interactionId }: Interaction, policy: ScoringPolicy): Verdict {
  const criteria = CRITERIA.filter((criterion) => policy.enabled[criterion]);
  const scores = criteria.map((criterion): Score => ({
    kind: 'abstained',
    criterion,
    abstained: 'undecidable',
    reason: 'a fault of Tracegrade; see its log',
    details: {},
  }));
  const common = { interactionId, policy: policyHash(policy), neutral: false, leftOut: false };
  return { ...common, label: 'unscored', outstanding: scores.length, scores };
}

/** Reads spans until there are no more, then decides all of them. */
export interface OfflineGrader {
  receive(spans: readonly Span[]): void;
  /** All interactions in order of start, each graded once, with its place in its conversation known. */
  finish(): readonly Graded[];
}

export function createOfflineGrader(
  rules: PipelineRules,
  deps: Pick<PipelineDeps, 'expectations' | 'events'>,
): OfflineGrader {
  const assembly = createAssembly();
  const assembling = assembleDeps(deps.events);
  /** The last decision stands; there are several where a bound forced an early one. */
  const decided = new Map<string, Interaction>();

  function take(result: Step): void {
    for (const { interaction } of result.decided) decided.set(interaction.interactionId, interaction);
    deps.events.spansCounted(result.counts, openSpans(assembly));
  }

  return {
    receive(spans) {
      const arrivals = spans.map((span) => ({ span: interpret(span), offset: null }));
      take(step(assembly, arrivals, 0, rules.assemble, assembling));
    },
    finish() {
      take(finish(assembly, rules.assemble, assembling));
      const turns = new Map<string, number>();
      return [...withoutShadowed([...decided.values()])].sort(byStart).map((interaction) => {
        const conversation = JSON.stringify([interaction.assistantId, interaction.conversationId]);
        const turn = turns.get(conversation) ?? 0;
        turns.set(conversation, turn + 1);
        const graded = grade(interaction, turn, rules.policy, deps);
        deps.events.interactionGraded(graded, false);
        return graded;
      });
    },
  };
}

function byStart(a: Interaction, b: Interaction): number {
  return a.startedAtMs - b.startedAtMs || (a.interactionId < b.interactionId ? -1 : 1);
}
