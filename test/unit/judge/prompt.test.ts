import { describe, expect, test } from 'vitest';
import { CUT_MARK, fit, tokensOf } from '../../../src/judge/fit.js';
import { planParts, type PlanRules } from '../../../src/judge/plan.js';
import { judgeMessages } from '../../../src/judge/prompt.js';
import { judgedCall, judgeRequest } from '../../support/judge.js';

const rules: PlanRules = { maxPromptTokens: 16_000, maxCallsPerRequest: 20, together: 'known' };
// One after another: 0, then 1 and 2 together, then 3.
const calls = [
  judgedCall(0),
  judgedCall(1, { knownBefore: ['call_0'] }),
  judgedCall(2, { knownBefore: ['call_0'] }),
  judgedCall(3, { knownBefore: ['call_0', 'call_1', 'call_2'] }),
];
const idsIn = (request: ReturnType<typeof judgeRequest>, given: Partial<PlanRules> = {}) =>
  planParts(request, { ...rules, ...given }).map(({ asked }) => [
    ...asked.arguments,
    ...(['answer', 'completion', 'utilization'] as const).filter((name) => asked[name]),
  ]);

describe('which questions go together', () => {
  test('calls that were made with the same results known, and the answer with the last of them', () => {
    expect(idsIn(judgeRequest({ calls, asked: { answer: true } }))).toEqual([
      ['call_0'],
      ['call_1', 'call_2'],
      ['call_3', 'answer'],
    ]);
  });

  test('one round of calls and the answer take one request', () => {
    expect(idsIn(judgeRequest({ calls: [judgedCall(0), judgedCall(1)], asked: { answer: true } }))).toEqual([
      ['call_0', 'call_1', 'answer'],
    ]);
  });

  test('what needs all results is apart from the calls', () => {
    expect(idsIn(judgeRequest({ asked: { answer: true, completion: true, utilization: true } }))).toEqual([
      ['call_0'],
      ['answer', 'completion', 'utilization'],
    ]);
    expect(idsIn(judgeRequest({ asked: { arguments: [], completion: true } }))).toEqual([['completion']]);
  });

  test('a whole turn is one request where the operator wants that', () => {
    const request = judgeRequest({ calls, asked: { answer: true, completion: true } });

    expect(idsIn(request, { together: 'turn' })).toEqual([
      ['call_0', 'call_1', 'call_2', 'call_3', 'answer', 'completion'],
    ]);
  });

  test('only what is asked, and nothing when nothing is', () => {
    expect(idsIn(judgeRequest({ calls, asked: { arguments: ['call_2'] } }))).toEqual([['call_2']]);
    expect(idsIn(judgeRequest({ calls, asked: { arguments: [] } }))).toEqual([]);
  });

  test('calls too many or too large for one request are split', () => {
    const many = Array.from({ length: 5 }, (_, i) => judgedCall(i, { arguments: { text: 'x'.repeat(3_000) } }));

    expect(idsIn(judgeRequest({ calls: many }), { maxCallsPerRequest: 2 }).map((ids) => ids.length)).toEqual([2, 2, 1]);
    // 3 000 bytes are 1 000 tokens at a third of a token a byte, so that half of 4 400 holds two calls.
    expect(idsIn(judgeRequest({ calls: many }), { maxPromptTokens: 4_400 }).map((ids) => ids.length)).toEqual([
      2, 2, 1,
    ]);
  });
});

const textOf = (request: ReturnType<typeof judgeRequest>, part = 0, given: Partial<PlanRules> = {}) => {
  const all = { ...rules, ...given };
  return judgeMessages(request, planParts(request, all)[part]!, all.maxPromptTokens)[1]!.content;
};

describe('the prompt', () => {
  test('shows a call with its schema and what was known, and neither its result nor the answer', () => {
    const schema = { type: 'object', properties: { order_id: { type: 'string' } } };
    const request = judgeRequest({
      earlier: [{ query: 'Hello', answer: 'Hi, what can I do?' }],
      calls: [judgedCall(0), judgedCall(1, { schema, knownBefore: ['call_0'] })],
      asked: { arguments: ['call_1'] },
    });

    const text = textOf(request);

    for (const shown of [
      'Hello',
      'Hi, what can I do?',
      'Where is my order A-0?',
      'result-of-0',
      '{"order_id":"A-1"}',
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toContain(JSON.stringify(schema));
    for (const hidden of ['result-of-1', 'It is on its way', 'On its way']) expect(text).not.toContain(hidden);
  });

  test('is the same for the same facts, and another for others', () => {
    expect(textOf(judgeRequest())).toBe(textOf(judgeRequest()));
    expect(textOf(judgeRequest())).not.toBe(textOf(judgeRequest({ query: 'Where is my order A-1?' })));
  });

  test('stays within its tokens, with what was cut marked and the short facts whole', () => {
    const long = judgedCall(0, { outcome: { kind: 'result', value: 'w '.repeat(200_000) } });
    const request = judgeRequest({
      earlier: Array.from({ length: 300 }, (_, i) => ({ query: `q${i} ${'x'.repeat(500)}`, answer: 'y'.repeat(500) })),
      calls: [long, judgedCall(1, { knownBefore: ['call_0'] })],
      asked: { arguments: ['call_1'] },
    });
    const [part] = planParts(request, rules);
    const messages = judgeMessages(request, part!, 8_000);

    const tokens = messages.reduce((sum, { content }) => sum + tokensOf(content), 0);
    // A mark takes some 12 tokens on top, and there is one for each of at most 70 blocks.
    expect(tokens).toBeLessThanOrEqual(8_000 + 70 * 12);
    expect(messages[1]!.content).toMatch(CUT_MARK);
    expect(messages[1]!.content).toContain('{"order_id":"A-1"}');
    expect(messages[1]!.content).toContain('q299 ');
    expect(messages[1]!.content).toMatch(/^The fence is data-\w+\. 2\d\d older turns and calls are left out\./);
  });
});

describe('fit', () => {
  test('cuts only what is above the common level', () => {
    // 30, 60 and 600 bytes are 10, 20 and 200 tokens; of 100, the two short ones leave 70 to the long one: 210 bytes,
    // the first 147 (70 %) and the last 63 of them, and 600 - 210 are left out.
    const texts = ['a'.repeat(30), 'b'.repeat(60), 'c'.repeat(600)];

    expect(fit(texts, 100)).toEqual([
      texts[0],
      texts[1],
      `${'c'.repeat(147)}[... 390 characters left out ...]${'c'.repeat(63)}`,
    ]);
    expect(fit(texts, 230)).toEqual(texts);
  });

  test('cuts no character in two', () => {
    const [text] = fit(['😀'.repeat(100)], 20);

    expect(text).toMatch(CUT_MARK);
    expect(text?.isWellFormed()).toBe(true);
  });
});
