import { describe, expect, test } from 'vitest';
import type { AskedParts } from '../../../src/judge/answer-schema.js';
import { answerJsonSchema, answerSchemaHash } from '../../../src/judge/answer-schema.js';
import { readAnswer } from '../../../src/judge/read-answer.js';

const nothing: AskedParts = { arguments: [], answer: false, completion: false, utilization: false };
const twoCalls: AskedParts = { ...nothing, arguments: ['call_0', 'call_2'] };
const anAnswer: AskedParts = { ...nothing, answer: true };

const entry = (id: string, verdict: unknown = 'correct') => ({ call_id: id, parameters: [], reason: 'r', verdict });
const good = { arguments: [entry('call_0'), entry('call_2', 'incorrect')] };
const graded = (value: unknown) => ({ answer: { reason: 'r', value } });
const reasonOf = (content: Parameters<typeof readAnswer>[0], asked: AskedParts) => {
  const read = readAnswer(content, asked);
  return read.kind === 'rejected' ? read.reason : 'accepted';
};

describe('readAnswer', () => {
  test.each([
    ['a JSON object', JSON.stringify(good)],
    ['white space around it', `\n ${JSON.stringify(good)}\n`],
    ['a code fence around it', `\`\`\`json\n${JSON.stringify(good, null, 2)}\n\`\`\``],
    ['a code fence without a language', `\`\`\`\n${JSON.stringify(good)}\n\`\`\``],
    ['a reasoning block before it', `<think>call_0 is {"verdict":"incorrect"}?</think>\n${JSON.stringify(good)}`],
    ['members that nobody asked for', JSON.stringify({ ...good, confidence: 2, answer: { value: 90 } })],
    ['another order of the calls', JSON.stringify({ arguments: [...good.arguments].reverse() })],
  ])('accepts %s', (_, text) => {
    const read = readAnswer({ text }, twoCalls);

    expect(read).toMatchObject({ kind: 'accepted' });
    const verdicts = read.kind === 'accepted' ? (read.answer.arguments ?? []) : [];
    expect(Object.fromEntries(verdicts.map((each) => [each.call_id, each.verdict]))).toEqual({
      call_0: 'correct',
      call_2: 'incorrect',
    });
  });

  test.each<[string, string, RegExp]>([
    ['an empty text', '', /^the answer is empty$/],
    ['prose', 'Both are correct.', /not one JSON object/],
    ['an error text with a digit', '[ERROR] 5 tries', /not one JSON object/],
    ['prose before the object', `Here it is: ${JSON.stringify(good)}`, /not one JSON object/],
    [
      'an object inside of prose in a fence',
      `Quoted:\n\`\`\`json\n${JSON.stringify(good)}\n\`\`\``,
      /not one JSON object/,
    ],
    ['two objects', `${JSON.stringify(good)}\n${JSON.stringify(good)}`, /not one JSON object/],
    ['an object that was cut', JSON.stringify(good).slice(0, -3), /not one JSON object/],
    ['NaN', '{"arguments": NaN}', /not one JSON object/],
    ['a number', '1', /not one JSON object/],
    ['an unclosed reasoning block', `<think>${JSON.stringify(good)}`, /not one JSON object/],
    ['null', 'null', /not one JSON object/],
    ['a list', JSON.stringify(good.arguments), /the answer: object expected/],
    ['another shape', '{"score": 0.9}', /^arguments: array expected$/],
    [
      'fewer verdicts',
      JSON.stringify({ arguments: [entry('call_0')] }),
      /2 calls expected; 1 missing, 0 repeated, 0 for/,
    ],
    ['no verdicts', JSON.stringify({ arguments: [] }), /2 missing/],
    [
      'more verdicts',
      JSON.stringify({ arguments: [...good.arguments, entry('call_1')] }),
      /0 missing, 0 repeated, 1 for/,
    ],
    ['the same id twice', JSON.stringify({ arguments: [entry('call_0'), entry('call_0')] }), /1 missing, 1 repeated/],
    ['other ids', JSON.stringify({ arguments: [entry('a'), entry('b')] }), /2 missing, 0 repeated, 2 for/],
    ['ids in other letters', JSON.stringify({ arguments: [entry('Call_0'), entry('call_2 ')] }), /2 missing/],
    [
      'verdicts without ids',
      JSON.stringify({ arguments: [{ verdict: 'correct' }, { verdict: 'correct' }] }),
      /^arguments\.0\.call_id/,
    ],
    [
      'a verdict of its own',
      JSON.stringify({ arguments: [entry('call_0', 'idk'), entry('call_2')] }),
      /^arguments\.0\.verdict: one of correct/,
    ],
    [
      'a verdict that is no word',
      JSON.stringify({ arguments: [entry('call_0', true), entry('call_2')] }),
      /^arguments\.0\.verdict/,
    ],
  ])('rejects %s', (_, text, reason) => {
    expect(reasonOf({ text }, twoCalls)).toMatch(reason);
  });

  test.each<[string, unknown]>([
    ['90 on a scale that ends at 1', 90],
    ['less than 0', -0.1],
    ['barely more than 1', 1.0000001],
    ['"0.9" as text', '0.9'],
    ['true', true],
    ['a list', [0.9]],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['nothing', undefined],
  ])('rejects the value %s', (_, value) => {
    expect(reasonOf({ structured: graded(value) }, anAnswer)).toMatch(/^answer\.value: /);
    expect(reasonOf({ text: JSON.stringify(graded(value)) }, anAnswer)).toMatch(
      // JSON has no NaN and no infinity; both become null there, which says that the judge cannot tell.
      typeof value === 'number' && !Number.isFinite(value) ? /^accepted$/ : /^answer\.value: /,
    );
  });

  test.each([0, 0.7, 1, null])('takes the value %s as it is', (value) => {
    expect(readAnswer({ structured: graded(value) }, anAnswer)).toMatchObject({
      kind: 'accepted',
      answer: { answer: { value } },
    });
  });

  test('quotes nothing of what it rejects', () => {
    const secret = 'secret-4711';
    const rejected = [
      readAnswer({ text: secret }, twoCalls),
      readAnswer({ structured: { arguments: secret } }, twoCalls),
      readAnswer({ structured: { arguments: [entry(secret), entry('call_2', secret)] } }, twoCalls),
      readAnswer({ structured: { arguments: [entry(secret), entry('call_2')] } }, twoCalls),
      readAnswer({ structured: graded(secret) }, anAnswer),
    ];

    expect(rejected.map(({ kind }) => kind)).toEqual(Array(5).fill('rejected'));
    expect(JSON.stringify(rejected)).not.toContain(secret);
  });

  test('shortens what is long, without half characters', () => {
    const read = readAnswer({ structured: { answer: { reason: '😀'.repeat(400), value: 1 } } }, anAnswer);

    const reason = read.kind === 'accepted' ? (read.answer.answer?.reason ?? '') : '';
    expect(reason.length).toBeLessThanOrEqual(500);
    expect(reason.isWellFormed()).toBe(true);
  });
});

