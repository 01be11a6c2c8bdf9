import type { AbstainReason } from '../model/score.js';
import { answerRule } from '../score/answer-rule.js';
import type { TurnInput } from './read-turns.js';

/** What a judge is asked. All of it is data to be judged; fence it where it enters a prompt. */
export interface JudgeQuestion {
  readonly query: string;
  readonly answer: string;
  readonly expected: string;
}

/** 0..1; null when it cannot say; or why there is no value. */
export type AnswerWord = number | null | { readonly abstained: AbstainReason; readonly reason: string };

/**
 * How right the answer is. A throw, null and a value outside the range leave the turn unscored: a judge's failure is
 * never an agent's.
 */
export type AnswerJudge = (question: JudgeQuestion) => Promise<AnswerWord>;

export type AnswerScore =
  | { readonly value: number; readonly decidedBy: 'rule' | 'judge'; readonly reason: string }
  | { readonly value: null; readonly abstained: AbstainReason; readonly reason: string };

/** Only a judge can decide the answer. */
export function needsJudge({ answer, expectation }: TurnInput): boolean {
  return expectation.answer !== undefined && answer !== null && answerRule(expectation.answer, []) === null;
}

/** Scores an answer: by a rule that can decide both ways, else by the judge, else it abstains. */
export async function scoreAnswer(turn: TurnInput, judge: AnswerJudge | undefined): Promise<AnswerScore> {
  const { answer, expectation, query } = turn;
  const expected = expectation.answer;
  if (expected === undefined) return abstain('no_expectation', 'nobody said which answer is expected');
  if (answer === null) return abstain('not_captured', 'no answer was recorded');
  const rule = answerRule(expected, []);
  if (rule !== null) {
    const right = rule.accepts(answer, query);
    const reason = `the expected ${rule.kind} ${right ? 'is' : 'is not'} the answer`;
    return { value: right ? 1 : 0, decidedBy: 'rule', reason };
  }
  if (judge === undefined) return abstain('no_judge', 'only a judge can compare free text');
  let value: unknown;
  try {
    value = await judge({ query, answer, expected });
  } catch {
    return abstain('judge_failed', 'the judge failed');
  }
  if (value === null || value === undefined) return abstain('judge_failed', 'the judge gave nothing');
  if (isAbstention(value)) return abstain(value.abstained, value.reason);
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
    return abstain('judge_rejected', `the judge must give a number from 0 to 1, got ${describe(value)}`);
  }
  return { value, decidedBy: 'judge', reason: `the judge gave ${value}` };
}

/**
 * As Gaussia: the judge decides every answer, a failure is a wrong answer, and no value is refused. Without a judge the
 * rules stand in for it, and what they cannot decide stays undecided.
 */
export async function scoreAnswerAsGaussia(turn: TurnInput, judge: AnswerJudge | undefined): Promise<AnswerScore> {
  if (judge === undefined) return scoreAnswer(turn, undefined);
  const { answer, expectation, query } = turn;
  let value: unknown = null;
  try {
    value = await judge({ query, answer: answer ?? '', expected: expectation.answer ?? '' });
  } catch {
    // A wrong answer, as well.
  }
  const number = isAbstention(value) ? 0 : Number(value ?? 0);
  const kept = Number.isFinite(number) ? number : 0;
  return { value: kept, decidedBy: 'judge', reason: `the judge gave ${kept}` };
}

function isAbstention(value: unknown): value is Exclude<AnswerWord, number | null> {
  return typeof value === 'object' && value !== null && 'abstained' in value;
}

function abstain(abstained: AbstainReason, reason: string): AnswerScore {
  return { value: null, abstained, reason };
}

function describe(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value;
}
