import { tracing } from '@opentelemetry/sdk-node';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { expect, test } from 'vitest';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import { JUDGE_SCOPE, tracedModel } from '../../src/judge/traced-model.js';
import type { Graded } from '../../src/model/graded.js';
import type { Outcome } from '../../src/model/outcome.js';
import type { Span } from '../../src/model/span.js';
import { createOfflineGrader, createPipeline, type PipelineEvents, type PipelineJudging } from '../../src/pipeline.js';
import { decodeTraces } from '../../src/receive/decode.js';
import { buildExpectationIndex } from '../../src/score/expectations.js';
import { resolvePolicy } from '../../src/score/policy.js';
import { verdictVersion } from '../../src/store/rows.js';
import { heldJudging, settled } from '../support/judging.js';
import { agent, hex, request, tool } from '../support/turn-traffic.js';

const RULES = { assemble: DEFAULT_ASSEMBLE_RULES, policy: resolvePolicy({ judge: { model: 'm' } }) };
const { quietMs, lateMs } = DEFAULT_ASSEMBLE_RULES;

function spans(body: string): readonly Span[] {
  const result = decodeTraces(Buffer.from(body), 'json');
  if (result.kind !== 'decoded') throw new Error(result.rejection.detail);
  return result.batch.spans;
}

function running(judging: PipelineJudging) {
  const stored: Graded[] = [];
  const released: number[] = [];
  const dropped: Record<string, number> = {};
  const events: PipelineEvents = {
    spansCounted: (counts) => {
      for (const [name, count] of Object.entries(counts)) dropped[name] = (dropped[name] ?? 0) + count;
    },
    interactionGraded: () => {},
    gradingFailed: ({ error }) => expect.fail(String(error)),
    expectationUnreadable: () => {},
    expectationAmbiguous: () => {},
  };
  const pipeline = createPipeline(RULES, {
    expectations: buildExpectationIndex([]),
    events,
    judging,
    store(graded) {
      stored.push(graded);
      return Promise.resolve({ status: 'ok' });
    },
    release: (offsets) => released.push(...offsets),
  });
  const said = () => stored.map(({ verdict }) => verdict.label);
  return { pipeline, stored, released, said, dropped };
}

test('stores an interaction when the judge has answered, and lets its entry go then', async () => {
  const { judging, asked } = heldJudging();
  const { pipeline, said, released } = running(judging);

  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);
  pipeline.pass(quietMs + lateMs + 1);
  await settled();
  expect(said()).toEqual([]);
  expect(pipeline).toMatchObject({ unstored: 1, unjudged: 1 });

  await asked[0]?.answer('incorrect');
  await pipeline.whenStored();
  expect(said()).toEqual(['incorrect']);
  expect(released).toEqual([7]);
  expect(pipeline.unjudged).toBe(0);
});

test('a judge that takes too long holds nothing: the row is pending, and better when the answer comes', async () => {
  const { judging, asked, verdicts, late, passHold } = heldJudging();
  const { pipeline, said, stored, released } = running(judging);
  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);
  pipeline.pass(quietMs + lateMs + 1);

  await passHold();
  await pipeline.whenStored();
  expect(said()).toEqual(['unscored']);
  expect(released).toEqual([7]);
  expect(pipeline).toMatchObject({ unstored: 0, unjudged: 1 });

  await asked[0]?.answer('correct');
  await pipeline.whenJudged();
  expect(verdicts.map(({ verdict }) => verdict.label)).toEqual(['correct']);
  expect(late).toHaveLength(1);
  const [pending, healed] = [stored[0], verdicts[0]].map((each) => verdictVersion(each!.interaction, each!.verdict));
  expect(healed).toBeGreaterThan(pending as number);
});

test('a late answer is on its way until the store has it', async () => {
  let acknowledge = (): void => {};
  const acknowledged = new Promise<Outcome>((resolve) => (acknowledge = () => resolve({ status: 'ok' })));
  const { judging, asked, passHold } = heldJudging({ storeVerdict: () => acknowledged });
  const { pipeline } = running(judging);
  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);
  await passHold();
  await pipeline.whenStored();

  await asked[0]?.answer('correct');
  expect(pipeline).toMatchObject({ unstored: 1, unjudged: 0 });
  acknowledge();
  await pipeline.whenStored();
  expect(pipeline.unstored).toBe(0);
});

test('an answer that came too late and says nothing new is not stored again', async () => {
  const { judging, asked, verdicts, passHold } = heldJudging();
  const { pipeline } = running(judging);
  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);

  await passHold();
  await asked[0]?.answer({ abstained: 'pending' });

  expect(verdicts).toEqual([]);
});

test('a judge that fails after the patience is over has healed nothing, and the row says so', async () => {
  const { judging, asked, verdicts, late, passHold } = heldJudging();
  const { pipeline } = running(judging);
  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);

  await passHold();
  await asked[0]?.answer({ abstained: 'judge_failed' });

  expect(verdicts.map(({ verdict }) => verdict.outstanding)).toEqual([1]);
  expect(late).toEqual([]);
});

