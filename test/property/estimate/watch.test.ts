import fc from 'fast-check';
import { expect, test } from 'vitest';
import { startBeginning } from '../../../src/estimate/beginning.js';
import { startDetector } from '../../../src/estimate/detector.js';
import { DEFAULT_OBJECTIVE } from '../../../src/estimate/objective.js';
import { FULL_SIGHT } from '../../../src/estimate/sight.js';
import type { Closed } from '../../../src/estimate/watch.js';
import { watchBeginning, watchObjective, watchSight } from '../../../src/estimate/watch.js';

const OBJECTIVE = { ...DEFAULT_OBJECTIVE, p0: 0.8, falseAlarmRun: 5, minOpenMs: 0 };
const WAIT_MS = 60;
const SIGHT = { window: 8, outstandingShare: 0.5, unscoredRun: 3, afterMs: 15 };
const END_MS = 1_000;

const stretch = fc.record({
  outstanding: fc.constantFrom(0, 0, 0.2, 0.6, 0.95),
  incorrect: fc.constantFrom(0.05, 0.5),
  unscored: fc.constantFrom(0, 0.1, 1),
  gapMs: fc.integer({ min: 0, max: 30 }),
  chances: fc.array(fc.tuple(fc.nat(999), fc.nat(999)), { minLength: 1, maxLength: 20 }),
});

/** Stretches of conversations, each with its own troubles. */
const series: fc.Arbitrary<readonly Closed[]> = fc.array(stretch, { maxLength: 8 }).map((stretches) => {
  let atMs = 0;
  return stretches
    .flatMap(({ outstanding, incorrect, unscored, gapMs, chances }) =>
      chances.map(([first, second]) => {
        atMs += gapMs;
        const isUnscored = unscored * 1_000 > second && first % 2 === 0;
        const correct = isUnscored || first < outstanding * 1_000 ? null : second >= incorrect * 1_000;
        return { second, firstClosedAtMs: atMs, correct, unscored: isUnscored };
      }),
    )
    .map(({ second, ...closed }, at) => ({ ...closed, conversationId: `${second}-${at}` }))
    .filter(({ firstClosedAtMs }) => firstClosedAtMs < END_MS - 100);
});

test('sight, alerts and what a baseline is made of do not depend on when ticks came, blind or not', () => {
  const ticks = fc.array(fc.integer({ min: 0, max: END_MS }), { maxLength: 12 });
  let blind = 0;
  fc.assert(
    fc.property(series, ticks, (given, between) => {
      const run = (times: readonly number[]) => {
        let sight = FULL_SIGHT;
        let detector = startDetector(OBJECTIVE);
        let beginning = startBeginning(10);
        const seen: unknown[] = [];
        const alerts: unknown[] = [];
        for (const nowMs of times) {
          // What closes after the tick is not there yet.
          const there = given.filter(({ firstClosedAtMs }) => firstClosedAtMs <= nowMs);
          const look = watchSight(JSON.parse(JSON.stringify(sight)) as typeof sight, there, nowMs, SIGHT);
          sight = look.state;
          seen.push(...look.transitions);
          const fold = watchObjective(detector, sight, there, nowMs, OBJECTIVE, WAIT_MS);
          detector = fold.state;
          alerts.push(...fold.transitions);
          ({ beginning } = watchBeginning(beginning, sight, there, nowMs, WAIT_MS));
        }
        return { sight, detector, seen, alerts, beginning };
      };

      const atOnce = run([END_MS]);
      expect(run([...between].sort((a, b) => a - b).concat(END_MS))).toEqual(atOnce);
      blind += atOnce.sight.stretches.length;
    }),
    { numRuns: 500 },
  );
  expect(blind).toBeGreaterThan(20);
});
