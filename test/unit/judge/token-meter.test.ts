import { describe, expect, test } from 'vitest';
import { TokenMeter } from '../../../src/judge/token-meter.js';

describe('tokens per minute', () => {
  test('a full bucket is there at once, then refills steadily', () => {
    const meter = new TokenMeter(600, null);

    expect(meter.reserve(600, 0)).toBe(0);
    // 600 a minute are 10 a second.
    expect(meter.reserve(50, 0)).toBe(5_000);
    expect(meter.reserve(50, 5_000)).toBe(5_000);
    expect(meter.reserve(100, 60_000)).toBe(0);
  });

  test('more than a minute holds waits and is granted', () => {
    expect(new TokenMeter(600, null).reserve(1_800, 0)).toBe(120_000);
  });

  test('what was reserved and not used goes back, and what was used beyond is taken', () => {
    const meter = new TokenMeter(600, null);

    meter.reserve(600, 0);
    meter.settle(600, 100);
    expect(meter.reserve(500, 0)).toBe(0);
    meter.settle(500, 600);
    expect(meter.reserve(1, 0)).toBe(10_100);
  });

  test('a clock that goes back fills nothing', () => {
    const meter = new TokenMeter(600, null);

    meter.reserve(600, 10_000);
    expect(meter.reserve(10, 0)).toBe(1_000);
  });

  test('no limit never waits', () => {
    expect(new TokenMeter(null, null).reserve(1e9, 0)).toBe(0);
  });
});

test('a day ends at midnight UTC', () => {
  const meter = new TokenMeter(null, 100);
  const evening = Date.parse('2031-03-03T23:59:59.999Z');

  meter.spend(100, evening);

  expect([meter.daySpent(evening), meter.spentToday(evening)]).toEqual([true, 100]);
  expect([meter.daySpent(evening + 1), meter.spentToday(evening + 1)]).toEqual([false, 0]);
});
