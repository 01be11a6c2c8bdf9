import { describe, expect, test } from 'vitest';
import { jsonish } from '../../../src/interpret/jsonish.js';
import { isCutJson } from '../../../src/model/json-text.js';

describe('jsonish', () => {
  test('reads a value however often it was encoded, up to three times', () => {
    const value = { city: 'Lindholm', hours: [1, 2] };
    const once = JSON.stringify(value);

    expect(jsonish(value)).toEqual(value);
    expect(jsonish(once)).toEqual(value);
    expect(jsonish(JSON.stringify(once))).toEqual(value);
    expect(jsonish(JSON.stringify(JSON.stringify(once)))).toEqual(value);
  });

  test.each(['hello', '418', 'true', 'null', '', '{"city": "Lind', "{'city': 'Lindholm'}", '[see below'])(
    'leaves %j as the text that it is',
    (text) => {
      expect(jsonish(text)).toBe(text);
    },
  );

  test('decodes a text that is a JSON string once', () => {
    expect(jsonish('"TOOL"')).toBe('TOOL');
  });

  test('keeps integers beyond 2^53 exact as digits, and leaves digits inside strings alone', () => {
    const text =
      '{"order": 9007199254740993, "n": [-12345678901234567890], "note": "no 9007199254740993", "f": 0.1234567890123456789}';

    expect(jsonish(text)).toEqual({
      order: '9007199254740993',
      n: ['-12345678901234567890'],
      note: 'no 9007199254740993',
      f: 0.12345678901234568,
    });
  });

  test('makes lone surrogates well-formed that hide in JSON text', () => {
    expect(jsonish('{"a": "\\ud83d", "\\ude00": 1}')).toEqual({ a: '\ufffd', '\ufffd': 1 });
  });

  test('inherits nothing, also by a key that names the prototype', () => {
    const value = jsonish('{"__proto__": {"polluted": true}, "constructor": 1}') as Record<string, unknown>;

    expect('toString' in value).toBe(false);
    expect(value instanceof Object).toBe(false);
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(value['__proto__']).toEqual({ polluted: true });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('leaves nesting as text that would overflow whoever walks it', () => {
    const text = '['.repeat(100_000) + ']'.repeat(100_000);

    expect(jsonish(text)).toBe(text);
  });
});

describe('isCutJson', () => {
  const text = '{"city": "Lind \\"holm\\"", "n": [1, -2.5e3, true, null], "o": {}}';

  test('knows every proper prefix of JSON', () => {
    for (let length = 1; length < text.length; length += 1) expect(isCutJson(text.slice(0, length))).toBe(true);
  });

  test('knows a cut that the recorder marked', () => {
    expect(isCutJson('{"city": "Lind...')).toBe(true);
    expect(isCutJson('{"n": [1, 2,…[truncated]')).toBe(true);
  });

  test.each([text, '[]', 'hello', '', '418', "{'city': 1", '{"a": NaN, "b', '{"a" 1', '[1 2', '{"a": 1}}', '{,'])(
    'says no to %j',
    (other) => {
      expect(isCutJson(other)).toBe(false);
    },
  );
});
