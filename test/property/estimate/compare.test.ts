import fc from 'fast-check';
import { expect, test } from 'vitest';
import { probabilityOfDrop } from '../../../src/estimate/compare.js';

// From one half to a hundred thousand, evenly in the logarithm.
const shape = fc.double({ min: Math.log(0.5), max: Math.log(1e5), noNaN: true }).map(Math.exp);
const posterior = fc.record({ a: shape, b: shape });
const k = fc.integer({ min: 1, max: 20 });
const RUNS = { numRuns: 50 };

test('is a probability that falls as the drop that is asked for grows', () => {
  const drops = fc.tuple(fc.double({ min: 0, max: 0.99, noNaN: true }), fc.double({ min: 0, max: 0.99, noNaN: true }));
  fc.assert(
    fc.property(posterior, posterior, k, drops, (a, b, of, [one, other]) => {
      const small = probabilityOfDrop(a, b, of, Math.min(one, other));
      const large = probabilityOfDrop(a, b, of, Math.max(one, other));

      expect(large).toBeGreaterThanOrEqual(0);
      expect(small).toBeLessThanOrEqual(1);
      expect(large).toBeLessThanOrEqual(small + 1e-9);
    }),
    RUNS,
  );
});

test('is certain that one of the two is worse, and asks nothing of K, without a margin', () => {
  fc.assert(
    fc.property(posterior, posterior, k, (a, b, of) => {
      const worse = probabilityOfDrop(a, b, of, 0);

      expect(worse + probabilityOfDrop(b, a, of, 0)).toBeCloseTo(1, 9);
      expect(worse).toBeCloseTo(probabilityOfDrop(a, b, 1, 0), 9);
    }),
    RUNS,
  );
});

test('is one half for equal posteriors without a margin', () => {
  fc.assert(
    fc.property(posterior, k, (a, of) => {
      expect(probabilityOfDrop(a, a, of, 0)).toBeCloseTo(0.5, 9);
    }),
    RUNS,
  );
});
