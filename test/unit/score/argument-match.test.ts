import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/model/json.js';
import type { ArgumentRules, ToolArgumentRules } from '../../../src/score/argument-match.js';
import { comparisonOf, differingKeys, similarity } from '../../../src/score/argument-match.js';

function compare(expected: JsonObject, made: Json, rules: Partial<ArgumentRules> = {}): number {
  return similarity(expected, made, comparisonOf('search', { match: 'exact', coerce: false, overrides: {}, ...rules }));
}

const keys = (matchers: NonNullable<ToolArgumentRules['keys']>): Partial<ArgumentRules> => ({
  overrides: { search: { keys: matchers } },
});

test.each<[string, JsonObject, Json, number]>([
  ['numbers by value', { x: 1 }, { x: 1.0 }, 1],
  ['a text is no number', { x: 1 }, { x: '1' }, 0],
  ['true is no number', { x: 1 }, { x: true }, 0],
  ['null is not absent', { x: 1, y: null }, { x: 1 }, 1 / 2],
  ['no credit inside a value', { f: { a: 1, b: 2 } }, { f: { a: 1, b: 3 } }, 0],
  ['lists in order', { l: [1, 2] }, { l: [2, 1] }, 0],
  ['keys of both', { a: 1, b: 2 }, { a: 1, c: 3 }, 1 / 3],
  ['nothing against nothing', {}, {}, 1],
  ['something against nothing', {}, { a: 1 }, 0],
  ['keys that objects inherit', { constructor: 1 }, {}, 0],
])('%s', (_name, expected, made, value) => {
  expect(compare(expected, made)).toBeCloseTo(value, 12);
});

test.each<[ArgumentRules['match'], number, number]>([
  // against { a: 1, b: 2 }: made { a: 1 } and made { a: 1, b: 2, c: 3 }
  ['exact', 1 / 2, 2 / 3],
  ['subset', 1, 2 / 3],
  ['superset', 1 / 2, 1],
  ['ignore', 1, 1],
])('%s', (match, fewer, more) => {
  expect(compare({ a: 1, b: 2 }, { a: 1 }, { match })).toBeCloseTo(fewer, 12);
  expect(compare({ a: 1, b: 2 }, { a: 1, b: 2, c: 3 }, { match })).toBeCloseTo(more, 12);
});

describe('looser comparisons', () => {
  test('coerce takes a written number or boolean for the value', () => {
    expect(compare({ x: 1, y: true }, { x: '1.0', y: 'True' }, { coerce: true })).toBe(1);
    expect(compare({ x: 1 }, { x: true }, { coerce: true })).toBe(0);
    expect(compare({ x: 0 }, { x: '' }, { coerce: true })).toBe(0);
    expect(compare({ x: [1] }, { x: ['1'] }, { coerce: true })).toBe(1);
  });

  test('a tool may have a mode of its own', () => {
    const overrides = { search: { match: 'ignore' as const } };

    expect(compare({ a: 1 }, { b: 2 }, { overrides })).toBe(1);
  });

  test('a key may have a matcher of its own', () => {
    expect(compare({ q: 'any' }, { q: 'tracegrade 1' }, keys({ q: { regex: '^tracegrade' } }))).toBe(1);
    expect(compare({ q: 'any' }, { q: 'other' }, keys({ q: { regex: '^tracegrade' } }))).toBe(0);
    expect(compare({ q: 1.0 }, { q: 1.04 }, keys({ q: { tolerance: 0.05 } }))).toBe(1);
    expect(compare({ q: 1.0 }, { q: 1.06 }, keys({ q: { tolerance: 0.05 } }))).toBe(0);
    expect(compare({ q: 'Lindholm' }, { q: ' LINDHOLM' }, keys({ q: { caseFold: true } }))).toBe(1);
    expect(compare({ q: [1, 2, 2] }, { q: [2, 1, 2] }, keys({ q: { set: true } }))).toBe(1);
    expect(compare({ q: [1, 2] }, { q: [1, 2, 2] }, keys({ q: { set: true } }))).toBe(0);
  });

  test('a matcher does not stand in for a key that is missing', () => {
    expect(compare({ q: 'any' }, {}, keys({ q: { regex: '' } }))).toBe(0);
  });
});

test('names the keys that are not as expected', () => {
  const how = comparisonOf('search', { match: 'exact', coerce: false, overrides: {} });

  expect(differingKeys({ a: 1, b: 2 }, { b: 3, c: 4 }, how)).toEqual(['a', 'b', 'c']);
});
