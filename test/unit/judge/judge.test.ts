import { afterEach, describe, expect, test, vi } from 'vitest';
import type { StoredAnswers } from '../../../src/judge/answer-cache.js';
import type { AskedParts } from '../../../src/judge/answer-schema.js';
import { JudgeTrouble, type JudgeModel, type ModelAnswer } from '../../../src/judge/judge-model.js';
import type { JudgeMessage } from '../../../src/judge/prompt.js';
import type { Judgement } from '../../../src/model/judge.js';
import { compileRedaction } from '../../../src/score/redact.js';
import { judgedCall, judgeRequest, startJudge } from '../../support/judge.js';

type Ask = (asked: AskedParts, index: number, signal: AbortSignal) => Promise<ModelAnswer> | ModelAnswer;

/** A model with a script, and what it was asked. */
function scripted(ask: Ask): JudgeModel & { readonly asked: (readonly JudgeMessage[])[]; mostAtOnce: number } {
  let atOnce = 0;
  const model = {
    asked: [] as (readonly JudgeMessage[])[],
    mostAtOnce: 0,
    async ask(messages: readonly JudgeMessage[], asked: AskedParts, signal: AbortSignal) {
      model.asked.push(messages);
      atOnce += 1;
      model.mostAtOnce = Math.max(model.mostAtOnce, atOnce);
      try {
        return await ask(asked, model.asked.length - 1, signal);
      } finally {
        atOnce -= 1;
      }
    },
  };
  return model;
}

const entry = (id: string) => ({ call_id: id, parameters: [], reason: 'r', verdict: 'correct' });
const right: Ask = (asked) => ({
  content: {
    structured: { arguments: asked.arguments.map(entry), ...(asked.answer && { answer: { reason: 'r', value: 1 } }) },
  },
  inputTokens: 100,
  outputTokens: 10,
});
const fails =
  (kind: JudgeTrouble['kind']): Ask =>
  () =>
    Promise.reject(new JudgeTrouble(kind, 'scripted'));
const never: Ask = () => new Promise(() => undefined);

const verdictOf = ({ arguments: [first] }: Judgement) => first?.verdict;
const about = (n: number) => judgeRequest({ query: `Where is my order A-${n}?` });

afterEach(() => vi.useRealTimers());

