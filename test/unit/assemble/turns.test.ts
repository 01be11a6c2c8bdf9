import { describe, expect, test } from 'vitest';

import { AssembleRun } from '../../support/assemble-run.js';
import type { SpanSketch } from '../../support/spans.js';
import { messages, spanIdOf } from '../../support/spans.js';

function turnsOf(...sketches: readonly SpanSketch[]): string[] {
  const run = new AssembleRun();
  run.at(0, ...sketches);
  run.finish();
  return run.turns();
}

describe('turn roots', () => {
  test('the topmost agent is the root, and nested agents belong to its turn', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 'b', kind: 'tool', parent: 'a', start: 10 },
      { id: 'c', kind: 'agent', parent: 'b', start: 20 },
      { id: 'd', kind: 'llm', parent: 'c', start: 30 },
    );

    expect(turns).toEqual(['a b c d']);
  });

  test('siblings are interactions of their own', () => {
    const turns = turnsOf(
      { id: 's', kind: 'skeleton', start: 0, end: 100 },
      { id: 'a', kind: 'agent', parent: 's', start: 10 },
      { id: 'b', kind: 'workflow', parent: 's', start: 50 },
    );

    expect(turns).toEqual(['a', 'b']);
  });

  test('server spans above an agent are no roots but its ancestors', () => {
    const run = new AssembleRun();
    run.at(
      0,
      { id: 's', kind: 'skeleton', otlpKind: 2 },
      { id: 'm', kind: 'other', parent: 's' },
      { id: 'a', kind: 'agent', parent: 'm' },
      { id: 'l', kind: 'llm', parent: 'a', start: 1 },
    );
    run.finish();

    expect(run.turns()).toEqual(['a l']);
    expect(run.decided[0]?.turn.ancestors.map((span) => span.span.name)).toEqual(['s', 'm']);
    expect(run.decided[0]?.turn.openTop).toBe(false);
  });

  test('a server span that is the nearest parent of calls is a root', () => {
    const turns = turnsOf(
      { id: 's', kind: 'skeleton', otlpKind: 2, remote: true, parent: 'far', start: 0, end: 90 },
      { id: 'l', kind: 'llm', parent: 's', start: 10 },
      { id: 't', kind: 'tool', parent: 's', start: 20 },
    );

    expect(turns).toEqual(['s l t']);
  });

  test('the topmost span above calls is the root when there is no agent', () => {
    expect(turnsOf({ id: 'x', kind: 'skeleton' }, { id: 'l', kind: 'llm', parent: 'x', start: 1 })).toEqual(['x l']);
  });

  test('a lone model call is an interaction', () => {
    expect(turnsOf({ id: 'l', kind: 'llm' })).toEqual(['l']);
  });

  test('chains alone are one interaction of the topmost', () => {
    const turns = turnsOf(
      { id: 'x', kind: 'workflow' },
      { id: 'y', kind: 'workflow', parent: 'x', start: 1 },
      { id: 'z', kind: 'workflow', parent: 'y', start: 2 },
    );

    expect(turns).toEqual(['x y z']);
  });

  test('set-up and retrievals by themselves are no turn', () => {
    const run = new AssembleRun();
    run.at(0, { id: 'x', kind: 'other' }, { id: 'e', kind: 'embedding', trace: 'u' });
    run.finish();

    expect(run.turns()).toEqual([]);
    expect(run.counts).toMatchObject({ arrived: 2, noTurn: 2, assembled: 0 });
  });

  test('transparent spans join what is above and below', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 'x', kind: 'other', parent: 'a', start: 10 },
      { id: 'y', kind: 'skeleton', parent: 'x', start: 20 },
      { id: 'l', kind: 'llm', parent: 'y', start: 30 },
    );

    expect(turns).toEqual(['a x y l']);
  });

  test('an agent below a remote parent is a turn of its own', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 't', kind: 'tool', parent: 'a', start: 10 },
      { id: 's', kind: 'skeleton', otlpKind: 2, parent: 't', remote: true, start: 20 },
      { id: 'b', kind: 'agent', parent: 's', start: 30 },
      { id: 'l', kind: 'llm', parent: 'b', start: 40 },
    );

    expect(turns).toEqual(['a t', 'b l']);
  });

  test('a model call below a server span in another process is a turn of its own, tool calls alone are not', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 't', kind: 'tool', parent: 'a', start: 10 },
      { id: 's', kind: 'skeleton', otlpKind: 2, parent: 't', remote: true, start: 20 },
      { id: 'm', kind: 'tool', parent: 's', start: 30 },
      { id: 'u', kind: 'tool', parent: 'a', start: 40 },
      { id: 'v', kind: 'skeleton', otlpKind: 2, parent: 'u', start: 50 },
      { id: 'l', kind: 'llm', parent: 'v', start: 60 },
    );

    expect(turns).toEqual(['a t s m u', 'v l']);
  });

  test('a call below a remote parent joins the call above', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 't', kind: 'tool', parent: 'a', start: 10 },
      { id: 'm', kind: 'tool', otlpKind: 2, parent: 't', remote: true, start: 20 },
    );

    expect(turns).toEqual(['a t m']);
  });

  test('spans that name each other as parents are still one turn', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', parent: 'b', start: 0 },
      { id: 'b', kind: 'tool', parent: 'a', start: 5 },
      { id: 'c', kind: 'llm', parent: 'c', trace: 'u', start: 7 },
    );

    expect(turns).toEqual(['a b', 'c']);
  });
});

