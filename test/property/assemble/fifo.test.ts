import fc from 'fast-check';
import { expect, test } from 'vitest';

import { Fifo } from '../../../src/assemble/fifo.js';

test('gives back what waits in the order in which it came', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer()), { maxLength: 200 }), (steps) => {
      const fifo = new Fifo<number>();
      const waiting: number[] = [];
      for (const step of steps) {
        // null: take one.
        if (step === null) expect(fifo.shift()).toBe(waiting.shift());
        else {
          fifo.push(step);
          waiting.push(step);
        }
        expect(fifo.size).toBe(waiting.length);
      }
    }),
  );
});
