import { expect, test } from 'vitest';

import { dropsText, type Drop } from '../../../src/cli/demo-drops.js';

const RULES = { ks: [1, 3, 5, 10], prior: { a: 1, b: 1 }, level: 0.95 };

const drop: Drop = {
  agent: 'order-desk',
  version: '2.0.1',
  severity: 'page',
  since: '2026-11-30 14:02:10.000',
  heldTo: 0.8312,
  delta: 0.03,
  certainty: 0.99997,
  evidence: 24,
  before: { trials: 10, correct: 10 },
  after: { trials: 10, correct: 7 },
};

test('says which agent became worse, by how much and with which certainty', () => {
  // Prior Beta(1, 1): 11*12*13 / (12*13*14) = 0.786 and 8*9*10 / (12*13*14) = 0.330.
  expect(dropsText([drop], RULES)).toBe(
    'order-desk 2.0.1 has become worse about 2026-11-30 14:02 UTC; an alert is open (page).\n' +
      '  before  10 of 10 right (100.0 %), pass^3 0.786\n' +
      '  since   7 of 10 right (70.0 %), pass^3 0.330\n' +
      '  It is held to 83.1 %. After 24 conversations it was 99.99 % certain that it had fallen more than 3 points below.\n',
  );
});

test('never rounds to certainty, and names no version that was not recorded', () => {
  const text = dropsText([{ ...drop, version: null, certainty: 1 - 1e-12 }], RULES);

  expect(text).toMatch(/^order-desk has become worse/);
  expect(text).toContain('99.99 % certain');
});

test('says so when nothing is known to have become worse', () => {
  expect(dropsText([], RULES)).toContain('No alert is open');
});
