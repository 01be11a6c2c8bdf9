import fc from 'fast-check';
import { expect, test } from 'vitest';

import { openSpans } from '../../../src/assemble/assembly.js';
import type { AssembleRules } from '../../../src/assemble/rules.js';
import type { Interaction } from '../../../src/model/interaction.js';
import { AssembleRun, visibleRows } from '../../support/assemble-run.js';
import type { SpanSketch } from '../../support/spans.js';
import { agentSpan } from '../../support/spans.js';
import { cutUp, renamed, traceArbitrary, type GeneratedSpan } from './traces.js';

const lossy = traceArbitrary({ lossy: true });
const lengths = fc.array(fc.nat({ max: 5 }), { maxLength: 6 });

function sorted(rows: readonly Interaction[]): Interaction[] {
  return [...rows].sort((a, b) => (a.interactionId < b.interactionId ? -1 : 1));
}

function rowsOf(batches: readonly (readonly SpanSketch[])[], everyMs = 0): Interaction[] {
  const run = new AssembleRun();
  batches.forEach((batch, at) => run.at(at * everyMs, ...batch));
  run.finish();
  return sorted(run.rows());
}

function shuffled<T>(items: readonly T[], seed: readonly number[]): T[] {
  return items
    .map((item, at) => ({ item, key: seed[at % Math.max(1, seed.length)] ?? 0, at }))
    .sort((a, b) => a.key - b.key || a.at - b.at)
    .map(({ item }) => item);
}

const seeds = fc.array(fc.nat(), { minLength: 20, maxLength: 20 });

test('the rows do not depend on the order of arrival, nor on batching', () => {
  fc.assert(
    fc.property(lossy, seeds, lengths, (spans, seed, sizes) => {
      const sketches = renamed(spans, 't');

      const rows = rowsOf(cutUp(shuffled(sketches, seed), sizes), 100);

      expect(rows).toEqual(rowsOf([sketches]));
    }),
    { numRuns: 500 },
  );
});

test('the rows do not depend on order when children come minutes before their parents', () => {
  fc.assert(
    fc.property(traceArbitrary({ lossy: false }), seeds, (spans, seed) => {
      // An SDK exports a span when it ends: no earlier than what is below it. Quiet trees of one trace do not wait.
      const atMs: number[] = [];
      for (let at = spans.length - 1; at >= 0; at -= 1) {
        atMs[at] = Math.max(atMs[at] ?? 0, (seed[at] ?? 0) % 500_000);
        const parent = spans[at]?.parent ?? null;
        if (parent !== null) atMs[parent] = Math.max(atMs[parent] ?? 0, atMs[at] as number);
      }
      const order = spans.map((_, at) => at).sort((a, b) => (atMs[a] as number) - (atMs[b] as number));
      const run = new AssembleRun({ maxTurnMs: 1e9 });
      for (const at of order) run.at(atMs[at] as number, (spans[at] as (typeof spans)[number]).sketch);
      run.finish();

      // A span that nobody claims is only held once its trace has a claimed one; all that matters has one below it.
      const unclaimed = new Set(
        spans.filter(({ sketch }) => sketch.kind === 'skeleton').map(({ sketch }) => sketch.id),
      );
      const claimed = (row: Interaction): string[] =>
        [row.interactionId, ...(row.answer ?? '').split(' ')].filter((name) => !unclaimed.has(name));
      expect(sorted(run.rows()).map(claimed)).toEqual(rowsOf([spans.map(({ sketch }) => sketch)]).map(claimed));
      expect(run.counts['late']).toBe(0);
    }),
    { numRuns: 500 },
  );
});

