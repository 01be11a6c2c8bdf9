import { expect, test } from 'vitest';
import { comparisonRows, type ComparedSide } from '../../../src/estimate/comparison-rows.js';

const RULES = { ks: [1, 3], prior: { a: 1, b: 1 }, margin: 0, level: 0.95 };
const side = (agentVersion: string, trials: number, correct: number): ComparedSide => ({
  series: { assistantId: 'bot', agentVersion, environment: 'prod', task: null, policy: 'p' },
  counts: { trials, correct },
});
const near = (value: number) => expect.closeTo(value, 10) as number;

test('gives both sides of each K, their difference and how probable it is', () => {
  const sides = { before: side('1', 10, 9), now: side('2', 10, 7) };

  const [one, three] = comparisonRows('version', sides, '24h', 60_000, RULES);

  expect(one).toMatchObject({ kind: 'version', window: '24h', at: 60_000, before_version: '1', agent_version: '2' });
  expect(one).toMatchObject({ k: 1, n: 10, c: 7, before_n: 10, before_c: 9, margin: 0, prior_a: 1, level: 0.95 });
  // 8/12 and 10/12.
  expect(one).toMatchObject({ mean: near(2 / 3), before_mean: near(5 / 6), difference: near(-1 / 6) });
  // 8*9*10 and 10*11*12, over 12*13*14.
  expect(three).toMatchObject({ k: 3, mean: near(720 / 2184), before_mean: near(1320 / 2184) });
  // x ~ Beta(10, 2), y ~ Beta(8, 4): P(y < x) = sum_{j=8..11} C(11, j) B(10 + j, 13 - j) / B(10, 2) = 337/399.
  expect(one?.worse).toBeCloseTo(337 / 399, 9);
  expect(three?.worse).toBe(one?.worse);
  expect(one?.better).toBeCloseTo(1 - (one?.worse ?? 0), 12);
});

test('compares by each K where a margin is asked for', () => {
  const sides = { before: side('1', 10, 9), now: side('2', 10, 7) };

  const [one, three] = comparisonRows('version', sides, '24h', 0, { ...RULES, margin: 0.2 });

  expect(one?.worse).not.toBeCloseTo(three?.worse ?? 0, 3);
  expect((one?.worse ?? 0) + (one?.better ?? 0)).toBeLessThan(1);
});

test('says no chance where a side has no trial', () => {
  const rows = comparisonRows('window', { before: side('1', 0, 0), now: side('1', 5, 5) }, 'last_5', 0, RULES);

  expect(rows.map(({ worse, better, n, before_n }) => [worse, better, n, before_n])).toEqual([
    [null, null, 5, 0],
    [null, null, 5, 0],
  ]);
});
