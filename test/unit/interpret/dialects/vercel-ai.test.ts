import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { interpret } from '../../../../src/interpret/interpret.js';
import type { AgentSpanKind } from '../../../../src/model/agent-span.js';
import type { Interaction } from '../../../../src/model/interaction.js';
import type { Json } from '../../../../src/model/json.js';
import { interactionsOf } from '../../../support/interactions.js';
import { otlpSpan, otlpSpans, type OtlpSketch } from '../../../support/otlp-json.js';

type Attributes = Readonly<Record<string, Json>>;

const json = (value: unknown): string => JSON.stringify(value);

function operation(id: string, functionId: string | undefined, attributes: Attributes): Attributes {
  return {
    'operation.name': functionId === undefined ? id : `${id} ${functionId}`,
    'ai.operationId': id,
    ...(functionId === undefined ? {} : { 'resource.name': functionId, 'ai.telemetry.functionId': functionId }),
    ...attributes,
  };
}

/** The call of the SDK, from 0 to 1000 ms. */
function run(attributes: Attributes, rest: Partial<OtlpSketch> = {}): OtlpSketch {
  const id = rest.name ?? 'ai.generateText';
  return { id: 'r', name: id, start: 0, end: 1000, ...rest, attributes: operation(id, 'helpdesk', attributes) };
}

/** The n-th model call of a run. */
function step(n: number, attributes: Attributes, rest: Partial<OtlpSketch> = {}): OtlpSketch {
  const id = rest.name ?? 'ai.generateText.doGenerate';
  const place = { id: `m${n}`, parent: 'r', name: id, start: n * 100, end: n * 100 + 50 };
  return { ...place, ...rest, attributes: operation(id, 'helpdesk', attributes) };
}

function tool(n: number, attributes: Attributes, rest: Partial<OtlpSketch> = {}): OtlpSketch {
  const place = { id: `t${n}`, parent: 'r', name: 'ai.toolCall', start: n * 100 + 60, end: n * 100 + 90 };
  return { ...place, ...rest, attributes: operation('ai.toolCall', 'helpdesk', attributes) };
}

function only(...sketches: readonly OtlpSketch[]): Interaction {
  const interactions = interactionsOf(otlpSpans(...sketches));
  expect(interactions).toHaveLength(1);
  return interactions[0] as Interaction;
}

const QUESTION = [{ role: 'user', content: [{ type: 'text', text: 'Where is order 5?' }] }];
const PROMPT = { 'ai.prompt': json({ system: 'Be brief.', prompt: 'Where is order 5?' }) };
const TRACK = { 'ai.toolCall.name': 'track', 'ai.toolCall.id': 'c1' };
const CALL = { toolCallId: 'c1', toolName: 'track', input: '{"id":5}' };
const ASKED = {
  'ai.prompt.messages': json(QUESTION),
  'ai.response.finishReason': 'tool-calls',
  'ai.response.toolCalls': json([CALL]),
};

describe('the kind of a span', () => {
  test.each<[string, AgentSpanKind]>([
    ['ai.generateText', 'agent'],
    ['ai.streamText', 'agent'],
    ['ai.generateObject', 'agent'],
    ['ai.streamObject', 'agent'],
    ['ai.generateText.doGenerate', 'llm'],
    ['ai.streamText.doStream', 'llm'],
    ['ai.generateObject.doGenerate', 'llm'],
    ['ai.streamObject.doStream', 'llm'],
    ['ai.toolCall', 'tool'],
    ['ai.embed', 'embedding'],
    ['ai.embedMany.doEmbed', 'embedding'],
    ['ai.rerank', 'other'],
    ['ai.transcribe', 'other'],
  ])('of %s is %s, whatever the tracer and the model attributes', (id, kind) => {
    const attributes = { 'ai.operationId': id, 'ai.model.id': 'm' };

    const spans = [
      otlpSpan(attributes, { scope: 'my-own-tracer' }),
      otlpSpan({ 'operation.name': `${id} helpdesk`, 'ai.model.id': 'm' }, { scope: 'ai' }),
    ].map(interpret);

    expect(spans.map((span) => [span.kind, span.dialect])).toEqual([
      [kind, 'vercel-ai'],
      [kind, 'vercel-ai'],
    ]);
  });

  test('is left to others where another system uses the same attribute names', () => {
    expect(interpret(otlpSpan({ 'operation.name': 'GET /users' })).dialect).toBeNull();
  });

  test('makes no turn of embeddings and rerankings alone', () => {
    const spans = otlpSpans(
      { id: 'e', attributes: { 'ai.operationId': 'ai.embed', 'ai.model.id': 'm', 'ai.usage.tokens': 7 } },
      { id: 'k', attributes: { 'ai.operationId': 'ai.rerank', 'ai.model.id': 'm' } },
    );

    expect(interactionsOf(spans)).toEqual([]);
  });
});

