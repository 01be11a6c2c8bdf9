import { describe, expect, test } from 'vitest';

import type { AgentSpan } from '../../../src/model/agent-span.js';
import type { Span } from '../../../src/model/span.js';
import type { Step } from '../../../src/assemble/assembly.js';
import { openSpans, step } from '../../../src/assemble/assembly.js';
import { AssembleRun } from '../../support/assemble-run.js';
import { agentSpan, namesOf, plainInteraction, spanIdOf } from '../../support/spans.js';

const MINUTE = 60_000;
const ROOT = { id: 'a', kind: 'agent', start: 0, end: 100 } as const;
const CALL = { id: 'l', kind: 'llm', parent: 'a', start: 10 } as const;

describe('ready', () => {
  test('an interaction is decided when its root has ended and it has been quiet', () => {
    const run = new AssembleRun();
    run.at(0, ROOT);
    run.at(4_000, CALL);

    expect(run.nextDueMs).toBe(5_000);
    expect(run.at(8_999)).toEqual([]);
    expect(run.at(9_000).map((decision) => namesOf(decision.turn))).toEqual([['a', 'l']]);
  });

  test('without its root it waits for orphanMs after its last span', () => {
    const run = new AssembleRun();
    run.at(0, CALL);
    run.at(9 * MINUTE, { ...CALL, id: 'l2' });

    expect(run.at(19 * MINUTE - 1)).toEqual([]);
    expect(run.at(19 * MINUTE)[0]?.turn).toMatchObject({ rootSpanId: spanIdOf('a'), root: null, openTop: true });
  });

  test('a root that has not ended is waited for, too', () => {
    const run = new AssembleRun();
    run.at(0, { ...ROOT, end: 0 }, CALL);

    expect(run.at(10 * MINUTE - 1)).toEqual([]);
    expect(run.at(10 * MINUTE)[0]?.turn).toMatchObject({ openTop: false });
  });

  test('after maxTurnMs it is decided though spans keep coming', () => {
    const run = new AssembleRun();
    for (let minute = 0; minute < 60; minute += 1) run.at(minute * MINUTE, { ...CALL, id: `l${String(minute)}` });

    expect(run.decided).toEqual([]);
    expect(run.at(60 * MINUTE)[0]?.turn.spans).toHaveLength(60);
  });

  test('a remote parent is not waited for, an unseen one is', () => {
    const run = new AssembleRun();
    run.at(0, { ...ROOT, parent: 'far', remote: true }, { ...ROOT, trace: 'u', parent: 'near' });

    expect(run.at(5_000).map((decision) => decision.turn.openTop)).toEqual([false]);
    expect(run.at(10 * MINUTE).map((decision) => decision.turn.openTop)).toEqual([true]);
  });

  test('the parent of a server span is in another process', () => {
    const run = new AssembleRun();
    run.at(0, { id: 's', kind: 'skeleton', otlpKind: 2, parent: 'far' }, { ...ROOT, parent: 's' });

    expect(run.at(5_000).map((decision) => decision.turn.openTop)).toEqual([false]);
  });

  test('a parent that comes later than its children joins them under the same id', () => {
    const run = new AssembleRun();
    run.at(0, CALL);
    run.at(2 * MINUTE, ROOT);
    run.finish();

    expect(run.turns()).toEqual(['a l']);
    expect(run.decided).toHaveLength(1);
  });

  test('one interaction does not wait for another of its trace', () => {
    const run = new AssembleRun();
    run.at(0, ROOT, { id: 'b', kind: 'agent', start: 50, end: 0 });

    expect(run.at(5_000).map((decision) => namesOf(decision.turn))).toEqual([['a']]);
  });

  test('what is late for a step fires at its own time, before the arrivals', () => {
    const run = new AssembleRun();
    run.at(0, ROOT);

    const decided = run.at(MINUTE, CALL);

    expect(decided.map((decision) => namesOf(decision.turn))).toEqual([['a']]);
    expect(run.at(2 * MINUTE)).toEqual([]);
    expect(run.counts).toMatchObject({ assembled: 1, late: 1 });
  });
});

