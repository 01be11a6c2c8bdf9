import { describe, expect, test } from 'vitest';
import { buildInteraction } from '../../../src/assemble/interaction.js';
import { interpret } from '../../../src/interpret/interpret.js';
import type { Interaction } from '../../../src/model/interaction.js';
import type { Json } from '../../../src/model/json.js';
import { interactionsOf } from '../../support/interactions.js';
import { otlpSpans, type OtlpSketch } from '../../support/otlp-json.js';
import { EPOCH_MS, traceIdOf } from '../../support/spans.js';

type Attributes = Readonly<Record<string, Json>>;

const agent = (rest: Partial<OtlpSketch> = {}, attributes: Attributes = {}): OtlpSketch => ({
  id: 'root',
  start: 0,
  end: 1000,
  ...rest,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'desk', ...attributes },
});

const chat = (id: string, start: number, attributes: Attributes, rest: Partial<OtlpSketch> = {}): OtlpSketch => ({
  id,
  parent: 'root',
  start,
  ...rest,
  attributes: { 'gen_ai.operation.name': 'chat', ...attributes },
});

const tool = (id: string, start: number, attributes: Attributes, rest: Partial<OtlpSketch> = {}): OtlpSketch => ({
  id,
  parent: 'root',
  start,
  ...rest,
  attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'lookup', ...attributes },
});

const user = (text: string): Json => ({ role: 'user', parts: [{ type: 'text', content: text }] });
const says = (text: string): Json => ({ role: 'assistant', parts: [{ type: 'text', content: text }] });
const asks = (...calls: readonly Json[]): Json => ({ role: 'assistant', parts: calls });
const call = (id: string | null, args: Json, name = 'lookup'): Json => ({
  type: 'tool_call',
  ...(id === null ? {} : { id }),
  name,
  arguments: args,
});
const gives = (id: string, response: Json): Json => ({
  role: 'tool',
  parts: [{ type: 'tool_call_response', id, response }],
});
const input = (...messages: readonly Json[]): Attributes => ({ 'gen_ai.input.messages': messages });
const output = (...messages: readonly Json[]): Attributes => ({ 'gen_ai.output.messages': messages });

function only(...sketches: readonly OtlpSketch[]): Interaction {
  const found = interactionsOf(otlpSpans(...sketches));
  expect(found.length).toBe(1);
  return found[0] as Interaction;
}

const told = (interaction: Interaction) =>
  interaction.toolCalls.map(({ name, arguments: args, result }) => [name, args, result]);

