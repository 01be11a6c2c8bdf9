import fc from 'fast-check';
import { expect, test } from 'vitest';

import { DueQueue } from '../../../src/assemble/due-queue.js';

test('gives items in order of their latest time, each once', () => {
  const times = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 50 })));
  fc.assert(
    fc.property(times, (schedules) => {
      const items = Array.from({ length: 6 }, (_, at) => ({ dueMs: Infinity, name: String(at) }));
      const queue = new DueQueue<{ dueMs: number; readonly name: string }>();
      const last = new Map<string, number>();
      for (const [at, dueMs] of schedules) {
        queue.schedule(items[at] as { dueMs: number; name: string }, dueMs);
        last.set(String(at), dueMs);
      }

      const taken: [number, string][] = [];
      for (let due = queue.take(Infinity); due !== undefined; due = queue.take(Infinity)) {
        taken.push([due.atMs, due.item.name]);
      }

      const expected = [...last].map(([name, dueMs]): [number, string] => [dueMs, name]);
      expected.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
      expect(taken).toEqual(expected);
      expect(queue.nextMs()).toBeNull();
    }),
  );
});
