import type { CallJudgement, JudgeAbstention, Judgement, JudgeQuestions, PartJudgement } from '../model/judge.js';
import type { AskedParts, JudgeAnswer } from './answer-schema.js';

/** What became of one request to the model. */
export type PartOutcome =
  | { readonly kind: 'answered'; readonly answer: JudgeAnswer; readonly decidedBy: 'judge' | 'cache' }
  | { readonly kind: 'failed'; readonly abstained: JudgeAbstention; readonly reason: string };

export type Failure = Extract<PartOutcome, { kind: 'failed' }>;

export interface AnsweredPart {
  readonly asked: AskedParts;
  readonly outcome: PartOutcome;
}

/** Puts the parts together again: a word on all that was asked. `answered` holds each asked thing exactly once. */
export function judgementOf(asked: JudgeQuestions, answered: readonly AnsweredPart[], modelCalls: number): Judgement {
  const calls = new Map<string, CallJudgement>();
  for (const { asked: part, outcome } of answered) {
    for (const id of part.arguments) calls.set(id, callJudgement(id, outcome));
  }
  const outcomeFor = (name: 'answer' | 'completion' | 'utilization') =>
    asked[name] ? (answered.find((part) => part.asked[name])?.outcome ?? LOST) : null;
  return {
    arguments: asked.arguments.map((id) => calls.get(id) ?? callJudgement(id, LOST)),
    answer: gradeOf(outcomeFor('answer'), 'answer'),
    completion: gradeOf(outcomeFor('completion'), 'completion'),
    utilization: usageOf(outcomeFor('utilization')),
    modelCalls,
  };
}

/** The same failure for all that was asked. */
export function allFailed(asked: JudgeQuestions, abstained: JudgeAbstention, reason: string): Judgement {
  return judgementOf(asked, [{ asked, outcome: { kind: 'failed', abstained, reason } }], 0);
}

const LOST: Failure = { kind: 'failed', abstained: 'judge_failed', reason: 'was not asked: a fault of Tracegrade' };

function callJudgement(id: string, outcome: PartOutcome): CallJudgement {
  if (outcome.kind === 'failed') return { id, verdict: outcome, parameters: [] };
  const given = outcome.answer.arguments?.find(({ call_id }) => call_id === id);
  if (given === undefined) return { id, verdict: LOST, parameters: [] };
  const { verdict, reason, parameters } = given;
  return { id, verdict: worded(verdict === 'undecidable' ? null : verdict, outcome.decidedBy, reason), parameters };
}

function gradeOf(outcome: PartOutcome | null, name: 'answer' | 'completion'): PartJudgement<number> | null {
  if (outcome === null || outcome.kind === 'failed') return outcome;
  const given = outcome.answer[name];
  return given === undefined ? LOST : worded(given.value, outcome.decidedBy, given.reason);
}

function usageOf(outcome: PartOutcome | null): PartJudgement<'used' | 'unused'> | null {
  if (outcome === null || outcome.kind === 'failed') return outcome;
  const given = outcome.answer.utilization;
  if (given === undefined) return LOST;
  return worded(given.verdict === 'undecidable' ? null : given.verdict, outcome.decidedBy, given.reason);
}

/** `value` null: the judge cannot tell. */
function worded<Value>(value: Value | null, decidedBy: 'judge' | 'cache', reason: string): PartJudgement<Value> {
  return value === null ? { kind: 'undecidable', decidedBy, reason } : { kind: 'decided', value, decidedBy, reason };
}
