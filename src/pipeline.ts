/**
 * The one place that knows the order: receive -> interpret -> assemble -> score -> store.
 *
 * Online (`createPipeline`) a log entry is held as long as a span of it may still be needed, and is released when
 * both are true: its interactions are settled (their late windows are over) and the store has acknowledged all of
 * their rows. A crash at any moment therefore re-reads what was not stored, and since rows are idempotent, what is
 * stored twice counts once. Offline (`createOfflineGrader`) there is no log and no waiting: everything that was read is decided.
 */
import PQueue from 'p-queue';
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
import { grade, type GradeDeps, type GradeEvents, type Judging } from './grade.js';
import { interpret } from './interpret/interpret.js';
import type { AgentSpan } from './model/agent-span.js';
import type { Graded } from './model/graded.js';
import type { Interaction } from './model/interaction.js';
import type { Outcome } from './model/outcome.js';
import type { Offset, ReceivedBatch } from './model/received.js';
import { sameScores, unansweredIn } from './model/score.js';
import type { Span } from './model/span.js';
import type { Turn } from './model/turn.js';
import type { ScoringPolicy } from './score/policy.js';

export interface PipelineRules {
  readonly assemble: AssembleRules;
  readonly policy: ScoringPolicy;
}

export type SpanCounts = Step['counts'];

/** What happens in the pipeline, one function an event. */
export interface PipelineEvents extends GradeEvents {
  spansCounted(counts: SpanCounts, openSpans: number): void;
  /** `revised`: it was graded before, with less evidence. With the judge's word, unless that takes too long. */
  interactionGraded(graded: Graded, revised: boolean): void;
}

export interface PipelineJudging extends Judging {
  /** An interaction that has waited for the judge so long is stored as `pending`, and again when the judge's word comes. */
  readonly holdMs: number;
  /** Calls `wake` once after `ms` of the wall clock; the result takes that back. */
  readonly after: (ms: number, wake: () => void) => () => void;
  /** The judge's word on an interaction that is stored as `pending`. */
  readonly judgedLate: (graded: Graded) => void;
  /** As `store`, for the verdict of such an interaction. */
  readonly storeVerdict: (graded: Graded) => Promise<Outcome>;
}

export interface PipelineDeps extends GradeDeps {
  readonly events: PipelineEvents;
  readonly judging: PipelineJudging | null;
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
  /** Interactions whose rows, or late verdicts, the store has not acknowledged yet. */
  readonly unstored: number;
  /** Interactions that the judge has not had its word on, stored as `pending` or not stored yet. */
  readonly unjudged: number;
  /** Resolves when the judge has had its word on all that is decided by now, and the store was told. */
  whenJudged(): Promise<void>;
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
  const { judging } = deps;
  const assembly = createAssembly();
  const assembling = assembleDeps(deps.events);
  const holds = createHolds(deps.release);
  /** Rows on their way, by interaction: do they need their spans no more? A revision may be beside its forerunner. */
  const unstored = new Map<string, Promise<boolean>>();
  /** What the judge is asked, also behind rows that were stored without its word. */
  const unjudged = new Set<Promise<unknown>>();
  /** Its word on those, on its way to the store. */
  const unstoredLate = new Set<Promise<unknown>>();
  let nextDueMs: number | null = null;

  function take(result: Step): void {
    nextDueMs = result.nextDueMs;
    for (const { interaction, revised } of result.decided) {
      const id = interaction.interactionId;
      const stored = storedAfter(unstored.get(id), gradeAndStore(interaction, revised));
      unstored.set(id, stored);
      void stored.then((done) => {
        if (done && unstored.get(id) === stored) unstored.delete(id);
      });
    }
    holds.release(result.released);
    for (const settled of result.settled) releaseWhenStored(settled);
    deps.events.spansCounted(result.counts, openSpans(assembly));
  }

