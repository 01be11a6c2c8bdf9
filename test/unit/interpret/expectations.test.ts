import { describe, expect, test } from 'vitest';
import { expectedTools, nameList, stated, UNREADABLE } from '../../../src/interpret/expectations.js';
import { interpret } from '../../../src/interpret/interpret.js';
import type { Json } from '../../../src/model/json.js';
import { otlpSpan } from '../../support/otlp-json.js';

function expectation(attributes: Record<string, Json>) {
  return interpret(otlpSpan(attributes)).read('expectation')?.value;
}

describe('expected tools', () => {
  const call = { name: 'get_weather', arguments: { city: 'Lindholm' } };

  test.each<[string, Record<string, Json>]>([
    ['JSON', { 'tracegrade.eval.expected_tools': JSON.stringify([call]) }],
    ['values', { 'tracegrade.eval.expected_tools': [call] }],
    [
      'DeepEval',
      { 'confident.trace.expected_tools': ['{"name": "get_weather", "input_parameters": {"city": "Lindholm"}}'] },
    ],
    ['a plain name', { expected_tools: [call] }],
    ['metadata', { metadata: JSON.stringify({ expected_tools: [call] }) }],
  ])('are read from %s', (_, attributes) => {
    expect(expectation(attributes)?.tools).toEqual([call]);
  });

  test('may be names, and an empty list is a statement', () => {
    expect(expectation({ 'tracegrade.eval.expected_tools': '["a", "b"]' })?.tools).toEqual([
      { name: 'a' },
      { name: 'b' },
    ]);
    expect(expectation({ 'tracegrade.eval.expected_tools': '[]' })).toEqual({ tools: [] });
  });

  test('are unreadable as a whole when one of them is', () => {
    expect(expectation({ 'tracegrade.eval.expected_tools': '[{"name": "a"}, 7]' })).toEqual({ unreadable: ['tools'] });
  });
});

test('reads modes, lists and the answer, and ignores words that it does not know', () => {
  expect(
    expectation({
      'tracegrade.eval.expected_output': '{"degrees": 14}',
      'tracegrade.eval.expected_tools.mode': 'any_order',
      'tracegrade.eval.expected_arguments.match': 'fuzzy',
      'tracegrade.eval.forbidden_tools': 'delete_note, drop_table',
      'tracegrade.eval.allowed_tools': ['get_weather'],
      'tracegrade.eval.results_used': true,
    }),
  ).toEqual({
    answer: '{"degrees": 14}',
    mode: 'any_order',
    forbiddenTools: ['delete_note', 'drop_table'],
    allowedTools: ['get_weather'],
    resultsUsed: true,
  });
});

test('has none where nothing is stated', () => {
  expect(expectation({ 'gen_ai.operation.name': 'chat' })).toBeUndefined();
});

test.each([
  ['names parted by commas', 'f, g', [{ name: 'f' }, { name: 'g' }]],
  ['one name', 'f', [{ name: 'f' }]],
  ['a list of names as JSON text', '["f","g"]', [{ name: 'f' }, { name: 'g' }]],
  ['objects', '[{"name":"f","arguments":{"a":1},"step":2}]', [{ name: 'f', arguments: { a: 1 }, step: 2 }]],
  ['an optional call', '[{"name":"f","optional":true}]', [{ name: 'f', optional: true }]],
  ['texts of objects', ['{"name":"f","input_parameters":{}}'], [{ name: 'f', arguments: {} }]],
  ['an empty list, which is a statement', '[]', []],
])('reads expected tools written as %s', (_how, value, calls) => {
  expect(expectedTools(value)).toEqual(calls);
});

test.each([
  ['["f","g"', 'a list that was cut'],
  ['[{"name":"f","arguments":{"a":1}},{"na', 'an object that was cut'],
  ['"f', 'a text that was cut'],
  ['null', 'the text null'],
  ['{"name":"f"}', 'an object where a list belongs'],
  ['["f",null]', 'a list with an item that is none'],
  ['[{"name":"f"},{}]', 'a call without a name'],
  [7, 'a number'],
] as const)('calls %j unreadable: %s', (value, _why) => {
  expect(expectedTools(value)).toBe(UNREADABLE);
});

test('reads lists of names, and calls a cut one unreadable: a ban that cannot be read is not kept', () => {
  expect(nameList('a, b')).toEqual(['a', 'b']);
  expect(nameList('["a"]')).toEqual(['a']);
  expect(nameList('["delete_all')).toBe(UNREADABLE);
  expect(nameList('[{"name":"f"}]')).toBe(UNREADABLE);
  expect(nameList(undefined)).toBeUndefined();
});

test('names the members that cannot be read beside those that can', () => {
  expect(stated({ tools: UNREADABLE, answer: '7' })).toEqual({ answer: '7', unreadable: ['tools'] });
  expect(stated({ tools: undefined })).toBeUndefined();
});
