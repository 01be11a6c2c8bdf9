import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { drawOf, leftOut } from '../../../src/score/sampling.js';

const ids = Array.from({ length: 10_000 }, (_, i) => `conversation-${i}`);
const inAt = (rate: number, salt = '') => ids.filter((id) => leftOut(id, { rate, salt }, false) === null);

describe('sampling of conversations', () => {
  test('takes all at 1 and none at 0', () => {
    expect(inAt(1)).toHaveLength(ids.length);
    expect(inAt(0)).toEqual([]);
  });

  test('takes about its share: of 10 000 at 0.2, within four standard deviations of 2 000', () => {
    // sqrt(10 000 x 0.2 x 0.8) = 40
    expect(Math.abs(inAt(0.2).length - 2_000)).toBeLessThanOrEqual(160);
  });

  test('what is in at one rate is in at every higher one', () => {
    const more = new Set(inAt(0.5));

    for (const id of inAt(0.2)) expect(more.has(id)).toBe(true);
  });

  test('another salt draws another sample', () => {
    expect(inAt(0.2, 'b')).not.toEqual(inAt(0.2, 'a'));
  });

  test('a draw is the first 48 bits of the SHA-256 of salt and id', () => {
    const hex = createHash('sha256').update('["s","c"]').digest('hex').slice(0, 12);

    expect(drawOf('c', 's')).toBe(Number.parseInt(hex, 16) / 2 ** 48);
  });

  test('a budget that is spent leaves out what sampling takes, and says so', () => {
    expect(leftOut('c', { rate: 1, salt: '' }, true)).toBe('budget');
    expect(leftOut('c', { rate: 0, salt: '' }, true)).toBe('sampled_out');
  });
});
