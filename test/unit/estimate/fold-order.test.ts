import { expect, test } from 'vitest';
import type { Candidate } from '../../../src/estimate/fold-order.js';
import { comparePositions, readyToFold } from '../../../src/estimate/fold-order.js';

const RULES = { waitMs: 100, blind: [] };

/** `c` correct, `i` incorrect, `o` outstanding; the id is the place in the list. */
function candidates(...list: readonly (readonly [kind: 'c' | 'i' | 'o', atMs: number])[]): Candidate[] {
  return list.map(([kind, firstClosedAtMs], at) => ({
    conversationId: String(at),
    firstClosedAtMs,
    correct: kind === 'o' ? null : kind === 'c',
  }));
}

function ids(trials: readonly { conversationId: string }[]): string {
  return trials.map(({ conversationId }) => conversationId).join('');
}

test('gives trials in order of close, then of id', () => {
  const given = candidates(['c', 30], ['i', 10], ['c', 20], ['c', 10]);

  const ready = readyToFold(given, null, 50, RULES);

  expect(ids(ready.trials)).toBe('1320');
  expect(ready.position).toEqual({ conversationId: '0', firstClosedAtMs: 30 });
});

test('takes nothing that closes after the tick', () => {
  expect(ids(readyToFold(candidates(['c', 10], ['c', 60]), null, 50, RULES).trials)).toBe('0');
});

test('waits for an outstanding conversation, and holds what came after it', () => {
  const ready = readyToFold(candidates(['c', 10], ['o', 20], ['i', 30]), null, 119, RULES);

  expect(ids(ready.trials)).toBe('0');
  expect(ready.waitingFor).toEqual({ conversationId: '1', firstClosedAtMs: 20 });
  expect(ready.position).toEqual({ conversationId: '0', firstClosedAtMs: 10 });
  expect(ready.leftOut).toBe(0);
});

test('folds what was held as soon as the outstanding one settles', () => {
  const ready = readyToFold(
    candidates(['c', 10], ['c', 20], ['i', 30]),
    { conversationId: '0', firstClosedAtMs: 10 },
    50,
    RULES,
  );

  expect(ids(ready.trials)).toBe('12');
});

test('gives up after the wait, with the stretch up to the last outstanding one of that time', () => {
  // 1 was waited for until 120. What settled between it and 4, the last outstanding one by then, goes with it.
  const given = candidates(['c', 10], ['o', 20], ['i', 30], ['i', 40], ['o', 50], ['c', 60], ['o', 130], ['c', 140]);

  const ready = readyToFold(given, null, 150, RULES);

  expect(ids(ready.trials)).toBe('05');
  expect(ready.leftOut).toBe(4);
  expect(ready.waitingFor).toEqual({ conversationId: '6', firstClosedAtMs: 130 });
});

test('counts trials that turn up at or behind the folded position, and leaves them out', () => {
  const given = candidates(['c', 10], ['i', 20], ['o', 25], ['c', 30]);

  const ready = readyToFold(given, { conversationId: '9', firstClosedAtMs: 25 }, 50, RULES);

  expect(ids(ready.trials)).toBe('3');
  expect(ready.behind).toBe(2);
});

test('is frozen while blind: what closes then is left out and waited for by nobody', () => {
  const given = candidates(['c', 10], ['i', 20], ['o', 25], ['c', 30]);

  const past = readyToFold(given, null, 50, { waitMs: 100, blind: [{ fromMs: 20, toMs: 30 }] });
  const lasting = readyToFold(given, null, 50, { waitMs: 100, blind: [{ fromMs: 20, toMs: null }] });

  expect([ids(past.trials), past.leftOut, past.waitingFor]).toEqual(['03', 2, null]);
  expect([ids(lasting.trials), lasting.leftOut]).toEqual(['0', 3]);
});

test('stays where it is when there is nothing to fold', () => {
  const position = { conversationId: 'x', firstClosedAtMs: 5 };
  expect(readyToFold([], position, 50, RULES)).toEqual({
    trials: [],
    position,
    leftOut: 0,
    behind: 0,
    waitingFor: null,
  });
});

test('orders ids of one moment by their bytes, as ClickHouse does', () => {
  // U+FF5E is EF BD 9E in UTF-8 and U+1F600 is F0 9F 98 80, although its first UTF-16 unit, D83D, is less than FF5E.
  const [tilde, smile] = ['\uff5e', '\u{1f600}'].map((conversationId) => ({ conversationId, firstClosedAtMs: 1 }));

  expect(comparePositions(tilde!, smile!)).toBeLessThan(0);
});
