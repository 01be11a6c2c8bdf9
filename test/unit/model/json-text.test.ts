import { expect, test } from 'vitest';
import { isCutJson, saysCut } from '../../../src/model/json-text.js';

test.each([
  ['{"a":1,"b":"x', true],
  ['[1, 2', true],
  ['{"a":1,"b":"xx"}…[truncated]', true],
  ['a…[truncated]', true],
  ['{"a":1...', true],
  ['{"a":1}', false],
  ['1234...', false],
  ['plain words', false],
])('tells of %j whether it was cut: %j', (text, cut) => {
  expect(isCutJson(text)).toBe(cut);
});

test('takes only a mark in words for a recorder’s: dots may be the author’s', () => {
  expect(saysCut('12 [truncated]')).toBe(true);
  expect(saysCut('Let me think...')).toBe(false);
});
