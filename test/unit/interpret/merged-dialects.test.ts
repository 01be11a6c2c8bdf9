import { expect, test } from 'vitest';
import type { Source } from '../../../src/interpret/dialect.js';
import { common } from '../../../src/interpret/dialects/common.js';
import { DIALECTS } from '../../../src/interpret/dialects/index.js';
import { openinference } from '../../../src/interpret/dialects/openinference.js';
import { otelGenai } from '../../../src/interpret/dialects/otel-genai.js';
import { interpret } from '../../../src/interpret/interpret.js';
import { mergeDialects } from '../../../src/interpret/merged-dialects.js';
import { SpanView } from '../../../src/interpret/span-view.js';
import type { Fact } from '../../../src/model/agent-span.js';
import { corpusFolders, corpusSpans, scenarios } from '../../support/corpus.js';
import { otlpSpan } from '../../support/otlp-json.js';

const MERGED = mergeDialects(DIALECTS);

/** Sources that say nothing without their keys; elsewhere some count on being asked only where their keys are. */
function sources(): readonly (readonly [Fact, Source<Fact>])[] {
  return [common, openinference, otelGenai].flatMap((dialect) =>
    (Object.entries(dialect.facts) as [Fact, readonly Source<Fact>[]][]).flatMap(([fact, row]) =>
      row.map((source) => [fact, source] as const),
    ),
  );
}

test.each(corpusFolders())('leaves out no source that says something on the spans of %s', (folder) => {
  const missed: string[] = [];
  for (const span of scenarios(folder).flatMap((scenario) => corpusSpans(folder, scenario))) {
    const { kind } = interpret(span);
    const rows = MERGED.planFor(span).rowsFor(kind, span.events.length > 0);
    const view = new SpanView(span, kind);
    for (const [fact, source] of sources()) {
      if (source.kinds?.includes(kind) === false) continue;
      if (rows.row(fact)?.sources.includes(source) !== true && source.read(view) !== undefined)
        missed.push(`${fact}: ${source.source}`);
    }
  }

  expect(missed).toEqual([]);
});

test('spans with the same keys share a plan, whatever their values', () => {
  const [a, b, c] = [
    otlpSpan({ 'gen_ai.operation.name': 'chat', 'session.id': 'one' }),
    otlpSpan({ 'gen_ai.operation.name': 'execute_tool', 'session.id': 'two' }),
    otlpSpan({ 'gen_ai.operation.name': 'chat' }),
  ];

  expect(MERGED.planFor(a)).toBe(MERGED.planFor(b));
  expect(MERGED.planFor(a)).not.toBe(MERGED.planFor(c));
});
