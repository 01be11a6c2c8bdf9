import { expect, test } from 'vitest';
import { findEarlierTurns } from '../../../src/assemble/earlier-turns.js';
import { ModelCall } from '../../../src/assemble/model-calls.js';
import type { Messages } from '../../../src/model/message.js';
import { agentSpan, messages } from '../../support/spans.js';

const asking = (input: Messages, underTool = false) =>
  new ModelCall([agentSpan({ id: 'm', kind: 'llm', facts: { inputMessages: input } })], null, underTool);
const turnsIn = (...texts: readonly string[]) => findEarlierTurns(null, [asking(messages(...texts))]);

test('the turns before the last question, each with what was answered last', () => {
  expect(turnsIn('u:Hi', 'a:Hello', 'u:Where is A-1?', 'a!look', 't:found', 'a:In Lindholm', 'u:And A-2?')).toEqual([
    { query: 'Hi', answer: 'Hello' },
    { query: 'Where is A-1?', answer: 'In Lindholm' },
  ]);
});

test('calls and results of this turn are no earlier turn', () => {
  expect(turnsIn('u:Hi', 'a:Hello', 'u:Where?', 'a!look', 't:found')).toEqual([{ query: 'Hi', answer: 'Hello' }]);
  expect(turnsIn('u:Where?', 'a!look', 't:found')).toEqual([]);
});

test('a question without an answer, and an answer without a question, stay what they are', () => {
  expect(turnsIn('a:Welcome', 'u:One', 'u:Two')).toEqual([
    { query: null, answer: 'Welcome' },
    { query: 'One', answer: null },
  ]);
});

test('the last six, and of a text 2000 characters with a mark of the rest', () => {
  const many = Array.from({ length: 9 }, (_, i) => [`u:q${i}`, `a:a${i}`]).flat();
  const turns = turnsIn(...many, `u:${'x'.repeat(2_345)}`, 'a:ok', 'u:now');

  expect(turns.map(({ query }) => query?.slice(0, 2))).toEqual(['q4', 'q5', 'q6', 'q7', 'q8', 'xx']);
  // 2345 - 2000
  expect(turns.at(-1)?.query).toBe(`${'x'.repeat(2_000)}[... 345 characters left out ...]`);
});

test('nothing is told from a history that was cut, or from that of a sub-agent below a tool', () => {
  const cut = { ...messages('u:Hi', 'a:Hello', 'u:Where?'), complete: false };

  expect(findEarlierTurns(null, [asking(cut)])).toEqual([]);
  expect(findEarlierTurns(null, [asking(messages('u:Hi', 'a:Hello', 'u:Where?'), true)])).toEqual([]);
});

test('the root is asked where no model call recorded its input', () => {
  const root = agentSpan({ id: 'r', kind: 'agent', facts: { inputMessages: messages('u:Hi', 'a:Hello', 'u:Where?') } });
  const mute = new ModelCall([agentSpan({ id: 'm', kind: 'llm' })], root, false);

  expect(findEarlierTurns(root, [mute])).toEqual([{ query: 'Hi', answer: 'Hello' }]);
});
