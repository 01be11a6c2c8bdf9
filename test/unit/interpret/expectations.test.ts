import { describe, expect, test } from 'vitest';
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

  test('are left out whole when one cannot be read', () => {
    expect(expectation({ 'tracegrade.eval.expected_tools': '[{"name": "a"}, 7]' })).toBeUndefined();
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
