import type { Judgement, OpenQuestions, PartJudgement } from '../model/judge.js';
import type { Json } from '../model/json.js';
import type { Criterion, DecidedBy, LeftOut, Score } from '../model/score.js';
import { abstain } from './make-score.js';

/** A criterion that rules cannot settle: what the judge is to be asked, and what its word makes of it. */
export interface OpenCriterion {
  readonly kind: 'open';
  readonly criterion: Criterion;
  readonly asks: Partial<OpenQuestions>;
  /** What the rules found, for the details of a score that has to wait. */
  readonly details: { readonly [key: string]: Json };
  /** The judgement has a word on all of `asks`. */
  readonly settle: (judgement: Judgement) => Score;
}

/** What is known of an interaction beside its facts and its ground truth. */
export interface JudgeWord {
  /** null: there is none yet. */
  readonly judgement: Judgement | null;
  /** null: its conversation is judged. */
  readonly leftOut: LeftOut | null;
}

export const NO_WORD: JudgeWord = { judgement: null, leftOut: null };

/** The score of a criterion, open or not, as far as the judge's word goes. */
export function settled(assessed: Score | OpenCriterion, { judgement, leftOut }: JudgeWord): Score {
  if (assessed.kind !== 'open') return assessed;
  const { criterion, details } = assessed;
  if (leftOut !== null) return abstain(criterion, leftOut, LEFT_OUT_REASONS[leftOut], details);
  if (judgement === null) return abstain(criterion, 'pending', 'the judge has not answered yet', details);
  return assessed.settle(judgement);
}

const LEFT_OUT_REASONS: Readonly<Record<LeftOut, string>> = {
  sampled_out: 'its conversation is not in the sample that is judged',
  budget: "the day's tokens were spent before it was looked at",
};

/** All that the criteria ask, as one; null: nothing is open. */
export function questionsOf(criteria: readonly (Score | OpenCriterion)[]): OpenQuestions | null {
  const open = criteria.filter((each) => each.kind === 'open').map(({ asks }) => asks);
  if (open.length === 0) return null;
  return {
    arguments: open.flatMap((asks) => asks.arguments ?? []),
    answer: open.some((asks) => asks.answer === true),
    completion: open.some((asks) => asks.completion === true),
    utilization: open.some((asks) => asks.utilization === true),
  };
}

/** The abstention of a criterion for which the judge has no value: its own trouble, or it cannot tell. */
export function withoutValue(
  criterion: Criterion,
  word: Exclude<PartJudgement<unknown>, { kind: 'decided' }>,
  details: { readonly [key: string]: Json } = {},
): Score {
  return word.kind === 'failed'
    ? abstain(criterion, word.abstained, word.reason, details)
    : abstain(criterion, 'undecidable', `the judge cannot tell: ${word.reason}`, details);
}

/** For a part that a judgement lacks, which would be a fault of ours. */
export const NOT_ASKED = { kind: 'failed', abstained: 'judge_failed', reason: 'was not asked' } as const;

/** Who decided something that has several parts: whoever it would not stand without, the dearest of them. */
export function decidedByAll(parts: readonly DecidedBy[]): DecidedBy {
  return parts.includes('judge') ? 'judge' : parts.includes('cache') ? 'cache' : 'rule';
}
