import { describe, expect, test } from 'vitest';
import type { Dialect } from '../../../src/interpret/dialect.js';
import { mergeDialects } from '../../../src/interpret/merged-dialects.js';
import { DIALECTS } from '../../../src/interpret/dialects/index.js';
import { interpret, interpretWith } from '../../../src/interpret/interpret.js';
import type { AgentSpanKind } from '../../../src/model/agent-span.js';
import type { Json } from '../../../src/model/json.js';
import { otlpSpan } from '../../support/otlp-json.js';

describe('the kind of a span', () => {
  test.each<[Record<string, Json>, AgentSpanKind, string | null]>([
    [{ 'openinference.span.kind': 'LLM' }, 'llm', 'openinference'],
    [{ 'openinference.span.kind': '"tool"' }, 'tool', 'openinference'],
    [{ 'openinference.span.kind': 'CHAIN' }, 'workflow', 'openinference'],
    [{ 'openinference.span.kind': 'RERANKER', 'llm.model_name': 'm' }, 'other', 'openinference'],
    [{ 'openinference.span.kind': 'AGENT', 'gen_ai.operation.name': 'chat' }, 'agent', 'openinference'],
    [{ 'gen_ai.operation.name': 'execute_tool' }, 'tool', 'otel-genai'],
    [{ 'gen_ai.operation.name': 'invoke_swarm' }, 'agent', 'otel-genai'],
    [{ 'gen_ai.operation.name': 'create_agent', 'gen_ai.request.model': 'm' }, 'other', 'otel-genai'],
    [{ 'gen_ai.operation.name': 'unheard_of', 'gen_ai.request.model': 'm' }, 'llm', 'otel-genai'],
    [{ 'gen_ai.tool.name': 'f' }, 'tool', 'otel-genai'],
    [{ 'mcp.method.name': 'tools/call' }, 'tool', 'generic'],
    [{ 'mcp.method.name': 'tools/list' }, 'mcp', 'generic'],
    [{ 'http.request.method': 'POST', 'session.id': 's' }, 'other', null],
  ])('of %j is %s', (attributes, kind, dialect) => {
    const span = interpret(otlpSpan(attributes));

    expect([span.kind, span.dialect]).toEqual([kind, dialect]);
  });

  test('is a handoff for a tool by which control passes', () => {
    const span = interpret(
      otlpSpan(
        { 'openinference.span.kind': 'TOOL', 'input.value': 'Triage', 'output.value': 'Weather' },
        { name: 'handoff to Weather' },
      ),
    );

    expect([span.kind, span.read('handoff')?.value]).toEqual(['handoff', { from: 'Triage', to: 'Weather' }]);
  });
});