describe('parents that were never seen', () => {
  test('calls join the agent whose time holds their start, the latest such', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 'b', kind: 'agent', start: 200, end: 300 },
      { id: 't', kind: 'tool', parent: 'gone1', start: 50 },
      { id: 'l', kind: 'llm', parent: 'gone2', start: 210 },
    );

    expect(turns).toEqual(['a t', 'b l']);
  });

  test('what lies above the call goes with it', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 'x', kind: 'other', parent: 'gone', start: 50 },
      { id: 'l', kind: 'llm', parent: 'x', start: 55 },
    );

    expect(turns).toEqual(['a x l']);
  });

  test('else they stand under a phantom with the id of that parent, open-topped', () => {
    const run = new AssembleRun();
    run.at(0, { id: 'l', kind: 'llm', parent: 'gone', start: 1 }, { id: 't', kind: 'tool', parent: 'gone', start: 2 });
    run.finish();

    expect(run.turns()).toEqual(['? l t']);
    expect(run.decided[0]?.turn).toMatchObject({ rootSpanId: spanIdOf('gone'), root: null, openTop: true });
  });

  test('an agent never joins another by time', () => {
    const run = new AssembleRun();
    run.at(
      0,
      { id: 'a', kind: 'agent', start: 0, end: 100 },
      { id: 'b', kind: 'agent', parent: 'gone', start: 50 },
      { id: 'l', kind: 'llm', parent: 'b', start: 51 },
    );
    run.finish();

    expect(run.turns()).toEqual(['a', 'b l']);
    expect(run.decided.map((decision) => decision.turn.openTop)).toEqual([false, true]);
  });

  test('an agent holds no spans of its caller in another process', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', parent: 'caller', remote: true, start: 0, end: 100 },
      { id: 't', kind: 'tool', parent: 'caller', start: 50 },
      { id: 'u', kind: 'tool', parent: 'gone', start: 60 },
    );

    expect(turns).toEqual(['a u', '? t']);
  });

  test('an agent below an unseen parent holds no spans by time', () => {
    const turns = turnsOf(
      { id: 'a', kind: 'agent', parent: 'gone', start: 0, end: 100 },
      { id: 't', kind: 'tool', parent: 'lost', start: 50 },
    );

    expect(turns).toEqual(['a', '? t']);
  });
});

describe('several turns under one connection', () => {
  const call = (id: string, start: number, ...texts: readonly string[]): SpanSketch => ({
    id,
    kind: 'llm',
    parent: 's',
    start,
    facts: { inputMessages: messages(...texts) },
  });

  test('new user text after an answer starts a turn of its own', () => {
    const spans: SpanSketch[] = [
      call('l1', 10, 'u:hi'),
      { id: 't1', kind: 'tool', parent: 's', start: 20 },
      call('l2', 30, 'u:hi', 'a!look', 't:found'),
      call('l3', 50, 'u:hi', 'a:hello', 'u:more'),
      { id: 't2', kind: 'tool', parent: 's', start: 60 },
      call('l4', 70, 'u:hi', 'a:hello', 'u:more', 'a!look', 't:found'),
    ];

    expect(turnsOf(...spans)).toEqual(['? l1 t1 l2', 'l3 t2 l4']);
    expect(turnsOf({ id: 's', kind: 'skeleton', otlpKind: 2, start: 0, end: 100 }, ...spans)).toEqual([
      's l1 t1 l2',
      'l3 t2 l4',
    ]);
  });

  test('a repeated attempt and a chain of prompts stay one turn', () => {
    const turns = turnsOf(
      call('l1', 10, 'u:old', 'a:old answer', 'u:new'),
      call('l2', 30, 'u:old', 'a:old answer', 'u:new'),
      call('l3', 50, 'u:rewrite that'),
    );

    expect(turns).toEqual(['? l1 l2 l3']);
  });
});

describe('our own judge', () => {
  test('its spans and what is below them are never graded', () => {
    const run = new AssembleRun();
    run.at(
      0,
      { id: 'c', kind: 'workflow', start: 0 },
      { id: 'j', kind: 'llm', parent: 'c', ownJudge: true, start: 1 },
      { id: 'k', kind: 'llm', parent: 'j', start: 2 },
    );
    run.finish();

    expect(run.turns()).toEqual([]);
    expect(run.counts).toMatchObject({ arrived: 3, ownJudge: 3, assembled: 0 });
  });

  test('inside an agent only the judge is left out', () => {
    const run = new AssembleRun();
    run.at(
      0,
      { id: 'a', kind: 'agent', start: 0 },
      { id: 'l', kind: 'llm', parent: 'a', start: 1 },
      { id: 'j', kind: 'llm', parent: 'a', ownJudge: true, start: 2 },
    );
    run.finish();

    expect(run.turns()).toEqual(['a l']);
    expect(run.counts).toMatchObject({ ownJudge: 1, assembled: 2 });
  });
});