describe('the schema that is sent', () => {
  test('requires every member, allows no other, and has reasons before verdicts', () => {
    const schema = answerJsonSchema({ arguments: ['call_0'], answer: true, completion: false, utilization: true });

    expect(schema).toMatchObject({ additionalProperties: false, required: ['arguments', 'answer', 'utilization'] });
    const { properties } = schema as unknown as {
      properties: Record<string, { items?: { properties: object; required: string[] }; properties?: object }>;
    };
    expect(Object.keys(properties['arguments']?.items?.properties ?? {})).toEqual([
      'call_id',
      'parameters',
      'reason',
      'verdict',
    ]);
    expect(properties['arguments']?.items?.required).toEqual(['call_id', 'parameters', 'reason', 'verdict']);
    expect(Object.keys(properties['answer']?.properties ?? {})).toEqual(['reason', 'value']);
    expect(Object.keys(properties['utilization']?.properties ?? {})).toEqual(['reason', 'verdict']);
    expect(JSON.stringify(schema)).not.toMatch(/minimum|maximum|\$schema/);
  });

  test('has a hash that is always the same', () => {
    expect(answerSchemaHash()).toMatch(/^[0-9a-f]{12}$/);
    expect(answerSchemaHash()).toBe(answerSchemaHash());
  });
});
