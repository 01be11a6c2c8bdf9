import { describe, expect, test } from 'vitest';

import { openSpans } from '../../../src/assemble/assembly.js';
import { AssembleRun } from '../../support/assemble-run.js';
import { namesOf, traceIdOf } from '../../support/spans.js';

const MINUTE = 60_000;

describe('more open traces than the bound', () => {
  test('late windows end early first, the oldest first', () => {
    const run = new AssembleRun({ maxOpenTraces: 2 });
    run.at(0, { trace: 'a', id: 'a', kind: 'agent' });
    run.at(1_000, { trace: 'b', id: 'b', kind: 'agent' });
    run.at(7_000, { trace: 'c', id: 'c', kind: 'llm', parent: 'gone' });

    expect(run.settled.map((settled) => settled.interactionId.slice(0, 32))).toEqual([traceIdOf('a')]);
    expect(run.decided.every(({ turn }) => !turn.early && !turn.cut)).toBe(true);
  });

  test('then the oldest whose root has ended are decided, and say so', () => {
    const run = new AssembleRun({ maxOpenTraces: 2 });
    run.at(0, { trace: 'a', id: 'a', kind: 'llm', parent: 'gone' });
    run.at(1, { trace: 'b', id: 'b', kind: 'agent' });
    run.at(2, { trace: 'c', id: 'c', kind: 'agent' });

    expect(run.decided.map(({ turn }) => [turn.traceId, turn.early, turn.cut])).toEqual([
      [traceIdOf('b'), true, false],
    ]);
    expect(run.settled).toHaveLength(1);
  });

  test('then the oldest open ones are cut, and say so', () => {
    const run = new AssembleRun({ maxOpenTraces: 2 });
    for (const name of ['a', 'b', 'c']) run.at(0, { trace: name, id: name, kind: 'llm', parent: 'gone' });

    expect(run.decided.map(({ turn }) => [turn.traceId, turn.early, turn.cut])).toEqual([
      [traceIdOf('a'), false, true],
    ]);
    run.at(1, { trace: 'a', id: 'z', kind: 'llm', parent: 'gone' });
    run.finish();
    expect(run.counts).toMatchObject({ arrived: 4, assembled: 3, cut: 1 });
  });

  test('spans that nobody claims go before all that', () => {
    const run = new AssembleRun({ maxOpenTraces: 2 });
    run.at(0, { trace: 'a', id: 'a', kind: 'llm', parent: 'gone' });
    run.at(0, { trace: 'b', id: 'b', kind: 'skeleton' });
    run.at(0, { trace: 'c', id: 'c', kind: 'llm', parent: 'gone' });

    expect(run.decided).toEqual([]);
    expect(run.counts).toMatchObject({ unclaimed: 1 });
  });

  test('a turn that is due as soon as it has a call is decided whole, and leaves at once, so that no other is cut', () => {
    const run = new AssembleRun({ maxOpenTraces: 1, maxTurnMs: 5 * MINUTE });
    run.at(0, { trace: 'a', id: 's', kind: 'other', parent: 'gone' });
    run.at(6 * MINUTE, { trace: 'a', id: 'l', parent: 's' }, { trace: 'b', id: 'l', parent: 'gone' });

    expect(run.decided.map(({ turn }) => [turn.traceId, turn.early, turn.cut])).toEqual([
      [traceIdOf('a'), false, false],
    ]);
    expect([...run.state.traces.keys()]).toEqual([traceIdOf('b')]);
  });

  test('spans that nobody claims any more, their turn being settled, go before a root is decided', () => {
    const run = new AssembleRun({ maxOpenTraces: 2 });
    run.at(0, { trace: 'a', id: 'a', kind: 'agent' });
    run.at(6_000, { trace: 'a', id: 'x', kind: 'skeleton', parent: 'gone' });
    run.at(6_001, { trace: 'b', id: 'b', kind: 'agent' });
    run.at(6_002, { trace: 'c', id: 'c', kind: 'llm', parent: 'gone' });

    expect(run.decided.map(({ turn }) => turn.traceId)).toEqual([traceIdOf('a')]);
    expect([...run.state.traces.keys()]).toEqual([traceIdOf('b'), traceIdOf('c')]);
    expect(run.counts).toMatchObject({ unclaimed: 1 });
  });

  test('nothing is thrown away undecided, and what is held stays within the bound', () => {
    const run = new AssembleRun({ maxOpenTraces: 50 });
    for (let at = 0; at < 1_000; at += 1) {
      run.at(
        at,
        { trace: String(at), id: 'a', kind: 'agent', end: at % 2 },
        { trace: String(at), id: 'l', parent: 'a' },
      );
      expect(run.state.traces.size).toBeLessThanOrEqual(50);
    }
    run.finish();

    expect(new Set(run.rows().map((row) => row.traceId)).size).toBe(1_000);
    expect(run.counts).toMatchObject({ arrived: 2_000, assembled: 1_000 + 1_000 - (run.counts['cut'] ?? 0) });
  });
});

