import { assertK } from '../estimate/pass.js';
import { asGaussia } from '../estimate/gaussia-pass.js';
import type { PassFigures, StatisticalMode } from '../estimate/statistical-mode.js';
import { BayesianMode, FrequentistMode } from '../estimate/statistical-mode.js';
import type { ToolWeights } from '../score/assess-tools.js';
import type { DatasetFault, DatasetItem } from '../score/datasets.js';
import { gaussiaWeightFaults } from '../score/gaussia-tool-correctness.js';
import { EQUAL_WEIGHTS, weightFaults } from '../score/tool-correctness.js';
import type { AgenticMetric, AgenticSummary, ConversationsAsTrials, Dataset } from './agentic-metric.js';
import type { AnswerJudge } from './answer.js';
import type { Compat, GradedTurn, TurnRules } from './grade-turn.js';
import { gradeTurn } from './grade-turn.js';
import type { TurnJudge } from './turn-judge.js';
import type { ConversationInput } from './read-turns.js';
import { readLoosely, readStrictly } from './read-turns.js';
import { createTotals } from './totals.js';

export interface AgenticOptions {
  /** The K of pass@K and pass^K, a whole number >= 1. */
  readonly k: number;
  /** Least score of a correct answer, 0..1. Default 0.7. */
  readonly threshold?: number;
  /** Least tool correctness that is correct, 0..1. Default 1. */
  readonly toolThreshold?: number;
  /** Each >= 0, not all 0; need not sum to 1. Default 0.25 each. */
  readonly toolWeights?: ToolWeights;
  /** Default: Bayesian with a uniform prior and 95 % intervals; with `compat: 'gaussia'` frequentist, as there. */
  readonly statisticalMode?: StatisticalMode;
  /**
   * `gaussia`: the figures of Gaussia v1.0.0, faults included. `deepeval`: argument correctness of a turn without calls
   * is 1. Default: neither.
   */
  readonly compat?: 'gaussia' | 'deepeval' | null;
  /** Decides answers that no rule can decide; without one they abstain. */
  readonly judge?: AnswerJudge;
  /** A judge of whole turns, arguments of calls included; goes before `judge`. */
  readonly turnJudge?: TurnJudge;
  /** Conversations that `run` has under way at once, for a judge that answers several at a time. Default 1. */
  readonly atOnce?: number;
  /**
   * Told of every dataset that is left out, with the places of its faults. Without it the first one throws a
   * DatasetError.
   */
  readonly onFaults?: (faults: readonly DatasetFault[]) => void;
}

/** A dataset cannot be used: each fault with its place and what was expected. */
export class DatasetError extends Error {
  constructor(readonly faults: readonly DatasetFault[]) {
    super(faults.map(({ place, problem }) => `${place}: ${problem}`).join('\n'));
    this.name = 'DatasetError';
  }
}

export interface Agentic {
  /**
   * The metric of one conversation; null when it has a fault: a conversation of which a turn cannot be read is left out
   * whole, since nobody could say that all of it is correct. `place` stands before the path in faults.
   */
  evaluate(dataset: Dataset, place?: string): Promise<AgenticMetric | null>;
  /** The metrics of a stream, one by one and in order; none of them is kept. */
  run(items: AsyncIterable<DatasetItem> | Iterable<DatasetItem>): AsyncGenerator<AgenticMetric>;
  /** What was counted so far. */
  summary(): AgenticSummary;
  /** The conversations so far as trials; `k` other than the option's is possible. */
  conversationsAsTrials(k?: number): ConversationsAsTrials;
}

// About 50 MB of ids. Past it a repeated id is no longer found, rather than memory growing with the data.
const REMEMBERED_IDS = 250_000;

/**
 * Gaussia's Agentic metric over conversations. Throws RangeError that lists every fault of the options.
 *
 * A session_id that comes a second time for one assistant is a fault: a conversation is one trial, and a file given
 * twice would look like twice the evidence. (Among the first 250 000; with `compat: 'gaussia'` not looked at.)
 */
