import { describe, expect, test } from 'vitest';
import type { ExpectedCall } from '../../../src/model/expectation.js';
import type { MadeCall } from '../../../src/score/assess-tools.js';
import { waysToCount } from '../../../src/score/optional-calls.js';
import { toolCorrectness } from '../../../src/score/tool-correctness.js';

const made = (name: string, args: MadeCall['arguments'] = {}): MadeCall => ({ name, arguments: args });
const wanted = (name: string, args?: ExpectedCall['arguments']): ExpectedCall =>
  args === undefined ? { name } : { name, arguments: args };
const optional = (name: string, args?: ExpectedCall['arguments']): ExpectedCall => ({
  ...wanted(name, args),
  optional: true,
});

describe('the ways to count', () => {
  test('hold all required calls and as many optional ones as were made beyond them', () => {
    const expected = [wanted('f'), optional('f'), optional('g')];

    expect(waysToCount([], expected)).toEqual([[0]]);
    expect(waysToCount([made('f')], expected)).toEqual([[0]]);
    expect(waysToCount([made('f'), made('f'), made('f')], expected)).toEqual([[0, 1]]);
    expect(waysToCount([made('g'), made('g')], expected)).toEqual([[0, 2]]);
  });

  test('are one for each choice among optional calls of a tool, up to a hundred', () => {
    const expected = Array.from({ length: 20 }, (_, i) => optional('f', { i }));

    // C(20, 1) = 20, and C(20, 2) = 190.
    expect(waysToCount([made('f', { i: 9 })], expected)).toHaveLength(20);
    expect(waysToCount([made('f', { i: 12 }), made('f', { i: 9 })], expected)).toEqual([[9, 12]]);
  });
});

describe('an optional call', () => {
  const correct = (used: readonly MadeCall[], expected: readonly ExpectedCall[], mode?: 'exact_order') =>
    toolCorrectness({ used, expected, ...(mode === undefined ? {} : { mode }) });

  test('that was not made is not missing, and is not named', () => {
    expect(correct([made('g')], [optional('f', { x: 1 }), wanted('g')])).toMatchObject({
      is_correct: true,
      overall_correctness: 1,
      missing: [],
    });
    expect(correct([], [optional('f'), wanted('g')]).reasoning).toContain("missing {'g'}");
    expect(correct([], [optional('f')])).toMatchObject({ is_correct: true, missing: [], tool_selection_correct: 1 });
  });

  test('that was made is not extra, and its parameters are compared', () => {
    const expected = [optional('f', { x: 1 }), wanted('g')];

    expect(correct([made('f', { x: 1 }), made('g')], expected, 'exact_order')).toMatchObject({
      is_correct: true,
      extra: [],
    });
    // One of two calls is as expected.
    expect(correct([made('f', { x: 2 }), made('g')], expected)).toMatchObject({
      is_correct: false,
      parameter_accuracy: 0.5,
      extra: [],
    });
  });

  test('that was made once too often is extra once', () => {
    expect(correct([made('f'), made('f')], [optional('f')])).toMatchObject({ extra: ['f'] });
  });

  test('is the one of several that was made, wherever it stands', () => {
    expect(correct([made('f', { x: 2 })], [optional('f', { x: 1 }), optional('f', { x: 2 })])).toMatchObject({
      is_correct: true,
    });
    expect(correct([made('g'), made('f')], [optional('f'), wanted('g'), optional('f')])).toMatchObject({
      is_correct: true,
      sequence_correct: 1,
    });
  });

  test('takes no place of a required call of the same tool', () => {
    // f was made, so the required one was; that it came after g is a fault of order: one of two calls is in order.
    expect(correct([made('g'), made('f')], [wanted('f'), wanted('g'), optional('f')])).toMatchObject({
      is_correct: false,
      sequence_correct: 0.5,
      missing: [],
    });
  });

  test('that may be the one whose arguments nobody recorded leaves it undecided', () => {
    const expected = [optional('f', { x: 1 }), optional('f', { x: 2 })];

    expect(correct([{ name: 'f', arguments: undefined }], expected)).toMatchObject({
      is_correct: null,
      parameter_accuracy: null,
    });
  });
});
