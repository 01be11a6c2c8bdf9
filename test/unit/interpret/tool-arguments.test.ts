import { describe, expect, test } from 'vitest';
import { recordedArguments, recordedCall, unwrapCall } from '../../../src/interpret/tool-arguments.js';

describe('recordedArguments', () => {
  test.each([
    [{ city: 'Lindholm' }, { status: 'captured', value: { city: 'Lindholm' } }],
    ['{"city": "Lindholm"}', { status: 'captured', value: { city: 'Lindholm' } }],
    ['"{\\"city\\": \\"Lindholm\\"}"', { status: 'captured', value: { city: 'Lindholm' } }],
    ['{}', { status: 'captured', value: {} }],
    ['', { status: 'empty' }],
    ['  ', { status: 'empty' }],
    [null, { status: 'not_captured' }],
    [undefined, { status: 'not_captured' }],
    ['<REDACTED>', { status: 'not_captured' }],
    ['{"city": "Lind', { status: 'truncated', text: '{"city": "Lind' }],
    ['{"city": NaN}', { status: 'garbled', text: '{"city": NaN}' }],
  ] as const)('says of %j the same whoever wrote it', (value, expected) => {
    expect(recordedArguments(value, 'model')).toEqual(expected);
    expect(recordedArguments(value, 'recorder')).toEqual(expected);
  });

  test('calls text that is no JSON malformed only where the model itself wrote it', () => {
    const text = '{"city": Lindholm}';

    expect(recordedArguments(text, 'model')).toEqual({ status: 'malformed', text });
    expect(recordedArguments(text, 'recorder')).toEqual({ status: 'garbled', text });
  });

  test("reads a recorder's Python repr", () => {
    expect(recordedArguments("{'city': 'Lindholm', 'n': None}", 'recorder')).toEqual({
      status: 'captured',
      value: { city: 'Lindholm', n: null },
    });
    expect(recordedArguments("{'city': 'Lindholm'}", 'model').status).toBe('malformed');
  });
});

describe('unwrapCall', () => {
  test.each([
    [{ kwargs: { a: 1 } }, { a: 1 }],
    [{ args: [], kwargs: { a: 1 } }, { a: 1 }],
    [{ args: [], sanitize_inputs_outputs: true, kwargs: { a: 1 } }, { a: 1 }],
    [{ input: '{"a": 1}' }, { a: 1 }],
    [
      { args: [1], kwargs: {} },
      { args: [1], kwargs: {} },
    ],
    [
      { kwargs: { a: 1 }, city: 'x' },
      { kwargs: { a: 1 }, city: 'x' },
    ],
    [{ input: 'weather in Lindholm' }, { input: 'weather in Lindholm' }],
  ])('makes %j to %j', (value, expected) => {
    expect(unwrapCall(value)).toEqual(expected);
  });
});

test('leaves what it cannot unwrap to the recorder', () => {
  expect(recordedCall('SELECT 1')).toEqual({ status: 'garbled', text: 'SELECT 1' });
});