describe('tool calls', () => {
  test('are found that the recorder left out of the output, in the history after the question', () => {
    const interaction = only(
      agent(),
      chat('c1', 10, {
        ...input(user('old'), asks(call('x', 0)), gives('x', 0), says('hm'), user('q')),
        ...output(asks(call(null, { n: 1 }))),
      }),
      chat('c2', 50, {
        ...input(
          user('old'),
          asks(call('x', 0)),
          gives('x', 0),
          says('hm'),
          user('q'),
          asks(call('a', { n: 1 }), call('b', { n: 2 })),
          gives('b', 'two'),
          gives('a', 'one'),
        ),
        ...output(says('done')),
      }),
    );

    expect(told(interaction)).toEqual([
      ['lookup', { n: 1 }, 'one'],
      ['lookup', { n: 2 }, 'two'],
    ]);
    expect(interaction.toolCalls.map(({ callId }) => callId)).toEqual(['a', 'b']);
  });

  test('stay two when a model repeats one word for word', () => {
    const same = call('always-the-same', { n: 1 });
    const interaction = only(
      agent(),
      chat('c1', 10, { ...input(user('q')), ...output(asks(same)) }),
      chat('c2', 30, { ...input(user('q'), asks(same), gives('always-the-same', 1)), ...output(asks(same)) }),
      chat('c3', 50, {
        ...input(user('q'), asks(same), gives('always-the-same', 1), asks(same), gives('always-the-same', 2)),
        ...output(says('done')),
      }),
    );

    expect(told(interaction)).toEqual([
      ['lookup', { n: 1 }, 1],
      ['lookup', { n: 1 }, 2],
    ]);
  });

  test('of a tool span and of the MCP span inside it are one, and fail together', () => {
    const interaction = only(agent(), tool('t', 10, { 'gen_ai.tool.call.arguments': '{"n":1}' }, { end: 60 }), {
      id: 'm',
      parent: 't',
      start: 20,
      kind: 3,
      attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'lookup', 'error.type': 'tool_error' },
    });

    expect(told(interaction)).toEqual([['lookup', { n: 1 }, null]]);
    expect(interaction.toolCalls[0]?.failed).toBe(true);
  });

  test('that a recorder glued together are told by their tool spans', () => {
    const glued = call('ab', '{"n":1}{"m":2}', 'lookupsave');
    const interaction = only(
      agent(),
      chat('c1', 10, {
        ...output(asks(glued)),
        'gen_ai.tool.definitions': [
          { type: 'function', name: 'lookup' },
          { type: 'function', name: 'save' },
        ],
      }),
      tool('t1', 30, { 'gen_ai.tool.call.arguments': '{"n":1}' }),
      tool('t2', 40, { 'gen_ai.tool.name': 'save', 'gen_ai.tool.call.arguments': '{"m":2}' }),
    );

    expect(told(interaction).map(([name]) => name)).toEqual(['lookup', 'save']);
  });

  test('wait when they are interrupted, and are one with the run that resumes them', () => {
    const interrupt = {
      status: { code: 2, message: 'GraphInterrupt()' },
      events: [{ name: 'exception', attributes: { 'exception.type': 'langgraph.errors.GraphInterrupt' } }],
    };
    const waiting = tool('t1', 30, { 'gen_ai.tool.call.arguments': '{"n":1}' }, interrupt);
    const asked = chat('c1', 10, output(asks(call('a', { n: 1 }))));
    const stopped = only(agent(), asked, waiting);
    const resumed = only(
      agent(),
      asked,
      waiting,
      tool('t2', 60, { 'gen_ai.tool.call.arguments': '{"n":1}', 'gen_ai.tool.call.result': 'ok' }),
    );

    expect(stopped.toolCalls.map(({ pending, failed }) => [pending, failed])).toEqual([[true, false]]);
    expect(stopped.interrupted).toBe(true);
    expect(resumed.toolCalls.map(({ pending, failed, result }) => [pending, failed, result])).toEqual([
      [false, false, 'ok'],
    ]);
    expect(resumed.interrupted).toBe(false);
  });

  test('that pass control are handoffs; a transfer with an amount is work', () => {
    const interaction = only(
      agent(),
      chat(
        'c1',
        10,
        output(asks(call('a', {}, 'transfer_to_billing'), call('b', { amount: 5 }, 'transfer_to_savings'))),
      ),
    );

    expect(interaction.toolCalls.map(({ name }) => name)).toEqual(['transfer_to_savings']);
    expect(interaction.handoffs).toEqual([{ from: 'desk', to: 'billing' }]);
  });

  test('know what the model that asked was offered', () => {
    const schema = { type: 'object', properties: {}, required: [] };
    const interaction = only(
      agent(),
      chat('c1', 10, {
        ...output(asks(call('a', {}), call('b', {}, 'invented'))),
        'gen_ai.tool.definitions': [{ type: 'function', name: 'lookup', parameters: schema }],
      }),
      chat('c2', 30, output(asks(call('c', {})))),
    );

    expect(interaction.toolCalls.map(({ offer }) => offer.kind)).toEqual(['offered', 'not_offered', 'unknown']);
    expect(interaction.coverage).toContain('tool_definitions_not_captured');
  });

  test.each([
    ['', 'requires nothing', 'captured', {}],
    ['', 'requires n', 'not_captured', null],
    ['{"n": 1', 'requires n', 'truncated', '{"n": 1'],
    ['{n: 1}', 'requires n', 'malformed', '{n: 1}'],
  ])('with the arguments %j of a tool that %s are %s', (text, requirement, status, value) => {
    const parameters = { type: 'object', properties: {}, required: requirement === 'requires n' ? ['n'] : [] };
    const interaction = only(
      agent(),
      chat('c1', 10, {
        ...output(asks(call('a', text))),
        'gen_ai.tool.definitions': [{ type: 'function', name: 'lookup', parameters }],
      }),
    );

    expect(interaction.toolCalls[0]).toMatchObject({ argumentsStatus: status, arguments: value });
  });

  test('are not captured where a model stopped for one that nothing shows', () => {
    const interaction = only(agent(), chat('c1', 10, { 'gen_ai.response.finish_reasons': ['tool_calls'] }));

    expect(interaction.toolCalls).toEqual([]);
    expect(interaction.coverage).toContain('tool_calls_not_captured');
  });
});

