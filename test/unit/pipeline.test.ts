import { expect, test } from 'vitest';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import type { Graded } from '../../src/model/graded.js';
import type { Outcome } from '../../src/model/outcome.js';
import type { Span } from '../../src/model/span.js';
import { createOfflineGrader, createPipeline, type PipelineEvents } from '../../src/pipeline.js';
import { decodeTraces } from '../../src/receive/decode.js';
import { parseDatasets } from '../../src/score/datasets.js';
import { buildExpectationIndex } from '../../src/score/expectations.js';
import { resolvePolicy } from '../../src/score/policy.js';

const RULES = { assemble: DEFAULT_ASSEMBLE_RULES, policy: resolvePolicy({}) };
const { quietMs, lateMs } = DEFAULT_ASSEMBLE_RULES;

const hex = (n: number, digits: number) => n.toString(16).padStart(digits, '0');
const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

function spans(...list: readonly object[]): readonly Span[] {
  const result = decodeTraces(
    Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] })),
    'json',
  );
  if (result.kind !== 'decoded') throw new Error(result.rejection.detail);
  return result.batch.spans;
}

function agent(trace: number, query = 'Where?', startMs = trace) {
  return {
    traceId: hex(trace, 32),
    spanId: hex(1, 16),
    name: 'invoke_agent a',
    startTimeUnixNano: `${1_796_020_000_000 + startMs}000000`,
    endTimeUnixNano: `${1_796_020_000_000 + startMs + 10}000000`,
    attributes: [
      text('gen_ai.operation.name', 'invoke_agent'),
      text('gen_ai.agent.name', 'a'),
      text('gen_ai.conversation.id', 'c'),
      text('gen_ai.input.messages', JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: query }] }])),
    ],
  };
}

function harness(outcome: () => Promise<Outcome> = () => Promise.resolve({ status: 'ok' })) {
  const stored: Graded[] = [];
  const released: number[] = [];
  const failed: string[] = [];
  const events: PipelineEvents = {
    spansCounted: () => {},
    interactionGraded: () => {},
    gradingFailed: ({ stage }) => failed.push(stage),
    expectationUnreadable: () => {},
    expectationAmbiguous: () => {},
  };
  const pipeline = createPipeline(RULES, {
    expectations: buildExpectationIndex([]),
    events,
    judging: null,
    store(graded) {
      stored.push(graded);
      return outcome();
    },
    release: (offsets) => released.push(...offsets),
  });
  return { pipeline, stored, released, failed };
}

test('releases an entry when its late window is over and the store has its rows, and not before', async () => {
  let answer: (outcome: Outcome) => void = () => {};
  const { pipeline, stored, released } = harness(() => new Promise((resolve) => (answer = resolve)));

  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(agent(1)) }, 0);
  pipeline.pass(quietMs);
  expect(stored).toHaveLength(1);
  pipeline.pass(quietMs + lateMs + 1);
  await Promise.resolve();
  expect(released).toEqual([]);

  answer({ status: 'ok' });
  pipeline.pass(quietMs + lateMs + 1);
  await pipeline.whenStored();
  expect(released).toEqual([7]);
});

test('leaves what is in its late window to whoever reads the log next, who adds what came after the stop', async () => {
  const root = agent(1);
  const child = { ...agent(1), spanId: hex(2, 16), parentSpanId: root.spanId };
  const stopped = harness();
  stopped.pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(root) }, 0);
  stopped.pipeline.pass(quietMs + lateMs / 2);
  await stopped.pipeline.whenStored();
  expect(stopped.stored).toHaveLength(1);
  expect(stopped.released).toEqual([]);

  const next = harness();
  next.pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(root) }, quietMs + lateMs / 2);
  next.pipeline.receive({ offset: 8, receivedAtMs: 0, spans: spans(child) }, quietMs + lateMs / 2);
  next.pipeline.pass(3 * (quietMs + lateMs));
  await next.pipeline.whenStored();

  expect(next.stored.map(({ interaction }) => interaction.interactionId)).toEqual([
    stopped.stored[0]?.interaction.interactionId,
  ]);
  // Two for each ended span.
  expect([...stopped.stored, ...next.stored].map(({ interaction }) => interaction.revision)).toEqual([2, 4]);
  expect(next.released).toEqual([7, 8]);
});

