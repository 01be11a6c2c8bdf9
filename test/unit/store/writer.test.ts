import { describe, expect, test } from 'vitest';

import type { Graded } from '../../../src/model/graded.js';
import type { InsertLines, WrittenTable } from '../../../src/store/deliver.js';
import type { StoreWriter, WriterRules } from '../../../src/store/writer.js';
import { createWriter, DEFAULT_WRITER_RULES } from '../../../src/store/writer.js';
import { graded, turn } from '../../support/store.js';

interface Insert {
  readonly table: WrittenTable;
  readonly lines: readonly string[];
  readonly token: string;
}

type Answer = (insert: Insert) => void | Promise<void>;

/** A writer on an engine with a script, and a clock that is turned by hand. */
function scripted(answer: Answer = () => undefined, rules: Partial<WriterRules> = {}) {
  let nowMs = 0;
  let alarms: { atMs: number; wake: () => void }[] = [];
  const inserts: Insert[] = [];
  const events: string[] = [];
  const insert: InsertLines = async (table, _columns, lines, token) => {
    inserts.push({ table, lines, token });
    await answer({ table, lines, token });
  };
  const writer = createWriter(
    {
      insert,
      nowMs: () => nowMs,
      after: (ms, wake) => {
        const alarm = { atMs: nowMs + ms, wake };
        alarms.push(alarm);
        return () => {
          alarms = alarms.filter((other) => other !== alarm);
        };
      },
      chance: () => 0,
      on: {
        storeUnavailable: () => events.push('unavailable'),
        storeRecovered: () => events.push('recovered'),
        rowRejected: ({ table }) => events.push(`rejected ${table}`),
        batchRetried: ({ table, attempt }) => events.push(`retried ${table} ${attempt}`),
      },
    },
    { ...DEFAULT_WRITER_RULES, batchMs: 100, backoff: { firstMs: 10, maxMs: 1_000 }, ...rules },
  );

  /** Lets `ms` pass, and everything happen that follows from it. */
  async function pass(ms: number): Promise<void> {
    const untilMs = nowMs + ms;
    await settle();
    for (;;) {
      const next = alarms.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      alarms = alarms.filter((other) => other !== next);
      nowMs = Math.max(nowMs, next.atMs);
      next.wake();
      await settle();
    }
    nowMs = untilMs;
  }
  return { writer, inserts, events, pass };
}

/** All that is ready to run runs. */
async function settle(): Promise<void> {
  for (let i = 0; i < 200; i += 1) await Promise.resolve();
}

function rows(count: number): Graded[] {
  return Array.from({ length: count }, (_, index) => graded(turn({ trace: index + 1 })));
}

function writeAll(writer: StoreWriter, all: readonly Graded[]): { readonly outcomes: (string | undefined)[] } {
  const outcomes: (string | undefined)[] = all.map(() => undefined);
  all.forEach((row, index) => void writer.write(row).then(({ status }) => (outcomes[index] = status)));
  return { outcomes };
}

function clickhouseError(code: number): Error {
  return Object.assign(new Error(`row "secret" is bad`), { code: String(code), type: 'SOME_TYPE' });
}

const PARSE = 27;
const TOO_MANY_PARTS = 252;
const NOBODY_KNOWS = 49;

describe('batches', () => {
  test('a row waits no longer than batchMs', async () => {
    const { writer, inserts, pass } = scripted();
    const { outcomes } = writeAll(writer, rows(1));

    await pass(99);
    expect(inserts).toEqual([]);
    await pass(1);

    expect(inserts.map(({ table }) => table)).toEqual(['interactions', 'verdicts']);
    expect(outcomes).toEqual(['ok']);
  });

  test('a full batch waits for nothing', async () => {
    const { writer, inserts, pass } = scripted(undefined, { batchRows: 3 });
    const { outcomes } = writeAll(writer, rows(4));

    await pass(0);

    expect(inserts.map(({ table, lines }) => [table, lines.length])).toEqual([
      ['interactions', 3],
      ['verdicts', 3],
    ]);
    expect(outcomes).toEqual(['ok', 'ok', 'ok', undefined]);
  });

  test('many characters make a batch, and a row that is larger than one goes alone', async () => {
    const { writer, inserts, pass } = scripted(undefined, { batchChars: 5_000 });
    const large = graded(turn({ trace: 1, query: 'x'.repeat(9_000) }));
    writeAll(writer, [large, ...rows(1)]);

    await pass(100);

    expect(inserts.filter(({ table }) => table === 'interactions').map(({ lines }) => lines.length)).toEqual([1, 1]);
  });

  test('answers only when both rows are acknowledged', async () => {
    let acknowledge: () => void = () => undefined;
    const { writer, pass } = scripted(({ table }) =>
      table === 'verdicts' ? new Promise<void>((resolve) => (acknowledge = resolve)) : undefined,
    );
    const { outcomes } = writeAll(writer, rows(1));

    await pass(100);
    expect(outcomes).toEqual([undefined]);
    acknowledge();
    await pass(0);

    expect(outcomes).toEqual(['ok']);
  });

  test('no insert touches more partitions than allowed', async () => {
    const { writer, inserts, pass } = scripted(undefined, { partitionsPerInsert: 2 });
    const months = ['2024-01', '2024-02', '2024-03', '2024-02', '2024-04', '2024-05'];
    const all = months.map((month, index) => graded(turn({ trace: index + 1, at: `${month}-05T00:00:00Z` })));
    const { outcomes } = writeAll(writer, all);

    await pass(100);

    expect(inserts.map(({ table, lines }) => `${table} ${lines.length}`)).toEqual([
      'interactions 3',
      'verdicts 3',
      'interactions 2',
      'verdicts 2',
      'interactions 1',
      'verdicts 1',
    ]);
    expect(outcomes).toEqual(months.map(() => 'ok'));
  });
});

