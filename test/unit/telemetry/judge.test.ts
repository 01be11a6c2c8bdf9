import { expect, expectTypeOf, test } from 'vitest';
import type { JudgeEvents, JudgeStats } from '../../../src/judge/judge.js';
import { JudgeTrouble } from '../../../src/judge/judge-model.js';
import type { Events } from '../../../src/telemetry/events.js';
import { exposeJudge, type JudgeReading } from '../../../src/telemetry/metrics.js';
import { telemetryProbe } from '../../support/telemetry.js';

test('speaks the words of the judge', () => {
  expectTypeOf<Events>().toExtend<JudgeEvents>();
  expectTypeOf<JudgeStats>().toExtend<JudgeReading>();
});

test('counts requests by what came of them, and logs a fault that repeats once a minute', async () => {
  const { events, sample, records } = telemetryProbe();

  events.modelAnswered({ durationMs: 250, rejected: null });
  events.modelAnswered({ durationMs: 250, rejected: 'the answer is empty' });
  for (let i = 0; i < 3; i += 1) events.modelFailed(new JudgeTrouble('rate_limited', 'its client says: 429'), 10);
  events.interactionJudged({ modelCalls: 1 });
  events.breakerMoved('open');

  expect(await sample('tracegrade_judge_requests_total{outcome="answered"}')).toBe(1);
  expect(await sample('tracegrade_judge_requests_total{outcome="rejected"}')).toBe(1);
  expect(await sample('tracegrade_judge_requests_total{outcome="rate_limited"}')).toBe(3);
  expect(await sample('tracegrade_judge_request_seconds_sum')).toBe(0.5);
  expect(await sample('tracegrade_interaction_judge_calls_sum')).toBe(1);
  expect(await sample('tracegrade_judge_breaks_total')).toBe(1);
  const failures = records().filter(({ event }) => event === 'modelFailed');
  expect(failures).toMatchObject([{ level: 'warn', kind: 'rate_limited', detail: 'its client says: 429' }]);
});

test('a wrong key is an error that a person must mend', () => {
  const { events, records } = telemetryProbe();

  events.modelFailed(new JudgeTrouble('auth', 'its client says: 401'), 10);

  expect(records()).toMatchObject([{ level: 'error', kind: 'auth' }]);
});

test('shows what the judge counts by itself', async () => {
  const { registry, sample } = telemetryProbe();
  const reading: JudgeReading = {
    questions: 5,
    cacheHits: 2,
    shared: 1,
    inputTokens: 100,
    outputTokens: 10,
    abstained: { pending: 3 },
    inFlight: 4,
    breaker: 'open',
    tokensToday: 110,
  };
  exposeJudge(registry, () => reading);

  expect(await sample('tracegrade_judge_questions_total')).toBe(5);
  expect(await sample('tracegrade_judge_tokens_total{direction="input"}')).toBe(100);
  expect(await sample('tracegrade_judge_abstentions_total{reason="pending"}')).toBe(3);
  expect(await sample('tracegrade_judge_in_flight')).toBe(4);
  expect(await sample('tracegrade_judge_available_ratio')).toBe(0);
});
