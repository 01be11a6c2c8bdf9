import type { AgentSpan } from '../../src/model/agent-span.js';
import type { Interaction } from '../../src/model/interaction.js';
import type { Offset } from '../../src/model/received.js';
import type { Assembly, Decision, Step } from '../../src/assemble/assembly.js';
import { createAssembly, finish, step } from '../../src/assemble/assembly.js';
import type { AssembleRules } from '../../src/assemble/rules.js';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import type { SpanSketch } from './spans.js';
import { agentSpan, namesOf, plainInteraction } from './spans.js';

/** Runs the reducer, keeps what it reports, and counts as the pipeline would. */
export class AssembleRun {
  readonly state: Assembly = createAssembly();
  readonly rules: AssembleRules;
  readonly decided: Decision[] = [];
  readonly released: Offset[] = [];
  readonly settled: { interactionId: string; offsets: readonly Offset[] }[] = [];
  readonly counts: Record<string, number> = {};
  nextDueMs: number | null = null;

  constructor(rules: Partial<AssembleRules> = {}) {
    this.rules = { ...DEFAULT_ASSEMBLE_RULES, ...rules };
  }

  at(nowMs: number, ...sketches: readonly SpanSketch[]): readonly Decision[] {
    return this.take(
      sketches.map((sketch) => agentSpan(sketch)),
      nowMs,
      null,
    );
  }

  take(spans: readonly AgentSpan[], nowMs: number, offset: Offset | null): readonly Decision[] {
    const arrivals = spans.map((span) => ({ span, offset }));
    return this.keep(step(this.state, arrivals, nowMs, this.rules, { build: plainInteraction }));
  }

  finish(): readonly Decision[] {
    return this.keep(finish(this.state, this.rules, { build: plainInteraction }));
  }

  keep(result: Step): readonly Decision[] {
    this.decided.push(...result.decided);
    this.released.push(...result.released);
    this.settled.push(...result.settled);
    for (const [name, count] of Object.entries(result.counts)) this.counts[name] = (this.counts[name] ?? 0) + count;
    this.nextDueMs = result.nextDueMs;
    return result.decided;
  }

  rows(): Interaction[] {
    return [...lastRows(this.decided.map((decision) => decision.interaction)).values()];
  }

  /** The turns as last decided, each as its spans' names, the root first; in order of start. */
  turns(): string[] {
    const last = new Map(this.decided.map((decision) => [decision.interaction.interactionId, decision.turn]));
    return [...last.values()]
      .sort((a, b) => plainInteraction(a).startedAtMs - plainInteraction(b).startedAtMs)
      .map((turn) => (turn.root === null ? ['?', ...namesOf(turn)] : namesOf(turn)).join(' '));
  }
}

/** What a ReplacingMergeTree keeps: of one id the row with the greatest revision, on a tie the later one. */
export function lastRows(rows: readonly Interaction[]): Map<string, Interaction> {
  const kept = new Map<string, Interaction>();
  for (const row of rows) {
    const before = kept.get(row.interactionId);
    if (before === undefined || row.revision >= before.revision) kept.set(row.interactionId, row);
  }
  return kept;
}

/** What the `_current` view shows: without open-topped rows that another row of their trace covers. */
export function visibleRows(rows: readonly Interaction[]): Map<string, Interaction> {
  const kept = lastRows(rows);
  const whole = [...kept.values()].filter((row) => !row.openTop);
  for (const [id, row] of kept) {
    const covers = (other: Interaction): boolean =>
      other.traceId === row.traceId && other.startedAtMs <= row.startedAtMs && row.startedAtMs <= other.endedAtMs;
    if (row.openTop && whole.some(covers)) kept.delete(id);
  }
  return kept;
}
