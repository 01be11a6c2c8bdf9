/**
 * The judge: answers of a model to questions about interactions, asked as seldom as can be and never in the way.
 *
 * A question (one request to the model) is looked for in the memory's cache, among those under way, in the store's cache,
 * and only then asked. Asking it is an attempt, again and again until an answer can be used, attempts or the deadline run
 * out, or the trouble is one that will not pass. An attempt waits for the circuit breaker, the tokens of the minute and a
 * place in the queue, in this order, so that neither a pause nor a closed circuit holds a place.
 *
 * Every way that ends without a usable answer ends as an abstention with its reason: `judge` never rejects, and never
 * takes longer than `deadlineMs` and two looks into caches. What is under way when it is closed ends as `pending`.
 * In memory: the answers used last, and at most `maxInFlight` questions with their prompts.
 */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  BrokenCircuitError,
  CircuitState,
  ConsecutiveBreaker,
  DelegateBackoff,
  TaskCancelledError,
  TimeoutStrategy,
  circuitBreaker,
  handleWhen,
  retry,
  timeout,
  type IRetryBackoffContext,
} from 'cockatiel';
import PQueue from 'p-queue';
import type { JudgeAbstention, Judgement, JudgeRequest } from '../model/judge.js';
import type { StoredAnswers } from './answer-cache.js';
import { RecentAnswers } from './answer-cache.js';
import type { JudgeAnswer } from './answer-schema.js';
import type { JudgeConfig } from './config.js';
import { tokensOf } from './fit.js';
import type { JudgeModel, ModelAnswer, TroubleKind } from './judge-model.js';
import { JudgeTrouble } from './judge-model.js';
import { allFailed, judgementOf, type Failure, type PartOutcome } from './judgement.js';
import { troubleOf } from './model-trouble.js';
import { planParts, type Part } from './plan.js';
import { judgeMessages, type JudgeMessage } from './prompt.js';
import { readAnswer } from './read-answer.js';
import { TokenMeter } from './token-meter.js';

export type BreakerState = 'closed' | 'open' | 'half_open';

/** What happens, one function an event. Nothing of them holds content. */
export interface JudgeEvents {
  /** An answer came; `rejected` says why it cannot be used, null: it can. */
  modelAnswered(answer: {
    readonly durationMs: number;
    readonly inputTokens: number | null;
    readonly outputTokens: number | null;
    readonly rejected: string | null;
  }): void;
  /** No answer came. */
  modelFailed(trouble: JudgeTrouble, durationMs: number): void;
  breakerMoved(state: BreakerState): void;
  /** The store's cache could not be read or written; the question was, or will be, asked again. */
  cacheFailed(error: unknown): void;
  /** A fault of ours; what was asked is outstanding. */
  judgeFaulted(error: unknown): void;
}

export interface JudgeDeps {
  readonly model: JudgeModel;
  /** null: only the memory. */
  readonly cache: StoredAnswers | null;
  /** Takes out what must not leave; before anything is hashed, kept or sent. */
  readonly redact: ((request: JudgeRequest) => JudgeRequest) | null;
  nowMs(): number;
  /** Uniform in [0, 1). */
  random(): number;
  readonly on: JudgeEvents;
}

export interface JudgeStats {
  /** Since the start. A question is one request to the model, whoever answered it. */
  readonly questions: number;
  readonly modelCalls: number;
  /** Answers of the model, usable or not. */
  readonly answers: number;
  /** Answered by a cache. */
  readonly cacheHits: number;
  /** Answered by the same question that was under way. */
  readonly shared: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly rejected: number;
  readonly troubles: Readonly<Record<TroubleKind, number>>;
  readonly abstained: Readonly<Record<JudgeAbstention, number>>;
  /** Now. */
  readonly inFlight: number;
  readonly breaker: BreakerState;
  readonly tokensToday: number;
}

export interface Judge {
  /** A word on all that was asked. Never rejects. */
  judge(request: JudgeRequest): Promise<Judgement>;
  /** The day's tokens are spent: ask this before looking at a conversation, since a question then ends as `budget`. */
  readonly budgetSpent: boolean;
  /** Should nothing more come for now? */
  readonly full: boolean;
  /**
   * What a question would have come to just now: the fate of the one that was asked last, which is waited for when it is
   * under way. null: an answer, or nothing was asked lately. For what rules settle without the judge: see `grade`.
   */
  standing(): JudgeFailure | null | Promise<JudgeFailure | null>;
  /** Resolves as soon as it is not full. */
  ready(): Promise<void>;
  stats(): JudgeStats;
  /** What is under way ends as `pending`, and what is asked from now on as well. */
  close(): void;
}

