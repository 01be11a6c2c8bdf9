import { describe, expect, test } from 'vitest';
import type { DatasetTurn } from '../../../src/score/datasets.js';
import { buildExpectationIndex, effectiveExpectation } from '../../../src/score/expectations.js';
import { interaction } from '../../support/score-builders.js';

const turn = (answer: string, changes: Partial<DatasetTurn> = {}): DatasetTurn => ({
  place: `data.json ${answer}`,
  caseId: null,
  conversationId: null,
  assistantId: null,
  turn: 0,
  query: null,
  expectation: { answer },
  recorded: null,
  ...changes,
});

const QUERY = 'What is the weather in Lindholm?';

describe('matching', () => {
  const index = buildExpectationIndex([
    turn('case', { caseId: 'q1', query: 'another' }),
    turn('second turn', { conversationId: 'session-1', turn: 1 }),
    turn('query', { query: QUERY }),
  ]);

  test('by case id before all else', () => {
    expect(index.match(interaction([], { caseId: 'q1' }), 1)).toMatchObject({
      kind: 'matched',
      by: 'case_id',
      expectation: { answer: 'case' },
    });
  });

  test('by conversation and turn where the turn is known', () => {
    expect(index.match(interaction(), 1)).toMatchObject({ by: 'turn', expectation: { answer: 'second turn' } });
    expect(index.match(interaction([], { conversationId: 'x', conversationAliases: ['session-1'] }), 1)).toMatchObject({
      by: 'turn',
    });
  });

  test('else by the query, whatever its case and blanks', () => {
    expect(index.match(interaction())).toMatchObject({ by: 'query', expectation: { answer: 'query' } });
    expect(index.match(interaction([], { query: '  what is\nthe WEATHER in Lindholm? ' }), 5)).toMatchObject({
      by: 'query',
    });
  });

  test('else not at all', () => {
    expect(index.match(interaction([], { query: 'What else?' }))).toEqual({ kind: 'none' });
    expect(index.match(interaction([], { query: null }))).toEqual({ kind: 'none' });
    expect(index.match(interaction([], { coverage: ['query_truncated'] }))).toEqual({ kind: 'none' });
  });
});

describe('several turns fit', () => {
  test('with different ground truth: nothing is guessed', () => {
    const index = buildExpectationIndex([turn('a', { query: QUERY }), turn('b', { query: QUERY })]);

    expect(index.match(interaction())).toEqual({ kind: 'ambiguous', by: 'query', turns: index.turns });
  });

  test('with the same ground truth: it is the ground truth', () => {
    const index = buildExpectationIndex([turn('a', { query: QUERY }), turn('a', { query: QUERY })]);

    expect(index.match(interaction())).toMatchObject({ kind: 'matched', expectation: { answer: 'a' } });
  });

  test('the one of the same conversation is meant, then the one of the same assistant', () => {
    const a = turn('a', { query: QUERY, assistantId: 'weather-agent' });
    const b = turn('b', { query: QUERY, assistantId: 'other-agent' });

    expect(buildExpectationIndex([a, { ...b, conversationId: 'session-1' }]).match(interaction())).toMatchObject({
      expectation: { answer: 'b' },
    });
    expect(buildExpectationIndex([a, b]).match(interaction())).toMatchObject({ expectation: { answer: 'a' } });
  });

  test('a case id that stands twice is not replaced by the query', () => {
    const index = buildExpectationIndex([
      turn('a', { caseId: 'q1' }),
      turn('b', { caseId: 'q1' }),
      turn('c', { query: QUERY }),
    ]);

    expect(index.match(interaction([], { caseId: 'q1' }))).toMatchObject({ kind: 'ambiguous', by: 'case_id' });
  });
});

describe('ground truth on the spans and in a file', () => {
  test('the file wins, statement by statement', () => {
    expect(effectiveExpectation({ answer: 'span', forbiddenTools: ['rm'] }, { answer: 'file' })).toEqual({
      answer: 'file',
      forbiddenTools: ['rm'],
    });
    expect(effectiveExpectation(null, { answer: 'file' })).toEqual({ answer: 'file' });
    expect(effectiveExpectation({ answer: 'span' }, null)).toEqual({ answer: 'span' });
    expect(effectiveExpectation(null, null)).toBeNull();
  });

  test('expected tools and how they are compared come from one place', () => {
    expect(
      effectiveExpectation({ tools: [], mode: 'subset', argumentsMatch: 'ignore' }, { tools: [{ name: 'a' }] }),
    ).toEqual({ tools: [{ name: 'a' }] });
    expect(effectiveExpectation({ tools: [], mode: 'subset' }, { answer: '8' })).toEqual({
      tools: [],
      mode: 'subset',
      answer: '8',
    });
  });
});

test('a missing trace does not shift the ground truth of the turns behind it', () => {
  const turn = (index: number, query: string, tool: string): DatasetTurn => ({
    place: `d conversation[${index}]`,
    caseId: null,
    conversationId: 's1',
    assistantId: null,
    turn: index,
    query,
    expectation: { tools: [{ name: tool }] },
    recorded: null,
  });
  const index = buildExpectationIndex([turn(0, 'Q one', 'f'), turn(1, 'Q two', 'g')]);

  // The only trace that is there is of the second turn, so it is the first of its conversation.
  const match = index.match(interaction([], { conversationId: 's1', query: 'q two' }), 0);

  expect(match).toMatchObject({ kind: 'matched', by: 'query', expectation: { tools: [{ name: 'g' }] } });
  expect(index.match(interaction([], { conversationId: 's1', query: 'other words' }), 1)).toMatchObject({ by: 'turn' });
});