test('releases an entry with spans of two traces when both are done', async () => {
  const { pipeline, released } = harness();

  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: spans(agent(1), agent(2)) }, 0);
  pipeline.receive(
    { offset: 2, receivedAtMs: 0, spans: spans({ ...agent(2), spanId: hex(2, 16), parentSpanId: hex(1, 16) }) },
    quietMs - 1,
  );
  pipeline.pass(quietMs + lateMs);
  await Promise.resolve();
  await Promise.resolve();
  expect(released).toEqual([]);

  pipeline.pass(3 * (quietMs + lateMs));
  await pipeline.whenStored();
  expect([...released].sort()).toEqual([1, 2]);
});

test('does not release what a closing store did not take', async () => {
  const { pipeline, released } = harness(() => Promise.resolve({ status: 'retryable', cause: new Error('closed') }));

  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(agent(1)) }, 0);
  pipeline.pass(quietMs + lateMs + 1);
  await pipeline.whenStored();

  expect(released).toEqual([]);
});

test('releases an entry whose row the store refused for good', async () => {
  const { pipeline, released } = harness(() => Promise.resolve({ status: 'rejected', cause: new Error('refused') }));

  pipeline.receive({ offset: 7, receivedAtMs: 0, spans: spans(agent(1)) }, 0);
  pipeline.pass(quietMs + lateMs + 1);
  await pipeline.whenStored();

  expect(released).toEqual([7]);
});

test('keeps an interaction that it cannot read, with nothing captured, and grades the others', async () => {
  const [good, bad] = spans(agent(1), agent(2)) as [Span, Span];
  const attributes = {
    size: 4,
    has: (key: string) => bad.attributes.has(key),
    keys: () => bad.attributes.keys(),
    get: (key: string) => {
      if (key === 'gen_ai.input.messages') throw new Error('cannot be borne');
      return bad.attributes.get(key);
    },
  };
  const broken = { ...attributesOf(bad), attributes } as unknown as Span;
  const { pipeline, stored, failed } = harness();

  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: [good, broken] }, 0);
  pipeline.pass(quietMs + lateMs + 1);
  await pipeline.whenStored();

  expect(failed).toEqual(['built']);
  expect(stored.map(({ interaction }) => interaction.query)).toEqual(['Where?', null]);
  expect(stored[1]?.interaction.coverage).toContain('query_not_captured');
});

function attributesOf(span: Span): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    parentIsRemote: span.parentIsRemote,
    name: span.name,
    kind: span.kind,
    startUnixNano: span.startUnixNano,
    endUnixNano: span.endUnixNano,
    statusCode: span.statusCode,
    statusMessage: span.statusMessage,
    events: span.events,
    links: span.links,
    droppedAttributes: span.droppedAttributes,
    resource: span.resource,
    scope: span.scope,
    bytes: span.bytes,
    encoded: () => span.encoded(),
    compact() {
      return this;
    },
  };
}

test('matches the turns of a conversation by their place in it when it grades offline', () => {
  const turn = (tools: readonly string[]) => ({
    qa_id: '',
    query: '',
    assistant: '',
    ground_truth_assistant: '',
    ground_truth_agentic: { expected_tools: tools.map((tool_name) => ({ tool_name })) },
  });
  const dataset = { session_id: 'c', assistant_id: 'a', context: '', conversation: [turn([]), turn(['look'])] };
  const { turns, faults } = parseDatasets(JSON.stringify(dataset), 'truth.json');
  expect(faults).toEqual([]);
  const events: PipelineEvents = {
    spansCounted: () => {},
    interactionGraded: () => {},
    gradingFailed: () => {},
    expectationUnreadable: () => {},
    expectationAmbiguous: () => {},
  };
  const grader = createOfflineGrader(RULES, { expectations: buildExpectationIndex(turns), events, judging: null });

  // The later turn arrives first.
  grader.receive(spans(agent(2, 'And there?', 60_000)));
  grader.receive(spans(agent(1, 'Here?', 0)));
  const graded = grader.finish();

  // Expected: nothing, then `look`. Made: nothing that was recorded, twice; what nobody recorded is not wrong.
  expect(graded.map(({ interaction }) => interaction.query)).toEqual(['Here?', 'And there?']);
  const tools = graded.map(({ verdict }) => verdict.scores.find((score) => score.criterion === 'tools'));
  expect(tools.map((score) => (score?.kind === 'scored' ? score.value : score?.abstained))).toEqual([
    1,
    'not_captured',
  ]);
});
