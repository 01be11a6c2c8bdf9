import type { AgentSpan, Fact, Ranked, SpanFacts } from '../model/agent-span.js';

/** The best source of a row over several spans: each source is looked for on all of them before the next is tried. */
export function bestOf<F extends Fact>(spans: readonly AgentSpan[], fact: F): Ranked<SpanFacts[F]> | undefined {
  let best: Ranked<SpanFacts[F]> | undefined;
  for (const span of spans) {
    const reading = span.read(fact);
    if (reading !== undefined && (best === undefined || reading.rank < best.rank)) best = reading;
  }
  return best;
}