describe('facts', () => {
  test('are chosen one by one by rank, whichever dialect wrote them', () => {
    const span = interpret(
      otlpSpan({
        'openinference.span.kind': 'TOOL',
        'tool.name': 'second',
        'gen_ai.tool.name': 'first',
        'input.value': '{"from":"openinference"}',
        'gen_ai.tool.call.id': '<not specified>',
        'tool.id': ' c1 ',
      }),
    );

    expect(span.read('toolName')?.value).toBe('first');
    expect(span.readings('toolName').map(({ value }) => value)).toEqual(['first', 'second', 's']);
    expect(span.read('toolCallId')).toMatchObject({ value: 'c1', source: 'tool.id' });
    expect(span.read('toolArguments')?.value).toEqual({ status: 'captured', value: { from: 'openinference' } });
  });

  test('of placeholders are none', () => {
    const span = interpret(
      otlpSpan({
        'gen_ai.conversation.id': "[Scrubbed due to 'session']",
        'session.id': '',
        'gen_ai.agent.name': '__REDACTED__',
      }),
    );

    expect(span.read('conversationId')).toBeUndefined();
    expect(span.read('agentName')).toBeUndefined();
  });

  test('come from events of every age', () => {
    const content = (name: string, attributes: Record<string, Json>) => ({ name, attributes });
    const read = (...events: readonly { name: string; attributes: Record<string, Json> }[]) => {
      const span = interpret(otlpSpan({ 'gen_ai.operation.name': 'chat' }, { events }));
      return [span.read('inputMessages')?.value.messages, span.read('outputMessages')?.value.messages];
    };
    const expected = [
      [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
      [{ role: 'assistant', parts: [{ type: 'text', text: 'hello' }], finishReason: 'stop' }],
    ];

    expect(
      read(
        content('gen_ai.user.message', { content: 'hi' }),
        content('gen_ai.choice', {
          index: 0,
          finish_reason: 'stop',
          message: '{"role":"assistant","content":"hello"}',
        }),
      ),
    ).toEqual(expected);
    expect(
      read(
        content('gen_ai.user.message', { 'gen_ai.event.content': '{"role":"user","content":"hi"}' }),
        content('gen_ai.choice', {
          'gen_ai.event.content': '{"finish_reason":"stop","message":{"content":"hello"}}',
        }),
      ),
    ).toEqual(expected);
    expect(
      read(
        content('gen_ai.client.inference.operation.details', {
          'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
        }),
        content('gen_ai.client.inference.operation.details', {
          'gen_ai.output.messages':
            '[{"role":"assistant","parts":[{"type":"text","content":"hello"}],"finish_reason":"stop"}]',
        }),
      ),
    ).toEqual(expected);
    expect(
      read(
        content('gen_ai.content.prompt', { 'gen_ai.prompt': '[{"role":"user","content":"hi"}]' }),
        content('gen_ai.content.completion', {
          'gen_ai.completion': '[{"role":"assistant","content":"hello","finish_reason":"stop"}]',
        }),
      ),
    ).toEqual(expected);
  });

  test('of a tool come from the events of Strands', () => {
    const span = interpret(
      otlpSpan(
        { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'f' },
        {
          events: [
            { name: 'gen_ai.tool.message', attributes: { role: 'tool', content: '{"x":2}', id: 't1' } },
            { name: 'gen_ai.choice', attributes: { message: '[{"text":"{\\"y\\":4}"}]', id: 't1' } },
          ],
        },
      ),
    );

    expect(span.read('toolArguments')?.value).toEqual({ status: 'captured', value: { x: 2 } });
    expect(span.read('toolResult')?.value).toEqual({ y: 4 });
    expect(span.read('toolCallId')?.value).toBe('t1');
  });
});

test('a new dialect slots its sources in between the others by rank', () => {
  const mine: Dialect = {
    name: 'mine',
    kinds: [{ order: 50, key: 'mine.kind', read: () => 'agent' }],
    facts: { agentName: [{ rank: 150, source: 'mine.name', read: (view) => view.text('mine.name') }] },
  };
  const span = interpretWith(
    mergeDialects([...DIALECTS, mine]),
    otlpSpan({
      'mine.kind': 'x',
      'openinference.span.kind': 'LLM',
      'agent.name': 'c',
      'mine.name': 'b',
      'gen_ai.agent.name': 'a',
    }),
  );

  expect([span.kind, span.dialect]).toEqual(['agent', 'mine']);
  expect(span.readings('agentName').map(({ value }) => value)).toEqual(['a', 'b', 'c']);
});

test('knows its own judge', () => {
  expect(interpret(otlpSpan({}, { scope: 'tracegrade.judge' })).ownJudge).toBe(true);
  expect(interpret(otlpSpan({}, { scope: 'tracegrade-demo' })).ownJudge).toBe(false);
});

test('reads what Python’s repr wrote where the older conventions have JSON', () => {
  const events = [
    { name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': "[{'role': 'user', 'content': 'Where?'}]" } },
    {
      name: 'gen_ai.content.completion',
      attributes: { 'gen_ai.completion': "[{'role': 'assistant', 'content': \"It's here.\"}]" },
    },
  ];
  const span = interpret(otlpSpan({ 'gen_ai.operation.name': 'chat', metadata: "{'session_id': 'py-1'}" }, { events }));

  expect(span.read('inputMessages')?.value.messages).toMatchObject([{ role: 'user', parts: [{ text: 'Where?' }] }]);
  expect(span.read('outputMessages')?.value.messages).toMatchObject([
    { role: 'assistant', parts: [{ text: "It's here." }] },
  ]);
  expect(span.read('conversationId')?.value).toBe('py-1');
});

test('takes an interrupt for no failure when only error.type names it', () => {
  const span = interpret(
    otlpSpan(
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'f',
        'error.type': 'langgraph.errors.GraphInterrupt',
      },
      { status: { code: 2 } },
    ),
  );

  expect(span.read('toolFailure')?.value.interrupt).toBe(true);
});

test('reads again what it was told to forget', () => {
  const span = interpret(otlpSpan({ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' }));
  const before = span.read('model');
  span.forget?.();

  expect(span.read('model')).toEqual(before);
});
