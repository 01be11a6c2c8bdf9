import { describe, expect, test } from 'vitest';
import { readMessages } from '../../../src/interpret/messages.js';
import type { Json } from '../../../src/model/json.js';
import type { MessagePart } from '../../../src/model/message.js';

const CALL = {
  type: 'tool_call',
  id: 'c1',
  name: 'get_weather',
  arguments: { status: 'captured', value: { city: 'Lindholm' } },
  providerExecuted: false,
};
const ARGS = { city: 'Lindholm' };
const TEXT_ARGS = '{"city":"Lindholm"}';

function parts(message: Json): readonly MessagePart[] {
  return readMessages([message], 'user')?.messages.flatMap((read) => read.parts) ?? [];
}

describe('a tool call', () => {
  test.each<[string, Json]>([
    [
      'OTel GenAI',
      { role: 'assistant', parts: [{ type: 'tool_call', id: ' c1', name: 'get_weather', arguments: ARGS }] },
    ],
    [
      'OTel GenAI with text',
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'get_weather', arguments: TEXT_ARGS }] },
    ],
    [
      'AI SDK 4',
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'get_weather', args: ARGS }] },
    ],
    [
      'AI SDK 5',
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'get_weather', input: ARGS }] },
    ],
    ['Anthropic', { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'get_weather', input: ARGS }] }],
    ['Bedrock', { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'get_weather', input: ARGS } }] }],
    ['Gemini', { role: 'model', parts: [{ function_call: { id: 'c1', name: 'get_weather', args: ARGS } }] }],
    [
      'OpenAI',
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: TEXT_ARGS } }],
      },
    ],
    ['Responses API', { type: 'function_call', call_id: 'c1', id: 'fc_1', name: 'get_weather', arguments: TEXT_ARGS }],
    [
      'LangChain',
      {
        lc: 1,
        type: 'constructor',
        id: ['langchain_core', 'messages', 'AIMessage'],
        kwargs: { content: '', tool_calls: [{ name: 'get_weather', args: ARGS, id: 'c1', type: 'tool_call' }] },
      },
    ],
    ['LangChain dict', { type: 'ai', content: '', tool_calls: [{ name: 'get_weather', args: ARGS, id: 'c1' }] }],
    [
      'LiteLLM, beside the parts and again in them',
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'c1', name: 'get_weather', arguments: ARGS }],
        tool_calls: [{ id: 'c1', function: { name: 'get_weather', arguments: TEXT_ARGS } }],
      },
    ],
  ])('is read from %s', (_, message) => {
    expect(parts(message)).toEqual([CALL]);
  });

  test('of a server is marked as run by the provider', () => {
    const [part] = parts({
      role: 'assistant',
      parts: [{ type: 'server_tool_call', id: 'w', name: 'web_search', arguments: {} }],
    });

    expect(part).toMatchObject({ name: 'web_search', providerExecuted: true });
  });

  test('is parted again where a recorder glued streamed ones of one tool together', () => {
    const glued = { id: 'c_1c_2', function: { name: 'get_weatherget_weather', arguments: '{"n":1}{"n":2}' } };

    expect(parts({ role: 'assistant', tool_calls: [glued] })).toMatchObject([
      { id: 'c_1', name: 'get_weather', arguments: { value: { n: 1 } } },
      { id: 'c_2', name: 'get_weather', arguments: { value: { n: 2 } } },
    ]);
  });
});

describe('a tool result', () => {
  const result = { type: 'tool_result', id: 'c1', result: { degrees: 14 }, isError: false };

  test.each<[string, Json]>([
    ['OTel GenAI', { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: { degrees: 14 } }] }],
    [
      'Pydantic AI, by the user',
      { role: 'user', parts: [{ type: 'tool_call_response', id: 'c1', result: '{"degrees": 14}' }] },
    ],
    [
      'AI SDK',
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c1', output: { type: 'json', value: { degrees: 14 } } }],
      },
    ],
    [
      'Anthropic',
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: '{"degrees": 14}' }] }],
      },
    ],
    [
      'Bedrock',
      {
        role: 'user',
        content: [{ toolResult: { toolUseId: 'c1', status: 'success', content: [{ json: { degrees: 14 } }] } }],
      },
    ],
    ['Gemini', { role: 'user', parts: [{ function_response: { id: 'c1', response: { degrees: 14 } } }] }],
    ['OpenAI', { role: 'tool', tool_call_id: 'c1', content: '{"degrees": 14}' }],
    ['a Python repr', { role: 'tool', tool_call_id: 'c1', content: "{'degrees': 14}" }],
    ['Responses API', { type: 'function_call_output', call_id: 'c1', output: '{"degrees": 14}' }],
    [
      'LangChain',
      {
        lc: 1,
        type: 'constructor',
        id: ['langchain_core', 'messages', 'ToolMessage'],
        kwargs: { content: '{"degrees": 14}', tool_call_id: 'c1', status: 'success' },
      },
    ],
  ])('is read from %s', (_, message) => {
    expect(parts(message)).toEqual([result]);
  });

  test('comes with others in one message', () => {
    const message = {
      role: 'tool',
      parts: [
        { type: 'tool_call_response', id: 'b', response: 2 },
        { type: 'tool_call_response', id: 'a', response: 1 },
      ],
    };

    expect(parts(message)).toMatchObject([
      { id: 'b', result: 2 },
      { id: 'a', result: 1 },
    ]);
  });

  test.each<Json>([
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', is_error: true, content: 'no' }] },
    { role: 'user', content: [{ toolResult: { toolUseId: 'c1', status: 'error', content: [{ text: 'no' }] } }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', output: { type: 'error-text', value: 'no' } }] },
    { type: 'tool', tool_call_id: 'c1', status: 'error', content: 'no' },
  ])('says that it is an error: %j', (message) => {
    expect(parts(message)).toEqual([{ type: 'tool_result', id: 'c1', result: 'no', isError: true }]);
  });
});

describe('a list of messages', () => {
  const list = [{ role: 'user', parts: [{ type: 'text', content: 'hello' }] }];

  test.each<[string, Json]>([
    ['a value', list],
    ['JSON text', JSON.stringify(list)],
    ['JSON text of JSON text', JSON.stringify(JSON.stringify(list))],
    ['a list of JSON texts', list.map((message) => JSON.stringify(message))],
    ['a list in a list', [list]],
    ['plain text', 'hello'],
    ['bare content', [{ role: 'human', content: 'hello' }]],
  ])('is read from %s', (_, value) => {
    expect(readMessages(value, 'user')).toMatchObject({
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
      complete: true,
    });
  });

  test('that was cut is not complete', () => {
    expect(readMessages('[{"role": "system", "content": "You are', 'user')).toEqual({ messages: [], complete: false });
  });

  test.each([null, undefined, '<REDACTED>', '', '[]', '{}'])('is nothing where there is nothing: %j', (value) => {
    expect(readMessages(value, 'user')).toBeUndefined();
  });

  test('keeps reasoning apart from what was said', () => {
    const message = {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'hm' },
        { type: 'text', content: 'yes' },
      ],
    };

    expect(parts(message).map((part) => part.type)).toEqual(['reasoning', 'text']);
  });
});
