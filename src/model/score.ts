import type { Json } from './json.js';

export type Criterion = 'tools' | 'arguments' | 'answer' | 'completion' | 'policy';

/** Ignored by the verdict: the criterion says nothing about this interaction. */
export type NotApplicable =
  'no_expectation' | 'no_tool_calls' | 'not_captured' | 'no_judge' | 'interrupted' | 'disabled';
/** The criterion should have been scored and was not (yet): the interaction is unscored. */
export type Outstanding = 'judge_failed' | 'judge_rejected' | 'breaker_open' | 'pending' | 'undecidable';
/** The conversation was left out before anyone looked. */
export type LeftOut = 'sampled_out' | 'budget';
/** The closed list of reasons for which a criterion has no value. */
export type AbstainReason = NotApplicable | Outstanding | LeftOut;

/** Outstanding for want of the judge's word: asked again, it may have one. */
export const UNANSWERED: readonly Outstanding[] = ['judge_failed', 'judge_rejected', 'breaker_open', 'pending'];

const OUTSTANDING: ReadonlySet<string> = new Set<Outstanding>([...UNANSWERED, 'undecidable']);

const LEFT_OUT: ReadonlySet<string> = new Set<LeftOut>(['sampled_out', 'budget']);

export function isUnanswered(reason: AbstainReason): boolean {
  return (UNANSWERED as readonly AbstainReason[]).includes(reason);
}

export function isOutstanding(reason: AbstainReason): reason is Outstanding {
  return OUTSTANDING.has(reason);
}

export function isLeftOut(reason: AbstainReason): reason is LeftOut {
  return LEFT_OUT.has(reason);
}

export type DecidedBy = 'rule' | 'cache' | 'judge';

export type Score =
  | {
      readonly kind: 'scored';
      readonly criterion: Criterion;
      /** 0..1, higher is better. */
      readonly value: number;
      readonly passed: boolean;
      readonly decidedBy: DecidedBy;
      /** One sentence for a person; names tools and keys, never quotes content at length. */
      readonly reason: string;
      readonly details: { readonly [key: string]: Json };
    }
  | {
      readonly kind: 'abstained';
      readonly criterion: Criterion;
      readonly abstained: AbstainReason;
      readonly reason: string;
      readonly details: { readonly [key: string]: Json };
    };

/** How many criteria of a verdict wait for the judge's word. */
export function unansweredIn({ scores }: Pick<Verdict, 'scores'>): number {
  return scores.filter((score) => score.kind === 'abstained' && isUnanswered(score.abstained)).length;
}

/** Did an expectation or a judge decide it? Rules of our own say only that nothing objected. */
export function goesBeyondRules(score: Score): boolean {
  if (score.kind !== 'scored') return false;
  return score.criterion === 'tools' || score.criterion === 'answer' || score.decidedBy !== 'rule';
}

export type VerdictLabel = 'correct' | 'incorrect' | 'unscored';

/** The judgement of one interaction under one scoring policy. */
export interface Verdict {
  readonly interactionId: string;
  /** Hash of everything that decides a verdict except expectations. */
  readonly policy: string;
  readonly label: VerdictLabel;
  /** Only not-applicable criteria: unscored, and it does not count in its conversation. */
  readonly neutral: boolean;
  /** Sampling or budget left its conversation out. */
  readonly leftOut: boolean;
  /** How many criteria are outstanding. */
  readonly outstanding: number;
  readonly scores: readonly Score[];
}

/** Do two verdicts hold the same values and the same reasons for having none? */
export function sameScores(a: Verdict, b: Verdict): boolean {
  const said = ({ scores }: Verdict) =>
    scores.map((score) => [score.criterion, score.kind === 'scored' ? score.value : score.abstained]);
  return JSON.stringify(said(a)) === JSON.stringify(said(b));
}
