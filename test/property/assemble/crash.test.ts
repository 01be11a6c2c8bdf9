import fc from 'fast-check';
import { expect, test } from 'vitest';

import { createAssembly, finish, step } from '../../../src/assemble/assembly.js';
import type { Assembly, Step } from '../../../src/assemble/assembly.js';
import { DEFAULT_ASSEMBLE_RULES } from '../../../src/assemble/rules.js';
import type { Interaction } from '../../../src/model/interaction.js';
import { visibleRows } from '../../support/assemble-run.js';
import type { SpanSketch } from '../../support/spans.js';
import { agentSpan, plainInteraction } from '../../support/spans.js';
import type { GeneratedSpan } from './traces.js';
import { renamed, traceArbitrary } from './traces.js';

// A span that is read again without its parent is placed by time. It stays where it was as long as no other agent of
// its trace holds its time: here siblings do not overlap, and there are no borders.
const DEPS = { build: plainInteraction };

interface Entry {
  readonly atMs: number;
  readonly spans: readonly SpanSketch[];
}

/**
 * The pipeline around the reducer, as a model: an ordered log of entries that is deleted from entry by entry, and a
 * store that acknowledges rows some time after they were sent. A crash loses the reducer and every row that was not
 * acknowledged, except those that had reached the store without anybody hearing of it.
 */
class Pipeline {
  readonly stored: Interaction[] = [];
  private state: Assembly = createAssembly();
  private readonly log = new Map<number, Entry>();
  private readonly holds = new Map<number, number>();
  private sent: Interaction[] = [];
  private waiting: (readonly number[])[] = [];
  private nowMs = 0;

  receive(offset: number, entry: Entry): void {
    this.log.set(offset, entry);
    this.nowMs = Math.max(this.nowMs, entry.atMs);
    this.read(offset, entry);
  }

  acknowledge(): void {
    this.stored.push(...this.sent);
    this.sent = [];
    for (const offsets of this.waiting) this.release(offsets);
    this.waiting = [];
  }

  crash(reached: number): void {
    this.stored.push(...this.sent.slice(0, reached));
    this.sent = [];
    this.waiting = [];
    this.state = createAssembly();
    this.holds.clear();
    for (const [offset, entry] of [...this.log]) this.read(offset, entry);
  }

  finish(): void {
    this.take(finish(this.state, DEFAULT_ASSEMBLE_RULES, DEPS));
    this.acknowledge();
  }

  /** Entries that nothing has released. */
  get left(): number {
    return this.log.size;
  }

  private read(offset: number, entry: Entry): void {
    this.holds.set(offset, entry.spans.length);
    const arrivals = entry.spans.map((sketch) => ({ span: agentSpan(sketch), offset }));
    this.take(step(this.state, arrivals, this.nowMs, DEFAULT_ASSEMBLE_RULES, DEPS));
  }

  private take(result: Step): void {
    this.sent.push(...result.decided.map(({ interaction }) => interaction));
    this.waiting.push(...result.settled.map(({ offsets }) => offsets));
    this.release(result.released);
  }

  private release(offsets: readonly number[]): void {
    for (const offset of offsets) {
      const left = (this.holds.get(offset) ?? 0) - 1;
      this.holds.set(offset, left);
      if (left === 0) this.log.delete(offset);
      expect(left).toBeGreaterThanOrEqual(0);
    }
  }
}

interface Plan {
  readonly traces: readonly (readonly GeneratedSpan[])[];
  /** When a span comes after the latest of those below it. */
  readonly waits: readonly number[];
  readonly mixed: readonly number[];
  /** After which entry it crashes, and how many unacknowledged rows had reached the store. */
  readonly crashes: readonly (readonly [number, number])[];
  readonly acknowledged: readonly boolean[];
}