  function gradeAndStore(interaction: Interaction, revised: boolean): Promise<Outcome> {
    const { graded, judged } = grade(interaction, undefined, rules.policy, deps);
    if (judged === null || judging === null) return store(graded, revised);
    return storeJudged(graded, judged, revised, judging);
  }

  function store(graded: Graded, revised: boolean): Promise<Outcome> {
    deps.events.interactionGraded(graded, revised);
    return deps.store(graded);
  }

  /** Waits for the judge for a while. Rows need not come in order: which of them counts is for their versions to say. */
  function storeJudged(
    pending: Graded,
    judged: Promise<Graded>,
    revised: boolean,
    { holdMs, after, judgedLate, storeVerdict }: PipelineJudging,
  ): Promise<Outcome> {
    return new Promise((resolve) => {
      let held = true;
      const letGo = after(holdMs, () => {
        held = false;
        resolve(store(pending, revised));
      });
      const told = judged.then((graded) => {
        letGo();
        unjudged.delete(told);
        if (held) resolve(store(graded, revised));
        else if (!sameScores(graded.verdict, pending.verdict)) {
          // An outage that lasts longer than the patience gives another reason, and no word.
          if (unansweredIn(graded.verdict) < unansweredIn(pending.verdict)) judgedLate(graded);
          // When the store has closed, the row that it has is left for the next rescoring.
          const stored = storeVerdict(graded);
          unstoredLate.add(stored);
          void stored.then(() => unstoredLate.delete(stored));
        }
      });
      unjudged.add(told);
    });
  }

  async function storedAfter(before: Promise<boolean> | undefined, storing: Promise<Outcome>): Promise<boolean> {
    const outcome = await storing;
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
      return unstored.size + unstoredLate.size;
    },
    get unjudged() {
      return unjudged.size;
    },
    async whenJudged() {
      await Promise.all(unjudged);
    },
    async whenStored() {
      await Promise.all([...unstored.values(), ...unstoredLate]);
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

/** Reads spans until there are no more, then decides all of them. */
export interface OfflineGrader {
  receive(spans: readonly Span[]): void;
  /**
   * All interactions in order of start, each graded once, with its place in its conversation known. What the rules leave
   * open is `pending`.
   */
  finish(): readonly Graded[];
  /** The same with the judge's word, which is waited for. At most `atOnce` are with the judge at a time. */
  finishJudged(atOnce: number, progress: (judged: number, of: number) => void): Promise<readonly Graded[]>;
}

export function createOfflineGrader(
  rules: PipelineRules,
  deps: GradeDeps & { readonly events: PipelineEvents },
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
    finish: () =>
      inOrder().map(([interaction, turn]) => {
        const { graded } = grade(interaction, turn, rules.policy, { ...deps, judging: null });
        deps.events.interactionGraded(graded, false);
        return graded;
      }),
    async finishJudged(atOnce, progress) {
      const all = inOrder();
      let done = 0;
      const queue = new PQueue({ concurrency: atOnce });
      return queue.addAll(
        all.map(([interaction, turn]) => async () => {
          const { graded, judged } = grade(interaction, turn, rules.policy, deps);
          const final = (await judged) ?? graded;
          deps.events.interactionGraded(final, false);
          progress((done += 1), all.length);
          return final;
        }),
      );
    },
  };

  function inOrder(): readonly (readonly [Interaction, number])[] {
    take(finish(assembly, rules.assemble, assembling));
    const turns = new Map<string, number>();
    return [...withoutShadowed([...decided.values()])].sort(byStart).map((interaction) => {
      const conversation = JSON.stringify([interaction.assistantId, interaction.conversationId]);
      const turn = turns.get(conversation) ?? 0;
      turns.set(conversation, turn + 1);
      return [interaction, turn];
    });
  }
}

function byStart(a: Interaction, b: Interaction): number {
  return a.startedAtMs - b.startedAtMs || (a.interactionId < b.interactionId ? -1 : 1);
}
