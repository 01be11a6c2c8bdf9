import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/model/json.js';
import { assessTools, withResultsUsed } from '../../../src/score/assess-tools.js';
import { factsOf, states } from '../../../src/score/text-facts.js';
import { resultUses } from '../../../src/score/utilization.js';
import { EQUAL_WEIGHTS } from '../../../src/score/tool-correctness.js';
import { call } from '../../support/score-builders.js';

const use = (result: Json, answer: string) =>
  resultUses([call('tool', { result })], { query: 'Well?', answer, answerIsWhole: true })[0];

const pad = (part: number) => String(part).padStart(2, '0');
const grouped = (whole: number, mark: string) => String(whole).replace(/\B(?=(?:\d{3})+$)/g, mark);
const sentence = fc.constantFrom(
  (value: string) => `It is ${value}.`,
  (value: string) => `**${value}**, I think`,
  (value: string) => `- total: ${value}\n- that is all`,
  (value: string) => `(${value})`,
);

describe('a value in any format is found', () => {
  test('numbers', () => {
    const format = fc.constantFrom(
      (whole: number, cents: number) => `${whole}.${pad(cents)}`,
      (whole: number, cents: number) => `${grouped(whole, ',')}.${pad(cents)}`,
      (whole: number, cents: number) => `${grouped(whole, '.')},${pad(cents)}`,
      (whole: number, cents: number) => `${grouped(whole, '\u00a0')},${pad(cents)} €`,
      (whole: number, cents: number) => `CHF ${grouped(whole, "'")}.${pad(cents)}`,
      (whole: number, cents: number) => `$${grouped(whole, ',')}.${pad(cents)}`,
    );
    fc.assert(
      fc.property(fc.nat(99_999_999), fc.integer({ min: 1, max: 99 }), format, sentence, (whole, cents, write, say) => {
        expect(use(Number(`${whole}.${pad(cents)}`), say(write(whole, cents)))).toBe('used');
      }),
    );
  });

  test('days', () => {
    const months = 'January February March April May June July August September October November December'.split(' ');
    const format = fc.constantFrom(
      (y: number, m: number, d: number) => `${y}-${pad(m)}-${pad(d)}`,
      (_y: number, m: number, d: number) => `${months[m - 1]} ${d}`,
      (y: number, m: number, d: number) => `${d} ${months[m - 1]} ${y}`,
      (y: number, m: number, d: number) => `${months[m - 1]?.slice(0, 3)} ${d}, ${y}`,
      (y: number, m: number, d: number) => `${pad(d)}/${pad(m)}/${y}`,
      (y: number, m: number, d: number) => `${d}.${m}.${y}`,
    );
    const [year, month, day] = [
      { min: 1000, max: 9999 },
      { min: 1, max: 12 },
      { min: 1, max: 28 },
    ].map(fc.integer);
    fc.assert(
      fc.property(year!, month!, day!, format, sentence, (y, m, d, write, say) => {
        expect(use(`${y}-${pad(m)}-${pad(d)}`, say(write(y, m, d)))).toBe('used');
      }),
    );
  });

  test('times of day', () => {
    fc.assert(
      fc.property(fc.nat(23), fc.nat(59), sentence, (hour, minute, say) => {
        const half = `${hour % 12 === 0 ? 12 : hour % 12}:${pad(minute)} ${hour < 12 ? 'am' : 'p.m.'}`;

        expect(use(`${pad(hour)}:${pad(minute)}`, say(half))).toBe('used');
        expect(use(`${pad(hour)}:${pad(minute)}:00`, say(`${pad(hour)}:${pad(minute)}`))).toBe('used');
      }),
    );
  });
});

test('a number is never found inside another one, nor inside a code', () => {
  fc.assert(
    fc.property(fc.nat(9999), fc.integer({ min: 1, max: 9 }), fc.nat(9), sentence, (number, before, behind, say) => {
      for (const other of [
        `${before}${number}`,
        `${number}${behind}`,
        `${before}${number}.5`,
        `AB-${number}`,
        `x${number}`,
      ]) {
        if (Number(other) === number) continue;
        expect(states(factsOf(say(other)), { kind: 'number', values: [number] }), other).toBe(false);
      }
    }),
  );
});

test('any result and any answer get a finding, the same each time, and nothing is used without words of it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: 'binary', maxLength: 60 }), (result, answer) => {
      const found = use(result as Json, answer);

      expect(['used', 'not_stated', 'unknown']).toContain(found);
      expect(use(result as Json, answer)).toBe(found);
      expect(use(result as Json, '...')).not.toBe('used');
    }),
  );
});

test('the rule never changes whether the tools pass, and never lowers their value', () => {
  const name = fc.constantFrom('a', 'b');
  const weight = fc.integer({ min: 0, max: 3 });
  const weights = fc
    .record({ selection: weight, parameters: weight, sequence: weight, utilization: weight })
    .map((each) => (Object.values(each).some((one) => one > 0) ? each : EQUAL_WEIGHTS));
  const calls = fc.array(fc.record({ name, arguments: fc.constantFrom({}, { x: 1 }) }), { maxLength: 4 });
  const mode = fc.constantFrom('exact_order', 'in_order', 'subset');
  fc.assert(
    fc.property(
      calls,
      calls,
      weights,
      fc.double({ min: 0, max: 1, noNaN: true }),
      mode,
      (made, expected, w, least, m) => {
        const rules = {
          weights: w,
          threshold: least,
          mode: m,
          arguments: { match: 'exact', coerce: false, overrides: {} },
        } as const;
        const without = assessTools(made, expected, rules);
        const found = withResultsUsed(without, rules);

        expect(found.passed).toBe(without.passed);
        expect(found.overall ?? -1).toBeGreaterThanOrEqual((without.overall ?? -1) - 1e-12);
        expect(found.overall === null).toBe(without.overall === null);
      },
    ),
  );
});
