import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { betaCdf, betaQuantile } from '../../../src/estimate/beta.js';

type Row = [a: number, b: number, p: number, x: number, complement: number];
const rows = JSON.parse(readFileSync('test/fixtures/estimate/beta.json', 'utf8')) as Row[];

// The accuracy that the docstring states.
const ACCURACY = [
  { shapes: 1e3 + 1, absolute: 1.6e-12, relative: 6.6e-12 },
  { shapes: 1e4 + 1, absolute: 1.6e-12, relative: 4.2e-11 },
  { shapes: 1e6 + 1, absolute: 4e-10, relative: 3.8e-9 },
];

test.each(ACCURACY)('is as accurate as stated for shapes up to $shapes', ({ shapes, absolute, relative }) => {
  const within = rows.filter(([a, b]) => Math.max(a, b) <= shapes);

  let worstAbsolute = 0;
  let worstRelative = 0;
  for (const [a, b, p, x, complement] of within) {
    const quantile = betaQuantile(p, a, b);
    const error = x < complement ? quantile.value - x : quantile.complement - complement;
    worstAbsolute = Math.max(worstAbsolute, Math.abs(quantile.value - x));
    worstRelative = Math.max(worstRelative, Math.abs(error) / Math.min(x, complement));
  }

  expect(within.length).toBeGreaterThan(300);
  expect(worstAbsolute).toBeLessThan(absolute);
  expect(worstRelative).toBeLessThan(relative);
});

test.each([
  { p: 0, a: 1, b: 1, message: 'p must be > 0 and < 1, got 0' },
  { p: 1, a: 1, b: 1, message: 'p must be > 0 and < 1, got 1' },
  { p: NaN, a: 1, b: 1, message: 'p must be > 0 and < 1, got NaN' },
  { p: 0.5, a: 0, b: 1, message: 'a must be finite and > 0, got 0' },
  { p: 0.5, a: 1, b: -1, message: 'b must be finite and > 0, got -1' },
  { p: 0.5, a: 1, b: Infinity, message: 'b must be finite and > 0, got Infinity' },
])('refuses p = $p of Beta($a, $b)', ({ p, a, b, message }) => {
  expect(() => betaQuantile(p, a, b)).toThrow(new RangeError(message));
});

test.each([
  { shapes: 1e3 + 1, absolute: 1.1e-12 },
  { shapes: 1e4 + 1, absolute: 1.1e-11 },
  { shapes: 1e5 + 1, absolute: 1.7e-10 },
  { shapes: 1e6 + 1, absolute: 4e-7 },
])('gives the probability of at most x as accurately as stated for shapes up to $shapes', ({ shapes, absolute }) => {
  const within = rows.filter(([a, b]) => Math.max(a, b) <= shapes);

  const errors = within.map(([a, b, p, value, complement]) => Math.abs(betaCdf({ value, complement }, a, b) - p));

  expect(within.length).toBeGreaterThan(300);
  expect(Math.max(...errors)).toBeLessThan(absolute);
});
