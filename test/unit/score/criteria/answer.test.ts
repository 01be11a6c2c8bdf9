import { describe, expect, test } from 'vitest';
import type { Interaction } from '../../../../src/model/interaction.js';
import { scoreAnswer } from '../../../../src/score/criteria/answer.js';
import { resolvePolicy } from '../../../../src/score/policy.js';
import { interaction, outcome } from '../../../support/score-builders.js';

const labels = [['approve', 'reject', 'not reviewed']];

function run(expected: string, answer: string | null, query = 'How many?', changes: Partial<Interaction> = {}) {
  return outcome(
    scoreAnswer(
      interaction([], { query, answer, ...changes }),
      { answer: expected },
      resolvePolicy({ answer: { labels } }),
    ),
  );
}

test('an answer of which redaction took something out is not wrong for that', () => {
  expect(run('8', 'The result is [REDACTED].')).toBe('not_captured');
});

describe('what a rule can decide both ways', () => {
  test.each([
    ['8', 'The result is 8.', 1],
    ['8', 'The result is 9.', 0],
    ['8', 'The result is 8.0', 1],
    ['8', 'The result is eight.', 1],
    ['8', 'I do not know.', 0],
    ['8', 'It is 18.', 0],
    ['8', 'See T8.', 0],
    ['1234.5', 'About 1,234.5 units', 1],
    ['-3', 'It is −3 degrees', 1],
    ['42 %', '42 percent', 1],
    ['$12.50', 'That is 12.5 dollars.', 1],
    ['yes', 'Yes, there is no problem.', 1],
    ['no', 'Yes, there is no problem.', 0],
    ['approve', 'I would approve it.', 1],
    ['approve', 'I would reject it.', 0],
    ['ORD-1234', 'Your order is ord-1234.', 1],
    ['ORD-1234', 'Your order is ORD-12345.', 0],
    ['in_stock', 'Status: in_stock', 1],
    ['{"a": 1, "b": [2]}', '{"b":[2],"a":1.0}', 1],
    ['{"a": 1}', 'Here:\n```json\n{"a": 1}\n```', 1],
    ['{"a": 1}', '{"a": 2}', 0],
    ['[1, 2]', 'one and two', 0],
  ])('expected %j, answered %j: %d', (expected, answer, value) => {
    expect(run(expected, answer)).toBe(value);
  });

  test('a number that only repeats the question is no answer', () => {
    expect(run('3', '3 times 1 is 4', 'What is 3 times 1?')).toBe(0);
    expect(run('3', '3 times 1 is 3', 'What is 3 times 1?')).toBe(1);
  });
});

describe('what no rule decides', () => {
  test.each(['Paris', 'The sun shines in Lindholm.', 'T1 and T2 are free.', '', '10:30 or later'])(
    '%j needs a judge, whatever the answer',
    (expected) => {
      expect(run(expected, expected)).toBe('no_judge');
      expect(run(expected, 'something else')).toBe('no_judge');
    },
  );

  test('an answer that was not captured, or not whole, is not wrong', () => {
    expect(run('8', null)).toBe('not_captured');
    expect(run('8', 'The res', 'q', { coverage: ['answer_truncated'] })).toBe('not_captured');
    expect(run('8', 'Let me see', 'q', { coverage: ['cut_at_bound'] })).toBe('not_captured');
    expect(run('8', null, 'q', { interrupted: true })).toBe('interrupted');
  });

  test('without an expected answer', () => {
    expect(outcome(scoreAnswer(interaction(), { tools: [] }, resolvePolicy()))).toBe('no_expectation');
    expect(outcome(scoreAnswer(interaction(), null, resolvePolicy()))).toBe('no_expectation');
  });
});

test('an answer that a recorder cut is not graded', () => {
  const cut = interaction([], { answer: '1234…[truncated]' });

  expect(scoreAnswer(cut, { answer: '123456' }, resolvePolicy())).toMatchObject({ abstained: 'not_captured' });
});
