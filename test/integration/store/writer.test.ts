import { describe, expect, test } from 'vitest';

import { openEngine } from '../../../src/store/engine.js';
import { isEngineError } from '../../../src/store/retry.js';
import { interactionFromRow, verdictFromRow } from '../../../src/store/rows.js';
import { call } from '../../support/score-builders.js';
import { ENGINE_DEPS, freshPlace, freshStore, graded, turn, WRITER_DEPS } from '../../support/store.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

describe('what is read back', () => {
  test('is what was written, member for member', async () => {
    const of = turn({
      trace: 1,
      conversationAliases: ['other'],
      userId: 'user-1',
      agentVersion: '1.2',
      environment: 'prod',
      task: 'weather',
      caseId: 'case-1',
      model: 'model-1',
      inputTokens: 1_200,
      outputTokens: 34,
      revision: 9,
      interrupted: true,
      handoffs: [{ from: null, to: 'specialist' }],
      coverage: ['results_not_captured', 'unended_spans'],
      expectation: { tools: [{ name: 'a', arguments: { n: 1 } }], forbiddenTools: [] },
      toolCalls: [
        call('a', {
          callId: 'call_1',
          arguments: { city: 'Lindholm', tags: ['x', null, true, 1.5], nested: { deep: {} } },
          result: [1, 'two'],
          offer: { kind: 'offered', freeText: false, schema: { type: 'object' } },
          startedAtMs: Date.parse('2026-11-30T09:00:01.250Z'),
          endedAtMs: Date.parse('2026-11-30T09:00:02.500Z'),
          owner: 'specialist',
          byRoot: false,
        }),
        call('b', {
          position: 1,
          arguments: '{"cut',
          argumentsStatus: 'truncated',
          result: null,
          resultStatus: 'not_captured',
        }),
        call('c', {
          position: 2,
          arguments: null,
          argumentsStatus: 'not_captured',
          offer: { kind: 'not_offered' },
          pending: true,
        }),
        call('d', {
          position: 3,
          offer: { kind: 'offered', freeText: true },
          failed: true,
          error: 'no',
          providerExecuted: true,
        }),
      ],
    });
    const row = graded(of, {
      label: 'unscored',
      leftOut: true,
      outstanding: 1,
      scores: [
        {
          kind: 'scored',
          criterion: 'tools',
          value: 0.25,
          passed: false,
          decidedBy: 'rule',
          reason: 'r',
          details: { missing: ['x'] },
        },
        { kind: 'abstained', criterion: 'arguments', abstained: 'judge_failed', reason: 's', details: {} },
      ],
    });
    const store = await freshStore();
    const writer = store.writer(WRITER_DEPS);

    const written = writer.write(row);
    await writer.close({ drainMs: 10_000 });
    const [interactionRow] = await store.rows('SELECT * FROM {db}.interactions_current');
    const [verdictRow] = await store.rows('SELECT * FROM {db}.verdicts_current');

    expect(await written).toEqual({ status: 'ok' });
    expect(interactionFromRow(interactionRow ?? {})).toEqual(of);
    expect(verdictFromRow(verdictRow ?? {})).toEqual(row.verdict);
  });

  test.each([
    ['NUL bytes', 'PK\u0003\u0004\u0000\u0000harvest\u0000plan', 'PK\u0003\u0004\u0000\u0000harvest\u0000plan'],
    ['a lone surrogate, replaced', 'a\ud83db', 'a\ufffdb'],
    ['a surrogate pair', '\u{1f600}', '\u{1f600}'],
    ['quotes, semicolons and line ends', `'; DROP TABLE x; --\r\n\t"\\N\\`, `'; DROP TABLE x; --\r\n\t"\\N\\`],
    ['a megabyte', 'é'.repeat(500_000), 'é'.repeat(500_000)],
  ])('keeps %s', async (_, text, expected) => {
    const store = await freshStore();
    const writer = store.writer(WRITER_DEPS);
    const of = turn({
      trace: 1,
      query: text,
      answer: text,
      toolCalls: [call('t', { arguments: { text }, result: text })],
    });

    const written = writer.write(graded(of));
    await writer.close({ drainMs: 10_000 });
    const [row] = await store.rows('SELECT * FROM {db}.interactions_current');
    const back = interactionFromRow(row ?? {});

    expect(await written).toEqual({ status: 'ok' });
    expect([back.query, back.answer, back.toolCalls[0]?.arguments, back.toolCalls[0]?.result]).toEqual([
      expected,
      expected,
      { text: expected },
      expected,
    ]);
  });
});

