import type { JsonObject } from '../model/json.js';
import { answerSchemaHash } from './answer-schema.js';
import type { PlanRules } from './plan.js';
import { PROMPT_VERSION } from './prompt.js';

/** How the judge is run. None of it but `plan` decides a verdict. */
export interface JudgeConfig {
  readonly plan: PlanRules;
  /** Requests to the model at once, >= 1. */
  readonly concurrency: number;
  /** From so many questions under way or waiting on the judge is `full`: no more should come for now. */
  readonly fullAt: number;
  /** Beyond so many, >= fullAt and >= concurrency, one more is `pending` at once. */
  readonly maxInFlight: number;
  /** null: no limit. */
  readonly requestsPerMinute: number | null;
  /** Of prompts and answers together; null: no limit. */
  readonly tokensPerMinute: number | null;
  /** Of this process, from midnight to midnight UTC; null: no limit. */
  readonly tokensPerDay: number | null;
  /** For one answer of the model, > 0 and less than `deadlineMs`: only an answer that is late by itself is an outage. */
  readonly timeoutMs: number;
  /** For a question in all, waiting and retries included, > 0. */
  readonly deadlineMs: number;
  /** Answers asked for a question at most, >= 1. */
  readonly attempts: number;
  /** Pauses before retries: at most this, doubled with each, and never shorter than the server asked for. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** So many troubles of the server in a row open the circuit breaker; after `breakerOpenMs` one request tries again. */
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
  /** Answers kept in memory. */
  readonly cacheEntries: number;
  /** For a look into the store's cache; a slower one counts as a miss. */
  readonly cacheTimeoutMs: number;
}

export const DEFAULT_JUDGE_CONFIG: JudgeConfig = {
  plan: { maxPromptTokens: 16_000, maxCallsPerRequest: 20, together: 'known' },
  concurrency: 8,
  fullAt: 1_000,
  maxInFlight: 4_000, // what is assembled already may still come when the source is paused
  requestsPerMinute: null,
  tokensPerMinute: null,
  tokensPerDay: null,
  timeoutMs: 60_000,
  deadlineMs: 300_000,
  attempts: 4,
  backoffMs: 1_000,
  maxBackoffMs: 30_000,
  breakerFailures: 10,
  breakerOpenMs: 30_000,
  cacheEntries: 10_000,
  cacheTimeoutMs: 2_000,
};

/** Who answers. */
export interface JudgeIdentity {
  readonly model: string;
  /** The chat model's class, `@langchain/anthropic ChatAnthropic` for example; null: OpenAI's API. */
  readonly client: string | null;
  /** What its operator calls this judge beside that; empty: nothing. */
  readonly revision: string;
  readonly temperature: number | null;
  readonly useStructuredOutput: boolean;
}

/**
 * What of the judge decides its verdicts: the `judge` of a scoring policy. Not where it is reached: a proxy or another
 * host name is no other judge, and would begin every series anew. Whoever knows better says so with `revision`.
 */
export function judgePolicy(model: JudgeIdentity, plan: PlanRules): JsonObject {
  return {
    model: model.model,
    // Absent where there is nothing to say, so that policies of before stay what they are.
    ...(model.client === null ? {} : { client: model.client }),
    ...(model.revision === '' ? {} : { revision: model.revision }),
    temperature: model.temperature,
    useStructuredOutput: model.useStructuredOutput,
    promptVersion: PROMPT_VERSION,
    answerSchema: answerSchemaHash(),
    maxPromptTokens: plan.maxPromptTokens,
    maxCallsPerRequest: plan.maxCallsPerRequest,
    together: plan.together,
  };
}
