import type { EarlierTurn } from './interaction.js';
import type { Json } from './json.js';
import type { AbstainReason, DecidedBy } from './score.js';

/** The id by which the judge knows the call at a position. */
export function callIdOf(position: number): string {
  return `call_${position}`;
}

/** What a tool gave back. `unknown`: not captured, or the call never ended. */
export type JudgedOutcome =
  | { readonly kind: 'result'; readonly value: Json }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'unknown' };

/** A tool call as the judge may be told of it. */
export interface JudgedCall {
  /** `callIdOf` its position. Recorded ids are no key: some frameworks repeat them, and they are the agent's text. */
  readonly id: string;
  readonly name: string;
  /** JSON Schema of the arguments; absent when it was not recorded. */
  readonly schema?: Json;
  /** undefined: not captured. */
  readonly arguments: Json | undefined;
  readonly outcome: JudgedOutcome;
  /** Ids of the calls that had ended when this one started, in order of issue. Never its own, never a later one's. */
  readonly knownBefore: readonly string[];
}

/** What is open: each is asked once, and gets a PartJudgement. */
export interface JudgeQuestions {
  /** Ids of calls whose arguments are to be judged, each once and each in `calls`. */
  readonly arguments: readonly string[];
  /** Needs `answer` and `expectedAnswer`. */
  readonly answer: boolean;
  /** Needs `query` and `answer`. */
  readonly completion: boolean;
  /** Does the answer use the tools' results? Needs `answer`. */
  readonly utilization: boolean;
}

/** What the rules leave open of an interaction. */
export interface OpenQuestions extends Omit<JudgeQuestions, 'arguments'> {
  /** Positions of the calls that no rule decided. */
  readonly arguments: readonly number[];
}

/** All that is asked about one interaction, with the facts that it takes. What may be shown beside what is the judge's business. */
export interface JudgeRequest {
  /** Hash of everything that decides a verdict except expectations; a judgement holds under one policy. */
  readonly policy: string;
  /** In order; empty when they are not known. */
  readonly earlier: readonly EarlierTurn[];
  readonly query: string | null;
  readonly answer: string | null;
  readonly expectedAnswer: string | null;
  /** All calls of the interaction, in order of issue. */
  readonly calls: readonly JudgedCall[];
  readonly asked: JudgeQuestions;
}

/**
 * Why the judge has no word on a part: its trouble (`judge_failed`), an answer that cannot be used (`judge_rejected`),
 * the circuit breaker, no turn before the deadline (`pending`), the day's tokens (`budget`). Never the agent's failure.
 */
export type JudgeAbstention = Extract<
  AbstainReason,
  'judge_failed' | 'judge_rejected' | 'breaker_open' | 'pending' | 'budget'
>;

export type PartJudgement<Value> =
  | {
      readonly kind: 'decided';
      readonly value: Value;
      readonly decidedBy: Exclude<DecidedBy, 'rule'>;
      /** The judge's own words, shortened. May quote content: for the store, never for a log. */
      readonly reason: string;
    }
  /** The judge cannot tell from what it saw. */
  | { readonly kind: 'undecidable'; readonly decidedBy: Exclude<DecidedBy, 'rule'>; readonly reason: string }
  /** `reason` is ours and quotes nothing. */
  | { readonly kind: 'failed'; readonly abstained: JudgeAbstention; readonly reason: string };

/** What the judge found about one argument of a call. */
export interface ParameterFinding {
  readonly name: string;
  readonly correct: boolean;
  readonly finding: string;
}

export interface CallJudgement {
  readonly id: string;
  readonly verdict: PartJudgement<'correct' | 'incorrect'>;
  /** Empty when the verdict failed, or the judge named none. */
  readonly parameters: readonly ParameterFinding[];
}

/** The word on every part that was asked, and on no other. */
export interface Judgement {
  /** In the order of the request's `asked.arguments`. */
  readonly arguments: readonly CallJudgement[];
  /** 0..1; null: not asked. */
  readonly answer: PartJudgement<number> | null;
  /** 0..1; null: not asked. */
  readonly completion: PartJudgement<number> | null;
  /** null: not asked. */
  readonly utilization: PartJudgement<'used' | 'unused'> | null;
  /** Answers of the model that this took, retries included; 0 when the cache knew all. */
  readonly modelCalls: number;
}
