import { createAssembly, finish, step } from '../../src/assemble/assembly.js';
import { buildInteraction } from '../../src/assemble/interaction.js';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import { interpret } from '../../src/interpret/interpret.js';
import type { Interaction } from '../../src/model/interaction.js';
import type { Span } from '../../src/model/span.js';
import { decodeTraces, type OtlpEncoding } from '../../src/receive/decode.js';

export function decodeSpans(body: Uint8Array, encoding: OtlpEncoding): readonly Span[] {
  const result = decodeTraces(body, encoding);
  if (result.kind === 'malformed') throw new Error(result.rejection.detail);
  return result.batch.spans;
}

/** The last revision of each interaction in these spans, in order of start, as if all quiet times had passed. */
export function interactionsOf(spans: readonly Span[]): readonly Interaction[] {
  const state = createAssembly();
  const deps = { build: buildInteraction, interpret };
  const arrivals = spans.map((span) => ({ span: interpret(span), offset: null }));
  const decided = [step(state, arrivals, 0, DEFAULT_ASSEMBLE_RULES, deps), finish(state, DEFAULT_ASSEMBLE_RULES, deps)]
    .flatMap((result) => result.decided)
    .map((decision) => decision.interaction);
  return [...new Map(decided.map((interaction) => [interaction.interactionId, interaction])).values()].sort(
    (a, b) => a.startedAtMs - b.startedAtMs,
  );
}
