import { expect, test } from 'vitest';
import { assess } from '../../../src/estimate/assessment.js';
import { estimate } from '../../../src/estimate/pass.js';

function range(lower: number | null, upper: number | null, k = 3) {
  return { k, lower, upper };
}

// A figure known exactly is an interval without width.
test.each([
  { at: 0.96, pow: 0.71, label: 'reliable' },
  { at: 0.96, pow: 0.49, label: 'inconsistent' },
  { at: 0.69, pow: 0.1, label: 'needs_improvement' },
  { at: 0.69, pow: 0.69, label: 'needs_improvement' },
  // The gaps of the table.
  { at: 0.96, pow: 0.5, label: 'inconsistent' },
  { at: 0.96, pow: 0.7, label: 'inconsistent' },
  { at: 0.95, pow: 0.8, label: 'inconsistent' },
  { at: 0.7, pow: 0.1, label: 'inconsistent' },
])('calls pass@K $at with pass^K $pow $label', ({ at, pow, label }) => {
  expect(assess(range(at, at), range(pow, pow))).toBe(label);
});

test('withholds the label while an interval straddles a boundary', () => {
  expect(assess(range(0.94, 0.99), range(0.75, 0.9))).toBe('not_enough_evidence');
  expect(assess(range(0.97, 0.99), range(0.65, 0.9))).toBe('not_enough_evidence');
  expect(assess(range(0.6, 0.8), range(0.1, 0.2))).toBe('not_enough_evidence');
  // From 0.45 to 0.55 no boundary is crossed: both are inconsistent.
  expect(assess(range(0.97, 0.99), range(0.45, 0.55))).toBe('inconsistent');
});

test.each([
  { n: 0, c: 0, label: 'not_enough_evidence' },
  { n: 1, c: 0, label: 'not_enough_evidence' },
  { n: 1, c: 1, label: 'not_enough_evidence' },
  { n: 5, c: 5, label: 'not_enough_evidence' },
  { n: 1000, c: 980, label: 'reliable' },
  { n: 1000, c: 700, label: 'inconsistent' },
  { n: 1000, c: 100, label: 'needs_improvement' },
])('says $label of $c in $n at K = 3', ({ n, c, label }) => {
  const counts = { trials: n, correct: c, outstanding: 0, outstandingIncorrect: 0 };
  const [at, pow] = estimate(counts, { ks: [3], prior: { a: 1, b: 1 }, level: 0.95, mode: 'bayesian' });

  expect(at && pow && assess(at, pow)).toBe(label);
});

test('says not enough evidence of figures without intervals', () => {
  expect(assess(range(null, null), range(null, null))).toBe('not_enough_evidence');
});

test('refuses figures of different K', () => {
  expect(() => assess(range(1, 1, 3), range(1, 1, 5))).toThrow(new RangeError('pass^K must be of K = 3, got 5'));
});
