import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createStreamClock, type StreamClock } from '../../../src/receive/stream-clock.js';

const time = fc.integer({ min: 0, max: 10_000_000 });
const step = fc.oneof(
  fc.record({ kind: fc.constant('see' as const), record: time, wall: time }),
  fc.record({ kind: fc.constant('drained' as const), wall: time }),
  fc.record({ kind: fc.constantFrom('hold' as const, 'letGo' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function apply(clock: StreamClock, each: Step): void {
  if (each.kind === 'see') clock.see(each.record, each.wall);
  else if (each.kind === 'drained') clock.drained(each.wall);
  else clock[each.kind]();
}

test('time never runs backwards, whatever the clocks do', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const clock = createStreamClock();
      for (const each of steps) {
        const before = clock.nowMs;
        apply(clock, each);
        expect(clock.nowMs).toBeGreaterThanOrEqual(before);
      }
    }),
  );
});

test('an outage or a lag ages nothing: without an answer "nothing more", the wall clock has no say', () => {
  fc.assert(
    fc.property(fc.array(time, { minLength: 1 }), fc.array(time), (records, delays) => {
      const prompt = createStreamClock();
      const late = createStreamClock();

      const arrivals = records.map((record, i) => [
        prompt.see(record, record),
        late.see(record, record + (delays[i] ?? 0)),
      ]);

      for (const [a, b] of arrivals) expect(b).toBe(a);
    }),
  );
});

test('a replay decides as the first run did: arrivals depend on the records alone', () => {
  fc.assert(
    fc.property(fc.array(time), time, (records, wall) => {
      const first = createStreamClock();
      const replay = createStreamClock();
      const sorted = records.toSorted((a, b) => a - b);

      // Each record was received at its own time; the replay reads all of them at one later moment.
      const arrivals = sorted.map((record) => {
        first.drained(record - 1);
        return first.see(record, record);
      });

      expect(sorted.map((record) => replay.see(record, wall + 10_000_000))).toEqual(arrivals);
    }),
  );
});

test('held, nothing moves time', () => {
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (before, during) => {
      const clock = createStreamClock();
      for (const each of before) apply(clock, each);
      clock.hold();
      const stood = clock.nowMs;
      for (const each of during) if (each.kind !== 'letGo') apply(clock, each);
      expect(clock.nowMs).toBe(stood);
    }),
  );
});

test('time is never more than a minute ahead of the greatest wall clock', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const clock = createStreamClock();
      for (const each of steps) apply(clock, each);
      const walls = steps.flatMap((each) => ('wall' in each ? [each.wall] : []));
      expect(clock.nowMs).toBeLessThanOrEqual(Math.max(0, ...walls.map((wall) => wall + 60_000)));
    }),
  );
});
