import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ExpectedCall, SequenceMode } from '../../../src/model/expectation.js';
import type { Json, JsonObject } from '../../../src/model/json.js';
import type { MadeCall, ToolRules } from '../../../src/score/assess-tools.js';
import { assessTools } from '../../../src/score/assess-tools.js';
import { alike, differingKeys, similarity } from '../../../src/score/argument-match.js';
import { assign } from '../../../src/score/assignment.js';
import { commonOrder } from '../../../src/score/sequence.js';

const name = fc.constantFrom('search', 'read', 'write');
const value = fc.constantFrom<Json>(0, 1, '1', true, null, [1, 2], { deep: 1 });
const parameters = fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), value, { maxKeys: 3 });
const step = fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined });

function withStep<T extends object>(call: T, at: number | undefined): T & { step?: number } {
  return at === undefined ? call : { ...call, step: at };
}

const made: fc.Arbitrary<MadeCall[]> = fc.array(
  fc
    .tuple(name, fc.option(parameters, { nil: undefined }), step)
    .map(([called, given, at]) => withStep({ name: called, arguments: given }, at)),
  { maxLength: 6 },
);
const expected: fc.Arbitrary<ExpectedCall[]> = fc.array(
  fc
    .tuple(name, fc.option(parameters, { nil: null }), step)
    .map(([called, wanted, at]) => withStep({ name: called, arguments: wanted }, at)),
  { maxLength: 6 },
);
const mode = fc.constantFrom<SequenceMode>('exact_order', 'in_order', 'any_order', 'subset', 'superset');
const match = fc.constantFrom('exact', 'subset', 'superset', 'ignore');
const rules: fc.Arbitrary<ToolRules> = fc.record({
  weights: fc.record({
    selection: fc.double({ min: 0.01, max: 5, noNaN: true }),
    parameters: fc.double({ min: 0, max: 5, noNaN: true }),
    sequence: fc.double({ min: 0, max: 5, noNaN: true }),
    utilization: fc.double({ min: 0, max: 5, noNaN: true }),
  }),
  threshold: fc.double({ min: 0, max: 1, noNaN: true }),
  mode,
  arguments: fc.record({ match, coerce: fc.boolean(), overrides: fc.constant({}) }),
});

describe('assignment', () => {
  test('finds the greatest total that any pairing has', () => {
    const table = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 })).chain(([rows, columns]) =>
      fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: columns, maxLength: columns }), {
        minLength: rows,
        maxLength: rows,
      }),
    );
    fc.assert(
      fc.property(table, (weights) => {
        const columns = weights[0]?.length ?? 0;
        const columnOf = assign(weights.length, columns, Float64Array.from(weights.flat()));

        const used = columnOf.filter((column) => column >= 0);
        expect(new Set(used).size).toBe(used.length);
        expect(used.length).toBe(Math.min(weights.length, columns));
        const total = columnOf.reduce((all, column, row) => all + (weights[row]?.[column] ?? 0), 0);
        expect(total).toBeCloseTo(bestByTrying(weights, 0, new Set()), 9);
      }),
    );
  });
});

/** Every way to give the rows from `row` on columns of their own, or none. */
function bestByTrying(weights: readonly (readonly number[])[], row: number, taken: ReadonlySet<number>): number {
  const cells = weights[row];
  if (cells === undefined) return 0;
  let best = bestByTrying(weights, row + 1, taken);
  cells.forEach((weight, column) => {
    if (taken.has(column)) return;
    best = Math.max(best, weight + bestByTrying(weights, row + 1, new Set([...taken, column])));
  });
  return best;
}

describe('common order', () => {
  test('is the longest common subsequence over every order that equal steps allow', () => {
    fc.assert(
      fc.property(stepped(5), stepped(5), (left, right) => {
        const found = commonOrder(left, right);

        const best = Math.max(...orders(left).flatMap((a) => orders(right).map((b) => plainCommon(a, b))));
        // With ties on one side it is exact; crosswise ties on both give a lower bound.
        if (hasTies(left) && hasTies(right)) expect(found).toBeLessThanOrEqual(best);
        else expect(found).toBe(best);
      }),
      { numRuns: 300 },
    );
  });

  test('is the plain longest common subsequence of the lists where the made calls have no steps', () => {
    const list = fc.array(name, { maxLength: 7 }).map((names) => names.map((called) => ({ name: called })));
    fc.assert(
      fc.property(list, list, (left, right) => {
        expect(commonOrder(left, right)).toBe(plainCommon(left.map(toName), right.map(toName)));
      }),
    );
  });
});

const toName = (call: { name: string }) => call.name;

function stepped(maxLength: number) {
  return fc.array(fc.record({ name, step: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength });
}

function hasTies(calls: readonly { step: number }[]): boolean {
  return new Set(calls.map((call) => call.step)).size < calls.length;
}

function orders(calls: readonly { name: string; step: number }[]): string[][] {
  return permutations(calls)
    .filter((order) => order.every((call, i) => i === 0 || call.step >= (order[i - 1]?.step ?? 0)))
    .map((order) => order.map(toName));
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) =>
    permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
  );
}