describe('an engine that is away', () => {
  test('gets the same rows with the same token until it takes them, and nobody is told before', async () => {
    let left = 3;
    const { writer, inserts, events, pass } = scripted(() => {
      if (left-- > 0) throw clickhouseError(TOO_MANY_PARTS);
    });
    const { outcomes } = writeAll(writer, rows(2));

    await pass(100);
    expect([writer.available, outcomes]).toEqual([false, [undefined, undefined]]);
    await pass(10_000);

    expect(outcomes).toEqual(['ok', 'ok']);
    expect(new Set(inserts.slice(0, 4).map(({ token }) => token)).size).toBe(1);
    expect(inserts[4]?.token).not.toBe(inserts[3]?.token);
    expect(events).toEqual([
      'unavailable',
      'retried interactions 1',
      'retried interactions 2',
      'retried interactions 3',
      'recovered',
    ]);
    expect(writer.available).toBe(true);
  });

  test('makes the writer full, and room when it is back', async () => {
    let away = true;
    const { writer, pass } = scripted(
      () => {
        if (away) throw new Error('connect ECONNREFUSED');
      },
      { queueRows: 2 },
    );
    const { outcomes } = writeAll(writer, rows(3));
    let ready = false;
    void writer.ready().then(() => (ready = true));

    await pass(5_000);
    expect([writer.full, ready, writer.waiting]).toEqual([true, false, 3]);
    away = false;
    await pass(5_000);

    expect([writer.full, ready, writer.waiting]).toEqual([false, true, 0]);
    expect(outcomes).toEqual(['ok', 'ok', 'ok']);
  });

  test('is found out also when it hangs', async () => {
    const { writer, events, pass } = scripted(() => new Promise<void>(() => undefined), { stalledMs: 30_000 });
    writeAll(writer, rows(1));

    await pass(30_000);
    expect(writer.available).toBe(true);
    await pass(100);

    expect(writer.available).toBe(false);
    expect(events).toEqual(['unavailable']);
  });
});

