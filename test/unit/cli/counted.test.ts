import { expect, test } from 'vitest';
import { counted } from '../../../src/cli/counted.js';
import { createJudgeNotes } from '../../../src/cli/judge-notes.js';

test('says one of a thing as one', () => {
  expect([0, 1, 2].map((n) => counted(n, 'turn'))).toEqual(['0 turns', '1 turn', '2 turns']);
  expect(counted('1', 'point')).toBe('1 point');
  expect([1, 2].map((n) => counted(n, 'turn is', 'turns are'))).toEqual(['1 turn is', '2 turns are']);
});

test('the judge that was asked once says so', () => {
  const stats = {
    questions: 1,
    modelCalls: 1,
    cacheHits: 0,
    shared: 0,
    inputTokens: 90,
    outputTokens: 9,
    abstained: {},
  };

  const notes = [...createJudgeNotes().notes(stats as never)];

  expect(notes).toEqual(['the judge was asked 1 question: 0 known already, 1 request to the model, 90 + 9 tokens']);
});
