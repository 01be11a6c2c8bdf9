import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildInteraction } from '../../src/assemble/interaction.js';
import { createAssembly, finish, step } from '../../src/assemble/assembly.js';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import { interpret } from '../../src/interpret/interpret.js';
import type { Interaction } from '../../src/model/interaction.js';
import type { Span } from '../../src/model/span.js';
import { createPipeline } from '../../src/pipeline.js';
import { decodeTraces } from '../../src/receive/decode.js';
import { buildExpectationIndex } from '../../src/score/expectations.js';
import { resolvePolicy } from '../../src/score/policy.js';
import { score } from '../../src/score/score-interaction.js';
import { openStore } from '../../src/store/clickhouse.js';
import { workload } from './workload.js';

export interface Measured {
  readonly name: string;
  readonly spans: number;
  readonly interactions: number;
  readonly seconds: number;
  /** All threads, those of the engine as well. */
  readonly cpuSeconds: number;
}

const DEPS = { build: buildInteraction, interpret };

function decode(body: Uint8Array): readonly Span[] {
  const result = decodeTraces(body, 'protobuf');
  if (result.kind !== 'decoded') throw new Error(`the workload must be readable, got ${result.rejection.detail}`);
  return result.batch.spans;
}

async function measure(name: string, run: () => Promise<[spans: number, interactions: number]>): Promise<Measured> {
  // No forced collection: with no span alive the compiler's code goes with them, and compiling again is what is measured.
  const cpu = process.cpuUsage();
  const from = performance.now();
  const [spans, interactions] = await run();
  const { user, system } = process.cpuUsage(cpu);
  return { name, spans, interactions, seconds: (performance.now() - from) / 1000, cpuSeconds: (user + system) / 1e6 };
}

/** Each stage with all before it, over the same bytes. */
export async function benchPipeline(spans: number): Promise<Measured[]> {
  const bodies = workload(2, spans);
  const warmUp = workload(1, 40_000); // fewer, and the compiler is what is measured
  const policy = resolvePolicy({});
  const results: Measured[] = [];

  const toAgentSpans = (all: readonly Uint8Array[]): Promise<[number, number]> => {
    let count = 0;
    for (const body of all)
      count += decode(body)
        .map(interpret)
        .filter((span) => span.kind !== 'other').length;
    return Promise.resolve([count, 0]);
  };
  await toAgentSpans(warmUp);
  results.push(await measure('bytes to AgentSpans', () => toAgentSpans(bodies)));

  const assembleAndScore = (all: readonly Uint8Array[], judge: boolean): Promise<[number, number]> => {
    const state = createAssembly();
    let count = 0;
    const interactions: Interaction[] = [];
    for (const [i, body] of all.entries()) {
      const arrivals = decode(body).map((span) => ({ span: interpret(span), offset: null }));
      count += arrivals.length;
      const done = step(state, arrivals, i * 100, DEFAULT_ASSEMBLE_RULES, DEPS);
      for (const { interaction } of done.decided) interactions.push(interaction);
    }
    for (const { interaction } of finish(state, DEFAULT_ASSEMBLE_RULES, DEPS).decided) interactions.push(interaction);
    if (judge) for (const interaction of interactions) score(interaction, interaction.expectation, policy);
    return Promise.resolve([count, interactions.length]);
  };
  await assembleAndScore(warmUp, true);
  results.push(await measure('bytes to interactions', () => assembleAndScore(bodies, false)));
  results.push(await measure('bytes to verdicts', () => assembleAndScore(bodies, true)));

  const dataDir = mkdtempSync(join(tmpdir(), 'tracegrade-bench-'));
  try {
    const store = await openStore({ url: 'embedded', database: 'bench', dataDir }, { isAlive: () => false });
    await store.migrate();
    const writer = store.writer({
      nowMs: () => Date.now(),
      chance: () => 0.5,
      after: (ms, wake) => {
        const timer = setTimeout(wake, ms);
        return () => clearTimeout(timer);
      },
    });
    let interactions = 0;
    const pipeline = createPipeline(
      { assemble: DEFAULT_ASSEMBLE_RULES, policy },
      {
        expectations: buildExpectationIndex([]),
        judging: null,
        events: {
          spansCounted: () => {},
          interactionGraded: () => (interactions += 1),
          gradingFailed: () => {},
          expectationUnreadable: () => {},
          expectationAmbiguous: () => {},
        },
        store: (graded) => writer.write(graded),
        release: () => {},
      },
    );
    const run = async (all: readonly Uint8Array[]): Promise<[number, number]> => {
      interactions = 0;
      let count = 0;
      for (const body of all) {
        nowMs += 100;
        const batch = decode(body);
        count += batch.length;
        pipeline.receive({ offset: null, receivedAtMs: nowMs, spans: batch }, nowMs);
        await writer.ready();
      }
      nowMs += 2 * DEFAULT_ASSEMBLE_RULES.quietMs;
      pipeline.pass(nowMs);
      while (pipeline.unstored > 0) {
        writer.flush();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return [count, interactions];
    };
    let nowMs = 1;
    await run(warmUp);
    results.push(await measure('bytes to rows in the embedded engine', () => run(bodies)));
    await writer.close({ drainMs: 1000 });
    await store.close();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
  return results;
}