function plainCommon(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return 0;
  if (a[0] === b[0]) return 1 + plainCommon(a.slice(1), b.slice(1));
  return Math.max(plainCommon(a.slice(1), b), plainCommon(a, b.slice(1)));
}

describe('arguments', () => {
  test('the similarity is 0..1, is 1 exactly when they are alike, and then no key differs', () => {
    fc.assert(
      fc.property(parameters, parameters, match, fc.boolean(), (wanted, given, how, coerce) => {
        const comparison = { match: how, coerce, keys: undefined } as const;
        const found = similarity(wanted, given, comparison);

        expect(found).toBeGreaterThanOrEqual(0);
        expect(found).toBeLessThanOrEqual(1);
        expect(alike(wanted as JsonObject, given as Json, comparison)).toBe(found === 1);
        expect(differingKeys(wanted as JsonObject, given as Json, comparison).length === 0).toBe(found === 1);
      }),
    );
  });
});

describe('tool assessment', () => {
  test('every part and the whole are 0..1', () => {
    fc.assert(
      fc.property(made, expected, rules, fc.option(fc.boolean(), { nil: undefined }), (calls, wanted, how, used) => {
        const found = assessTools(calls, wanted, how, used);

        for (const part of [found.selection, found.parameters, found.sequence, found.utilization, found.overall]) {
          if (part === null) continue;
          expect(part).toBeGreaterThanOrEqual(0);
          expect(part).toBeLessThanOrEqual(1 + 1e-12);
        }
      }),
    );
  });

  test('calls made exactly as expected pass in every mode', () => {
    fc.assert(
      fc.property(expected, rules, (wanted, how) => {
        const calls = wanted.map((one) => ({ ...one, arguments: one.arguments ?? {} }));
        const found = assessTools(calls, wanted, how, true);

        expect(found.passed).toBe(true);
        expect(found.overall).toBeCloseTo(1, 12);
        expect([found.missing, found.extra]).toEqual([[], []]);
      }),
    );
  });

  test('missing and extra account for every call', () => {
    fc.assert(
      fc.property(made, expected, rules, (calls, wanted, how) => {
        const { missing, extra, matches } = assessTools(calls, wanted, how);

        expect(wanted.length - missing.length).toBe(calls.length - extra.length);
        expect(matches.filter((one) => one.made === null).length).toBe(missing.length);
        expect(matches.map((one) => one.expected)).toEqual(wanted.map((_, i) => i));
      }),
    );
  });

  test('parameters is the greatest sum over all pairings of calls of one tool', () => {
    fc.assert(
      fc.property(made, expected, (calls, wanted) => {
        const known = calls.filter((one) => one.arguments !== undefined);
        const how = { match: 'exact', coerce: false, keys: undefined } as const;
        const weights = wanted.map((e) =>
          known.map((m) => {
            if (e.name !== m.name) return 0;
            return e.arguments == null ? 1 : similarity(e.arguments, m.arguments as Json, how);
          }),
        );
        const { parameters: found } = assessTools(known, wanted, {
          weights: { selection: 1, parameters: 1, sequence: 1, utilization: 1 },
          threshold: 1,
          mode: 'in_order',
          arguments: { match: 'exact', coerce: false, overrides: {} },
        });

        if (wanted.length === 0) expect(found).toBeNull();
        else expect(found).toBeCloseTo(bestByTrying(weights, 0, new Set()) / wanted.length, 9);
      }),
    );
  });

  test('without regard to order, the order of either list changes nothing', () => {
    const shuffled = <T>(list: fc.Arbitrary<T[]>) =>
      list.chain((items) => fc.tuple(fc.constant(items), fc.shuffledSubarray(items, { minLength: items.length })));
    fc.assert(
      fc.property(shuffled(made), shuffled(expected), rules, ([calls, calls2], [wanted, wanted2], how) => {
        const anyOrder = { ...how, mode: 'any_order' as const };
        const one = assessTools(calls, wanted, anyOrder);
        const two = assessTools(calls2, wanted2, anyOrder);

        expect(two.overall ?? -1).toBeCloseTo(one.overall ?? -1, 9);
        expect(two.undecided).toBe(one.undecided);
        expect([...two.missing].sort()).toEqual([...one.missing].sort());
      }),
    );
  });

  test('weights count by their proportions', () => {
    fc.assert(
      fc.property(made, expected, rules, fc.double({ min: 0.1, max: 9, noNaN: true }), (calls, wanted, how, factor) => {
        const { selection, parameters: p, sequence, utilization } = how.weights;
        const scaled = {
          selection: selection * factor,
          parameters: p * factor,
          sequence: sequence * factor,
          utilization: utilization * factor,
        };
        const one = assessTools(calls, wanted, how, true).overall ?? -1;

        expect(assessTools(calls, wanted, { ...how, weights: scaled }, true).overall ?? -1).toBeCloseTo(one, 9);
      }),
    );
  });
});
