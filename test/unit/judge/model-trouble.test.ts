import { describe, expect, test } from 'vitest';
import { troubleOf } from '../../../src/judge/model-trouble.js';

const at = Date.parse('2031-03-03T12:00:00Z');
const error = (fields: object, name = 'Error') => Object.assign(new Error('a prompt with a secret'), { name }, fields);

describe('troubleOf', () => {
  test.each<[string, unknown, string]>([
    ['429', error({ status: 429 }), 'rate_limited'],
    ['429 without credit', error({ status: 429, code: 'insufficient_quota' }), 'auth'],
    ['401', error({ status: 401 }), 'auth'],
    ['403', error({ status: 403 }), 'auth'],
    ['404', error({ status: 404 }), 'auth'],
    ['400', error({ status: 400 }), 'refused'],
    ['413', error({ status: 413 }), 'refused'],
    ['408', error({ status: 408 }), 'timeout'],
    ['409', error({ status: 409 }), 'unreachable'],
    ['500', error({ status: 500 }), 'unreachable'],
    ['504', error({ status: 504 }), 'timeout'],
    ['529', error({ status: 529 }), 'unreachable'],
    ['a client that timed out', error({}, 'TimeoutError'), 'timeout'],
    ['an abort', error({}, 'AbortError'), 'timeout'],
    ['no connection', error({ cause: { code: 'ECONNREFUSED' } }, 'TypeError'), 'unreachable'],
    ['a context that is too long', error({ status: 400 }, 'ContextOverflowError'), 'refused'],
    ['a response that is no JSON', new SyntaxError('x'), 'bad_answer'],
    ['a response of another shape', new TypeError('x of undefined'), 'bad_answer'],
    ['something that is no error', 'a secret', 'unreachable'],
    ['nothing', undefined, 'unreachable'],
  ])('%s', (_, thrown, kind) => {
    const trouble = troubleOf(thrown, at);

    expect(trouble.kind).toBe(kind);
    expect(trouble.message).not.toContain('secret');
    expect(trouble.cause).toBeUndefined();
  });

  test.each<[string, object | undefined, number | null]>([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['milliseconds', { 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    ['a date', { 'retry-after': 'Mon, 03 Mar 2031 12:00:30 GMT' }, 30_000],
    ['a date in the past', { 'retry-after': 'Mon, 03 Mar 2031 11:00:00 GMT' }, 0],
    ['something else', { 'retry-after': 'soon' }, null],
    ['nothing', undefined, null],
  ])('reads a wish to wait that is given as %s', (_, headers, ms) => {
    expect(troubleOf(error({ status: 429, headers }), at).retryAfterMs).toBe(ms);
    if (headers === undefined) return;
    expect(
      troubleOf(error({ status: 503, headers: new Headers(headers as Record<string, string>) }), at).retryAfterMs,
    ).toBe(ms);
  });
});
