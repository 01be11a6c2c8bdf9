import { expect, test } from 'vitest';
import { estimateRows } from '../../../src/estimate/estimate-rows.js';
import type { WindowCounts } from '../../../src/model/estimate.js';
import type { Series } from '../../../src/model/estimate.js';

const SERIES: Series = { assistantId: 'agent', agentVersion: '1', environment: 'prod', task: null, policy: 'p' };
const RULES = { ks: [1, 3], prior: { a: 1, b: 1 }, level: 0.95 };

function counts(changes: Partial<WindowCounts> = {}): WindowCounts {
  const tallied = { trials: 10, correct: 7, outstanding: 2, outstandingIncorrect: 1 };
  return { ...tallied, unscored: 3, leftOut: 4, judged: true, tasks: new Map(), ...changes };
}

test('names every figure by K, metric and mode', () => {
  const rows = estimateRows(SERIES, '24h', counts(), 1_000, RULES);

  expect(rows.map((row) => `${row.mode} ${row.metric} ${row.k}`)).toEqual([
    'bayesian pass_at_k 1',
    'bayesian pass_pow_k 1',
    'bayesian pass_at_k 3',
    'bayesian pass_pow_k 3',
    'frequentist pass_at_k 1',
    'frequentist pass_pow_k 1',
    'frequentist pass_at_k 3',
    'frequentist pass_pow_k 3',
  ]);
});

test('gives each row its series, its counts and its figures', () => {
  const row = estimateRows(SERIES, '24h', counts(), 1_000, RULES)[3];

  // 7 of 10, K = 3: Beta(8, 4). E[p^3] = (8 9 10)/(12 13 14) = 30/91. Bounds (7/12)^3 and ((7 + 2 - 1)/12)^3.
  expect(row?.mean).toBeCloseTo(30 / 91, 12);
  expect(row?.lower).toBeCloseTo(0.059437, 6);
  expect(row?.upper).toBeCloseTo(0.706721, 6);
  expect(row?.bound_lower).toBeCloseTo((7 / 12) ** 3, 14);
  expect(row?.bound_upper).toBeCloseTo((8 / 12) ** 3, 14);
  expect(row).toMatchObject({
    assistant_id: 'agent',
    agent_version: '1',
    environment: 'prod',
    task: null,
    policy: 'p',
    window: '24h',
    at: 1_000,
    scope: 'pooled',
    n: 10,
    c: 7,
    unscored: 3,
    outstanding: 2,
    outstanding_incorrect: 1,
    left_out: 4,
    assessment: 'not_enough_evidence',
    prior_a: 1,
    prior_b: 1,
    level: 0.95,
  });
});

test('gives points without intervals in frequentist mode', () => {
  const row = estimateRows(SERIES, '24h', counts(), 1_000, RULES)[7];

  expect(row).toMatchObject({ lower: null, upper: null });
  expect(row?.mean).toBeCloseTo(0.343, 14);
});

test('adds rows per task where a task is recorded, with the counts of the labelled conversations', () => {
  const tasks = new Map([
    ['a', { trials: 4, correct: 4, outstanding: 0, outstandingIncorrect: 0 }],
    ['b', { trials: 2, correct: 0, outstanding: 1, outstandingIncorrect: 1 }],
  ]);

  const rows = estimateRows(SERIES, '24h', counts({ tasks }), 1_000, { ...RULES, ks: [3] });
  const perTask = rows.filter(({ scope }) => scope === 'per_task');

  expect(rows.length).toBe(8);
  expect(perTask[0]).toMatchObject({ n: 6, c: 4, outstanding: 1, outstanding_incorrect: 1, unscored: 3, left_out: 4 });
  // Frequentist: (1 + 0)/2 of pass^3.
  expect(perTask[3]?.mean).toBe(0.5);
});

test('says rules only where nothing else decided, and not enough evidence without a trial', () => {
  const many = { trials: 1_000, correct: 999 };
  const assessments = (changes: Partial<WindowCounts>) =>
    new Set(estimateRows(SERIES, '24h', counts(changes), 1_000, RULES).map(({ assessment }) => assessment));

  expect(assessments(many)).toEqual(new Set(['reliable']));
  expect(assessments({ ...many, judged: false })).toEqual(new Set(['rules_only']));
  expect(assessments({ trials: 0, correct: 0 })).toEqual(new Set(['not_enough_evidence']));
  expect(assessments({ trials: 0, correct: 0, judged: false })).toEqual(new Set(['not_enough_evidence']));
});
