import { expect, test } from 'vitest';
import type { JudgedTurn } from '../../../src/model/estimate.js';
import { conversationOf } from '../../../src/estimate/conversations.js';
import { conversationVerdict } from '../../../src/score/conversation-verdict.js';

const RULES = { idleMs: 100, verdictOf: conversationVerdict };

function turn(id: string, startedAtMs: number, endedAtMs: number, changes: Partial<JudgedTurn> = {}): JudgedTurn {
  return {
    interactionId: id,
    conversationId: 'conversation',
    assistantId: 'agent',
    agentVersion: '1',
    environment: null,
    task: null,
    policy: 'p',
    label: 'correct',
    neutral: false,
    leftOut: false,
    outstanding: 0,
    judged: true,
    startedAtMs,
    endedAtMs,
    ...changes,
  };
}

const FAILED = { label: 'incorrect' } as const;
const OUTSTANDING = { label: 'unscored', outstanding: 2 } as const;
const NEUTRAL = { label: 'unscored', neutral: true } as const;

test('closes when it was idle long enough, and not before', () => {
  const turns = [turn('a', 0, 10), turn('b', 50, 60)];

  expect(conversationOf(turns, 159, RULES)).toMatchObject({ closed: false, firstClosedAtMs: 160, trial: null });
  expect(conversationOf(turns, 160, RULES)).toMatchObject({
    closed: true,
    startedAtMs: 0,
    endedAtMs: 60,
    interactionIds: ['a', 'b'],
    trial: { conversationId: 'conversation', firstClosedAtMs: 160, correct: true },
  });
});

test('closes first at the first gap, however long ago that is', () => {
  const turns = [turn('a', 0, 10), turn('b', 110, 120), turn('c', 500, 510)];

  expect(conversationOf(turns, 1_000, RULES)?.firstClosedAtMs).toBe(110);
  // 99 ms are no gap.
  expect(conversationOf([turn('a', 0, 10), turn('b', 109, 120)], 1_000, RULES)?.firstClosedAtMs).toBe(220);
});

test('measures the gap from the end of the longest turn before it', () => {
  const turns = [turn('a', 0, 300), turn('b', 10, 20), turn('c', 350, 340)];

  // c ends before it starts, by a clock that was set back: it counts to its start.
  expect(conversationOf(turns, 1_000, RULES)).toMatchObject({ firstClosedAtMs: 450, endedAtMs: 350 });
});

test('stays in the series of its first turn, with the task of that turn', () => {
  const turns = [
    turn('b', 200, 210, { agentVersion: '2', task: 'refund' }),
    turn('a', 0, 10, { agentVersion: '1', environment: 'prod', task: 'order' }),
  ];

  expect(conversationOf(turns, 1_000, RULES)?.series).toEqual({
    assistantId: 'agent',
    agentVersion: '1',
    environment: 'prod',
    task: 'order',
    policy: 'p',
  });
});

test('is judged anew when it is resumed, while its trial stays', () => {
  const resumed = conversationOf([turn('a', 0, 10), turn('b', 200, 210, FAILED)], 1_000, RULES);

  expect(resumed?.verdict.label).toBe('incorrect');
  expect(resumed?.trial).toEqual({ conversationId: 'conversation', firstClosedAtMs: 110, correct: true });
});

test('has no trial while something is outstanding, and settles at a later close when there was nothing to judge', () => {
  const outstanding = [turn('a', 0, 10, OUTSTANDING), turn('b', 20, 30, FAILED)];
  expect(conversationOf(outstanding, 1_000, RULES)).toMatchObject({ closed: true, trial: null });

  const neutral = [turn('a', 0, 10, NEUTRAL), turn('b', 200, 210, FAILED)];
  expect(conversationOf(neutral, 309, RULES)).toMatchObject({ closed: true, trial: null });
  expect(conversationOf(neutral, 310, RULES)?.trial).toMatchObject({ firstClosedAtMs: 110, correct: false });
});

test('has no trial when sampling left it out, whatever its rules say', () => {
  const turns = [turn('a', 0, 10, { ...FAILED, leftOut: true })];

  expect(conversationOf(turns, 1_000, RULES)).toMatchObject({ trial: null, verdict: { leftOut: true } });
});

test('says whether more than rules decided it, and is nothing without interactions', () => {
  expect(conversationOf([turn('a', 0, 10, { judged: false }), turn('b', 20, 30)], 0, RULES)?.judged).toBe(true);
  expect(conversationOf([turn('a', 0, 10, { judged: false })], 0, RULES)?.judged).toBe(false);
  expect(conversationOf([], 0, RULES)).toBeNull();
});
