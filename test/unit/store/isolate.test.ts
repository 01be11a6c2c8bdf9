import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { isolate, splitByPartition } from '../../../src/store/isolate.js';

describe('isolate', () => {
  test('of 50 rows, the 17th refused, 49 are stored and one is named', async () => {
    const rows = Array.from({ length: 50 }, (_, index) => index + 1);
    let sends = 0;

    const result = await isolate(rows, (some) => {
      sends += 1;
      return Promise.resolve(some.includes(17) ? 'refused' : null);
    });

    expect(result.stored).toEqual(rows.filter((row) => row !== 17));
    expect(result.refused).toEqual([{ row: 17, failure: 'refused' }]);
    // ceil(log2 50) = 6 halvings of two sends each, and the whole at first.
    expect(sends).toBeLessThanOrEqual(13);
  });

  test('stores every good row and names every bad one, whichever they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 60 }), async (good) => {
        const stored: number[] = [];
        const result = await isolate([...good.keys()], (some) => {
          if (!some.every((index) => good[index])) return Promise.resolve('bad');
          stored.push(...some);
          return Promise.resolve(null);
        });

        expect(result.stored).toEqual([...good.keys()].filter((index) => good[index]));
        expect(stored).toEqual(result.stored);
        expect(result.refused.map(({ row }) => row)).toEqual([...good.keys()].filter((index) => !good[index]));
      }),
    );
  });

  test('sends nothing when there is nothing', async () => {
    await isolate([], () => Promise.reject(new Error('nothing expected to be sent')));
  });
});

describe('splitByPartition', () => {
  test('loses no row and touches no more partitions in a part than allowed', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 30 })), fc.integer({ min: 1, max: 7 }), (rows, limit) => {
        const parts = splitByPartition(rows, String, limit);

        expect(parts.flat().sort()).toEqual([...rows].sort());
        for (const part of parts) expect(new Set(part).size).toBeLessThanOrEqual(limit);
        expect(parts.length).toBe(Math.ceil(new Set(rows).size / limit));
      }),
    );
  });

  test('keeps the order of the rows of one partition', () => {
    const rows = [3, 1, 2].map((order) => ({ month: '202611', order }));

    expect(splitByPartition(rows, ({ month }) => month, 100)).toEqual([rows]);
  });
});