/** Entries of several spans of several traces, a span never before those below it, some entries sent twice. */
function entriesOf({ traces, waits, mixed }: Plan): Entry[] {
  const arrivals = traces.flatMap((spans, trace) => {
    const atMs: number[] = [];
    for (let at = spans.length - 1; at >= 0; at -= 1) {
      atMs[at] = (atMs[at] ?? 0) + (waits[(at * 7 + trace) % waits.length] ?? 0);
      const parent = spans[at]?.parent ?? null;
      if (parent !== null) atMs[parent] = Math.max(atMs[parent] ?? 0, atMs[at] as number);
    }
    return renamed(spans, `t${String(trace)}`).map((sketch, at) => ({ sketch, at, atMs: atMs[at] as number }));
  });
  arrivals.sort((a, b) => a.atMs - b.atMs || b.at - a.at);
  const entries: Entry[] = [];
  for (let at = 0; at < arrivals.length;) {
    const size = 1 + ((mixed[at % mixed.length] ?? 0) % 4);
    const some = arrivals.slice(at, at + size);
    const entry = { atMs: Math.max(...some.map((arrival) => arrival.atMs)), spans: some.map(({ sketch }) => sketch) };
    entries.push(entry);
    if ((mixed[at % mixed.length] ?? 0) % 5 === 0) entries.push(entry);
    at += size;
  }
  return entries;
}

function run(plan: Plan, withCrashes: boolean): Pipeline {
  const pipeline = new Pipeline();
  entriesOf(plan).forEach((entry, offset) => {
    pipeline.receive(offset, entry);
    if (plan.acknowledged[offset % plan.acknowledged.length] === true) pipeline.acknowledge();
    const crash = plan.crashes.find(([after]) => after === offset);
    if (withCrashes && crash !== undefined) pipeline.crash(crash[1]);
  });
  pipeline.finish();
  return pipeline;
}

function planArbitrary(waits: readonly number[], lossy: boolean): fc.Arbitrary<Plan> {
  return fc.record({
    traces: fc.array(traceArbitrary({ lossy, borders: false, maxSpans: 10 }), { minLength: 1, maxLength: 4 }),
    waits: fc.array(fc.constantFrom(...waits), { minLength: 11, maxLength: 11 }),
    mixed: fc.array(fc.nat({ max: 60 }), { minLength: 7, maxLength: 7 }),
    crashes: fc.array(fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 4 })), { minLength: 1, maxLength: 3 }),
    acknowledged: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  });
}

function doubled(rows: ReadonlyMap<string, Interaction>): string[] {
  const seen = new Set<string>();
  const twice: string[] = [];
  for (const row of rows.values()) {
    for (const name of (row.answer ?? '').split(' ')) {
      const key = `${row.traceId} ${name}`;
      if (seen.has(key)) twice.push(key);
      seen.add(key);
    }
  }
  return twice;
}

test('after crashes every row of the run without a crash is there with as much evidence, and no span is in two rows', () => {
  fc.assert(
    fc.property(planArbitrary([0, 0, 100, 3_000, 50_000], false), (plan) => {
      const calm = visibleRows(run(plan, false).stored);
      const crashed = run(plan, true);
      const rows = visibleRows(crashed.stored);

      expect(doubled(rows)).toEqual([]);
      for (const [id, row] of calm) {
        expect(rows.get(id)?.revision).toBeGreaterThanOrEqual(row.revision);
        expect(rows.get(id)?.openTop).toBe(row.openTop);
      }
      expect([...rows.keys()].filter((id) => !calm.has(id))).toEqual([]);
      expect(crashed.left).toBe(0);
    }),
    { numRuns: 1_000 },
  );
});

test('with lost parents and roots that come after half an hour no span is in two visible rows whose top was seen', () => {
  fc.assert(
    fc.property(planArbitrary([0, 0, 100, 3_000, 60_000, 700_000, 1_800_000], true), (plan) => {
      const crashed = run(plan, true);
      const rows = visibleRows(crashed.stored);

      // Two open-topped rows of one trace do not shadow each other: a part of one that was read again stays visible.
      const whole = new Map([...rows].filter(([, row]) => !row.openTop));
      expect(doubled(whole)).toEqual([]);
      expect(doubled(visibleRows(run(plan, false).stored))).toEqual([]);
      expect(crashed.left).toBe(0);
    }),
    { numRuns: 1_000 },
  );
});