describe('query and answer', () => {
  test('of a span that lost attributes are not trusted', () => {
    const interaction = only({
      id: 'llm',
      dropped: 9,
      attributes: {
        'openinference.span.kind': 'LLM',
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.content': 'Question number 32?',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': 'Reply number 32.',
      },
    });

    expect([interaction.query, interaction.answer]).toEqual([null, null]);
    expect(interaction.coverage).toEqual(expect.arrayContaining(['attributes_dropped', 'query_truncated']));
  });

  test('are the outer ones when an agent is wrapped, and never those of a tool', () => {
    const interaction = only(
      agent({}, {}),
      agent({ id: 'inner', parent: 'root', start: 5, end: 900 }, { ...input(user('q')), ...output(says('a')) }),
      tool('t', 10, {}, { parent: 'inner', end: 500 }),
      agent({ id: 'sub', parent: 't', start: 20, end: 400 }, { ...input(user('sub q')), ...output(says('sub a')) }),
    );

    expect([interaction.query, interaction.answer]).toEqual(['q', 'a']);
  });

  test('are null, and flagged, when a run ends with a question to a tool', () => {
    const interaction = only(
      agent(),
      chat('c1', 10, { ...input(user('q')), ...output(says('Let me plan.')) }),
      chat('c2', 30, { ...input(user('q')), ...output(asks(call('a', {}))) }),
    );

    expect(interaction.answer).toBeNull();
    expect(interaction.coverage).toContain('answer_not_captured');
  });
});

describe('identity', () => {
  test('is that of the outermost span; HTTP spans and the resource come last', () => {
    const resource = { 'session.id': 'from-resource' };
    const http = { id: 'http', kind: 2, start: 0, end: 2000, attributes: { 'session.id': 'from-http' } };
    const root = agent({ parent: 'http', resource }, {});
    const within = chat('c1', 10, { ...input(user('q')), 'gen_ai.conversation.id': 'from-model' });

    expect(only(http, root, within)).toMatchObject({
      conversationId: 'from-model',
      conversationAliases: ['from-http'],
    });
    expect(only(http, root).conversationId).toBe('from-http');
    expect(only(root)).toMatchObject({ conversationId: 'from-resource', conversationIdSource: 'recorded' });
    expect(only(agent())).toMatchObject({ conversationId: traceIdOf('t'), conversationIdSource: 'synthetic' });
  });

  test('of an agent comes from the root before the service, and says when it is the service', () => {
    const nameless = { id: 'root', name: 'helper.run', attributes: { 'openinference.span.kind': 'AGENT' } };
    const model = { id: 'llm', attributes: { 'gen_ai.operation.name': 'chat', ...input(user('q')) } };

    expect(only(nameless)).toMatchObject({ assistantId: 'helper' });
    expect(only(model)).toMatchObject({ assistantId: 'test-service' });
    expect(only(model).coverage).toContain('agent_not_captured');
  });

  test('of twins: one request in two layers is one model call', () => {
    const usage = { 'gen_ai.usage.input_tokens': 40, 'gen_ai.usage.output_tokens': 12 };
    const said = { ...input(user('q')), ...output(says('a')) };
    const interaction = only(
      agent({}, { 'gen_ai.usage.input_tokens': 99 }),
      chat('outer', 10, { ...said, ...usage }, { end: 50 }),
      chat('inner', 20, { ...said, ...usage, 'gen_ai.response.model': 'm-1' }, { parent: 'outer', end: 40 }),
    );

    expect(interaction).toMatchObject({ inputTokens: 40, outputTokens: 12, model: 'm-1' });
  });
});

test('takes ground truth from a test runner above, and each member from the nearest place', () => {
  const interaction = only(
    {
      id: 'runner',
      start: 0,
      end: 2000,
      attributes: { 'tracegrade.eval.case_id': 'case-7', 'tracegrade.eval.expected_output': '5' },
    },
    agent(
      { parent: 'runner' },
      { 'tracegrade.eval.expected_output': 'six', 'tracegrade.eval.forbidden_tools': ['drop'] },
    ),
  );

  expect(interaction.caseId).toBe('case-7');
  expect(interaction.expectation).toEqual({ answer: '5', forbiddenTools: ['drop'] });
});

test('counts evidence, and starts when the root starts', () => {
  const interaction = only(agent({ start: 100 }), tool('t', 50, {}), chat('c', 200, {}, { end: 0 }));

  // Two ended spans and one that has not ended: 2 + 2 + 1.
  expect(interaction.revision).toBe(5);
  expect(interaction.startedAtMs).toBe(EPOCH_MS + 100);
  expect(interaction.coverage).toContain('unended_spans');
});

test('is built even from spans that are each other’s parents', () => {
  const spans = otlpSpans(tool('a', 0, {}, { parent: 'b' }), tool('b', 1, {}, { parent: 'a' }));
  const turn = {
    traceId: traceIdOf('t'),
    rootSpanId: 'ffffffffffffffff',
    root: null,
    spans: spans.map((span) => interpret(span)),
    ancestors: [],
    openTop: true,
    cut: false,
    early: false,
    split: false,
  };

  expect(buildInteraction(turn).toolCalls.length).toBeGreaterThan(0);
});
