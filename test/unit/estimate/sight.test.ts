import { expect, test } from 'vitest';
import type { Sighting, SightTransition } from '../../../src/estimate/sight.js';
import { foldSighting, FULL_SIGHT } from '../../../src/estimate/sight.js';

const RULES = { window: 4, outstandingShare: 0.5, unscoredRun: 3, afterMs: 15 };

/** One conversation every 10 ms: `t` trial, `o` outstanding, `u` unscored. */
function watch(kinds: string) {
  let state = FULL_SIGHT;
  const transitions: SightTransition[] = [];
  [...kinds].forEach((kind, at) => {
    const seen: Sighting['seen'] = kind === 't' ? 'trial' : kind === 'o' ? 'outstanding' : 'unscored';
    const fold = foldSighting(state, { conversationId: String(at), firstClosedAtMs: at * 10, seen }, RULES);
    state = fold.state;
    if (fold.transition !== undefined) transitions.push(fold.transition);
  });
  return { state, transitions };
}

test('is blind once the stated share of the latest conversations is outstanding', () => {
  expect(watch('ttottt').transitions).toEqual([]);

  const { state, transitions } = watch('tttotto');

  // Of 3 .. 6 (o t t o) two are outstanding, which is half. 6 closed at 60 and is looked at 15 later.
  expect(transitions).toEqual([
    {
      kind: 'opened',
      reason: 'outstanding',
      atMs: 75,
      conversationId: '6',
      decidedAtMs: 75,
      sinceMs: 30,
      conversations: 4,
      outstanding: 2,
    },
  ]);
  expect(state.blind).toEqual({ reason: 'outstanding', sinceMs: 30, decidedAtMs: 75 });
});

test('says nothing before there are as many conversations as it looks at', () => {
  expect(watch('ooo').transitions).toEqual([]);
  expect(watch('oooo').transitions).toHaveLength(1);
});

test('sees again when less than half of that share is outstanding', () => {
  // Opened at 3 (o o o o). 7 is the first after which less than 4 x 0.5 / 2 = 1 of the latest four is outstanding.
  const { state, transitions } = watch('ooootttt');

  expect(transitions.map(({ kind, atMs, outstanding }) => ({ kind, atMs, outstanding }))).toEqual([
    { kind: 'opened', atMs: 45, outstanding: 4 },
    { kind: 'closed', atMs: 85, outstanding: 0 },
  ]);
  expect(state.blind).toBeNull();
  expect(state.recent).toEqual([]);
});

test('keeps for detectors the stretch from behind its decision to the last outstanding one', () => {
  // Of the eight latest two may be outstanding; decided at 7, that is at 70 + 15. At 20 the latest are o t t t t t t t.
  const rules = { ...RULES, window: 8 };
  const kinds = 'oooooooo' + 'ottoo' + 'ttttttt';
  let state = FULL_SIGHT;
  [...kinds].forEach((kind, at) => {
    const sighting = { conversationId: String(at), firstClosedAtMs: at * 10 } as const;
    state = foldSighting(state, { ...sighting, seen: kind === 't' ? 'trial' : 'outstanding' }, rules).state;
  });

  expect(state.stretches).toEqual([{ fromMs: 86, toMs: 120 }]);
});

test('is blind when nothing can be scored any more, until there is a trial', () => {
  const { transitions } = watch('tuuuuot');

  expect(transitions.map(({ kind, reason, atMs, sinceMs }) => ({ kind, reason, atMs, sinceMs }))).toEqual([
    { kind: 'opened', reason: 'unscored', atMs: 45, sinceMs: 10 },
    { kind: 'closed', reason: 'unscored', atMs: 75, sinceMs: 10 },
  ]);
});

test('is not blind for a series in which nothing ever could be scored', () => {
  expect(watch('uuuuuuuuuu').transitions).toEqual([]);
});

test('ignores a conversation at or before the last', () => {
  const { state } = watch('tt');

  expect(foldSighting(state, { conversationId: '1', firstClosedAtMs: 10, seen: 'outstanding' }, RULES)).toEqual({
    state,
  });
});