describe('asking as seldom as can be', () => {
  test('asks an equal question once, then knows', async () => {
    const model = scripted(right);
    const { judge } = startJudge(model);

    const first = await judge.judge(judgeRequest());
    const second = await judge.judge(judgeRequest());

    expect(verdictOf(first)).toMatchObject({ value: 'correct', decidedBy: 'judge' });
    expect(verdictOf(second)).toMatchObject({ value: 'correct', decidedBy: 'cache' });
    expect([first.modelCalls, second.modelCalls]).toEqual([1, 0]);
    expect(judge.stats()).toMatchObject({ questions: 2, modelCalls: 1, cacheHits: 1 });
  });

  test('asks equal questions at the same time once', async () => {
    const model = scripted(right);
    const { judge } = startJudge(model);

    const judgements = await Promise.all(Array.from({ length: 20 }, () => judge.judge(judgeRequest())));

    expect(model.asked).toHaveLength(1);
    expect(judgements.map((each) => verdictOf(each)?.kind)).toEqual(Array(20).fill('decided'));
    expect(judge.stats()).toMatchObject({ shared: 19, modelCalls: 1, inFlight: 0 });
  });

  test('asks again under another policy and for other facts', async () => {
    const model = scripted(right);
    const { judge } = startJudge(model);

    await judge.judge(judgeRequest());
    await judge.judge(judgeRequest({ policy: 'policy-2' }));
    await judge.judge(judgeRequest({ query: 'And now?' }));

    expect(model.asked).toHaveLength(3);
  });

  test('keeps only answers that could be used', async () => {
    const model = scripted((asked, i, signal) => (i === 0 ? fails('refused') : right)(asked, i, signal));
    const { judge } = startJudge(model);

    expect(verdictOf(await judge.judge(judgeRequest()))).toMatchObject({ abstained: 'judge_failed' });
    expect(verdictOf(await judge.judge(judgeRequest()))).toMatchObject({ value: 'correct', decidedBy: 'judge' });
  });

  test('keeps the answers used last, so many as it may', async () => {
    const model = scripted(right);
    const { judge } = startJudge(model, { cacheEntries: 2 });

    for (const n of [1, 2, 1, 3, 1, 2]) await judge.judge(about(n));

    // 1 and 2 are asked, 1 is known, 3 drives out 2, 1 is known, 2 is asked again.
    expect(model.asked).toHaveLength(4);
  });

  test('takes from the store what another process asked, and gives it what it learns', async () => {
    const kept = new Map<string, string>();
    const cache: StoredAnswers = {
      get: (key) => Promise.resolve(kept.get(key) ?? null),
      set: (key, answer) => Promise.resolve(void kept.set(key, answer)),
    };
    const model = scripted(right);
    await startJudge(model, {}, { cache }).judge.judge(judgeRequest());

    const other = startJudge(model, {}, { cache });
    expect(verdictOf(await other.judge.judge(judgeRequest()))).toMatchObject({ decidedBy: 'cache' });

    for (const key of kept.keys()) kept.set(key, '{"arguments":[{"call_id":"call_9","verdict":"correct"}]}');
    const third = startJudge(model, {}, { cache });
    expect(verdictOf(await third.judge.judge(judgeRequest()))).toMatchObject({ decidedBy: 'judge' });
    expect(model.asked).toHaveLength(2);
  });

  test.each<[string, StoredAnswers]>([
    ['fails', { get: () => Promise.reject(new Error('away')), set: () => Promise.reject(new Error('away')) }],
    ['never answers', { get: () => new Promise(() => undefined), set: () => new Promise(() => undefined) }],
  ])('asks the model when the store %s', async (_, cache) => {
    const { judge, events } = startJudge(scripted(right), { cacheTimeoutMs: 5 }, { cache });

    expect(verdictOf(await judge.judge(judgeRequest()))).toMatchObject({ decidedBy: 'judge' });
    expect(events.map(([name]) => name)).toContain('cacheFailed');
  });
});

describe('every failure is an abstention', () => {
  test.each<[JudgeTrouble['kind'], string, number]>([
    ['rate_limited', 'judge_failed', 3],
    ['timeout', 'judge_failed', 3],
    ['unreachable', 'judge_failed', 3],
    ['bad_answer', 'judge_rejected', 3],
    ['auth', 'judge_failed', 1],
    ['refused', 'judge_failed', 1],
  ])('%s leaves all that was asked outstanding as %s', async (kind, abstained, times) => {
    const model = scripted(fails(kind));
    const { judge } = startJudge(model, { attempts: 3 });

    const judgement = await judge.judge(
      judgeRequest({
        calls: [judgedCall(0), judgedCall(1)],
        asked: { answer: true, completion: true, utilization: true },
      }),
    );

    const words = [
      ...judgement.arguments.map(({ verdict }) => verdict),
      judgement.answer,
      judgement.completion,
      judgement.utilization,
    ];
    expect(words.map((word) => word?.kind === 'failed' && word.abstained)).toEqual(Array(5).fill(abstained));
    // Two requests: the calls, and what needs their results.
    expect(model.asked).toHaveLength(2 * times);
    expect(judge.stats().troubles[kind]).toBe(2 * times);
  });

  test('one part that fails leaves the others decided', async () => {
    const model = scripted((asked, i, signal) =>
      (asked.arguments[0] === 'call_1' ? fails('refused') : right)(asked, i, signal),
    );
    const calls = [judgedCall(0), judgedCall(1, { knownBefore: ['call_0'] })];

    const judgement = await startJudge(model).judge.judge(judgeRequest({ calls }));

    expect(judgement.arguments.map(({ id, verdict }) => [id, verdict.kind])).toEqual([
      ['call_0', 'decided'],
      ['call_1', 'failed'],
    ]);
  });

  test('an undecidable call is undecidable, and a value that cannot be told as well', async () => {
    const model = scripted(() => ({
      content: {
        structured: {
          arguments: [{ ...entry('call_0'), verdict: 'undecidable' }],
          answer: { reason: 'cut', value: null },
        },
      },
      inputTokens: null,
      outputTokens: null,
    }));

    const judgement = await startJudge(model).judge.judge(judgeRequest({ asked: { answer: true } }));

    expect(verdictOf(judgement)).toEqual({ kind: 'undecidable', decidedBy: 'judge', reason: 'r' });
    expect(judgement.answer).toEqual({ kind: 'undecidable', decidedBy: 'judge', reason: 'cut' });
  });

  test('a model that never answers is left at the deadline', async () => {
    const { judge } = startJudge(scripted(never), { deadlineMs: 20 });

    expect(verdictOf(await judge.judge(judgeRequest()))).toMatchObject({
      abstained: 'judge_failed',
      reason: /in time/,
    });
  });

  test('what had no turn before the deadline is pending, and so is what does not fit', async () => {
    const { judge } = startJudge(scripted(right), { deadlineMs: 30, requestsPerMinute: 1, maxInFlight: 2 });

    const judgements = await Promise.all([1, 2, 3].map((n) => judge.judge(about(n))));

    expect(judgements.map((each) => verdictOf(each))).toMatchObject([
      { kind: 'decided' },
      { abstained: 'pending', reason: expect.stringMatching(/no turn/) },
      { abstained: 'pending', reason: expect.stringMatching(/too many/) },
    ]);
    expect(judge.stats().inFlight).toBe(0);
  });

  test('what is under way at the close is pending', async () => {
    const { judge } = startJudge(scripted(never), { concurrency: 1 });
    const asked = [judge.judge(about(1)), judge.judge(about(2))];

    judge.close();

    const after = judge.judge(about(3));
    for (const each of [...asked, after]) expect(verdictOf(await each)).toMatchObject({ abstained: 'pending' });
  });

  test('a fault of ours is told, and leaves what was asked outstanding', async () => {
    const redact = () => {
      throw new Error('ours');
    };
    const { judge, events } = startJudge(scripted(right), {}, { redact });

    expect(verdictOf(await judge.judge(judgeRequest()))).toMatchObject({ abstained: 'judge_failed' });
    expect(events).toEqual([['judgeFaulted', new Error('ours')]]);
  });
});

