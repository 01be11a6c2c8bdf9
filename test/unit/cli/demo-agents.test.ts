import { expect, test } from 'vitest';

import { DEMO_AGENTS, demoConversation, type DemoConversation } from '../../../src/cli/demo-agents.js';

/** Did the agent call what it should have, in order and with those arguments? */
const isRight = ({ turns }: DemoConversation) =>
  turns.every(
    ({ calls, expected }) =>
      JSON.stringify(calls.map(({ name, args }) => [name, args])) ===
      JSON.stringify(expected.map((call) => [call.name, call.arguments])),
  );

/** Right conversations of each agent among its conversations `from` .. `to`. */
function right(from: number, to: number, worseFrom: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let n = from * DEMO_AGENTS; n < to * DEMO_AGENTS; n += 1) {
    const conversation = demoConversation(n, worseFrom);
    counts[conversation.agent] = (counts[conversation.agent] ?? 0) + (isRight(conversation) ? 1 : 0);
  }
  return counts;
}

test('one agent becomes worse in the middle, under the same version, and the others stay as they are', () => {
  // Of 240: one in forty wrong; 6 of 48 wrong, then 21 of 48; one in three wrong.
  expect(right(0, 240, 240)).toEqual({ 'weather-helper': 234, 'order-desk': 210, 'travel-planner': 160 });
  expect(right(240, 480, 240)).toEqual({ 'weather-helper': 234, 'order-desk': 135, 'travel-planner': 160 });
  expect(demoConversation(1, 0).version).toBe(demoConversation(1, 1).version);
});

test('each conversation has an id of its own, and the n-th is always the same', () => {
  const ids = Array.from({ length: 300 }, (_, n) => demoConversation(n, 50).id);

  expect(new Set(ids).size).toBe(ids.length);
  expect(demoConversation(7, 3)).toEqual(demoConversation(7, 3));
});