describe('a run', () => {
  test('counts the tokens of its model calls once, not those that it sums up, nor those of embeddings', () => {
    const usage = (input: number, output: number) => ({
      'ai.usage.promptTokens': input,
      'ai.usage.completionTokens': output,
      'gen_ai.usage.input_tokens': input,
      'gen_ai.usage.output_tokens': output,
    });
    const interaction = only(
      run({ ...PROMPT, 'ai.response.text': 'On its way.', ...usage(90, 9) }),
      step(1, { ...ASKED, ...usage(40, 4) }),
      tool(1, { ...TRACK, 'ai.toolCall.args': '{"id":5}', 'ai.toolCall.result': '{"eta":2}' }),
      { id: 'e', parent: 't1', start: 170, attributes: { 'ai.operationId': 'ai.embed', 'ai.usage.tokens': 1000 } },
      step(2, { 'ai.response.text': 'On its way.', 'ai.usage.inputTokens': 50, 'ai.usage.outputTokens': 5 }),
    );

    expect([interaction.inputTokens, interaction.outputTokens]).toEqual([90, 9]);
  });

  test('has unknown tokens where the provider gave none and NaN was recorded', () => {
    const nan = {
      'ai.usage.promptTokens': null,
      'ai.usage.completionTokens': 'NaN',
      'gen_ai.usage.input_tokens': null,
    };

    const interaction = only(run({ ...PROMPT, ...nan }), step(1, { 'ai.response.text': 'Hi.', ...nan }));

    expect([interaction.inputTokens, interaction.outputTokens, interaction.answer]).toEqual([null, null, 'Hi.']);
  });

  test('takes its question from a prompt, from messages, or from a prompt of messages', () => {
    const asked = (prompt: unknown) =>
      only(run({ 'ai.prompt': json(prompt), 'ai.response.text': 'x' }), step(1, {})).query;
    const history = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hi.' }] },
      ...QUESTION,
    ];

    expect(asked({ prompt: 'Where is order 5?' })).toBe('Where is order 5?');
    expect(asked({ system: 's', messages: history })).toBe('Where is order 5?');
    expect(asked({ system: 's', prompt: history })).toBe('Where is order 5?');
  });

  test('never takes the system prompt for the question when the prompt was cut', () => {
    const cut = json({ system: 'You are careful.', prompt: 'Where?' }).slice(0, 25);
    const interaction = only(run({ 'ai.prompt': cut, 'ai.response.text': 'Here.' }), step(1, {}));

    expect(interaction.query).toBeNull();
    expect(interaction.coverage).toContain('query_truncated');
  });

  test('is filed under its functionId, else under the name that it was given, else under the service', () => {
    const named = (attributes: Attributes) => only({ id: 'r', name: 'ai.generateText', end: 50, attributes });
    const bare = { 'ai.operationId': 'ai.generateText', 'ai.response.text': 'x' };

    expect(named({ ...bare, 'ai.telemetry.functionId': 'helpdesk' }).assistantId).toBe('helpdesk');
    expect(named({ ...bare, 'operation.name': 'ai.generateText help desk' }).assistantId).toBe('help desk');
    expect(named({ ...bare, 'ai.telemetry.metadata.agent': 'helper' }).assistantId).toBe('helper');
    expect(named({ ...bare, 'operation.name': 'ai.generateText' }).assistantId).toBe('test-service');
    expect(named({ ...bare, 'ai.telemetry.functionId': 'helpdesk' }).coverage).not.toContain('agent_not_captured');
    expect(named(bare).coverage).toContain('agent_not_captured');
  });

  test('of v7 without a functionId is filed under the service, not under the model that its name has', () => {
    const named = (attributes: Attributes) =>
      only({
        id: 'r',
        name: 'invoke_agent gpt-5',
        end: 50,
        scope: 'gen_ai',
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.request.model': 'gpt-5',
          'gen_ai.output.messages': json([{ role: 'assistant', parts: [{ type: 'text', content: 'x' }] }]),
          ...attributes,
        },
      });
    const [unnamed, helpdesk, same] = [{}, { 'gen_ai.agent.name': 'helpdesk' }, { 'gen_ai.agent.name': 'gpt-5' }].map(
      named,
    );

    expect(unnamed).toMatchObject({ assistantId: 'test-service' });
    expect(unnamed?.coverage).toContain('agent_not_captured');
    expect([helpdesk?.assistantId, same?.assistantId]).toEqual(['helpdesk', 'gpt-5']);
    expect(same?.coverage).not.toContain('agent_not_captured');
  });

  test('falls back to the last model call when the client left before the run had its text', () => {
    const interaction = only(
      run(PROMPT, { name: 'ai.streamText' }),
      step(
        1,
        { 'ai.response.text': 'On its way.', 'ai.response.finishReason': 'stop' },
        { name: 'ai.streamText.doStream' },
      ),
    );

    expect(interaction.answer).toBe('On its way.');
  });

  test('has no answer, and flags it, when nothing of the stream was recorded', () => {
    const interaction = only(
      run(PROMPT, { name: 'ai.streamText' }),
      step(1, { 'ai.prompt.messages': json(QUESTION) }, { name: 'ai.streamText.doStream' }),
    );

    expect([interaction.query, interaction.answer]).toEqual(['Where is order 5?', null]);
    expect(interaction.coverage).toContain('answer_not_captured');
  });

  test('that stops for a tool has not answered with what it said before', () => {
    const said = { 'ai.response.text': 'Let me look.', ...ASKED };

    expect(only(run({ ...PROMPT, ...said }), step(1, said)).answer).toBeNull();
  });

  test('keeps reasoning apart from the answer', () => {
    const said = { 'ai.response.reasoning': 'Hm, 5.', 'ai.response.text': 'Here.', 'ai.response.finishReason': 'stop' };
    const span = interpret(otlpSpan({ 'ai.operationId': 'ai.generateText.doGenerate', ...said }));

    expect(only(run(PROMPT), step(1, said)).answer).toBe('Here.');
    expect(span.read('outputMessages')?.value.messages[0]?.parts).toEqual([
      { type: 'reasoning', text: 'Hm, 5.' },
      { type: 'text', text: 'Here.' },
    ]);
  });

  test('of a sub-agent inside a tool belongs to the turn, with its calls as its own', () => {
    const interaction = only(
      run({ ...PROMPT, 'ai.response.text': 'On its way.' }),
      tool(1, { ...TRACK, 'ai.toolCall.name': 'ask_courier', 'ai.toolCall.args': '{}' }, { end: 300 }),
      {
        id: 'sub',
        parent: 't1',
        name: 'ai.generateText',
        start: 170,
        end: 290,
        attributes: operation('ai.generateText', 'courier', { 'ai.prompt': '{"prompt":"?"}', 'ai.response.text': 'B' }),
      },
      tool(2, { ...TRACK, 'ai.toolCall.id': 'c2', 'ai.toolCall.args': '{}' }, { parent: 'sub' }),
    );

    expect([interaction.query, interaction.answer]).toEqual(['Where is order 5?', 'On its way.']);
    expect(interaction.toolCalls.map((call) => [call.name, call.owner, call.byRoot])).toEqual([
      ['ask_courier', 'helpdesk', true],
      ['track', 'courier', false],
    ]);
  });
});

