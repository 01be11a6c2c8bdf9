import { expect, test } from 'vitest';
import { DEFAULT_OBJECTIVE } from '../../../src/estimate/objective.js';
import { certaintyOfDrop, severityOf } from '../../../src/estimate/severity.js';

const objective = { ...DEFAULT_OBJECTIVE, p0: 0.53, falseAlarmRun: 1_000 };

test('is the posterior mass below p0 - delta', () => {
  // Beta(1, 1): P(p < 0.5) = 0.5. Beta(1, 4): 1 - (1 - 0.5)^4 = 0.9375. Beta(3, 1): 0.5^3 = 0.125.
  expect(certaintyOfDrop(0, 0, objective)).toBeCloseTo(0.5, 12);
  expect(certaintyOfDrop(3, 0, objective)).toBeCloseTo(0.9375, 12);
  expect(certaintyOfDrop(2, 2, objective)).toBeCloseTo(0.125, 12);
});

test('is a page from the asked certainty on, and never less than it was', () => {
  expect(severityOf(0.9499, objective)).toBe('ticket');
  expect(severityOf(0.95, objective)).toBe('page');
  expect(severityOf(0.1, objective, 'page')).toBe('page');
});