/** Why a question had no answer. */
export type JudgeFailure = Failure;

// An answer's share of a reservation, until its true size is known.
const ANSWER_TOKENS = 500;

export function createJudge(config: JudgeConfig, deps: JudgeDeps): Judge {
  const { model, on } = deps;
  const recent = new RecentAnswers(config.cacheEntries);
  const underWay = new Map<string, Promise<PartOutcome>>();
  const tokens = new TokenMeter(config.tokensPerMinute, config.tokensPerDay);
  /** Of the questions that are being asked; each ends its own at the deadline, `close` ends all. */
  const open = new Set<AbortController>();
  const waitingForRoom: (() => void)[] = [];
  const isFull = () => underWay.size >= config.fullAt;
  let closed = false;
  /** The question that was asked last, while it is under way; and what the last one that ended came to. */
  let latest: Promise<PartOutcome> | null = null;
  let lastFailure: { readonly failure: Failure; readonly atMs: number } | null = null;
  const counts = startCounts();
  const queue = new PQueue({
    concurrency: config.concurrency,
    ...(config.requestsPerMinute === null
      ? {}
      : { intervalCap: config.requestsPerMinute, interval: 60_000, strict: true }),
  });
  const breaker = circuitBreaker(handleWhen(isOutage), {
    halfOpenAfter: config.breakerOpenMs,
    breaker: new ConsecutiveBreaker(config.breakerFailures),
  });
  /** How often the circuit opened. */
  let breaks = 0;
  breaker.onBreak(() => void (breaks += 1));
  breaker.onStateChange((state) => on.breakerMoved(BREAKER_STATES[state]));
  const inTime = timeout(config.timeoutMs, TimeoutStrategy.Aggressive);
  const cacheInTime = timeout(config.cacheTimeoutMs, TimeoutStrategy.Aggressive);

  async function judge(request: JudgeRequest): Promise<Judgement> {
    try {
      if (tokens.daySpent(deps.nowMs())) return count(allFailed(request.asked, 'budget', "the day's tokens are spent"));
      const shown = deps.redact === null ? request : deps.redact(request);
      const tally = { calls: 0 };
      const parts = planParts(shown, config.plan);
      const answered = await Promise.all(
        parts.map(async (part) => ({ asked: part.asked, outcome: await answer(shown, part, tally) })),
      );
      return count(judgementOf(request.asked, answered, tally.calls));
    } catch (error) {
      on.judgeFaulted(error);
      return count(allFailed(request.asked, 'judge_failed', 'a fault of Tracegrade; see its log'));
    }
  }

  /** `tally.calls` counts the answers of the model that this question took. */
  async function answer(request: JudgeRequest, part: Part, tally: { calls: number }): Promise<PartOutcome> {
    counts.questions += 1;
    const messages = judgeMessages(request, part, config.plan.maxPromptTokens);
    const key = keyOf(request.policy, messages);
    const kept = usable(recent.get(key), part);
    if (kept !== null) return cached(kept);
    const same = underWay.get(key);
    if (same !== undefined) {
      counts.shared += 1;
      const outcome = await same;
      return outcome.kind === 'answered' ? { ...outcome, decidedBy: 'cache' } : outcome;
    }
    if (closed) return CLOSED;
    if (underWay.size >= config.maxInFlight) return failed('pending', 'too many questions wait for the judge');
    const asking = lookUpOrAsk(key, messages, part, tally);
    underWay.set(key, asking);
    latest = asking;
    try {
      const outcome = await asking;
      lastFailure = outcome.kind === 'failed' ? { failure: outcome, atMs: deps.nowMs() } : null;
      return outcome;
    } finally {
      underWay.delete(key);
      if (latest === asking) latest = null;
      if (!isFull()) for (const wake of waitingForRoom.splice(0)) wake();
    }
  }

  async function lookUpOrAsk(
    key: string,
    messages: readonly JudgeMessage[],
    part: Part,
    tally: { calls: number },
  ): Promise<PartOutcome> {
    const stored = usable(await stores((cache) => cache.get(key)), part);
    if (stored !== null) {
      recent.put(key, JSON.stringify(stored));
      return cached(stored);
    }
    const outcome = await ask(messages, part, tally);
    if (outcome.kind === 'answered') {
      const text = JSON.stringify(outcome.answer);
      recent.put(key, text);
      void stores((cache) => cache.set(key, text));
    }
    return outcome;
  }

  function cached(answer: JudgeAnswer): PartOutcome {
    counts.cacheHits += 1;
    return { kind: 'answered', answer, decidedBy: 'cache' };
  }

  /** The store's cache; undefined when there is none, it fails, or it takes too long. */
  async function stores<T>(use: (cache: StoredAnswers) => Promise<T>): Promise<T | undefined> {
    const { cache } = deps;
    if (cache === null) return undefined;
    try {
      return await cacheInTime.execute(() => use(cache));
    } catch (error) {
      on.cacheFailed(error);
      return undefined;
    }
  }

  /** Attempts until an answer can be used, or it is certain that none will be in time. */
  async function ask(messages: readonly JudgeMessage[], part: Part, tally: { calls: number }): Promise<PartOutcome> {
    const deadlineMs = deps.nowMs() + config.deadlineMs;
    if (closed) return CLOSED;
    const ending = new AbortController();
    const { signal } = ending;
    open.add(ending);
    const timer = setTimeout(() => ending.abort(), config.deadlineMs);
    /** What it is when it ends now. */
    let soFar: Failure = failed('pending', 'no turn of the judge before the deadline');
    let refused: string | null = null;

    const attempt = async (): Promise<PartOutcome> => {
      const asked = refused === null ? messages : [...messages, again(refused)];
      const given = await attemptOnce(asked, part, signal, () => {
        soFar = failed('judge_failed', 'the judge gave no answer in time');
        tally.calls += 1;
      });
      const read = readAnswer(given.answer.content, part.asked);
      const rejected = read.kind === 'rejected' ? read.reason : null;
      const { inputTokens, outputTokens } = given.answer;
      on.modelAnswered({ durationMs: given.durationMs, inputTokens, outputTokens, rejected });
      if (read.kind === 'accepted') return { kind: 'answered', answer: read.answer, decidedBy: 'judge' };
      counts.rejected += 1;
      refused = read.reason;
      throw new Rejected(read.reason);
    };
    const waitMs = ({ attempt: retries, result }: IRetryBackoffContext<unknown>): number => {
      const longest = Math.min(config.maxBackoffMs, config.backoffMs * 2 ** (retries - 1));
      return Math.max(deps.random() * longest, 'error' in result ? retryAfterOf(result.error) : 0);
    };
    const policy = retry(
      handleWhen((error) => {
        soFar = failureOf(error) ?? soFar;
        return mayPass(error) && deps.nowMs() + retryAfterOf(error) < deadlineMs;
      }),
      { maxAttempts: config.attempts - 1, backoff: new DelegateBackoff(waitMs) },
      // A pause keeps no process alive; the deadline's timer does, as long as somebody waits for the answer.
    ).dangerouslyUnref();

    // Pauses between attempts do not end with the signal, so the question ends without them.
    const ended = new Promise<PartOutcome>((resolve) => {
      signal.addEventListener('abort', () => resolve(closed ? CLOSED : soFar), { once: true });
    });
    const attempts = policy.execute(attempt, signal).catch((error: unknown) => {
      if (signal.aborted) return closed ? CLOSED : soFar;
      const failure = failureOf(error);
      if (failure === null) throw error;
      return failure;
    });
    try {
      return await Promise.race([attempts, ended]);
    } finally {
      clearTimeout(timer);
      open.delete(ending);
    }
  }

  /** Waits its turn and asks once. `begun` is called when the request goes out. */
  function attemptOnce(
    messages: readonly JudgeMessage[],
    part: Part,
    signal: AbortSignal,
    begun: () => void,
  ): Promise<{ readonly answer: ModelAnswer; readonly durationMs: number }> {
    return breaker.execute(async () => {
      const before = breaks;
      const reserved = messages.reduce((sum, { content }) => sum + tokensOf(content), ANSWER_TOKENS);
      const waitMs = tokens.reserve(reserved, deps.nowMs());
      let used = 0;
      try {
        if (waitMs > 0) await pause(waitMs, undefined, { signal });
        return await queue.add(
          async () => {
            // It opened while this one waited.
            if (breaks > before) throw new BrokenCircuitError();
            begun();
            used = reserved;
            counts.modelCalls += 1;
            const startMs = deps.nowMs();
            try {
              const answer = await inTime.execute((context) => model.ask(messages, part.asked, context.signal), signal);
              used = (answer.inputTokens ?? reserved - ANSWER_TOKENS) + (answer.outputTokens ?? ANSWER_TOKENS);
              counts.answers += 1;
              counts.inputTokens += answer.inputTokens ?? 0;
              counts.outputTokens += answer.outputTokens ?? 0;
              return { answer, durationMs: deps.nowMs() - startMs };
            } catch (error) {
              const trouble =
                error instanceof TaskCancelledError
                  ? new JudgeTrouble('timeout', 'no answer in time')
                  : troubleOf(error, deps.nowMs());
              // Without an answer nobody says what it cost; a request that was refused costs nothing.
              if (trouble.kind !== 'timeout' && trouble.kind !== 'bad_answer') used = 0;
              if (closed) throw error;
              counts.troubles[trouble.kind] += 1;
              on.modelFailed(trouble, deps.nowMs() - startMs);
              throw trouble;
            }
          },
          { signal },
        );
      } finally {
        tokens.settle(reserved, used);
        tokens.spend(used, deps.nowMs());
      }
    }, signal);
  }

  function count(judgement: Judgement): Judgement {
    const verdicts = [...judgement.arguments.map(({ verdict }) => verdict), judgement.answer, judgement.completion];
    for (const verdict of [...verdicts, judgement.utilization]) {
      if (verdict?.kind === 'failed') counts.abstained[verdict.abstained] += 1;
    }
    return judgement;
  }

  return {
    judge,
    get budgetSpent() {
      return tokens.daySpent(deps.nowMs());
    },
    get full() {
      return isFull();
    },
    standing() {
      if (latest !== null) return latest.then((outcome) => (outcome.kind === 'failed' ? outcome : null));
      // An old failure says nothing of today; without this a quiet hour after an outage would leave all outstanding.
      const current = lastFailure !== null && deps.nowMs() - lastFailure.atMs < config.deadlineMs;
      return current ? (lastFailure?.failure ?? null) : null;
    },
    ready: () => (isFull() ? new Promise((resolve) => waitingForRoom.push(resolve)) : Promise.resolve()),
    stats: () => ({
      ...counts,
      troubles: { ...counts.troubles },
      abstained: { ...counts.abstained },
      inFlight: underWay.size,
      breaker: BREAKER_STATES[breaker.state],
      tokensToday: tokens.spentToday(deps.nowMs()),
    }),
    close() {
      closed = true;
      for (const ending of open) ending.abort();
    },
  };
}

