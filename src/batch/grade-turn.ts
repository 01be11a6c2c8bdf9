import type { Expectation } from '../model/expectation.js';
import type { ToolWeights } from '../score/assess-tools.js';
import { THRESHOLD_TOLERANCE } from '../score/assess-tools.js';
import { gaussiaToolCorrectness } from '../score/gaussia-tool-correctness.js';
import { checkScope } from '../score/scope.js';
import { toolCorrectness } from '../score/tool-correctness.js';
import type { InteractionResult, InteractionVerdict, ToolCorrectnessScore } from './agentic-metric.js';
import type { AnswerJudge } from './answer.js';
import { needsJudge, scoreAnswer, scoreAnswerAsGaussia } from './answer.js';
import type { TurnInput } from './read-turns.js';
import type { TurnJudge } from './turn-judge.js';
import { askTurnJudge } from './turn-judge.js';

/** Whose figures are to be met; null: ours. */
export type Compat = 'gaussia' | 'deepeval' | null;

export interface TurnRules {
  /** 0..1: least score of a correct answer. */
  readonly threshold: number;
  readonly toolThreshold: number;
  readonly toolWeights: ToolWeights;
  readonly compat: Compat;
  readonly judge?: AnswerJudge;
  /** Goes before `judge`. */
  readonly turnJudge?: TurnJudge;
}

export interface GradedTurn {
  readonly result: InteractionResult;
  /** 0..1; null: not scored. */
  readonly answer: number | null;
  readonly tools: ToolCorrectnessScore | null;
  /** The answer should have been decided and was not. Whether it was never depends on the tools. */
  readonly undecided: boolean;
}

/**
 * Judges one turn, `earlier` being those before it in its conversation. It is incorrect when its answer, its tools or its scope is; else unscored when its answer should have
 * been decided and was not; else neutral when there was no ground truth; else correct. As Gaussia: the answer alone
 * decides.
 */
export async function gradeTurn(turn: TurnInput, earlier: readonly TurnInput[], rules: TurnRules): Promise<GradedTurn> {
  const gaussia = rules.compat === 'gaussia';
  const deepEval = rules.compat === 'deepeval';
  const asked = { answer: gaussia || needsJudge(turn), arguments: !gaussia };
  const word =
    rules.turnJudge === undefined
      ? null
      : await askTurnJudge(turn, earlier, asked, deepEval ? 'correct' : 'left_out', rules.turnJudge);
  const judge: AnswerJudge | undefined = word === null ? rules.judge : () => Promise.resolve(word.answer);
  const answer = await (gaussia ? scoreAnswerAsGaussia : scoreAnswer)(turn, judge);
  const tools = gaussia ? toolsAsGaussia(turn, rules) : toolsOf(turn, rules);
  const forbidden = gaussia ? [] : forbiddenIn(turn.calls, turn.expectation);
  const answerIsRight =
    answer.value === null ? null : answer.value >= rules.threshold - (gaussia ? 0 : THRESHOLD_TOLERANCE);
  const undecided = answer.value === null && (gaussia || answer.abstained !== 'no_expectation');

  const reasons: string[] = [];
  if (answerIsRight === false || undecided) reasons.push(answer.reason);
  if (tools?.is_correct === false && tools.reasoning !== null) reasons.push(tools.reasoning);
  if (tools?.scope_violation === 1) reasons.push(`outside the allowed tools: ${tools.out_of_scope_tools.join(', ')}`);
  if (forbidden.length > 0) reasons.push(`forbidden: ${forbidden.join(', ')}`);

  const parts: (boolean | null)[] = [answerIsRight];
  if (!gaussia) {
    parts.push(tools?.is_correct ?? null);
    if (turn.expectation.allowedTools !== undefined) parts.push(tools?.scope_violation !== 1);
    if ((turn.expectation.forbiddenTools ?? []).length > 0) parts.push(forbidden.length === 0);
  }
  const verdict = verdictOf(parts, undecided);
  return {
    result: {
      qa_id: turn.qaId,
      verdict,
      decided_by: answer.value === null ? null : answer.decidedBy,
      abstained: answer.value === null ? answer.abstained : null,
      reason: verdict === 'neutral' ? 'nobody said what is expected' : reasons.join('; '),
      // Data sets hold no schemas, so no rule can object to a call; DeepEval counts none as all.
      argument_correctness: deepEval && turn.calls.length === 0 ? 1 : (word?.argumentCorrectness ?? null),
    },
    answer: answer.value,
    tools,
    undecided,
  };
}

function verdictOf(parts: readonly (boolean | null)[], undecided: boolean): InteractionVerdict {
  if (parts.includes(false)) return 'incorrect';
  if (undecided) return 'unscored';
  return parts.includes(true) ? 'correct' : 'neutral';
}

function toolsOf(turn: TurnInput, rules: TurnRules): ToolCorrectnessScore | null {
  const { expectation, calls, resultsUsed } = turn;
  const scope = scopeOf(turn);
  if (expectation.tools === undefined) return scope.scope_violation === null ? null : { ...NO_PARTS, ...scope };
  const score = toolCorrectness({
    used: calls,
    expected: expectation.tools,
    weights: rules.toolWeights,
    threshold: rules.toolThreshold,
    ...(expectation.mode === undefined ? {} : { mode: expectation.mode }),
    ...(expectation.argumentsMatch === undefined ? {} : { argumentsMatch: expectation.argumentsMatch }),
    ...(resultsUsed === undefined ? {} : { utilization: resultsUsed }),
  });
  return { ...score, ...scope };
}

const NO_PARTS = {
  tool_selection_correct: null,
  parameter_accuracy: null,
  sequence_correct: null,
  result_utilization: null,
  overall_correctness: null,
  is_correct: null,
  reasoning: null,
} as const;

/** Only for ground truth that is not empty, and then only where a call was made or a scope declared. */
function toolsAsGaussia(turn: TurnInput, rules: TurnRules): ToolCorrectnessScore | null {
  const { agentic, truth } = turn.raw ?? { agentic: {}, truth: {} };
  const scope = scopeOf(turn);
  const applies = Object.keys(truth).length > 0 && (turn.calls.length > 0 || scope.scope_violation !== null);
  if (!applies) return null;
  const settings = { weights: rules.toolWeights, threshold: rules.toolThreshold };
  return { ...gaussiaToolCorrectness(agentic, truth, settings), ...scope };
}

function scopeOf({ calls, expectation }: TurnInput) {
  return checkScope(
    calls.map(({ name }) => name),
    expectation.allowedTools,
  );
}

function forbiddenIn(calls: TurnInput['calls'], { forbiddenTools = [] }: Expectation): readonly string[] {
  return [...new Set(calls.map(({ name }) => name))].filter((name) => forbiddenTools.includes(name));
}
