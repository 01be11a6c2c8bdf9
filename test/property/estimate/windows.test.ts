import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JudgedTurn } from '../../../src/model/estimate.js';
import { conversationOf } from '../../../src/estimate/conversations.js';
import { windowNamed } from '../../../src/estimate/windows.js';
import { conversationVerdict } from '../../../src/score/conversation-verdict.js';
import { countWindows } from '../../support/count-windows.js';

const RULES = { idleMs: 100, verdictOf: conversationVerdict };

const turn: fc.Arbitrary<JudgedTurn> = fc
  .record({
    conversationId: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    task: fc.constantFrom(null, 'order', 'refund'),
    startedAtMs: fc.nat({ max: 1_000 }),
    lastedMs: fc.nat({ max: 50 }),
    verdict: fc.constantFrom(
      { label: 'correct', neutral: false, leftOut: false, outstanding: 0 } as const,
      { label: 'incorrect', neutral: false, leftOut: false, outstanding: 0 } as const,
      { label: 'unscored', neutral: true, leftOut: false, outstanding: 0 } as const,
      { label: 'unscored', neutral: false, leftOut: false, outstanding: 1 } as const,
      { label: 'incorrect', neutral: false, leftOut: false, outstanding: 1 } as const,
      { label: 'unscored', neutral: false, leftOut: true, outstanding: 0 } as const,
    ),
    judged: fc.boolean(),
  })
  .map(({ lastedMs, verdict, ...rest }) => ({
    ...rest,
    ...verdict,
    interactionId: '',
    assistantId: 'agent',
    agentVersion: null,
    environment: null,
    policy: 'p',
    endedAtMs: rest.startedAtMs + lastedMs,
  }));

const WINDOWS = ['1h', '24h', '7d', 'last_50', 'last_200', 'last_1000'].map(windowNamed);

const turns = fc
  .array(turn, { maxLength: 40 })
  .map((list) => list.map((one, at) => ({ ...one, interactionId: `${at}` })));

test('makes the same conversation of the same turns in any order', () => {
  fc.assert(
    fc.property(turns, fc.nat({ max: 1_500 }), (list, nowMs) => {
      expect(conversationOf([...list].reverse(), nowMs, RULES)).toEqual(conversationOf(list, nowMs, RULES));
    }),
  );
});

test('never changes a trial as time passes', () => {
  fc.assert(
    fc.property(turns, fc.nat({ max: 1_500 }), fc.nat({ max: 1_500 }), (list, one, other) => {
      const trialAt = (nowMs: number) => conversationOf(list, nowMs, RULES)?.trial ?? null;
      const earlier = trialAt(Math.min(one, other));

      if (earlier !== null) expect(trialAt(Math.max(one, other))).toEqual(earlier);
    }),
  );
});

test('closes with nothing that comes later when a turn comes only after the close', () => {
  fc.assert(
    fc.property(turns, turn, (list, later) => {
      const before = conversationOf(list, 2_000, RULES);
      if (before === null) return;
      const startedAtMs = before.endedAtMs + RULES.idleMs;
      const resumed = { ...later, interactionId: 'later', startedAtMs, endedAtMs: startedAtMs };

      const after = conversationOf([...list, resumed], 2_000, RULES);

      expect(after?.firstClosedAtMs).toBe(before.firstClosedAtMs);
      expect(after?.series).toEqual(before.series);
    }),
  );
});

test('counts every closed conversation of a window once: a trial, unscored or left out', () => {
  fc.assert(
    fc.property(turns, fc.nat({ max: 1_500 }), (list, nowMs) => {
      const ids = [...new Set(list.map(({ conversationId }) => conversationId))];
      const conversations = ids.flatMap((id) => {
        const conversation = conversationOf(
          list.filter(({ conversationId }) => conversationId === id),
          nowMs,
          RULES,
        );
        return conversation?.closed ? [conversation] : [];
      });

      const windows = countWindows(conversations, WINDOWS, nowMs);

      expect(countWindows([...conversations].reverse(), WINDOWS, nowMs)).toEqual(windows);
      for (const counts of windows) {
        expect(counts.trials + counts.unscored + counts.leftOut).toBe(conversations.length);
        expect(counts.correct).toBeLessThanOrEqual(counts.trials);
        expect(counts.outstanding).toBeLessThanOrEqual(counts.unscored);
        expect(counts.outstandingIncorrect).toBeLessThanOrEqual(counts.outstanding);
      }
    }),
  );
});
