import { ClickHouseError } from '@clickhouse/client';
import { expect, test } from 'vitest';
import { safeError, safeText } from '../../../src/telemetry/safe-error.js';

test('keeps the class, the code and a message that quotes nothing', () => {
  const error = Object.assign(new TypeError('connect ECONNREFUSED 127.0.0.1:8123'), { code: 'ECONNREFUSED' });

  expect(safeError(error)).toEqual({
    name: 'TypeError',
    code: 'ECONNREFUSED',
    message: 'connect ECONNREFUSED 127.0.0.1:8123',
  });
});

test('keeps code and type of a ClickHouse error, and no value of its text', () => {
  const message = "Cannot parse input: expected '\"' before: 'my secret': (while reading the value of key answer)";
  const error = new ClickHouseError({ message, code: '27', type: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED' });

  expect(safeError(error)).toEqual({
    name: 'Error',
    code: '27',
    type: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
    message: 'Cannot parse input…',
  });
});

test('cuts a message at its first quotation mark, line end or 200 characters', () => {
  expect(safeText('Unexpected token in "my secret"')).toBe('Unexpected token in…');
  expect(safeText('first line\nsecond line')).toBe('first line…');
  expect(safeText('“curly” quotes')).toBe('…');
  expect(safeText('x'.repeat(300))).toBe(`${'x'.repeat(200)}…`);
});

test('leaves out the user and password of an address', () => {
  expect(safeText('cannot reach http://user:hunter2@host:8123/')).toBe('cannot reach http://host:8123/');
});

test('treats causes alike, and ends in a circle of them', () => {
  const inner = Object.assign(new Error("bad 'secret'"), { code: 'E1' });
  const outer = new Error('write failed', { cause: inner });
  inner.cause = outer;

  expect(JSON.stringify(safeError(outer))).not.toContain('secret');
  expect(safeError(outer).cause).toMatchObject({ name: 'Error', code: 'E1', message: 'bad…' });
});

test('says only the type of what is no error', () => {
  expect(safeError('secret')).toEqual({ name: 'string' });
  expect(safeError(undefined)).toEqual({ name: 'undefined' });
  expect(safeError({ name: 'has spaces, so no name', code: '"secret"' })).toEqual({ name: 'Error' });
});