describe('more bytes than the bound', () => {
  test('the same order holds', () => {
    const run = new AssembleRun({ maxOpenBytes: 1_000 });
    run.at(0, { trace: 'a', id: 'a', parent: 'gone', bytes: 400 });
    run.at(1, { trace: 'b', id: 'b', kind: 'agent', bytes: 400 });
    run.at(2, { trace: 'c', id: 'c', parent: 'gone', bytes: 400 });

    expect(run.decided.map(({ turn }) => [turn.traceId, turn.early])).toEqual([[traceIdOf('b'), true]]);
    expect(run.state.heldBytes).toBe(800);
  });
});

describe('one giant trace', () => {
  test('is cut, flagged and decided as far as it goes, and the others are decided in time', () => {
    const run = new AssembleRun({ maxSpansPerTrace: 1_000 });
    run.at(0, { trace: 'small', id: 'a', kind: 'agent' });
    for (let at = 0; at < 100_000; at += 100) {
      const batch = Array.from({ length: 100 }, (_, index) => ({
        trace: 'giant',
        id: (at + index).toString(36),
        parent: 'root',
        start: at + index,
      }));
      run.at(at / 10, ...batch);
      expect(run.state.heldSpans).toBeLessThanOrEqual(1_101);
    }
    const small = run.decided.find(({ turn }) => turn.traceId === traceIdOf('small'));
    run.finish();

    expect(small?.turn).toMatchObject({ early: false, cut: false });
    const giant = run.decided.filter(({ turn }) => turn.traceId === traceIdOf('giant'));
    expect(giant.map(({ turn }) => [turn.spans.length, turn.cut])).toEqual([[1_001, true]]);
    expect(run.counts).toMatchObject({ arrived: 100_001, assembled: 1_002, cut: 98_999 });
    expect(openSpans(run.state)).toBe(0);
  });

  test('a trace of bounded bytes, too', () => {
    const run = new AssembleRun({ maxBytesPerTrace: 1_000 });
    for (let at = 0; at < 30; at += 1) run.at(0, { id: String(at), parent: 'root', bytes: 100, start: at });

    expect(run.decided.map(({ turn }) => [turn.spans.length, turn.cut])).toEqual([[11, true]]);
  });

  test('in a trace of many small turns the turns with their root are decided whole', () => {
    const run = new AssembleRun({ maxSpansPerTrace: 100 });
    for (let at = 0; at < 101; at += 1) run.at(0, { id: `a${String(at)}`, kind: 'agent', start: at * 20 });

    expect(run.decided).toHaveLength(51);
    expect(run.decided.every(({ turn }) => turn.early && !turn.cut)).toBe(true);
    run.finish();
    expect(run.decided).toHaveLength(101);
  });

  test('a flood of skeletons in a claimed trace goes first out of what is no turn', () => {
    const run = new AssembleRun({ maxSpansPerTrace: 100 });
    run.at(0, { id: 'a', kind: 'agent', end: 0 });
    for (let at = 0; at < 1_000; at += 1)
      run.at(1, { id: `x${String(at)}`, kind: 'skeleton', parent: `p${String(at)}` });
    run.finish();

    expect(run.state.heldSpans).toBe(0);
    expect(run.counts).toMatchObject({ arrived: 1_001, assembled: 1, unclaimed: 1_000 });
  });
});

test('with half of the roots missing every model call is in some interaction, and none is doubled', () => {
  const run = new AssembleRun();
  for (let at = 0; at < 200; at += 1) {
    const trace = String(at);
    if (at % 2 === 0) run.at(at, { trace, id: 'a', kind: 'agent', start: 0, end: 100 });
    run.at(at, { trace, id: 'l', parent: 'a', start: 5 }, { trace, id: 't', kind: 'tool', parent: 'a', start: 7 });
  }
  run.at(20 * MINUTE);

  expect(run.decided.filter(({ turn }) => turn.root === null)).toHaveLength(100);
  expect(run.decided.map(({ turn }) => namesOf(turn).join(' ')).sort()).toEqual([
    ...Array.from({ length: 100 }, () => 'a l t'),
    ...Array.from({ length: 100 }, () => 'l t'),
  ]);
});