test('the decisions do not depend on how often time is told to pass', () => {
  const gaps = fc.array(fc.nat({ max: 400_000 }), { minLength: 15, maxLength: 15 });
  fc.assert(
    fc.property(lossy, gaps, seeds, (spans, waits, seed) => {
      const plain = new AssembleRun();
      const fussy = new AssembleRun();
      let nowMs = 0;
      shuffled(renamed(spans, 't'), seed).forEach((sketch, at) => {
        const nextMs = nowMs + (waits[at] ?? 0);
        plain.at(nextMs, sketch);
        for (let ms = nowMs; ms < nextMs; ms += 1 + (nextMs - nowMs) / 7) fussy.at(ms);
        fussy.at(nextMs);
        fussy.at(nextMs, sketch);
        nowMs = nextMs;
      });
      plain.finish();
      fussy.finish();

      const told = (run: AssembleRun): unknown =>
        run.decided.map(({ interaction, turn, revised }) => [interaction, revised, turn.split]);
      expect(told(fussy)).toEqual(told(plain));
      expect(fussy.counts).toEqual(plain.counts);
    }),
    { numRuns: 300 },
  );
});

test('a span that comes twice counts once', () => {
  fc.assert(
    fc.property(lossy, seeds, lengths, (spans, seed, sizes) => {
      const sketches = renamed(spans, 't');
      const doubled = shuffled([...sketches, ...sketches.filter((_, at) => (seed[at] ?? 0) % 2 === 0)], seed);

      expect(rowsOf(cutUp(doubled, sizes), 100)).toEqual(rowsOf([sketches]));
    }),
    { numRuns: 300 },
  );
});

test('a copy sent at the start of a span changes nothing once the ended one has come', () => {
  fc.assert(
    fc.property(traceArbitrary({ lossy: false }), seeds, (spans, seed) => {
      const sketches = renamed(spans, 't');
      const started = sketches.map((sketch) => ({ ...sketch, end: 0 }));

      expect(rowsOf([shuffled([...sketches, ...started], seed)])).toEqual(rowsOf([sketches]));
    }),
    { numRuns: 300 },
  );
});

test('50 interleaved traces in random batches equal the same traces one by one', () => {
  const many = fc.array(traceArbitrary({ lossy: true, maxSpans: 8 }), { minLength: 50, maxLength: 50 });
  fc.assert(
    fc.property(many, fc.array(fc.nat(), { minLength: 97, maxLength: 97 }), lengths, (traces, seed, sizes) => {
      const sketches = traces.map((spans, at) => renamed(spans, `t${String(at)}`));

      const mixed = rowsOf(cutUp(shuffled(sketches.flat(), seed), sizes), 100);

      expect(mixed).toEqual(sorted(sketches.flatMap((one) => rowsOf([one]))));
    }),
    { numRuns: 40 },
  );
});

function countsHold(
  generated: readonly (readonly GeneratedSpan[])[],
  waits: readonly number[],
  seed: readonly number[],
  rules: Partial<AssembleRules>,
): void {
  const sketches = generated.flatMap((spans, at) => renamed(spans, `t${String(at)}`));
  const judged = sketches.map((sketch, at) => ({ ...sketch, ownJudge: (seed[at % 20] ?? 1) % 9 === 0 }));
  const started = judged.filter((_, at) => at % 3 === 0).map((sketch) => ({ ...sketch, end: 0 }));
  const run = new AssembleRun(rules);
  const handed = new Map<number, number>();
  let nowMs = 0;
  const check = (): void => {
    const { arrived, ...ends } = run.counts;
    expect(Object.values(ends).reduce((a, b) => a + b, 0) + openSpans(run.state)).toBe(arrived);
  };
  shuffled([...judged, ...started, ...judged], seed).forEach((sketch, at) => {
    nowMs += waits[at % 30] ?? 0;
    const offset = Math.floor(at / 3);
    handed.set(offset, (handed.get(offset) ?? 0) + 1);
    run.take([agentSpan(sketch)], nowMs, offset);
    check();
  });
  run.finish();
  check();

  const letGo = new Map<number, number>();
  for (const offset of [...run.released, ...run.settled.flatMap((settled) => settled.offsets)]) {
    letGo.set(offset, (letGo.get(offset) ?? 0) + 1);
  }
  expect(openSpans(run.state)).toBe(0);
  expect(run.state).toMatchObject({ heldSpans: 0, heldBytes: 0 });
  expect(run.state.traces.size).toBe(0);
  expect([...letGo].sort((a, b) => a[0] - b[0])).toEqual([...handed]);
}