test('a v7 run that ended by itself answered with its text, though the calls of all steps stand behind it', () => {
  const message = (finish_reason: string) =>
    json([
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'It rains.' },
          { type: 'tool_call', id: 'p1', name: 'web_search', arguments: {} },
        ],
        finish_reason,
      },
    ]);
  const answered = (finishReason: string) =>
    only(
      {
        id: 'r',
        name: 'invoke_agent m',
        end: 200,
        scope: 'gen_ai',
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.output.messages': message(finishReason) },
      },
      {
        id: 'm1',
        parent: 'r',
        name: 'chat m',
        scope: 'gen_ai',
        attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.output.messages': message(finishReason) },
      },
    ).answer;

  expect([answered('stop'), answered('tool_call')]).toEqual(['It rains.', null]);
});

describe('a tool call', () => {
  test.each([
    [
      'v3',
      'ai.result.toolCalls',
      [{ toolCallType: 'function', toolCallId: 'c1', toolName: 'track', args: '{"id":5}' }],
    ],
    [
      'v4',
      'ai.response.toolCalls',
      [{ toolCallType: 'function', toolCallId: 'c1', toolName: 'track', args: '{"id":5}' }],
    ],
    [
      'v4 streamed',
      'ai.response.toolCalls',
      [{ type: 'tool-call', toolCallId: 'c1', toolName: 'track', args: { id: 5 } }],
    ],
    ['v5 and v6', 'ai.response.toolCalls', [CALL]],
    ['v7 legacy', 'ai.response.toolCalls', [{ ...CALL, input: { id: 5 } }]],
  ])('of %s is one with the span that carried it out', (_version, key, calls) => {
    const interaction = only(
      run({ ...PROMPT, 'ai.response.text': 'On its way.' }),
      step(1, { ...ASKED, 'ai.response.toolCalls': null, [key]: json(calls) }),
      tool(1, { ...TRACK, 'ai.toolCall.args': '{"id":5}', 'ai.toolCall.result': '{"eta":2}' }),
    );

    expect(interaction.toolCalls).toMatchObject([
      {
        callId: 'c1',
        name: 'track',
        arguments: { id: 5 },
        argumentsStatus: 'captured',
        result: { eta: 2 },
        failed: false,
      },
    ]);
  });

  test('stands below its step in v7 legacy, whose span ends after the tool, and is the same one', () => {
    const interaction = only(
      run({ ...PROMPT, 'ai.response.text': 'On its way.', 'ai.response.finishReason': 'stop' }),
      step(1, { ...ASKED, 'ai.response.toolCalls': json([{ ...CALL, input: { id: 5 } }]) }, { end: 195 }),
      tool(1, { ...TRACK, 'ai.toolCall.args': '{"id":5}', 'ai.toolCall.result': '{"eta":2}' }, { parent: 'm1' }),
      step(2, { 'ai.response.text': 'On its way.', 'ai.response.finishReason': 'stop' }),
    );

    expect(interaction.toolCalls).toMatchObject([
      { callId: 'c1', result: { eta: 2 }, owner: 'helpdesk', byRoot: true },
    ]);
    expect(interaction.answer).toBe('On its way.');
  });

  test('has its arguments from the next prompt where outputs are not recorded', () => {
    const history = [
      ...QUESTION,
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'track', input: { id: 5 } }] },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'track', output: { type: 'json', value: { eta: 2 } } },
        ],
      },
    ];
    const interaction = only(
      run(PROMPT),
      step(1, { 'ai.prompt.messages': json(QUESTION), 'ai.response.finishReason': 'tool-calls' }),
      tool(1, TRACK),
      step(2, { 'ai.prompt.messages': json(history), 'ai.response.finishReason': 'stop' }),
    );

    expect(interaction.toolCalls).toMatchObject([
      { name: 'track', arguments: { id: 5 }, argumentsStatus: 'captured', result: { eta: 2 } },
    ]);
  });

  test.each([
    ['v4', { result: { eta: 2 } }, { eta: 2 }, false],
    ['v5 text', { output: { type: 'text', value: 'two days' } }, 'two days', false],
    ['v5 content', { output: { type: 'content', value: [{ type: 'text', text: 'two days' }] } }, 'two days', false],
    ['v5 error text', { output: { type: 'error-text', value: 'no such order' } }, 'no such order', true],
    [
      'v5 error value',
      { output: { type: 'error-json', value: { message: 'no such order' } } },
      { message: 'no such order' },
      true,
    ],
  ])('has the result that the next prompt gives (%s)', (_shape, result, value, failed) => {
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'track', input: { id: 5 } };
    const history = [
      ...QUESTION,
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'track', ...result }] },
    ];
    const interaction = only(run(PROMPT), step(1, ASKED), step(2, { 'ai.prompt.messages': json(history) }));

    expect(interaction.toolCalls).toMatchObject([{ result: value, failed, error: failed ? 'no such order' : null }]);
  });

  test('that throws in v4 fails, and the run that it ends has one failed call and no answer', () => {
    const status = { code: 2, message: 'Error executing tool track: no such order' };
    const interaction = only(
      run(PROMPT, { status }),
      step(1, ASKED),
      tool(1, { ...TRACK, 'ai.toolCall.args': '{"id":5}' }, { status }),
    );

    expect(interaction.toolCalls).toMatchObject([{ failed: true, error: status.message, result: null }]);
    expect([interaction.answer, interaction.interrupted]).toEqual([null, false]);
  });

  test.each<[Json, string | null]>([
    [{ error: 'no such order' }, 'no such order'],
    [{ success: false, error: { message: 'no such order', code: 404 } }, 'no such order'],
    [{ error: true, message: 'no such order' }, 'no such order'],
    [{ error: null, eta: 2 }, null],
    [{ error: 'partial', eta: 2 }, null],
    [{ error: '' }, null],
    ['no such order', null],
  ])('that gives back %j has failed with %j', (result, error) => {
    const interaction = only(run(PROMPT), step(1, ASKED), tool(1, { ...TRACK, 'ai.toolCall.result': json(result) }));

    expect(interaction.toolCalls).toMatchObject([{ failed: error !== null, error }]);
  });

  test.each<[string, Json]>([
    ['14', 14],
    ['-0.5', -0.5],
    ['true', true],
    ['"sunny"', 'sunny'],
    ['"14"', '14'],
    ['3 days', '3 days'],
    ['[1,2]', [1, 2]],
  ])('reads the result %s as JSON', (text, value) => {
    const span = interpret(otlpSpan({ 'ai.operationId': 'ai.toolCall', 'ai.toolCall.result': text }));

    expect(span.read('toolResult')?.value).toEqual(value);
  });

  test('with arguments that are no JSON is malformed where the model wrote them', () => {
    const calls = json([{ ...CALL, type: 'tool-call', input: '{"id": five}', invalid: true, dynamic: true }]);
    const interaction = only(run(PROMPT), step(1, { ...ASKED, 'ai.response.toolCalls': calls }));

    expect(interaction.toolCalls).toMatchObject([{ arguments: '{"id": five}', argumentsStatus: 'malformed' }]);
  });

  test('cut by a limit is truncated where no other place has it whole', () => {
    const cut = { ...TRACK, 'ai.toolCall.args': '{"id":5,"no', 'ai.toolCall.result': '{"eta":2,"st' };
    const alone = only(run(PROMPT), tool(1, cut));
    const asked = only(run(PROMPT), step(1, ASKED), tool(1, cut));

    expect(alone.toolCalls).toMatchObject([{ argumentsStatus: 'truncated', resultStatus: 'truncated' }]);
    expect(asked.toolCalls).toMatchObject([{ arguments: { id: 5 }, argumentsStatus: 'captured' }]);
  });

  test('of a cut list is told by its span, and the text beside the list is no answer', () => {
    const cut = { ...ASKED, 'ai.response.text': 'Let me look.', 'ai.response.toolCalls': json([CALL]).slice(0, 40) };
    const interaction = only(run(PROMPT), step(1, cut), tool(1, { ...TRACK, 'ai.toolCall.args': '{"id":5}' }));

    expect(interaction.toolCalls).toMatchObject([{ name: 'track', arguments: { id: 5 } }]);
    expect(interaction.answer).toBeNull();
  });

  test('that the provider ran leaves the text beside it an answer', () => {
    const said = { 'ai.response.text': 'It rains.', 'ai.response.finishReason': 'stop' };
    const call = { toolCallId: 'p1', toolName: 'web_search', input: '{}' };
    const tools = ['{"type":"provider","name":"web_search","id":"openai.web_search","args":{}}'];
    const answers = [
      { 'ai.response.toolCalls': json([call]), 'ai.prompt.tools': tools },
      { 'ai.response.toolCalls': json([{ ...call, providerExecuted: true }]) },
    ].map((attributes) => only(run(PROMPT), step(1, { ...said, ...attributes })));

    expect(answers.map(({ answer }) => answer)).toEqual(['It rains.', 'It rains.']);
    expect(answers.flatMap(({ toolCalls }) => toolCalls.map((each) => each.providerExecuted))).toEqual([true, true]);
  });

  test.each([
    ['gen_ai', 'extension', true],
    ['gen_ai', 'function', false],
    // Others call the tools of MCP servers so, which the application runs.
    ['other', 'extension', false],
  ])('of v7 is the provider’s where its span says so: scope %s, type %s', (scope, type, providerExecuted) => {
    const operationName = (name: string) => ({ 'gen_ai.operation.name': name });
    const interaction = only(
      { id: 'r', name: 'invoke_agent m', end: 200, scope, attributes: operationName('invoke_agent') },
      {
        id: 't1',
        parent: 'r',
        name: 'execute_tool web_search',
        scope,
        attributes: {
          ...operationName('execute_tool'),
          'gen_ai.tool.name': 'web_search',
          'gen_ai.tool.call.id': 'p1',
          'gen_ai.tool.type': type,
          'gen_ai.tool.call.arguments': '{}',
        },
      },
    );

    expect(interaction.toolCalls).toMatchObject([{ name: 'web_search', providerExecuted }]);
  });

  test('of a tool that the provider only defines is asked of the application', () => {
    const tools = ['{"type":"provider-defined","name":"track","id":"anthropic.computer_20241022","args":{}}'];
    const interaction = only(run(PROMPT), step(1, { ...ASKED, 'ai.prompt.tools': tools }));

    expect(interaction.toolCalls).toMatchObject([{ providerExecuted: false, offer: { kind: 'offered' } }]);
  });

  test('that a person denied has not failed, and approvals are no results', () => {
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'track', input: { id: 5 } };
    const denial = { type: 'execution-denied', reason: 'not today' };
    const history = [
      ...QUESTION,
      { role: 'assistant', content: [call, { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1' }] },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a1', approved: false }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'track', output: denial }] },
    ];
    const interaction = only(
      run(PROMPT),
      step(1, { 'ai.prompt.messages': json(history), 'ai.response.text': 'As you like.' }),
    );

    expect(interaction.toolCalls).toMatchObject([
      { name: 'track', failed: false, error: null, result: { denied: true, reason: 'not today' } },
    ]);
  });

  test('that waits for approval has no result from the question put to the person', () => {
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'track', input: { id: 5 } };
    const history = [
      ...QUESTION,
      { role: 'assistant', content: [call, { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1' }] },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a1', approved: true }] },
    ];
    const interaction = only(run(PROMPT), step(1, { 'ai.prompt.messages': json(history) }));

    expect(interaction.toolCalls).toMatchObject([{ failed: false, result: null, resultStatus: 'not_captured' }]);
  });
});

