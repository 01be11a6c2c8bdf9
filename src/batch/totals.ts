import { assess } from '../estimate/assessment.js';
import { estimate } from '../estimate/pass.js';
import type { PassFigure, StatisticalMode } from '../estimate/statistical-mode.js';
import { BayesianMode } from '../estimate/statistical-mode.js';
import type { AbstainReason } from '../model/score.js';
import type { AgenticMetric, AgenticSummary, ConversationsAsTrials } from './agentic-metric.js';
import type { GradedTurn } from './grade-turn.js';

/** The counts and sums of a whole data set. Its size does not grow with the data. */
export interface Totals {
  /** Conversations that were added or left out. */
  readonly seen: number;
  add(metric: AgenticMetric, turns: readonly GradedTurn[]): void;
  leaveOut(): void;
  summary(k: number): AgenticSummary;
  asTrials(k: number): ConversationsAsTrials;
}

export function createTotals(mode: StatisticalMode): Totals {
  const conversations = { total: 0, correct: 0, incorrect: 0, unscored: 0, left_out: 0 };
  const interactions = { total: 0, correct: 0, incorrect: 0, unscored: 0, neutral: 0 };
  const abstained = new Map<AbstainReason, number>();
  const counts = { trials: 0, correct: 0, outstanding: 0, outstandingIncorrect: 0 };
  const answers = { scored: 0, sum: 0 };
  const args = { scored: 0, sum: 0 };
  const tools = { scored: 0, correct: 0, sum: 0, scoped: 0, violations: 0 };
  let assistantId: string | null = null;

  function addTurn({ result, answer, tools: score }: GradedTurn): void {
    interactions.total += 1;
    interactions[result.verdict] += 1;
    if (result.abstained !== null) abstained.set(result.abstained, (abstained.get(result.abstained) ?? 0) + 1);
    if (answer !== null) {
      answers.scored += 1;
      answers.sum += answer;
    }
    if (result.argument_correctness !== null) {
      args.scored += 1;
      args.sum += result.argument_correctness;
    }
    if (score === null) return;
    if (score.scope_violation !== null) tools.scoped += 1;
    if (score.scope_violation === 1) tools.violations += 1;
    if (score.overall_correctness === null) return;
    tools.scored += 1;
    tools.sum += score.overall_correctness;
    if (score.is_correct === true) tools.correct += 1;
  }

  /** Whether a conversation is a trial depends on what could be decided, never on how it was. */
  function count(fullyCorrect: boolean | null, undecided: boolean): void {
    if (undecided) {
      counts.outstanding += 1;
      if (fullyCorrect === false) counts.outstandingIncorrect += 1;
    } else if (fullyCorrect !== null) {
      counts.trials += 1;
      if (fullyCorrect) counts.correct += 1;
    }
  }

  function asTrials(k: number): ConversationsAsTrials {
    const bayesian = mode instanceof BayesianMode ? mode : new BayesianMode();
    const rules = { ks: [k], prior: bayesian.prior, level: bayesian.level, mode: 'bayesian' } as const;
    const [at, pow] = estimate(counts, rules);
    if (at === undefined || pow === undefined) throw new Error('an estimate of each metric expected');
    const figures = counts.trials === 0 ? null : mode.figures(counts.trials, counts.correct, k);
    const { pass_at_k, pass_pow_k } = figures ?? { pass_at_k: NO_FIGURE, pass_pow_k: NO_FIGURE };
    const bounds = (low: number | null, high: number | null) =>
      low === null || high === null ? null : ([low, high] as const);
    return {
      trial: 'conversation',
      k,
      statistical_mode: mode.name,
      n: counts.trials,
      c: counts.correct,
      outstanding: counts.outstanding,
      pass_at_k: pass_at_k.mean,
      pass_at_k_ci_low: pass_at_k.low,
      pass_at_k_ci_high: pass_at_k.high,
      pass_pow_k: pass_pow_k.mean,
      pass_pow_k_ci_low: pass_pow_k.low,
      pass_pow_k_ci_high: pass_pow_k.high,
      pass_at_k_bounds: bounds(at.boundLower, at.boundUpper),
      pass_pow_k_bounds: bounds(pow.boundLower, pow.boundUpper),
      // A point does not say how sure it is, so the label always comes from intervals.
      assessment: assess(at, pow),
    };
  }

  return {
    get seen() {
      return conversations.total + conversations.left_out;
    },
    add(metric, turns) {
      const { is_fully_correct: fully } = metric;
      if (conversations.total === 0) assistantId = metric.assistant_id;
      else if (assistantId !== metric.assistant_id) assistantId = null;
      conversations.total += 1;
      conversations[fully === null ? 'unscored' : fully ? 'correct' : 'incorrect'] += 1;
      turns.forEach(addTurn);
      count(
        fully,
        turns.some((turn) => turn.undecided),
      );
    },
    leaveOut() {
      conversations.left_out += 1;
    },
    summary: (k) => ({
      assistant_id: assistantId,
      conversations: { ...conversations },
      interactions: { ...interactions },
      answers: { scored: answers.scored, mean: mean(answers), abstained: Object.fromEntries(abstained) },
      arguments: { scored: args.scored, mean: mean(args) },
      tools: {
        scored: tools.scored,
        correct: tools.correct,
        mean: mean(tools),
        scope_checked: tools.scoped,
        scope_violations: tools.violations,
      },
      conversations_as_trials: asTrials(k),
    }),
    asTrials,
  };
}

const NO_FIGURE: PassFigure = { mean: null, low: null, high: null };

function mean({ sum, scored }: { readonly sum: number; readonly scored: number }): number | null {
  return scored === 0 ? null : sum / scored;
}