/** Found by chance: a late span loses its parent to the bounded memory, and joins a turn that was decided before. */
function parentForgotten(): Parameters<typeof countsHold> {
  const open = (id: string, start: number, end: number): GeneratedSpan => ({
    sketch: { trace: 't', id, kind: 'agent', otlpKind: 1, start, end, parent: 'gone0' },
    parent: null,
  });
  const first: GeneratedSpan[] = [
    open('s0', 0, 353),
    open('s1', 100, 352),
    { sketch: { ...open('s2', 200, 351).sketch, parent: 's1', remote: true }, parent: 1 },
    open('s3', 300, 350),
  ];
  const second: GeneratedSpan[] = [
    open('s0', 0, 50),
    { sketch: { trace: 't', id: 's1', kind: 'agent', otlpKind: 1, start: 100, end: 654 }, parent: null },
    open('s2', 200, 653),
    open('s3', 300, 652),
    open('s4', 400, 450),
    { sketch: { trace: 't', id: 's5', kind: 'llm', otlpKind: 1, start: 500, end: 0, parent: 's3' }, parent: 3 },
    open('s6', 600, 650),
  ];
  const waits = Array.from({ length: 30 }, (_, at) => (at === 8 ? 400_000 : at === 9 ? 1_000_000 : 0));
  const seed = [
    1197786287, 524133856, 497979930, 497979931, 497979931, 108933112, 0, 726696027, 497979931, 497988388, 0, 0,
    497979931, 497979931, 0, 497979931, 0, 497979931, 497979931, 497979931,
  ];
  return [[first, second], waits, seed, { maxOpenTraces: 1_000, maxSpansPerTrace: 1_000, rememberedInteractions: 1 }];
}

test('arrived = assembled + dropped with a reason + open, at every step, and every entry is let go once a span', () => {
  const gaps = fc.array(fc.constantFrom(0, 100, 4_000, 6_000, 30_000, 400_000, 1_000_000), {
    minLength: 30,
    maxLength: 30,
  });
  const bounds = fc.record({
    maxOpenTraces: fc.constantFrom(1, 2, 1_000),
    maxSpansPerTrace: fc.constantFrom(2, 5, 1_000),
    rememberedInteractions: fc.constantFrom(0, 1, 1_000),
  });
  const traces = fc.array(lossy, { minLength: 1, maxLength: 3 });
  fc.assert(fc.property(traces, gaps, seeds, bounds, countsHold), { numRuns: 500, examples: [parentForgotten()] });
});

test('everything shifted in time gives the same decisions, shifted', () => {
  fc.assert(
    fc.property(lossy, fc.nat({ max: 1e12 }), (spans, shift) => {
      const at = (startMs: number): AssembleRun => {
        const run = new AssembleRun();
        spans.forEach(({ sketch }, index) => run.at(startMs + index * 3_000, sketch));
        run.finish();
        return run;
      };

      expect(at(shift).decided.map(({ interaction }) => interaction)).toEqual(
        at(0).decided.map(({ interaction }) => interaction),
      );
    }),
    { numRuns: 200 },
  );
});

test('a settled interaction was decided before, and each span is in one visible turn at most', () => {
  fc.assert(
    fc.property(lossy, seeds, (spans, seed) => {
      const run = new AssembleRun();
      shuffled(renamed(spans, 't'), seed).forEach((sketch, at) => run.at(at * 300, sketch));
      run.finish();

      const decided = new Set(run.decided.map(({ interaction }) => interaction.interactionId));
      for (const { interactionId } of run.settled) expect(decided.has(interactionId)).toBe(true);
      const visible = [...visibleRows(run.rows()).values()];
      const names = visible.flatMap((row) => (row.answer ?? '').split(' '));
      expect(new Set(names).size).toBe(names.length);
    }),
    { numRuns: 300 },
  );
});