const BREAKER_STATES: Readonly<Record<CircuitState, BreakerState>> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half_open',
  [CircuitState.Isolated]: 'open',
};

/** The model answered, and not so that the answer can be used. */
class Rejected extends Error {
  override readonly name = 'Rejected';
}

function startCounts() {
  return {
    questions: 0,
    modelCalls: 0,
    answers: 0,
    cacheHits: 0,
    shared: 0,
    inputTokens: 0,
    outputTokens: 0,
    rejected: 0,
    troubles: { rate_limited: 0, timeout: 0, unreachable: 0, bad_answer: 0, auth: 0, refused: 0 },
    abstained: { judge_failed: 0, judge_rejected: 0, breaker_open: 0, pending: 0, budget: 0 },
  };
}

function failed(abstained: JudgeAbstention, reason: string): Failure {
  return { kind: 'failed', abstained, reason };
}

const CLOSED = failed('pending', 'the judge was closed before there was an answer');

/** What an attempt's error says of the question; null: a fault of ours. */
function failureOf(error: unknown): Failure | null {
  if (error instanceof Rejected) return failed('judge_rejected', error.message);
  if (error instanceof BrokenCircuitError)
    return failed('breaker_open', 'the judge failed too often; it is asked again later');
  if (error instanceof JudgeTrouble) {
    return failed(error.kind === 'bad_answer' ? 'judge_rejected' : 'judge_failed', `${error.kind}: ${error.message}`);
  }
  return null;
}

