import type { AskedParts } from './answer-schema.js';
import type { JudgeMessage } from './prompt.js';
import type { AnswerContent } from './read-answer.js';

/** A chat model as the judge uses it: one question, one answer, no retries. */
export interface JudgeModel {
  /**
   * Rejects only with a JudgeTrouble, and soon after `signal` aborts. `asked` says which answer is expected; whether the
   * answer meets that is for the caller to check.
   */
  ask(messages: readonly JudgeMessage[], asked: AskedParts, signal: AbortSignal): Promise<ModelAnswer>;
}

export interface ModelAnswer {
  readonly content: AnswerContent;
  /** As the provider counted; null when it did not say. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/**
 * - `rate_limited`, `timeout`, `unreachable` (no connection, or the server's own trouble): later may work.
 * - `bad_answer`: it answered, and not so that it can be used (cut, empty, other ids); another answer may be better.
 * - `auth`: wrong key, no such model, no credit: every request fails until a person acts.
 * - `refused`: this request is not answered, by the server (too long, a parameter) or by the model.
 */
export type TroubleKind = 'rate_limited' | 'timeout' | 'unreachable' | 'bad_answer' | 'auth' | 'refused';

/** The judge's trouble, never the agent's. The message quotes nothing that was sent or received. */
export class JudgeTrouble extends Error {
  override readonly name = 'JudgeTrouble';

  constructor(
    readonly kind: TroubleKind,
    message: string,
    /** The server asked to wait so long, in ms. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}