describe('the tools that a model was offered', () => {
  const definition = (name: string, member: string) =>
    json({ type: 'function', name, description: 'd', [member]: { type: 'object', required: ['id'] } });
  const offered = (tools: Json) =>
    interpret(otlpSpan({ 'ai.operationId': 'ai.generateText.doGenerate', 'ai.prompt.tools': tools })).read(
      'toolDefinitions',
    )?.value;

  test('are read from a list of JSON texts, with their schemas of v4 and of v5', () => {
    const schema = { type: 'object', required: ['id'] };

    expect(offered([definition('a', 'parameters'), definition('b', 'inputSchema')])).toEqual([
      { name: 'a', schema, freeText: false },
      { name: 'b', schema, freeText: false },
    ]);
  });

  test('keep the name of one whose text was cut, without a schema to hold against it', () => {
    const cut = definition('b', 'inputSchema').slice(0, 50);

    expect(offered([definition('a', 'inputSchema'), cut])?.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(offered([definition('a', 'inputSchema'), cut])?.[1]).toEqual({ name: 'b', freeText: false });
  });

  test('are unknown when one was cut before its name', () => {
    expect(offered([definition('a', 'inputSchema'), '{"type":"functi'])).toBeUndefined();
  });
});

describe('structured output', () => {
  test('is the answer of the run', () => {
    const object = { 'ai.response.object': '{"city":"Lindholm"}', 'ai.response.finishReason': 'stop' };
    const interaction = only(
      run({ ...PROMPT, ...object }, { name: 'ai.generateObject' }),
      step(1, object, { name: 'ai.generateObject.doGenerate' }),
    );

    expect(interaction).toMatchObject({
      answer: '{"city":"Lindholm"}',
      toolCalls: [],
      coverage: ['conversation_id_synthetic'],
    });
  });

  test('by way of a tool call leaves no call behind that was not captured', () => {
    const object = { 'ai.response.object': '{"city":"Lindholm"}', 'ai.response.finishReason': 'tool-calls' };
    const reasons = { 'gen_ai.response.finish_reasons': ['tool-calls'] };
    const interaction = only(
      run({ ...PROMPT, ...object }, { name: 'ai.generateObject' }),
      step(1, { ...object, ...reasons }, { name: 'ai.generateObject.doGenerate' }),
    );

    expect(interaction).toMatchObject({ answer: '{"city":"Lindholm"}', coverage: ['conversation_id_synthetic'] });
  });

  test('is the word alone where it is one of an enumeration', () => {
    const answer = only(
      run({ ...PROMPT, 'ai.response.object': '"sunny"' }, { name: 'ai.generateObject' }),
      step(1, {}),
    ).answer;

    expect(answer).toBe('sunny');
  });

  test('that was cut is no answer, in an object or in the text', () => {
    for (const key of ['ai.response.object', 'ai.response.text']) {
      const cut = { [key]: '{"city":"Lind' };
      const interaction = only(run({ ...PROMPT, ...cut }), step(1, cut));

      expect(interaction.answer).toBeNull();
      expect(interaction.coverage).toContain('answer_truncated');
    }
  });

  test('that streamed but did not finish falls back to nothing', () => {
    const interaction = only(
      run(PROMPT, { name: 'ai.streamObject' }),
      step(1, {}, { name: 'ai.streamObject.doStream' }),
    );

    expect(interaction.answer).toBeNull();
  });
});

describe('dropped attributes', () => {
  const said = { 'ai.response.text': 'Let me look.' };

  test('leave a text without the reason for stopping no answer, since calls may be among them', () => {
    expect(only(run(PROMPT), step(1, said, { dropped: 3 })).answer).toBeNull();
  });

  test('take nothing from a text that the model ended with', () => {
    const whole = { ...said, 'ai.response.finishReason': 'stop' };

    expect(only(run(PROMPT), step(1, whole, { dropped: 3 })).answer).toBe('Let me look.');
  });
});

describe('what the application attaches', () => {
  const reading = (attributes: Attributes) =>
    interpret(otlpSpan({ 'ai.operationId': 'ai.generateText', ...attributes }));

  test.each([
    'ai.telemetry.metadata.sessionId',
    'ai.telemetry.metadata.session_id',
    'ai.telemetry.metadata.session.id',
    'ai.telemetry.metadata.SESSION-ID',
    'ai.telemetry.metadata.threadId',
    'ai.telemetry.metadata.thread_id',
    'ai.telemetry.metadata.conversationId',
    'ai.telemetry.metadata.chatId',
    'ai.settings.context.sessionId',
    'ai.settings.context.chat_id',
  ])('names the conversation by %s', (key) => {
    expect(reading({ [key]: 's-1' }).read('conversationId')?.value).toBe('s-1');
  });

  test('gives a number as its digits, and nothing for a blank', () => {
    expect(reading({ 'ai.telemetry.metadata.chatId': 7 }).read('conversationId')?.value).toBe('7');
    expect(reading({ 'ai.telemetry.metadata.chatId': ' ' }).read('conversationId')).toBeUndefined();
  });

  test('names the conversation of a v7 run by its runtime context', () => {
    const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'ai.settings.context.sessionId': 's-1' };
    const span = interpret(otlpSpan(attributes, { scope: 'gen_ai' }));

    expect([span.kind, span.dialect, span.read('conversationId')?.value]).toEqual(['agent', 'otel-genai', 's-1']);
  });

  test('names user, version, environment and task', () => {
    const span = reading({
      'ai.telemetry.metadata.userId': 'u-1',
      'ai.telemetry.metadata.agent_version': '1.2',
      'ai.telemetry.metadata.environment': 'staging',
      'ai.settings.context.task': 'refunds',
    });

    expect((['userId', 'agentVersion', 'environment', 'task'] as const).map((fact) => span.read(fact)?.value)).toEqual([
      'u-1',
      '1.2',
      'staging',
      'refunds',
    ]);
  });

  test('holds ground truth under our own names and under plain ones', () => {
    const ours = reading({
      'ai.telemetry.metadata.tracegrade.eval.expected_tools': ['track', 'refund'],
      'ai.telemetry.metadata.tracegrade.eval.expected_tools.mode': 'any_order',
      'ai.telemetry.metadata.tracegrade.eval.forbidden_tools': ['delete_order'],
      'ai.telemetry.metadata.tracegrade.eval.results_used': true,
      'ai.telemetry.metadata.tracegrade.eval.case_id': 'case-9',
    });
    const plain = reading({
      'ai.telemetry.metadata.expectedTools': '[{"name":"track","arguments":{"id":5}}]',
      'ai.telemetry.metadata.groundTruth': 'On its way.',
    });

    expect(ours.read('expectation')?.value).toEqual({
      tools: [{ name: 'track' }, { name: 'refund' }],
      mode: 'any_order',
      forbiddenTools: ['delete_order'],
      resultsUsed: true,
    });
    expect(ours.read('caseId')?.value).toBe('case-9');
    expect(plain.read('expectation')?.value).toEqual({
      answer: 'On its way.',
      tools: [{ name: 'track', arguments: { id: 5 } }],
    });
  });

  test("does not take an application's own case number for the id of a test case", () => {
    expect(reading({ 'ai.telemetry.metadata.caseId': '4711' }).read('caseId')).toBeUndefined();
  });
});

