import { describe, expect, test } from 'vitest';
import { judgeRequestOf, type RequestContext } from '../../../src/judge/request.js';
import { call, interaction } from '../../support/score-builders.js';

const context: RequestContext = {
  policy: 'p',
  expectedAnswer: null,
  asked: { arguments: [1, 0], answer: false, completion: false, utilization: false },
};
const at = (position: number, startedAtMs: number | null, endedAtMs: number | null) =>
  call(`tool_${position}`, { position, startedAtMs, endedAtMs });
const knownIn = (calls: ReturnType<typeof at>[]) =>
  judgeRequestOf(interaction(calls), context).calls.map(({ knownBefore }) => knownBefore);

describe('what was known when a call was made', () => {
  test('the calls that had ended, never itself, a later one, or one that still ran', () => {
    // 0 runs from 0 to 10, 1 from 5 to 20, 2 begins as 0 has ended, 3 when all have.
    expect(knownIn([at(0, 0, 10), at(1, 5, 20), at(2, 10, 30), at(3, 30, 40)])).toEqual([
      [],
      [],
      ['call_0'],
      ['call_0', 'call_1', 'call_2'],
    ]);
  });

  test('without times the order of issue', () => {
    expect(knownIn([at(0, null, null), at(1, 5, 20), at(2, null, null)])).toEqual([
      [],
      ['call_0'],
      ['call_0', 'call_1'],
    ]);
  });

  test('a call that waits for a person gave nothing', () => {
    const calls = [{ ...at(0, null, null), pending: true }, at(1, 5, 20)];

    expect(knownIn(calls)).toEqual([[], []]);
  });
});

test('facts are taken over, and what was not recorded is not made up', () => {
  const request = judgeRequestOf(
    interaction([
      call('a', {
        position: 0,
        arguments: { x: 1 },
        result: 'ok',
        offer: { kind: 'offered', schema: { type: 'object' }, freeText: false },
      }),
      call('b', {
        position: 1,
        argumentsStatus: 'truncated',
        arguments: '{"x":',
        failed: true,
        error: 'no such order',
      }),
      call('c', {
        position: 2,
        argumentsStatus: 'not_captured',
        arguments: null,
        result: null,
        resultStatus: 'not_captured',
      }),
      call('d', { position: 3, argumentsStatus: 'malformed', arguments: 'x = 1', result: null }),
    ]),
    context,
  );

  expect(request.asked.arguments).toEqual(['call_0', 'call_1']);
  expect(request.calls.map(({ arguments: given, schema, outcome }) => ({ given, schema, outcome }))).toEqual([
    { given: { x: 1 }, schema: { type: 'object' }, outcome: { kind: 'result', value: 'ok' } },
    { given: undefined, schema: undefined, outcome: { kind: 'error', message: 'no such order' } },
    { given: undefined, schema: undefined, outcome: { kind: 'unknown' } },
    { given: 'x = 1', schema: undefined, outcome: { kind: 'unknown' } },
  ]);
});
