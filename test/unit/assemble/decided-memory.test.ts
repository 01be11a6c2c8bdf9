import { expect, test } from 'vitest';

import { DecidedMemory } from '../../../src/assemble/decided-memory.js';
import type { PastInteraction } from '../../../src/assemble/decided-memory.js';

const WIDE = { rememberedInteractions: 100, rememberedSpans: 100 };

function past(rootSpanId: string, ...spanIds: string[]): PastInteraction {
  return {
    rootSpanId,
    ending: 'whole',
    root: 'agent',
    missingParentId: 'up',
    holder: null,
    crossed: [],
    spanIds,
    unended: new Set(),
  };
}

test('finds the interaction of a span, also under a root that was never seen', () => {
  const memory = new DecidedMemory();
  const interaction = past('r', 'a', 'b');
  memory.remember('t', interaction, [], WIDE);

  expect(memory.trace('t')?.interactionOf('b')).toBe(interaction);
  expect(memory.trace('t')?.interactionOf('r')).toBe(interaction);
  expect(memory.trace('u')).toBeUndefined();
});

test.each([3, 40])('forgets the oldest first when there are more than the bound of %i, and all of it', (bound) => {
  const memory = new DecidedMemory();
  for (let at = 0; at < bound + 7; at += 1) {
    const bounds = { rememberedInteractions: bound, rememberedSpans: 100 };
    memory.remember('t', past(`r${String(at)}`, `s${String(at)}`), [], bounds);
  }

  expect(memory.size).toBe(bound);
  const known = Array.from({ length: bound + 7 }, (_, at) =>
    [`r${String(at)}`, `s${String(at)}`].map((spanId) => memory.trace('t')?.interactionOf(spanId) !== undefined),
  );
  expect(known).toEqual([...Array(7).fill([false, false]), ...Array(bound).fill([true, true])]);
  expect(memory.trace('t')?.missingParents.get('up')).toBe(bound);
});

test('one large interaction pushes out many small ones', () => {
  const memory = new DecidedMemory();
  memory.remember('t', past('a', 'a'), [], WIDE);
  memory.remember('u', past('b', ...Array.from({ length: 100 }, (_, at) => String(at))), [], WIDE);

  expect(memory.trace('t')).toBeUndefined();
  expect(memory.spanCount).toBe(100);
});

test('a span that two parts share is remembered as long as one of them', () => {
  const memory = new DecidedMemory();
  const second = past('r', 'a');
  memory.remember('t', past('r', 'a'), [], { ...WIDE, rememberedInteractions: 1 });
  memory.remember('t', second, [], { ...WIDE, rememberedInteractions: 1 });

  expect(memory.trace('t')?.interactionOf('a')).toBe(second);
});