describe("spans that Traceloop's SDK rewrote", () => {
  const rewritten = (messages: unknown) => json(messages);
  const text = (content: string) => ({ type: 'text', content });
  const call = [{ type: 'tool-call', toolCallId: 'c1', toolName: 'track', args: { id: 5 } }];
  const result = [{ type: 'tool-result', toolCallId: 'c1', toolName: 'track', result: { eta: 2 } }];

  test('tell the same turn, though every run and step is called a chat', () => {
    const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };
    const asked = { role: 'user', parts: [text('Where is order 5?')] };
    const answered = rewritten([{ role: 'assistant', parts: [text('On its way.')] }]);
    const interaction = only(
      run({ ...chat, 'gen_ai.input.messages': rewritten([asked]), 'gen_ai.output.messages': answered }),
      step(1, {
        ...chat,
        'gen_ai.input.messages': rewritten([asked]),
        'gen_ai.output.messages': rewritten([
          { role: 'assistant', parts: [{ type: 'tool_call', tool_call: { name: 'track', arguments: '{"id":5}' } }] },
        ]),
        'gen_ai.completion.0.content': 'Let me look.',
        'gen_ai.response.finish_reasons': ['tool-calls'],
      }),
      tool(1, {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'track',
        'gen_ai.tool.call.id': 'c1',
        'gen_ai.tool.call.arguments': '{"id":5}',
        'gen_ai.tool.call.result': '{"eta":2}',
      }),
      step(2, {
        ...chat,
        'gen_ai.input.messages': rewritten([
          asked,
          { role: 'assistant', parts: [text(json(call))] },
          { role: 'tool', parts: [text(json(result))] },
        ]),
        'gen_ai.output.messages': answered,
      }),
    );

    expect(interaction).toMatchObject({
      assistantId: 'helpdesk',
      query: 'Where is order 5?',
      answer: 'On its way.',
      toolCalls: [{ callId: 'c1', name: 'track', arguments: { id: 5 }, result: { eta: 2 } }],
    });
    expect(interaction.toolCalls).toHaveLength(1);
  });

  test('are read from what the AI SDK wrote where that was kept', () => {
    const copies = {
      'gen_ai.input.messages': rewritten([{ role: 'user', parts: [text('a copy')] }]),
      'gen_ai.output.messages': rewritten([{ role: 'assistant', parts: [text('a copy')] }]),
    };
    const span = interpret(otlpSpan({ 'ai.operationId': 'ai.generateText.doGenerate', ...ASKED, ...copies }));

    expect(span.read('inputMessages')?.source).toBe('ai.prompt.messages');
    expect(span.read('outputMessages')?.source).toBe('ai.response.*');
  });
});