test('other turns are received, decided and stored while the judge is silent', async () => {
  const { judging } = heldJudging();
  const { pipeline, stored } = running(judging);

  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.receive({ offset: 2, receivedAtMs: 0, spans: spans(request(agent(2))) }, 0);
  pipeline.pass(quietMs);
  await settled();

  // Without a call nothing is open.
  expect(stored.map(({ interaction }) => interaction.traceId)).toEqual([hex(2, 32)]);
});

test('a newer revision is never lost to the judgement of an older one, whichever comes first', async () => {
  const { judging, asked } = heldJudging();
  const { pipeline, stored, released } = running(judging);
  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);
  pipeline.receive({ offset: 2, receivedAtMs: 0, spans: spans(request(tool(1, 3))) }, quietMs + 1);
  pipeline.pass(2 * quietMs + 1);
  pipeline.pass(3 * (quietMs + lateMs));
  expect(
    asked.map(
      ({
        request: {
          asked: { arguments: calls },
        },
      }) => calls.length,
    ),
  ).toEqual([1, 2]);

  await asked[1]?.answer('incorrect');
  expect(released).toEqual([]);
  await asked[0]?.answer('correct');
  await pipeline.whenStored();

  const [newest] = [...stored].sort(
    (a, b) => verdictVersion(b.interaction, b.verdict) - verdictVersion(a.interaction, a.verdict),
  );
  expect(newest?.interaction.toolCalls).toHaveLength(2);
  expect(newest?.verdict.label).toBe('incorrect');
  expect([...released].sort()).toEqual([1, 2]);
});

test('a conversation that is not in the sample is not put to the judge', async () => {
  const { judging, asked } = heldJudging({ sampling: { rate: 0, salt: '' } });
  const { pipeline, stored } = running(judging);

  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);
  await settled();

  expect(asked).toEqual([]);
  expect(stored[0]?.verdict).toMatchObject({ label: 'unscored', leftOut: true });
});

test('the judge is told the turn and what came before it, under the policy', () => {
  const { judging, asked } = heldJudging();
  const { pipeline } = running(judging);

  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: spans(request(agent(1), tool(1, 2))) }, 0);
  pipeline.pass(quietMs);

  expect(asked[0]?.request).toMatchObject({
    query: 'Where?',
    answer: 'Here.',
    earlier: [],
    calls: [{ id: 'call_0', name: 'look', arguments: { at: 2 } }],
    asked: { arguments: ['call_0'], answer: false, completion: false, utilization: false },
  });
});

test('offline, the judge is waited for, with so many interactions at once and in order', async () => {
  const { judging, asked } = heldJudging();
  const events: PipelineEvents = {
    spansCounted: () => {},
    interactionGraded: () => {},
    gradingFailed: () => {},
    expectationUnreadable: () => {},
    expectationAmbiguous: () => {},
  };
  const grader = createOfflineGrader(RULES, { expectations: buildExpectationIndex([]), events, judging });
  for (const trace of [1, 2, 3]) grader.receive(spans(request(agent(trace), tool(trace, 2))));
  const progress: number[] = [];

  const finished = grader.finishJudged(2, (judged) => progress.push(judged));
  await settled();
  expect(asked).toHaveLength(2);
  await asked[1]?.answer('incorrect');
  await asked[0]?.answer('correct');
  await expect.poll(() => asked.length).toBe(3);
  await asked[2]?.answer('correct');

  expect((await finished).map(({ verdict }) => verdict.label)).toEqual(['correct', 'incorrect', 'correct']);
  expect(progress).toEqual([1, 2, 3]);
});

test('spans of the judge itself, as the OpenTelemetry SDK exports them, are counted and never graded', async () => {
  const exporter = new tracing.InMemorySpanExporter();
  const provider = new tracing.BasicTracerProvider({ spanProcessors: [new tracing.SimpleSpanProcessor(exporter)] });
  const asked = { arguments: ['call_0'], answer: false, completion: false, utilization: false };
  const model = { ask: () => Promise.resolve({ content: { text: '{}' }, inputTokens: 1, outputTokens: 1 }) };
  const traced = tracedModel(model, { model: 'gpt-4o-mini' }, provider.getTracer(JUDGE_SCOPE));
  await traced.ask([{ role: 'user', content: 'Was that right?' }], asked, new AbortController().signal);
  const body = ProtobufTraceSerializer.serializeRequest(exporter.getFinishedSpans());
  const decoded = decodeTraces(body as Uint8Array, 'protobuf');
  const { judging } = heldJudging();
  const { pipeline, stored, released, dropped } = running(judging);

  if (decoded.kind !== 'decoded') expect.fail(decoded.rejection.detail);
  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: decoded.batch.spans }, 0);
  pipeline.pass(10 * (quietMs + lateMs));
  await settled();

  expect(stored).toEqual([]);
  expect(dropped).toMatchObject({ arrived: 1, ownJudge: 1, assembled: 0 });
  expect(released).toEqual([1]);
});
