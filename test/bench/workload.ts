import { readFixture } from '../support/fixture.js';
import { encodeOtlpJson } from '../support/otlp-proto.js';
import type { OtlpJson } from '../support/otlp-proto.js';
import { seededRandom } from '../support/random.js';

/**
 * Requests as agents send them, made from recorded payloads of two instrumentations: one writes structured values,
 * the other flattened keys with JSON text in them. Whole traces are repeated under fresh trace, span and session ids.
 * Three traces of four lose their tool definitions, which would otherwise be most of their bytes: a span is then about
 * 1.5 kB as protobuf. A request holds about 100 spans of one instrumentation.
 */
const FOLDERS = ['genai-semconv-structured', 'openinference-openai'] as const;
const SCENARIOS = [
  'a_single_tool',
  'b_parallel_tools',
  'c_sequential_tools',
  'd_tool_error_retry',
  'e_no_tools',
  'f_multi_turn',
  'g_wrong_args',
] as const;
const SPANS_PER_REQUEST = 100;
const TRACES_WITH_TOOL_DEFINITIONS = 1 / 4;

/** Bodies of protobuf requests with at least `spans` spans together; the same seed gives the same bytes. */
export function workload(seed: number, spans: number): Uint8Array[] {
  const random = seededRandom(seed);
  const scenarios = FOLDERS.map((folder) =>
    SCENARIOS.map((name) => JSON.parse(readFixture(`corpus/${folder}/${name}.otlp.json`).toString('utf8'))),
  );
  const bodies: Uint8Array[] = [];
  for (let made = 0; made < spans;) {
    const recorded = scenarios[bodies.length % scenarios.length] as OtlpJson[];
    const parts: OtlpJson[] = [];
    let count = 0;
    while (count < SPANS_PER_REQUEST) {
      const scenario = recorded[Math.floor(random() * recorded.length)];
      const part = freshCopy(scenario, random);
      parts.push(part);
      count += spansOf(part).length;
    }
    bodies.push(encodeOtlpJson(merge(parts)));
    made += count;
  }
  return bodies;
}

function spansOf(request: OtlpJson): OtlpJson[] {
  return request.resourceSpans.flatMap((group: OtlpJson) => group.scopeSpans.flatMap((scope: OtlpJson) => scope.spans));
}

/** One resource, and its spans grouped by scope, as an SDK exports them. */
function merge(requests: OtlpJson[]): OtlpJson {
  const scopes = new Map<string, OtlpJson>();
  for (const request of requests) {
    for (const group of request.resourceSpans) {
      for (const { scope, spans } of group.scopeSpans) {
        const key = JSON.stringify(scope);
        const known = scopes.get(key);
        if (known === undefined) scopes.set(key, { scope, spans: [...spans] });
        else known.spans.push(...spans);
      }
    }
  }
  return { resourceSpans: [{ resource: requests[0].resourceSpans[0].resource, scopeSpans: [...scopes.values()] }] };
}

function freshCopy(scenario: OtlpJson, random: () => number): OtlpJson {
  const ids = new Map<string, string>();
  const fresh = (id: string): string => {
    let other = ids.get(id);
    if (other === undefined) {
      other = Array.from(id, () => Math.floor(random() * 16).toString(16)).join('');
      ids.set(id, other);
    }
    return other;
  };
  const session = `session-${Math.floor(random() * 2 ** 40).toString(36)}`;
  const keepTools = new Map<string, boolean>();

  const copy = structuredClone(scenario);
  for (const span of spansOf(copy)) {
    const recordedTrace = span.traceId as string;
    if (!keepTools.has(recordedTrace)) keepTools.set(recordedTrace, random() < TRACES_WITH_TOOL_DEFINITIONS);
    span.traceId = fresh(recordedTrace);
    span.spanId = fresh(span.spanId);
    if (span.parentSpanId) span.parentSpanId = fresh(span.parentSpanId);
    for (const attribute of span.attributes) {
      if (/^(session\.id|gen_ai\.conversation\.id)$/.test(attribute.key)) attribute.value = { stringValue: session };
    }
    if (keepTools.get(recordedTrace) !== true) dropToolDefinitions(span);
  }
  return copy;
}

function dropToolDefinitions(span: OtlpJson): void {
  span.attributes = span.attributes.filter(
    ({ key }: OtlpJson) => key !== 'gen_ai.tool.definitions' && !key.startsWith('llm.tools.'),
  );
  for (const { key, value } of span.attributes) {
    if (key !== 'input.value' && key !== 'llm.invocation_parameters') continue;
    if (!/^\{.*"tools":/s.test(value.stringValue)) continue;
    const { tools: _tools, ...rest } = JSON.parse(value.stringValue);
    value.stringValue = JSON.stringify(rest);
  }
}