test('reads any value of any of its attributes without failing', () => {
  const keys = [
    'ai.operationId',
    'operation.name',
    'ai.prompt',
    'ai.prompt.messages',
    'ai.prompt.tools',
    'ai.response.text',
    'ai.response.object',
    'ai.response.toolCalls',
    'ai.response.finishReason',
    'ai.toolCall.args',
    'ai.toolCall.result',
    'ai.usage.promptTokens',
    'ai.telemetry.metadata.sessionId',
    'ai.telemetry.metadata.expected_tools',
    'ai.settings.context.__proto__',
    'gen_ai.input.messages',
    'gen_ai.output.messages',
  ];
  const facts = [
    'conversationId',
    'query',
    'answer',
    'inputMessages',
    'outputMessages',
    'finishReason',
    'inputTokens',
  ] as const;
  const more = ['toolArguments', 'toolResult', 'toolFailure', 'toolDefinitions', 'expectation', 'agentName'] as const;
  const value = fc.oneof(
    fc.jsonValue(),
    fc.json(),
    fc.array(fc.json()),
    fc.constantFrom('ai.generateText', 'ai.toolCall'),
  );

  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...keys), value as fc.Arbitrary<Json>), (attributes) => {
      const span = interpret(otlpSpan({ 'ai.operationId': 'ai.generateText.doGenerate', ...attributes }));

      for (const fact of [...facts, ...more]) span.readings(fact);
    }),
    { numRuns: 200 },
  );
});
