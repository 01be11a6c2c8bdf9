import { expect, test } from 'vitest';
import { createStreamClock } from '../../../src/receive/stream-clock.js';

const T = 1_796_020_000_000;

test('is at the greatest receive time that was seen', () => {
  const clock = createStreamClock();

  expect(clock.nowMs).toBe(0);
  expect(clock.see(T, T + 10)).toBe(T);
  expect(clock.see(T + 500, T + 600)).toBe(T + 500);
  expect(clock.see(T + 100, T + 700)).toBe(T + 500);
});

test('follows the wall clock only when there is nothing more to read', () => {
  const clock = createStreamClock();
  clock.see(T, T + 3_600_000);

  expect(clock.nowMs).toBe(T);
  clock.drained(T + 3_600_000);
  expect(clock.nowMs).toBe(T + 3_600_000);
});

test('is not moved by a record more than a minute ahead of the wall clock, and counts it', () => {
  const clock = createStreamClock();
  clock.see(T, T);

  expect(clock.see(T + 60_000, T)).toBe(T + 60_000);
  expect(clock.see(T + 60_001, T)).toBe(T + 60_000);
  expect(clock.aheadRecords).toBe(1);
});

test('stays when the wall clock steps back', () => {
  const clock = createStreamClock();
  clock.drained(T);
  clock.drained(T - 3_600_000);

  expect(clock.nowMs).toBe(T);
});

test('stands while it is held', () => {
  const clock = createStreamClock();
  clock.see(T, T);
  clock.hold();
  clock.drained(T + 900_000);
  clock.see(T + 900_000, T + 900_000);

  expect(clock.nowMs).toBe(T);
  clock.letGo();
  expect(clock.nowMs).toBe(T);
  expect(clock.see(T + 900_001, T + 900_001)).toBe(T + 900_001);
});