describe('limits', () => {
  test('waits before it asks again: as long as the server wants, else a share of a pause that doubles', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 1_000_000 });
    const model = scripted((asked, i, signal) => {
      if (i === 0) throw new JudgeTrouble('rate_limited', 'scripted', 20_000);
      return (i < 3 ? fails('unreachable') : right)(asked, i, signal);
    });
    const { judge } = startJudge(model, { backoffMs: 1_000, maxBackoffMs: 60_000 }, { random: () => 0.5 });
    const judgement = judge.judge(judgeRequest());

    // The server's 20 s; then half of 1 s x 2, half of 1 s x 4.
    for (const [i, pauseMs] of [20_000, 1_000, 2_000].entries()) {
      await vi.advanceTimersByTimeAsync(pauseMs - 1);
      expect(model.asked).toHaveLength(i + 1);
      await vi.advanceTimersByTimeAsync(1);
      expect(model.asked).toHaveLength(i + 2);
    }

    expect(verdictOf(await judgement)).toMatchObject({ kind: 'decided' });
  });

  test('asks no more at once than it may', async () => {
    const model = scripted(async (asked, i, signal) => {
      await new Promise((resolve) => setImmediate(resolve));
      return right(asked, i, signal);
    });
    const { judge } = startJudge(model, { concurrency: 3 });

    await Promise.all(Array.from({ length: 30 }, (_, n) => judge.judge(about(n))));

    expect(model.asked).toHaveLength(30);
    expect(model.mostAtOnce).toBe(3);
  });

  test('the circuit breaker opens after troubles in a row, asks nothing while open, and closes on success', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
    let ask = fails('unreachable');
    const model = scripted((asked, i, signal) => ask(asked, i, signal));
    const { judge, events } = startJudge(model, { attempts: 1, breakerFailures: 3, breakerOpenMs: 30_000 });

    for (const n of [1, 2, 3])
      expect(verdictOf(await judge.judge(about(n)))).toMatchObject({ abstained: 'judge_failed' });
    expect(verdictOf(await judge.judge(about(4)))).toMatchObject({ abstained: 'breaker_open' });
    expect(model.asked).toHaveLength(3);
    expect(judge.stats().breaker).toBe('open');

    ask = right;
    vi.setSystemTime(1_030_000);
    expect(verdictOf(await judge.judge(about(5)))).toMatchObject({ kind: 'decided' });
    expect(verdictOf(await judge.judge(about(6)))).toMatchObject({ kind: 'decided' });
    expect(events.filter(([name]) => name === 'breakerMoved').map(([, state]) => state)).toEqual([
      'open',
      'half_open',
      'closed',
    ]);
  });

  test('answers that cannot be used, and refusals, do not open the breaker', async () => {
    const { judge } = startJudge(
      scripted((asked, i, signal) => fails(i % 2 === 0 ? 'bad_answer' : 'refused')(asked, i, signal)),
      { attempts: 1, breakerFailures: 2 },
    );

    for (const n of [1, 2, 3, 4, 5]) await judge.judge(about(n));

    expect(judge.stats()).toMatchObject({ breaker: 'closed', modelCalls: 5 });
  });

  test("ends with the day's tokens, before looking, and begins again at midnight UTC", async () => {
    let nowMs = Date.parse('2031-03-03T23:59:00Z');
    const model = scripted(right);
    // An answer costs 110.
    const { judge } = startJudge(model, { tokensPerDay: 200 }, { nowMs: () => nowMs });

    for (const n of [1, 2]) expect(verdictOf(await judge.judge(about(n)))).toMatchObject({ kind: 'decided' });
    expect(judge.budgetSpent).toBe(true);
    expect(verdictOf(await judge.judge(about(3)))).toMatchObject({ abstained: 'budget' });
    // Also where the cache knows: whether a conversation counts must not depend on that.
    expect(verdictOf(await judge.judge(about(1)))).toMatchObject({ abstained: 'budget' });

    nowMs += 60_000;
    expect(judge.budgetSpent).toBe(false);
    expect(verdictOf(await judge.judge(about(3)))).toMatchObject({ kind: 'decided' });
    expect(judge.stats().tokensToday).toBe(110);
  });

  test("waits for the minute's tokens", async () => {
    // A question reserves its prompt, some 1 200 tokens, and 500 for the answer: the bucket holds one.
    const { judge } = startJudge(scripted(right), { tokensPerMinute: 2_500, deadlineMs: 30 });

    const judgements = await Promise.all([1, 2].map((n) => judge.judge(about(n))));

    expect(judgements.map((each) => verdictOf(each))).toMatchObject([{ kind: 'decided' }, { abstained: 'pending' }]);
  });

  test('questions that wait for the queue when the circuit opens are not asked', async () => {
    const model = scripted(async (asked, i, signal) => {
      await new Promise((resolve) => setImmediate(resolve));
      return fails('unreachable')(asked, i, signal);
    });
    const { judge } = startJudge(model, { attempts: 1, concurrency: 1, breakerFailures: 2 });

    const judgements = await Promise.all(Array.from({ length: 20 }, (_, n) => judge.judge(about(n))));

    // The place in the queue is free a moment before the circuit has opened.
    expect(model.asked.length).toBeLessThanOrEqual(3);
    const open = judgements.filter((each) => verdictOf(each)?.kind === 'failed').map((each) => verdictOf(each));
    expect(open.slice(3)).toMatchObject(Array(17).fill({ abstained: 'breaker_open' }));
  });
});

describe('what leaves', () => {
  test('nothing of it holds what redaction takes out', async () => {
    const model = scripted(right);
    const redaction = compileRedaction({ keys: ['api_key'], patterns: ['\\b\\d{4}-\\d{4}\\b'] });
    const { judge } = startJudge(model, {}, { redact: (request) => redaction.request(request) });
    const calls = [
      judgedCall(0, {
        arguments: { api_key: 'hunter2', card: '1234-5678' },
        outcome: { kind: 'error', message: '1234-5678' },
      }),
      judgedCall(1, { knownBefore: ['call_0'] }),
    ];

    await judge.judge(judgeRequest({ calls, query: 'My card is 1234-5678', asked: { answer: true } }));

    const sent = JSON.stringify(model.asked);
    expect(sent).not.toMatch(/hunter2|1234-5678/);
    expect(sent).toContain('[REDACTED]');
  });
});
