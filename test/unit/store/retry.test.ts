import { describe, expect, test } from 'vitest';

import { backoffMs, readFailure } from '../../../src/store/retry.js';

/** In the shape of the client's error, of which two copies exist. */
function answered(code: string, type: string, message = 'no'): Error {
  return Object.assign(new Error(message), { code, type });
}

describe('readFailure', () => {
  test.each([
    ['252', 'TOO_MANY_PARTS', 'wait'],
    ['241', 'MEMORY_LIMIT_EXCEEDED', 'wait'],
    ['516', 'AUTHENTICATION_FAILED', 'wait'],
    ['60', 'UNKNOWN_TABLE', 'wait'],
    ['27', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED', 'row'],
    ['469', 'VIOLATED_CONSTRAINT', 'row'],
    ['49', 'LOGICAL_ERROR', 'unknown'],
  ])('takes %s %s as %s', (code, type, kind) => {
    expect(readFailure(answered(code, type), [])).toEqual({ kind, code, type, column: null });
  });

  test('waits when nobody answered', () => {
    const reset = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

    expect(readFailure(reset, [])).toMatchObject({ kind: 'wait', code: 'ECONNRESET' });
    expect(readFailure(new Error('<html>503 Service Unavailable</html>'), [])).toMatchObject({ kind: 'wait' });
    expect(readFailure('odd', [])).toMatchObject({ kind: 'wait', code: 'none' });
  });

  test('keeps the column and nothing of the row', () => {
    const message =
      "Cannot parse input: expected '\"' before: 'my secret': (while reading the value of key tool_calls.name): (at row 17)";

    const failure = readFailure(answered('27', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED', message), ['tool_calls.name']);

    expect(failure.column).toBe('tool_calls.name');
    expect(JSON.stringify(failure)).not.toContain('secret');
  });

  test('takes no word of the row for a column', () => {
    const message = 'Cannot parse input before: (while reading the value of key secret)';

    expect(readFailure(answered('27', 'X', message), ['query']).column).toBeNull();
  });
});

describe('backoffMs', () => {
  const backoff = { firstMs: 100, maxMs: 15_000 };

  test('doubles from firstMs to maxMs, and keeps half of it to chance', () => {
    expect([1, 2, 3, 4, 8, 9, 500].map((attempt) => backoffMs(attempt, backoff, 0))).toEqual([
      50, 100, 200, 400, 6_400, 7_500, 7_500,
    ]);
    expect(backoffMs(1, backoff, 0.5)).toBe(75);
    expect(backoffMs(500, backoff, 0.999)).toBeLessThanOrEqual(15_000);
  });
});