test('50 rows, the 17th refused by the engine: 49 are stored, one is in rejections with its reason', async () => {
  const store = await freshStore();
  await store.command("ALTER TABLE {db}.interactions ADD CONSTRAINT no_poison CHECK query != 'my secret'");
  const writer = store.writer(WRITER_DEPS);
  const rows = Array.from({ length: 50 }, (_, index) =>
    graded(turn({ trace: index + 1, query: index === 16 ? 'my secret' : 'fine' })),
  );

  const written = rows.map((row) => writer.write(row));
  await writer.close({ drainMs: 30_000 });
  const statuses = (await Promise.all(written)).map(({ status }) => status);
  const [counts] = await store.rows(
    'SELECT (SELECT count() FROM {db}.interactions) AS interactions, (SELECT count() FROM {db}.verdicts) AS verdicts',
  );
  const rejections = await store.rows('SELECT source, reason, detail FROM {db}.rejections');

  expect(statuses).toEqual(rows.map((_, index) => (index === 16 ? 'rejected' : 'ok')));
  expect(counts).toEqual({ interactions: 49, verdicts: 49 });
  expect(rejections).toEqual([
    {
      source: 'store',
      reason: 'store_refused_row',
      detail: `interactions row ${rows[16]?.interaction.interactionId}: one that the engine takes expected, got 469 VIOLATED_CONSTRAINT`,
    },
  ]);
});

test('400 days, 88 more months and the year 5241 in one flush: stored, or rejected with a reason', async () => {
  const store = await freshStore();
  const writer = store.writer(WRITER_DEPS);
  const now = Date.parse('2026-11-30T09:00:00Z');
  const days = Array.from({ length: 400 }, (_, index) =>
    turn({ trace: index + 1, startedAtMs: now - index * DAY_MS, endedAtMs: now }),
  );
  const months = Array.from({ length: 88 }, (_, index) => {
    const startedAtMs = Date.UTC(2000, index, 5);
    return turn({ trace: 1_000 + index, startedAtMs, endedAtMs: startedAtMs });
  });
  const far = Date.UTC(5241, 0, 1);

  const written = [...days, ...months, turn({ trace: 9_999, startedAtMs: far, endedAtMs: far })].map((of) =>
    writer.write(graded(of)),
  );
  await writer.close({ drainMs: 60_000 });
  const statuses = (await Promise.all(written)).map(({ status }) => status);
  const [counts] = await store.rows(
    'SELECT (SELECT count() FROM {db}.interactions_current) AS interactions, (SELECT count() FROM {db}.verdicts_current) AS verdicts',
  );
  const [rejection] = await store.rows('SELECT detail FROM {db}.rejections');

  expect(statuses.filter((status) => status === 'ok')).toHaveLength(488);
  expect(statuses.at(-1)).toBe('rejected');
  expect(counts).toEqual({ interactions: 488, verdicts: 488 });
  expect(rejection?.['detail']).toMatch(
    /started_at between 1970-01-01 and 2099-12-31 expected, got 103222857600000 ms/,
  );
});

describe('an insert that is sent again', () => {
  const columns = ['at', 'source', 'reason', 'detail', 'spans'];
  const line = (detail: string) => JSON.stringify([1_796_020_000_000, 'file', 'malformed_span', detail, 1]);

  test('with the same token is stored once, with another one again', async () => {
    const store = await freshStore();
    const engine = await openEngine(store.config, ENGINE_DEPS);

    await engine.insert('rejections', columns, [line('a'), line('b')], 'token-1');
    await engine.insert('rejections', columns, [line('a'), line('b')], 'token-1');
    await engine.insert('rejections', columns, [line('c')], 'token-2');
    await engine.insert('rejections', columns, [line('c')], 'token-3');
    const rows = await store.rows('SELECT detail FROM {db}.rejections ORDER BY detail');
    await engine.close();

    expect(rows.map((row) => row['detail'])).toEqual(['a', 'b', 'c', 'c']);
  });

  test('feeds the table of open-topped rows once', async () => {
    const store = await freshStore();
    const engine = await openEngine(store.config, ENGINE_DEPS);
    const names = ['interaction_id', 'trace_id', 'started_at', 'open_top'];
    const rows = [
      JSON.stringify(['i', 't', 1_796_020_000_000, true]),
      JSON.stringify(['j', 't', 1_796_020_000_000, false]),
    ];

    await engine.insert('interactions', names, rows, 'token-1');
    await engine.insert('interactions', names, rows, 'token-1');
    const [counts] = await store.rows(
      'SELECT (SELECT count() FROM {db}.interactions) AS interactions, (SELECT count() FROM {db}.open_tops) AS open_tops',
    );
    await engine.close();

    expect(counts).toEqual({ interactions: 2, open_tops: 1 });
  });
});

test('an error of the engine has its code and its name, in process as over HTTP', async () => {
  const engine = await openEngine(freshPlace(), ENGINE_DEPS);

  const error: unknown = await engine.insert('t', ['a'], ['[1]'], 'x').catch((reason: unknown) => reason);
  await engine.close();

  expect(isEngineError(error) && [error.code, error.type]).toEqual(['81', 'UNKNOWN_DATABASE']);
});

test('heartbeats keep how far each source has been read', async () => {
  const store = await freshStore();

  await store.recordHeartbeats([
    {
      worker: 'w1',
      source: 'spool',
      atMs: Date.parse('2026-11-30T09:00:10Z'),
      streamTimeMs: Date.parse('2026-11-30T09:00:07.500Z'),
      details: { openSpans: 3 },
    },
  ]);

  expect(await store.rows('SELECT * FROM {db}.heartbeats')).toEqual([
    {
      worker: 'w1',
      source: 'spool',
      at: '2026-11-30 09:00:10.000',
      stream_time: '2026-11-30 09:00:07.500',
      lag_ms: 2_500,
      details: '{"openSpans":3}',
    },
  ]);
});
