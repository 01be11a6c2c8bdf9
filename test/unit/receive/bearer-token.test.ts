import { expect, test } from 'vitest';
import { tokenCheck } from '../../../src/receive/bearer-token.js';

test('lets everything in when there are no tokens', () => {
  expect(tokenCheck([])(undefined)).toBe(true);
});

test('lets each of its tokens in, whatever the case of the scheme', () => {
  const check = tokenCheck(['first-1', 'second~2']);

  expect(check('Bearer first-1')).toBe(true);
  expect(check('bearer second~2')).toBe(true);
});

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Bearer firs',
  'Bearer first-12',
  'Basic first-1',
  'first-1',
  'Bearer first-1 second~2',
])('keeps %j out', (header) => expect(tokenCheck(['first-1', 'second~2'])(header)).toBe(false));
