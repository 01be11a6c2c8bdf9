import { expect, test } from 'vitest';
import { createThrottle } from '../../../src/telemetry/throttle.js';

test('lets the first of a key through and then one a minute, with the number held back', () => {
  let nowMs = 1_000;
  const pass = createThrottle(() => nowMs);

  expect([pass('a'), pass('a'), pass('b'), pass('a')]).toEqual([0, null, 0, null]);
  nowMs += 59_999;
  expect(pass('a')).toBeNull();
  nowMs += 1;
  expect([pass('a'), pass('b')]).toEqual([3, 0]);
});

test('is not silenced by a clock that was set back', () => {
  let nowMs = 1_000_000;
  const pass = createThrottle(() => nowMs);
  pass('a');

  nowMs = 0;

  expect(pass('a')).toBe(0);
});
