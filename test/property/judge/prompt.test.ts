import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fit, tokensOf } from '../../../src/judge/fit.js';
import { planParts, type PlanRules } from '../../../src/judge/plan.js';
import { fenceFor, judgeMessages } from '../../../src/judge/prompt.js';
import { readAnswer } from '../../../src/judge/read-answer.js';
import type { JudgedCall } from '../../../src/model/judge.js';
import { judgedCall, judgeRequest } from '../../support/judge.js';

const fence = fc.constantFrom('data-', '\ndata-0123456789abcdef end\n', ' begin: ', 'The fence is data-');
const hostile = fc
  .array(fc.oneof(fc.string({ unit: 'binary' }), fence), { maxLength: 6 })
  .map((parts) => parts.join(''));
const rules: PlanRules = { maxPromptTokens: 6_000, maxCallsPerRequest: 3, together: 'known' };

/** Calls one after another, each knowing some of those before it. */
const calls = fc.array(fc.record({ text: hostile, knows: fc.nat() }), { maxLength: 8 }).map((drawn) =>
  drawn.map(({ text, knows }, i): JudgedCall =>
    judgedCall(i, {
      name: text,
      arguments: { text },
      outcome: { kind: 'result', value: `outcome ${i}. ${text}` },
      knownBefore: drawn.map((_, j) => `call_${j}`).filter((_, j) => j < i && (knows >> j) % 2 === 0),
    }),
  ),
);
const request = fc
  .record({ calls, text: hostile, answer: fc.boolean(), completion: fc.boolean(), utilization: fc.boolean() })
  .map(({ calls: made, text, ...asked }) =>
    judgeRequest({
      calls: made,
      query: text,
      answer: text,
      expectedAnswer: text,
      earlier: [{ query: text, answer: text }],
      asked,
    }),
  );

test('no fact holds the fence, so that none can end its block or open another', () => {
  fc.assert(
    fc.property(request, fc.constantFrom<PlanRules['together']>('known', 'turn'), (given, together) => {
      for (const part of planParts(given, { ...rules, together })) {
        const [system, user] = judgeMessages(given, part, rules.maxPromptTokens).map(({ content }) => content) as [
          string,
          string,
        ];
        const word = /^The fence is (data-[0-9a-f]{16})\./.exec(user)?.[1] as string;
        const lines = user.split('\n').filter((line) => line.includes(word));
        // The first and the last line are ours; between them blocks begin and end in turn.
        const marks = lines.slice(1, -1).map((line) => line.slice(word.length, word.length + 7));
        expect(marks.length % 2).toBe(0);
        expect(marks).toEqual(marks.map((_, i) => (i % 2 === 0 ? ' begin:' : ' end')));
        expect(system).not.toContain(word);
      }
    }),
  );
});

test('a fence that a text holds is not taken', () => {
  fc.assert(
    fc.property(fc.array(hostile), (texts) => {
      const first = fenceFor(texts);
      expect(texts.some((text) => text.includes(first))).toBe(false);
      expect(fenceFor([...texts, `${first} end`])).not.toBe(first);
    }),
  );
});

test('the parts ask each call and each criterion exactly once, within the limits', () => {
  fc.assert(
    fc.property(request, fc.constantFrom<PlanRules['together']>('known', 'turn'), (given, together) => {
      const parts = planParts(given, { ...rules, together });
      expect(parts.flatMap(({ asked }) => asked.arguments).sort()).toEqual([...given.asked.arguments].sort());
      for (const name of ['answer', 'completion', 'utilization'] as const) {
        expect(parts.filter(({ asked }) => asked[name])).toHaveLength(given.asked[name] ? 1 : 0);
      }
      for (const { asked } of parts) expect(asked.arguments.length).toBeLessThanOrEqual(rules.maxCallsPerRequest);
    }),
  );
});

test('no part shows the outcome of a call that it asks about, nor of one that was not known', () => {
  fc.assert(
    fc.property(request, (given) => {
      for (const part of planParts(given, rules)) {
        for (const call of part.askedCalls) {
          expect(part.shownCalls.map(({ id }) => id)).toEqual(call.knownBefore);
        }
      }
    }),
  );
});

test('texts are cut to the budget and stay well formed', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 400 }), { maxLength: 8 });
  fc.assert(
    fc.property(texts, fc.nat(500), (given, budget) => {
      const cut = fit(given, budget);
      const marks = cut.filter((text, i) => text !== given[i]).length;
      expect(cut.reduce((sum, text) => sum + tokensOf(text), 0)).toBeLessThanOrEqual(budget + 14 * marks);
      for (const text of cut) expect(text.isWellFormed()).toBe(true);
      if (given.reduce((sum, text) => sum + tokensOf(text), 0) <= budget) expect(cut).toEqual(given);
    }),
  );
});

test('any text is accepted or rejected, never a throw', () => {
  const asked = { arguments: ['call_0'], answer: true, completion: false, utilization: false };
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), fc.anything(), (text, structured) => {
      expect(['accepted', 'rejected']).toContain(readAnswer({ text }, asked).kind);
      expect(readAnswer({ structured }, asked).kind).toBe('rejected');
    }),
  );
});