describe('a row that the engine refuses', () => {
  const refuse = (mark: string, code: number): Answer => {
    return ({ lines, table }) => {
      if (table !== 'rejections' && lines.some((line) => line.includes(mark))) throw clickhouseError(code);
    };
  };

  test('is found among 50: 49 are stored, one is in rejections without its content', async () => {
    const { writer, inserts, events, pass } = scripted(refuse('POISON', PARSE));
    const all = rows(50).map((row, index) => (index === 16 ? graded({ ...row.interaction, query: 'POISON' }) : row));
    const { outcomes } = writeAll(writer, all);

    await pass(100);

    expect(outcomes).toEqual(all.map((_, index) => (index === 16 ? 'rejected' : 'ok')));
    const rejected = inserts.filter(({ table }) => table === 'rejections').flatMap(({ lines }) => lines);
    expect(rejected).toHaveLength(1);
    expect(JSON.parse(rejected[0] as string)).toEqual([
      100,
      'store',
      'store_refused_row',
      `interactions row ${all[16]?.interaction.interactionId}: one that the engine takes expected, got 27 SOME_TYPE`,
      0,
    ]);
    const verdicts = inserts.filter(({ table }) => table === 'verdicts').flatMap(({ lines }) => lines);
    expect(verdicts).toHaveLength(49);
    expect(events).toEqual(['rejected interactions']);
    expect(writer.available).toBe(true);
  });

  test('is answered only when its rejection is stored', async () => {
    let away = true;
    const { writer, pass } = scripted((insert) => {
      void refuse('POISON', PARSE)(insert);
      if (insert.table === 'rejections' && away) throw clickhouseError(TOO_MANY_PARTS);
    });
    const { outcomes } = writeAll(writer, [graded(turn({ trace: 1, query: 'POISON' }))]);

    await pass(5_000);
    expect(outcomes).toEqual([undefined]);
    away = false;
    await pass(5_000);

    expect(outcomes).toEqual(['rejected']);
  });

  test('for a reason nobody knows is given up when others beside it are taken', async () => {
    const { writer, inserts, pass } = scripted(refuse('POISON', NOBODY_KNOWS), { unknownAttempts: 3 });
    const { outcomes } = writeAll(writer, [graded(turn({ trace: 9, query: 'POISON' })), ...rows(3)]);

    await pass(5_000);

    expect(outcomes).toEqual(['rejected', 'ok', 'ok', 'ok']);
    expect(inserts.filter(({ lines }) => lines.length === 4).slice(0, 3)).toHaveLength(3);
  });

  test('for a reason nobody knows is kept while the engine takes nothing at all', async () => {
    let broken = true;
    const { writer, events, pass } = scripted(
      ({ table }) => {
        if (broken && table === 'interactions') throw clickhouseError(NOBODY_KNOWS);
      },
      { unknownAttempts: 2 },
    );
    const { outcomes } = writeAll(writer, rows(40));

    await pass(60_000);
    expect(outcomes.every((outcome) => outcome === undefined)).toBe(true);
    expect(writer.available).toBe(false);
    broken = false;
    await pass(5_000);

    expect(outcomes.every((outcome) => outcome === 'ok')).toBe(true);
    expect(events).not.toContain('rejected interactions');
  });

  test('alone with a reason nobody knows is given up as soon as others come', async () => {
    const { writer, pass } = scripted(refuse('POISON', NOBODY_KNOWS), { unknownAttempts: 2 });
    const poison = writeAll(writer, [graded(turn({ trace: 9, query: 'POISON' }))]);
    await pass(10_000);
    expect(poison.outcomes).toEqual([undefined]);

    const others = writeAll(writer, rows(2));
    await pass(10_000);

    expect([poison.outcomes, others.outcomes]).toEqual([['rejected'], ['ok', 'ok']]);
  });

  test('needs no engine when its time fits no column', async () => {
    const { writer, inserts, pass } = scripted();
    const { outcomes } = writeAll(writer, [graded(turn({ trace: 1, startedAtMs: Date.UTC(5241, 0, 1) })), ...rows(1)]);

    await pass(100);

    expect(outcomes).toEqual(['rejected', 'ok']);
    expect(inserts.map(({ table, lines }) => [table, lines.length])).toEqual([
      ['rejections', 1],
      ['interactions', 1],
      ['verdicts', 1],
    ]);
  });
});

describe('rejections', () => {
  const record = { atMs: 5, source: 'otlp_http', reason: 'malformed_span' as const, detail: 'spans[0]: bad', spans: 1 };

  test('are stored without an interaction', async () => {
    const { writer, inserts, pass } = scripted();
    writer.reject([record]);

    await pass(100);

    expect(inserts.map(({ table, lines }) => [table, lines])).toEqual([
      ['rejections', ['[5,"otlp_http","malformed_span","spans[0]: bad",1]']],
    ]);
  });

  test('beyond the bound are stored as a number', async () => {
    const { writer, inserts, pass } = scripted(undefined, { queueRejections: 2 });
    writer.reject([record, record, record, { ...record, detail: 'spans[9]: bad' }]);

    await pass(100);

    expect(inserts[0]?.lines).toHaveLength(3);
    expect(inserts[0]?.lines[2]).toContain('2 more of these, the last: spans[9]: bad');
  });
});

describe('close', () => {
  test('stores what is left, and takes no more', async () => {
    const { writer, inserts, pass } = scripted();
    const { outcomes } = writeAll(writer, rows(2));

    const closed = writer.close({ drainMs: 1_000 });
    await pass(0);
    await closed;

    expect(outcomes).toEqual(['ok', 'ok']);
    expect(inserts).toHaveLength(2);
    expect((await writer.write(rows(1)[0] as Graded)).status).toBe('retryable');
  });

  test.each([
    ['is away', () => Promise.reject(clickhouseError(TOO_MANY_PARTS))],
    ['hangs', () => new Promise<void>(() => undefined)],
  ])('answers retryable after drainMs when the engine %s', async (_, answer) => {
    const { writer, pass } = scripted(answer);
    const { outcomes } = writeAll(writer, rows(2));
    let closed = false;

    void writer.close({ drainMs: 1_000 }).then(() => (closed = true));
    await pass(999);
    expect([closed, outcomes]).toEqual([false, [undefined, undefined]]);
    await pass(1);

    expect([closed, outcomes]).toEqual([true, ['retryable', 'retryable']]);
    expect(writer.waiting).toBe(0);
  });
});
