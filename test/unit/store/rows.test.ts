import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  INTERACTION_COLUMN_NAMES,
  interactionLine,
  partitionOf,
  timeFault,
  VERDICT_COLUMN_NAMES,
  verdictLine,
  verdictVersion,
} from '../../../src/store/rows.js';
import { call, interaction } from '../../support/score-builders.js';
import { graded, turn } from '../../support/store.js';

function columnsOf(line: string, names: readonly string[]): Record<string, unknown> {
  const values = JSON.parse(line) as unknown[];
  expect(values).toHaveLength(names.length);
  return Object.fromEntries(names.map((name, index) => [name, values[index]]));
}

describe('interactionLine', () => {
  test('writes arguments as JSON text, and nothing where nothing was captured', () => {
    const turns = interaction([
      call('a', { arguments: { city: 'Lindholm' }, result: null }),
      call('b', {
        arguments: '{"city": "Li',
        argumentsStatus: 'truncated',
        result: 'cut he',
        resultStatus: 'truncated',
      }),
      call('c', { arguments: null, argumentsStatus: 'not_captured', result: null, resultStatus: 'not_captured' }),
      call('d', { arguments: null, offer: { kind: 'offered', freeText: true, schema: { type: 'object' } } }),
    ]);

    const columns = columnsOf(interactionLine(turns), INTERACTION_COLUMN_NAMES);

    expect(columns['tool_calls.arguments']).toEqual(['{"city":"Lindholm"}', '"{\\"city\\": \\"Li"', null, 'null']);
    expect(columns['tool_calls.result']).toEqual(['null', '"cut he"', null, '"ok"']);
    expect(columns['tool_calls.schema']).toEqual([null, null, null, '{"type":"object"}']);
    expect(columns['tool_calls.free_text']).toEqual([false, false, false, true]);
    expect(columns['expectation']).toBeNull();
  });

  test('writes an expectation as JSON text', () => {
    const expectation = { tools: [{ name: 'a', arguments: null }], forbiddenTools: [] };

    const columns = columnsOf(interactionLine(interaction([], { expectation })), INTERACTION_COLUMN_NAMES);

    expect(columns['expectation']).toBe('{"tools":[{"name":"a","arguments":null}],"forbiddenTools":[]}');
  });

  test('leaves no lone surrogate anywhere, also inside of JSON text, and keeps pairs and backslashes', () => {
    const bad = interaction([call('t\ud800', { arguments: { 'k\udc00': ['v\ud83d', '\u{1f600}', '\\ud800'] } })], {
      query: 'a\ud800b',
      answer: '\u{1f600} \\ud800',
    });

    const line = interactionLine(bad);

    const columns = columnsOf(line, INTERACTION_COLUMN_NAMES);
    expect(columns['query']).toBe('a\ufffdb');
    expect(columns['answer']).toBe('\u{1f600} \\ud800');
    expect(columns['tool_calls.name']).toEqual(['t\ufffd']);
    expect(JSON.parse((columns['tool_calls.arguments'] as string[])[0] as string)).toEqual({
      'k\ufffd': ['v\ufffd', '\u{1f600}', '\\ud800'],
    });
  });

  test('writes well-formed text for any strings', () => {
    const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
    fc.assert(
      fc.property(anyUnits, anyUnits, (query, argument) => {
        const line = interactionLine(interaction([call('t', { arguments: { [argument]: query } })], { query }));

        const columns = columnsOf(line, INTERACTION_COLUMN_NAMES);
        const [text] = columns['tool_calls.arguments'] as string[];
        expect(columns['query']).toBe(query.toWellFormed());
        expect(JSON.parse(text as string)).toEqual({ [argument.toWellFormed()]: query.toWellFormed() });
      }),
    );
  });

  test('writes a key __proto__ like any other', () => {
    const args = JSON.parse('{"__proto__":{"a":"\\ud800"}}') as { readonly [key: string]: string };

    const columns = columnsOf(interactionLine(interaction([call('t', { arguments: args })])), INTERACTION_COLUMN_NAMES);

    expect(columns['tool_calls.arguments']).toEqual(['{"__proto__":{"a":"\ufffd"}}']);
  });

  test('writes counts that the columns hold', () => {
    const odd = (inputTokens: number) =>
      columnsOf(interactionLine(interaction([], { inputTokens })), INTERACTION_COLUMN_NAMES)['input_tokens'];

    expect([12, 12.4, -1, NaN, Infinity, 1e300].map(odd)).toEqual([12, 12, null, null, null, null]);
  });

  test('writes times of calls that the columns cannot hold as unknown', () => {
    const call5241 = call('t', { startedAtMs: Date.UTC(5241, 0, 1), endedAtMs: -1 });

    const columns = columnsOf(interactionLine(interaction([call5241])), INTERACTION_COLUMN_NAMES);

    expect([columns['tool_calls.started_at'], columns['tool_calls.ended_at']]).toEqual([[null], [null]]);
  });
});

