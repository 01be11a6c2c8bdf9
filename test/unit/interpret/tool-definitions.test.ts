import { expect, test } from 'vitest';
import { readToolDefinitions } from '../../../src/interpret/tool-definitions.js';
import type { Json } from '../../../src/model/json.js';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

test.each<[string, Json]>([
  ['OTel GenAI', [{ type: 'function', name: 'f', parameters: SCHEMA }]],
  ['OpenAI', [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }]],
  ['Anthropic', [{ name: 'f', input_schema: SCHEMA }]],
  ['Bedrock', [{ toolSpec: { name: 'f', inputSchema: { json: SCHEMA } } }]],
  ['Strands', [{ name: 'f', inputSchema: { json: SCHEMA } }]],
  ['AI SDK', [{ type: 'function', name: 'f', inputSchema: SCHEMA }]],
  ['Pydantic AI', [{ name: 'f', parameters_json_schema: SCHEMA }]],
  [
    'Gemini',
    [
      {
        function_declarations: [
          { name: 'f', parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] } },
        ],
      },
    ],
  ],
  ['JSON text', JSON.stringify([{ name: 'f', input_schema: SCHEMA }])],
  ['a list of JSON texts', [JSON.stringify({ type: 'function', name: 'f', parameters: SCHEMA })]],
  ['a schema as text', [{ name: 'f', parameters: JSON.stringify(SCHEMA) }]],
])('reads the shape of %s', (_, value) => {
  expect(readToolDefinitions(value)).toEqual([{ name: 'f', schema: SCHEMA, freeText: false }]);
});

test('reads names alone, tools that take text, and built-in tools', () => {
  expect(readToolDefinitions(['f'])).toEqual([{ name: 'f', freeText: false }]);
  expect(readToolDefinitions([{ type: 'custom', name: 'sql' }])).toEqual([{ name: 'sql', freeText: true }]);
  expect(readToolDefinitions([{ type: 'web_search' }])).toEqual([{ name: 'web_search', freeText: false }]);
});

test('lowers the types of Gemini and nothing that is a value', () => {
  const schema = { type: 'OBJECT', properties: { unit: { type: 'STRING', enum: ['STRING'], default: 'STRING' } } };

  expect(readToolDefinitions([{ name: 'f', parameters: schema }])[0]?.schema).toEqual({
    type: 'object',
    properties: { unit: { type: 'string', enum: ['STRING'], default: 'STRING' } },
  });
});