export function createAgentic(options: AgenticOptions): Agentic {
  const rules = resolve(options);
  const { atOnce = 1 } = options;
  const { k, mode, compat } = rules;
  const read = compat === 'gaussia' ? readLoosely : readStrictly;
  const totals = createTotals(mode);
  const places = new Map<string, string>();

  function leaveOut(faults: readonly DatasetFault[]): null {
    totals.leaveOut();
    if (options.onFaults === undefined) throw new DatasetError(faults);
    options.onFaults(faults);
    return null;
  }

  function repeated({ sessionId, assistantId }: ConversationInput, place: string): DatasetFault | null {
    if (compat === 'gaussia') return null;
    const id = JSON.stringify([assistantId, sessionId]);
    const before = places.get(id);
    if (before === undefined) {
      if (places.size < REMEMBERED_IDS) places.set(id, place);
      return null;
    }
    return { place, problem: `session_id was given before, at ${before}; a conversation counts once` };
  }

  type Evaluated = { readonly metric: AgenticMetric; readonly turns: readonly GradedTurn[] };

  async function evaluated(dataset: unknown, place: string): Promise<Evaluated | null> {
    const input = read(dataset, place);
    if (input.faults.length > 0) return leaveOut(input.faults);
    const twice = repeated(input, place === '' ? `conversation ${totals.seen + 1}` : place);
    if (twice !== null) return leaveOut([twice]);
    const turns: GradedTurn[] = [];
    for (const [i, turn] of input.turns.entries()) {
      try {
        turns.push(await gradeTurn(turn, input.turns.slice(0, i), rules));
      } catch (error) {
        if (error instanceof RangeError) return leaveOut([{ place: turn.place, problem: error.message }]);
        throw error;
      }
    }
    return { metric: metricOf(input, turns, rules), turns };
  }

  /** Counted in order, so that the sums are the same however many were under way. */
  function counted(found: Evaluated | null): AgenticMetric | null {
    if (found === null) return null;
    totals.add(found.metric, found.turns);
    return found.metric;
  }

  return {
    evaluate: async (dataset, place = '') => counted(await evaluated(dataset, place)),
    async *run(items) {
      const underWay: Promise<Evaluated | null>[] = [];
      for await (const item of items) {
        const running =
          'fault' in item
            ? Promise.resolve(item.fault).then((fault) => leaveOut([fault]))
            : evaluated(item.dataset, item.place);
        // Told where its turn comes; until then nobody waits for it.
        running.catch(() => undefined);
        underWay.push(running);
        if (underWay.length < atOnce) continue;
        const metric = counted((await underWay.shift()) ?? null);
        if (metric !== null) yield metric;
      }
      for (const last of underWay) {
        const metric = counted(await last);
        if (metric !== null) yield metric;
      }
    },
    // Gaussia takes a k below 1; conversations as trials are not Gaussia's.
    summary: () => totals.summary(Math.max(k, 1)),
    conversationsAsTrials: (other = k) => totals.asTrials(other),
  };
}

interface Rules extends TurnRules {
  readonly k: number;
  readonly mode: StatisticalMode;
}

function resolve(options: AgenticOptions): Rules {
  const { k, threshold = 0.7, toolThreshold = 1, toolWeights = EQUAL_WEIGHTS, judge, turnJudge } = options;
  const compat: Compat = options.compat ?? null;
  const gaussia = compat === 'gaussia';
  const faults: string[] = [];
  if (gaussia ? !Number.isSafeInteger(k) : !isK(k)) faults.push(`k must be a whole number >= 1, got ${k}`);
  for (const [name, value] of Object.entries({ threshold, toolThreshold })) {
    if (!(value >= 0 && value <= 1)) faults.push(`${name} must be 0..1, got ${value}`);
  }
  faults.push(...(gaussia ? gaussiaWeightFaults : weightFaults)(toolWeights).map((fault) => `tool ${fault}`));
  if (faults.length > 0) throw new RangeError(faults.join('; '));
  const mode = options.statisticalMode ?? (gaussia ? new FrequentistMode() : new BayesianMode());
  return {
    k,
    threshold,
    toolThreshold,
    toolWeights,
    compat,
    mode: gaussia ? asGaussia(mode) : mode,
    ...(judge === undefined ? {} : { judge }),
    ...(turnJudge === undefined ? {} : { turnJudge }),
  };
}

function isK(k: number): boolean {
  try {
    assertK(k);
    return true;
  } catch {
    return false;
  }
}

function metricOf(input: ConversationInput, turns: readonly GradedTurn[], rules: Rules): AgenticMetric {
  const { k, threshold } = rules;
  const verdicts = turns.map(({ result }) => result.verdict);
  const correct = indicesOf(verdicts, 'correct');
  const undecided = turns.filter((turn) => turn.undecided).length;
  const counted = rules.compat === 'gaussia' ? turns.length : verdicts.filter((v) => v !== 'neutral').length;
  const figures = undecided === 0 ? figuresOf(counted, correct.length, rules) : null;
  return {
    session_id: input.sessionId,
    assistant_id: input.assistantId,
    total_interactions: turns.length,
    correct_interactions: undecided === 0 ? correct.length : null,
    is_fully_correct: isFullyCorrect(verdicts, rules),
    threshold,
    correctness_scores: turns.map(({ answer }) => answer),
    correct_indices: correct,
    tool_correctness_scores: turns.map(({ tools }) => tools),
    k,
    pass_at_k: figures?.pass_at_k.mean ?? null,
    pass_at_k_ci_low: figures?.pass_at_k.low ?? null,
    pass_at_k_ci_high: figures?.pass_at_k.high ?? null,
    pass_pow_k: figures?.pass_pow_k.mean ?? null,
    pass_pow_k_ci_low: figures?.pass_pow_k.low ?? null,
    pass_pow_k_ci_high: figures?.pass_pow_k.high ?? null,
    unscored_interactions: verdicts.filter((verdict) => verdict === 'unscored').length,
    interactions: turns.map(({ result }) => result),
  };
}

/** Without trials a prior would be all that is shown, and it says nothing of the agent. Gaussia shows zeros. */
function figuresOf(trials: number, correct: number, { k, mode, compat }: Rules): PassFigures | null {
  return trials === 0 && compat !== 'gaussia' ? null : mode.figures(trials, correct, k);
}

/** As the verdict of a conversation online; Gaussia calls one without turns correct. */
function isFullyCorrect(verdicts: readonly string[], { compat }: Rules): boolean | null {
  if (verdicts.includes('incorrect')) return false;
  if (compat === 'gaussia') return verdicts.every((verdict) => verdict === 'correct') ? true : null;
  return verdicts.includes('unscored') || !verdicts.includes('correct') ? null : true;
}

function indicesOf(verdicts: readonly string[], wanted: string): number[] {
  return verdicts.flatMap((verdict, i) => (verdict === wanted ? [i] : []));
}
