import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { probabilityOfDrop } from '../../../src/estimate/compare.js';

type Row = [aA: number, bA: number, aB: number, bB: number, k: number, d: number, probability: number];
const rows = JSON.parse(readFileSync('test/fixtures/estimate/compare.json', 'utf8')) as Row[];

// The accuracy that the docstring states.
test.each([
  { shapes: 1e3, accuracy: 8e-13 },
  { shapes: 1e5, accuracy: 4e-10 },
])('is as accurate as stated for shapes up to $shapes', ({ shapes, accuracy }) => {
  const within = rows.filter(([aA, bA, aB, bB]) => Math.max(aA, bA, aB, bB) <= shapes);

  const worst = within.map(([aA, bA, aB, bB, k, d, expected]) =>
    Math.abs(probabilityOfDrop({ a: aA, b: bA }, { a: aB, b: bB }, k, d) - expected),
  );

  expect(within.length).toBeGreaterThanOrEqual(25);
  expect(Math.max(...worst)).toBeLessThan(accuracy);
});

test('is what can be said by hand of uniform rates', () => {
  const uniform = { a: 1, b: 1 };
  // The triangle p_B < p_A - d of the unit square: (1 - d)^2/2.
  for (const d of [0, 0.05, 0.5, 0.999]) {
    expect(probabilityOfDrop(uniform, uniform, 1, d)).toBeCloseTo((1 - d) ** 2 / 2, 13);
  }
  // A = max of two, B = one: P(B < A) = 2/3.
  expect(probabilityOfDrop({ a: 2, b: 1 }, uniform, 1, 0)).toBeCloseTo(2 / 3, 13);
});

test('is certain where the counts leave no doubt', () => {
  expect(probabilityOfDrop({ a: 1e5, b: 1 }, { a: 1, b: 1e5 }, 3, 0)).toBeCloseTo(1, 9);
  expect(probabilityOfDrop({ a: 1, b: 1e5 }, { a: 1e5, b: 1 }, 3, 0)).toBeCloseTo(0, 9);
  // pass^3 of A is near 0.125, so a drop of 0.5 is out of reach.
  expect(probabilityOfDrop({ a: 5e4, b: 5e4 }, { a: 1, b: 1e5 }, 3, 0.5)).toBeCloseTo(0, 9);
});

test.each([
  { k: 0, d: 0, shape: 1, message: 'K must be a whole number >= 1, got 0' },
  { k: 1, d: 1, shape: 1, message: 'd must be >= 0 and < 1, got 1' },
  { k: 1, d: -0.1, shape: 1, message: 'd must be >= 0 and < 1, got -0.1' },
  { k: 1, d: NaN, shape: 1, message: 'd must be >= 0 and < 1, got NaN' },
  { k: 1, d: 0, shape: 0, message: 'A.a must be finite and >= 0.05, got 0' },
  { k: 1, d: 0, shape: Infinity, message: 'A.a must be finite and >= 0.05, got Infinity' },
])('refuses K = $k, d = $d, shape $shape', ({ k, d, shape, message }) => {
  expect(() => probabilityOfDrop({ a: shape, b: 1 }, { a: 1, b: 1 }, k, d)).toThrow(new RangeError(message));
});
