import { describe, expect, test } from 'vitest';
import { boundedPattern } from '../../../src/score/bounded-pattern.js';

describe('patterns that can be tried', () => {
  test.each([
    ['^[a-z]+$', 'abc', true],
    ['^\\d+(\\.\\d+)?$', '12.5', true],
    ['^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$', 'a@b.cd', true],
    ['^(red|green|blue)$', 'green', true],
    ['^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$', '00:1a:2b:3c:4d:5e', true],
    ['^(?=.*\\d)(?=.*[A-Z]).{8,64}$', 'Passw0rdPassw0rd', true],
    ['[)(]+', '()', true],
    ['^[\\w\\.\\-]+$', 'a.b-c', true],
    ['b', 'abc', true],
    ['^\\+?[0-9]{1,3}-?[0-9]{3}-?[0-9]{4}$', '+49-123-4567', true],
    ['^a$', 'b', false],
  ])('%s on %s: %s', (source, text, matched) => {
    expect(boundedPattern(source)?.(text)).toBe(matched);
  });
});

describe('patterns that are refused', () => {
  test.each([
    '^(a+)+$',
    '^(a|a)*$',
    '(x+x+)+y',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(a?){30}a{30}',
    '^(a*){2,}$',
    '(\\w)\\1',
    '(?<n>a)\\k<n>',
    '(?P<year>\\d+)',
    '(unclosed',
    '[unclosed',
    `a{1,${'9'.repeat(2000)}}`,
  ])('%s', (source) => {
    expect(boundedPattern(source)).toBeNull();
  });
});

test('a text that would need more steps than the budget is not tried', () => {
  // Three unbounded repetitions that may start anywhere: length^4 steps, so 10^7 are spent past 56 characters.
  const pattern = boundedPattern('.*.*.*x');

  expect(pattern?.('a'.repeat(50))).toBe(false);
  expect(pattern?.('a'.repeat(100_000))).toBeUndefined();
  expect(boundedPattern('^[a-z]+$')?.('a'.repeat(100_000))).toBe(true);
});
