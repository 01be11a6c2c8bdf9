import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/model/json.js';
import { compileRedaction } from '../../../src/score/redact.js';

const { text, value } = compileRedaction({
  keys: ['password', 'API_Key'],
  patterns: ['sk-[A-Za-z0-9]{8,}', '\\b\\d{4}-\\d{4}\\b'],
});

describe('redaction', () => {
  test('takes out the values of keys at any depth and in any case of letters', () => {
    const given: Json = { user: 'ann', Password: 'x', deep: [{ api_key: { id: 1 } }, 7, null] };

    expect(JSON.parse(JSON.stringify(value(given)))).toEqual({
      user: 'ann',
      Password: '[REDACTED]',
      deep: [{ api_key: '[REDACTED]' }, 7, null],
    });
  });

  test('takes out what patterns match in values, in keys and inside of JSON text', () => {
    expect(JSON.stringify(value({ 'sk-abcdefgh1': 'key sk-abcdefgh1, card 1234-5678.' }))).toBe(
      '{"[REDACTED]":"key [REDACTED], card [REDACTED]."}',
    );
    expect(text('{"password": "p", "note": "sk-abcdefgh1"}')).toBe('{"password":"[REDACTED]","note":"[REDACTED]"}');
  });

  test.each([
    ['password: hunter2, user: ann', 'password: [REDACTED], user: ann'],
    ['api_key=abc&x=1', 'api_key=[REDACTED]'],
    ["{'password': 'a b', 'user': 'ann'}", "{'password': [REDACTED], 'user': 'ann'}"],
    ['{"password": "a \\" b", "user": "an', '{"password": [REDACTED], "user": "an'],
    ['my_password is not a key here', 'my_password is not a key here'],
  ])('takes out the values of keys in text that is no JSON: %s', (given, expected) => {
    expect(text(given)).toBe(expected);
  });

  test('finds a match wherever it lies in a long text', () => {
    for (let at = 0; at < 9_000; at += 97) {
      const given = `${'.'.repeat(at)} sk-abcdefgh1234567 ${'.'.repeat(9_000 - at)}`;

      expect(text(given)).toBe(`${'.'.repeat(at)} [REDACTED] ${'.'.repeat(9_000 - at)}`);
    }
  });

  test('refuses patterns that could stop the stream, all at once', () => {
    const patterns = ['(a+)+$', '[', 'x.*y.*z.*w', 'fine'];

    expect(() => compileRedaction({ keys: [], patterns })).toThrow(/\(a\+\)\+\$.*; .*\[.*; .*x\.\*y/);
  });

  test('hides what nests too deep to be looked at', () => {
    let deep: Json = 'sk-abcdefgh1';
    for (let i = 0; i < 100; i += 1) deep = [deep];

    expect(JSON.stringify(value(deep))).not.toContain('sk-');
  });
});

test('takes what patterns match out of a tool’s schema, and leaves the keys that it describes', () => {
  const { request } = compileRedaction({ keys: ['token'], patterns: ['sk-[a-z]{4}'] });
  const call = {
    id: 'call_0',
    name: 'pay',
    schema: { properties: { token: { type: 'string', default: 'sk-abcd' } } },
    arguments: {},
    outcome: { kind: 'unknown' },
    knownBefore: [],
  } as const;
  const asked = { arguments: ['call_0'], answer: false, completion: false, utilization: false };

  const shown = request({
    policy: 'p',
    earlier: [],
    query: null,
    answer: null,
    expectedAnswer: null,
    calls: [call],
    asked,
  });

  expect(shown.calls[0]?.schema).toEqual({ properties: { token: { type: 'string', default: '[REDACTED]' } } });
});