describe('late', () => {
  test('spans within the window give one new revision when it is over', () => {
    const run = new AssembleRun();
    run.at(0, ROOT);
    run.at(5_000);
    run.at(6_000, CALL);
    run.at(7_000, { ...CALL, id: 'l2' });

    expect(run.at(19_999)).toEqual([]);
    const [revision] = run.at(20_000);
    expect(revision).toMatchObject({ revised: true });
    expect(revision?.interaction.revision).toBe(6);
    expect(run.settled).toHaveLength(1);
    expect(run.counts).toMatchObject({ arrived: 3, assembled: 3 });
  });

  test('later ones are counted and dropped, and need no log entry', () => {
    const run = new AssembleRun();
    run.take([agentSpan(ROOT)], 0, 1);
    run.at(20_000);
    run.take([agentSpan(CALL)], 21_000, 2);
    run.at(26_000);

    expect(run.decided).toHaveLength(1);
    expect(run.settled.map((settled) => settled.offsets)).toEqual([[1]]);
    expect(run.released).toEqual([2]);
    expect(run.counts).toMatchObject({ late: 1 });
  });

  test('a span that has lost its parent is late when a settled agent held its time', () => {
    const run = new AssembleRun();
    run.at(0, ROOT);
    run.at(20_000);
    run.at(21_000, { ...CALL, parent: 'gone' });
    run.finish();

    expect(run.turns()).toEqual(['a']);
    expect(run.counts).toMatchObject({ late: 1 });
  });

  test('an agent below a border stays a turn of its own when the turn around it is settled first', () => {
    const run = new AssembleRun();
    run.at(0, ROOT, { id: 't', kind: 'tool', parent: 'a', remote: true, start: 10 });
    run.at(1_000, { id: 'b', kind: 'agent', parent: 't', start: 20 });
    run.at(20_500, { id: 'm', kind: 'llm', parent: 'b', start: 21 });
    run.finish();

    expect(run.turns()).toEqual(['a t', 'b m']);
    expect(run.rows().map((row) => row.openTop)).toEqual([false, false]);
  });

  test('a new turn root of the same trace opens a new interaction', () => {
    const run = new AssembleRun();
    run.at(0, ROOT);
    run.at(90_000, { id: 'b', kind: 'agent', start: 90_000 }, { ...CALL, id: 'm', parent: 'b', start: 90_001 });
    run.finish();

    expect(run.turns()).toEqual(['a', 'b m']);
    expect(run.decided.every((decision) => !decision.revised)).toBe(true);
  });

  test('identical copies after the verdict make no revision and are let go', () => {
    const run = new AssembleRun();
    run.take([agentSpan(ROOT), agentSpan(CALL)], 0, 1);
    run.take([agentSpan(ROOT)], 500, 2);
    run.take([agentSpan(ROOT), agentSpan(CALL)], 7_000, 3);
    run.take([agentSpan(ROOT), agentSpan(CALL)], 60_000, 4);
    run.finish();

    expect(run.decided).toHaveLength(1);
    expect(run.released).toEqual([2, 3, 3, 4, 4]);
    expect(run.settled.map((settled) => settled.offsets)).toEqual([[1, 1]]);
    expect(run.counts).toMatchObject({ arrived: 7, assembled: 2, duplicate: 5 });
  });

  test('a silence longer than orphanMs splits a turn, and the second part says so', () => {
    const run = new AssembleRun();
    run.at(0, CALL, { ...CALL, id: 'l2' });
    run.at(11 * MINUTE, { id: 't', kind: 'tool', parent: 'a', start: 11 * MINUTE });
    run.at(11 * MINUTE + 1, { ...ROOT, end: 12 * MINUTE });
    run.finish();

    expect(run.decided.map((decision) => decision.turn.split)).toEqual([false, true]);
    expect(run.decided.map((decision) => namesOf(decision.turn))).toEqual([
      ['l', 'l2'],
      ['a', 't'],
    ]);
  });

  test('a larger root that comes too late knows that it lacks a part', () => {
    const run = new AssembleRun();
    run.at(0, { ...ROOT, parent: 'p' });
    run.at(20 * MINUTE, { id: 'p', kind: 'agent', start: -10, end: 200 });
    run.finish();

    expect(run.decided.map((decision) => [decision.turn.openTop, decision.turn.split])).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  test('a rootless interaction that gets spans again within its window is open again', () => {
    const run = new AssembleRun();
    run.at(0, CALL);
    run.at(10 * MINUTE);
    run.at(10 * MINUTE + 5_000, { ...CALL, id: 'l2' });
    run.at(14 * MINUTE, ROOT);
    run.finish();

    expect(run.turns()).toEqual(['a l l2']);
    expect(run.decided).toHaveLength(2);
  });

  test('an interaction that a larger one has swallowed says that its top was open', () => {
    const run = new AssembleRun();
    run.at(0, ROOT);
    run.at(6_000, { ...ROOT, parent: 'p', attributes: { more: 1 } }, { id: 'p', kind: 'agent', start: -1, end: 200 });
    run.finish();

    expect(run.rows().map((row) => [row.answer, row.openTop])).toEqual([
      ['a', true],
      ['p a', false],
    ]);
  });
});

describe('copies of one span', () => {
  test('the ended copy replaces the one sent at the start, in either order', () => {
    for (const order of [
      [0, 100],
      [100, 0],
    ]) {
      const run = new AssembleRun();
      order.forEach((end, at) => run.at(at, { ...ROOT, end }));
      run.finish();

      expect(run.decided.map((decision) => decision.interaction.revision)).toEqual([2]);
      expect(run.counts).toMatchObject({ arrived: 2, duplicate: 1, assembled: 1 });
    }
  });

  test('of two ended copies the one with more attributes wins', () => {
    const run = new AssembleRun();
    run.at(0, { ...ROOT, attributes: { a: 1, b: 2 } });
    run.at(1, { ...ROOT, attributes: { zzzzzzzzzzzzzzzzz: 1 } });

    run.finish();

    expect(run.decided[0]?.turn.root?.span.attributes.size).toBe(2);
  });

  test('the entry of the copy that lost is let go at once', () => {
    const run = new AssembleRun();
    run.take([agentSpan({ ...ROOT, end: 0 })], 0, 1);
    run.take([agentSpan(ROOT)], 1, 2);

    expect(run.released).toEqual([1]);
  });
});

describe('spans that no dialect claims', () => {
  test('a trace without a claimed span is dropped after the quiet time', () => {
    const run = new AssembleRun();
    run.take([agentSpan({ id: 'x', kind: 'skeleton' })], 0, 1);
    run.take([agentSpan({ id: 'y', kind: 'skeleton' })], 3_000, 2);
    run.at(5_000);

    expect(run.released).toEqual([1]);
    run.at(8_000);
    expect(run.released).toEqual([1, 2]);
    expect(run.counts).toMatchObject({ unclaimed: 2 });
    expect(openSpans(run.state)).toBe(0);
  });

  test('they are held while their trace has a claimed span, and leave with the turn below them', () => {
    const run = new AssembleRun();
    run.take([agentSpan({ id: 's', kind: 'skeleton', end: 0 })], 0, 1);
    run.take([agentSpan({ ...ROOT, parent: 's', end: 0 })], 4_000, 2);
    run.take([agentSpan({ ...ROOT, parent: 's' })], 2 * MINUTE, 3);
    run.at(4 * MINUTE);

    expect(run.decided[0]?.turn.ancestors).toHaveLength(1);
    expect(run.released).toEqual([2]);
    expect(run.settled.map((settled) => settled.offsets)).toEqual([[3, 1]]);
  });

  test('a later turn below the same span still finds it', () => {
    const run = new AssembleRun();
    run.at(0, { id: 's', kind: 'skeleton', end: 0 }, { ...ROOT, parent: 's' });
    run.at(5 * MINUTE, { id: 'b', kind: 'agent', parent: 's', start: 200 });
    run.finish();

    expect(run.decided.map((decision) => decision.turn.ancestors.map((span) => span.span.name))).toEqual([
      ['s'],
      ['s'],
    ]);
    expect(run.decided.map((decision) => decision.turn.openTop)).toEqual([false, false]);
  });

  test('an ancestor waits for all turns below it', () => {
    const run = new AssembleRun();
    run.take([agentSpan({ id: 's', kind: 'skeleton' })], 0, 1);
    run.take([agentSpan({ ...ROOT, parent: 's' })], 0, 2);
    run.take([agentSpan({ id: 'b', kind: 'agent', parent: 's', end: 0 })], 0, 3);
    run.at(MINUTE);

    expect(run.settled.map((settled) => settled.offsets)).toEqual([[2]]);
    run.at(11 * MINUTE);
    expect(run.settled.map((settled) => settled.offsets)).toEqual([[2], [3, 1]]);
  });
});

describe('offline', () => {
  test('finish decides everything without flags that are not true', () => {
    const run = new AssembleRun();
    run.at(0, ROOT, CALL, { ...CALL, trace: 'u' });
    run.finish();

    expect(run.decided).toHaveLength(2);
    for (const { turn } of run.decided) expect(turn).toMatchObject({ cut: false, early: false, split: false });
    expect(openSpans(run.state)).toBe(0);
    expect(run.nextDueMs).toBeNull();
  });

  test('what stays open gets bytes of its own', () => {
    const run = new AssembleRun();
    const whole = agentSpan(CALL);
    const small = { ...whole.span };
    const span = { ...whole, span: { ...whole.span, compact: () => small } };
    const read: unknown[] = [];

    run.take([span], 0, null);
    for (const nowMs of [5_000, 15 * MINUTE]) {
      run.keep(
        stepWith(run, nowMs, (compact) => {
          read.push(compact);
          return { ...whole, span: compact };
        }),
      );
    }

    expect(read).toEqual([small]);
    expect(run.decided[0]?.turn.spans[0]?.span).toBe(small);
  });
});

function stepWith(run: AssembleRun, nowMs: number, interpret: (span: Span) => AgentSpan): Step {
  return step(run.state, [], nowMs, run.rules, { build: plainInteraction, interpret });
}