describe('verdictLine', () => {
  test('repeats what panels group by, and tells scored from abstained', () => {
    const of = interaction([], { task: 'weather', openTop: true, revision: 7 });
    const line = verdictLine(
      graded(of, {
        outstanding: 1,
        scores: [
          {
            kind: 'scored',
            criterion: 'tools',
            value: 0.5,
            passed: false,
            decidedBy: 'rule',
            reason: 'r',
            details: { missing: ['x'] },
          },
          { kind: 'abstained', criterion: 'arguments', abstained: 'judge_failed', reason: 's', details: {} },
        ],
      }),
    );

    const columns = columnsOf(line, VERDICT_COLUMN_NAMES);
    expect(columns).toMatchObject({
      task: 'weather',
      open_top: true,
      trace_id: of.traceId,
      version: 7 * 256 + 254,
      'scores.criterion': ['tools', 'arguments'],
      'scores.value': [0.5, null],
      'scores.passed': [false, null],
      'scores.decided_by': ['rule', null],
      'scores.abstained': [null, 'judge_failed'],
      'scores.details': ['{"missing":["x"]}', '{}'],
    });
  });

  test('writes a value that is no number as none', () => {
    const score = {
      kind: 'scored',
      criterion: 'tools',
      value: NaN,
      passed: false,
      decidedBy: 'rule',
      reason: '',
      details: {},
    } as const;

    const columns = columnsOf(verdictLine(graded(interaction(), { scores: [score] })), VERDICT_COLUMN_NAMES);

    expect(columns['scores.value']).toEqual([null]);
  });
});

describe('verdictVersion', () => {
  const version = (revision: number, outstanding: number) => {
    const row = graded(interaction([], { revision }), { outstanding });
    return verdictVersion(row.interaction, row.verdict);
  };

  test('puts evidence before open questions, and fewer open questions before more', () => {
    expect(version(3, 0)).toBe(3 * 256 + 255);
    expect(version(4, 5)).toBeGreaterThan(version(3, 0));
    expect(version(3, 0)).toBeGreaterThan(version(3, 1));
    expect(version(3, 999)).toBe(3 * 256);
  });

  test('puts what was judged before what was left out', () => {
    const row = graded(interaction([], { revision: 3 }), { leftOut: true, outstanding: 0 });

    expect(version(3, 1)).toBeGreaterThan(verdictVersion(row.interaction, row.verdict));
  });
});

describe('timeFault', () => {
  test('names the time that the columns cannot hold', () => {
    expect(timeFault(turn({ trace: 1 }))).toBeNull();
    expect(timeFault(turn({ trace: 1, at: '1970-01-01T00:00:00Z' }))).toBeNull();
    expect(timeFault(turn({ trace: 1, startedAtMs: Date.UTC(5241, 0, 1) }))).toMatch(
      /started_at between .* got 103222857600000 ms/,
    );
    expect(timeFault(turn({ trace: 1, endedAtMs: Date.UTC(2100, 0, 1) }))).toMatch(/ended_at/);
    expect(timeFault(turn({ trace: 1, startedAtMs: NaN }))).toMatch(/got NaN/);
    expect(timeFault(turn({ trace: 1, startedAtMs: -1 }))).toMatch(/got -1 ms/);
  });
});

describe('partitionOf', () => {
  test('is the month in UTC, as toYYYYMM gives it', () => {
    expect(partitionOf(turn({ trace: 1, at: '2026-01-31T23:59:59.999Z' }))).toBe('202601');
    expect(partitionOf(turn({ trace: 1, at: '2026-02-01T00:00:00.000Z' }))).toBe('202602');
  });
});
