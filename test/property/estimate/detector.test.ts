import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DetectorState } from '../../../src/estimate/detector.js';
import { foldSeries, foldTrial, startDetector } from '../../../src/estimate/detector.js';
import type { Candidate } from '../../../src/estimate/fold-order.js';
import type { Objective } from '../../../src/estimate/objective.js';
import { DEFAULT_OBJECTIVE } from '../../../src/estimate/objective.js';
import { betsAgainst } from '../../../src/estimate/shiryaev-roberts.js';
import type { Transition } from '../../../src/model/estimate.js';
import { uniform } from '../../support/beta-draws.js';

// Small A and short waits, so that streams of a few hundred open and close.
const objectives: fc.Arbitrary<Objective> = fc.record({
  ...Object.fromEntries(Object.entries(DEFAULT_OBJECTIVE).map(([name, value]) => [name, fc.constant(value)])),
  p0: fc.double({ min: 0.05, max: 0.999, noNaN: true }),
  falseAlarmRun: fc.constantFrom(2, 10, 100),
  minOpenMs: fc.constantFrom(0, 20),
  pageCertainty: fc.constantFrom(0.6, 0.95),
}) as fc.Arbitrary<Objective>;

const candidates: fc.Arbitrary<Candidate[]> = fc.uniqueArray(
  fc.record({
    conversationId: fc.string({ maxLength: 3 }),
    firstClosedAtMs: fc.integer({ min: 0, max: 400 }),
    correct: fc.oneof({ weight: 6, arbitrary: fc.boolean() }, { weight: 1, arbitrary: fc.constant(null) }),
  }),
  { selector: ({ conversationId, firstClosedAtMs }) => `${firstClosedAtMs} ${conversationId}`, maxLength: 200 },
);

const RULES = { waitMs: 50, blind: [{ fromMs: 100, toMs: 120 }] };

/** As a checkpoint keeps it. */
function stored(state: DetectorState): DetectorState {
  return JSON.parse(JSON.stringify(state)) as DetectorState;
}

describe('folding a series', () => {
  test('gives the same whenever the ticks come, with a checkpoint after each', () => {
    const ticks = fc.array(fc.integer({ min: 0, max: 600 }), { maxLength: 8 });
    fc.assert(
      fc.property(objectives, candidates, ticks, (objective, given, between) => {
        const start = startDetector(objective);
        const atOnce = foldSeries(start, given, 600, objective, RULES);

        let state = start;
        const transitions: Transition[] = [];
        for (const nowMs of [...between.sort((a, b) => a - b), 600]) {
          const fold = foldSeries(stored(state), given, nowMs, objective, RULES);
          state = fold.state;
          transitions.push(...fold.transitions);
        }

        expect(state).toEqual(atOnce.state);
        expect(transitions).toEqual(atOnce.transitions);
      }),
    );
  });

  test('does not depend on the order in which conversations are given', () => {
    fc.assert(
      fc.property(objectives, candidates, fc.nat({ max: 600 }), (objective, given, nowMs) => {
        const start = startDetector(objective);
        const turned = [...given].reverse();

        expect(foldSeries(start, turned, nowMs, objective, RULES)).toEqual(
          foldSeries(start, given, nowMs, objective, RULES),
        );
      }),
    );
  });

  test('changes nothing when what was folded comes again', () => {
    fc.assert(
      fc.property(objectives, candidates, fc.nat({ max: 600 }), (objective, given, nowMs) => {
        const { state } = foldSeries(startDetector(objective), given, nowMs, objective, RULES);

        const again = foldSeries(state, given, nowMs, objective, RULES);

        expect(again.state).toEqual(state);
        expect(again.transitions).toEqual([]);
      }),
    );
  });

  test('folds, leaves out or holds every conversation, each once', () => {
    fc.assert(
      fc.property(objectives, candidates, fc.nat({ max: 600 }), (objective, given, nowMs) => {
        const { state, waitingFor } = foldSeries(startDetector(objective), given, nowMs, objective, RULES);

        const held = given.filter(
          ({ firstClosedAtMs }) => firstClosedAtMs > nowMs || firstClosedAtMs > (waitingFor?.firstClosedAtMs ?? nowMs),
        );
        // Others that closed in the same millisecond as the one that is waited for may be on either side of it.
        const beside = given.filter(({ firstClosedAtMs }) => firstClosedAtMs === waitingFor?.firstClosedAtMs).length;
        const gone = state.folded + state.leftOut;
        expect(gone).toBeLessThanOrEqual(given.length - held.length);
        expect(gone).toBeGreaterThanOrEqual(given.length - held.length - beside);
      }),
    );
  });

  test('opens and closes by turns, each once, and never lowers the severity of an alert', () => {
    fc.assert(
      fc.property(objectives, candidates, (objective, given) => {
        const { transitions } = foldSeries(startDetector(objective), given, 600, objective, RULES);

        let open = false;
        let paged = false;
        for (const { kind, severity } of transitions) {
          expect(open).toBe(kind !== 'opened');
          if (kind === 'upgraded') expect([paged, severity]).toEqual([false, 'page']);
          if (paged && kind !== 'opened') expect(severity).toBe('page');
          open = kind !== 'closed';
          paged = open && severity === 'page';
        }
      }),
    );
  });
});

test('has the evidence of the recursion in plain numbers', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.05, max: 0.99, noNaN: true }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 100 }),
      (p0, outcomes) => {
        const objective = { ...DEFAULT_OBJECTIVE, p0, delta: p0 / 2, falseAlarmRun: 1e100 };
        let state = startDetector(objective);
        const m = betsAgainst(p0).map(() => 0);
        outcomes.forEach((correct, firstClosedAtMs) => {
          state = foldTrial(state, { conversationId: '', firstClosedAtMs, correct }, objective).state;
          betsAgainst(p0).forEach((bet, j) => (m[j] = ((m[j] ?? 0) + 1) * (1 + bet * (p0 - (correct ? 1 : 0)))));
        });

        const { phase } = state;
        const evidence = phase.kind === 'watching' ? phase.evidence : [];
        evidence.forEach((v, j) => expect(Math.expm1(v) / (m[j] ?? NaN)).toBeCloseTo(1, 9));
      },
    ),
  );
});

test('holds finite numbers over a million trials: all right, at p0, all wrong, good and bad by turns', () => {
  const random = uniform(5);
  const objective = { ...DEFAULT_OBJECTIVE, p0: 0.93, falseAlarmRun: 1_000 };
  let state = startDetector(objective);
  for (let at = 0; at < 1_000_000; at += 1) {
    const byTurns = Math.floor(at / 50_000) % 2 === 0 ? 0.99 : 0.5;
    const rate = [1, 0.93, 0, byTurns][Math.floor(at / 250_000)] ?? NaN;
    // A stretch in one millisecond: the minimum open time does not pass, and evidence of recovery grows without end.
    const firstClosedAtMs = at < 500_000 ? at * 60_000 : 5e10;
    const trial = { conversationId: String(at).padStart(7, '0'), firstClosedAtMs, correct: random() < rate };
    state = foldTrial(state, trial, objective).state;
    if (at % 1_000 === 0 || at % 250_000 > 249_000) expectFinite(state);
  }

  expect(state.folded).toBe(1_000_000);
});

function expectFinite(state: DetectorState): void {
  if (!numbersIn(state).every(Number.isFinite))
    throw new Error(`finite numbers expected, got ${JSON.stringify(state)}`);
}

function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}