const OUTAGES: ReadonlySet<TroubleKind> = new Set(['rate_limited', 'timeout', 'unreachable', 'auth']);
const PASSING: ReadonlySet<TroubleKind> = new Set(['rate_limited', 'timeout', 'unreachable', 'bad_answer']);

/** Does it say that other requests would fare no better? */
function isOutage(error: unknown): boolean {
  return error instanceof JudgeTrouble && OUTAGES.has(error.kind);
}

function mayPass(error: unknown): boolean {
  return error instanceof Rejected || (error instanceof JudgeTrouble && PASSING.has(error.kind));
}

function retryAfterOf(error: unknown): number {
  return error instanceof JudgeTrouble ? (error.retryAfterMs ?? 0) : 0;
}

/** The reason is ours and quotes nothing, so it may stand outside the fences. */
function again(reason: string): JudgeMessage {
  return {
    role: 'user',
    content: `Your last answer could not be used (${reason}). Answer anew, in the form that was asked for.`,
  };
}

function keyOf(policy: string, messages: readonly JudgeMessage[]): string {
  return createHash('sha256')
    .update(JSON.stringify([policy, messages]))
    .digest('hex');
}

/** A kept answer, if it still answers the question. */
function usable(text: string | null | undefined, part: Part): JudgeAnswer | null {
  if (text === null || text === undefined) return null;
  const read = readAnswer({ text }, part.asked);
  return read.kind === 'accepted' ? read.answer : null;
}
