import type { Json } from '../../src/model/json.js';
import type { Span } from '../../src/model/span.js';
import { decodeSpans } from './interactions.js';
import { EPOCH_MS, spanIdOf, traceIdOf } from './spans.js';

/** A span as a test writes it down; it reaches the code as OTLP/JSON does. Times in milliseconds. */
export interface OtlpSketch {
  readonly id: string;
  readonly trace?: string;
  readonly parent?: string;
  readonly name?: string;
  readonly start?: number;
  readonly end?: number;
  readonly attributes?: Readonly<Record<string, Json>>;
  readonly events?: readonly { readonly name: string; readonly attributes?: Readonly<Record<string, Json>> }[];
  readonly status?: { readonly code: number; readonly message?: string };
  readonly kind?: number;
  readonly dropped?: number;
  readonly scope?: string;
  readonly resource?: Readonly<Record<string, Json>>;
}

export function otlpSpans(...sketches: readonly OtlpSketch[]): readonly Span[] {
  const body = {
    resourceSpans: sketches.map((sketch) => ({
      resource: { attributes: keyValues({ 'service.name': 'test-service', ...sketch.resource }) },
      scopeSpans: [{ scope: { name: sketch.scope ?? 'test' }, spans: [spanJson(sketch)] }],
    })),
  };
  return decodeSpans(Buffer.from(JSON.stringify(body)), 'json');
}

export function otlpSpan(attributes: Readonly<Record<string, Json>>, rest: Partial<OtlpSketch> = {}): Span {
  return otlpSpans({ id: 's', attributes, ...rest })[0] as Span;
}

function spanJson(sketch: OtlpSketch) {
  const start = sketch.start ?? 0;
  return {
    traceId: traceIdOf(sketch.trace ?? 't'),
    spanId: spanIdOf(sketch.id),
    ...(sketch.parent === undefined ? {} : { parentSpanId: spanIdOf(sketch.parent) }),
    name: sketch.name ?? sketch.id,
    kind: sketch.kind ?? 1,
    startTimeUnixNano: nanos(start),
    endTimeUnixNano: sketch.end === 0 ? '0' : nanos(sketch.end ?? start + 10),
    attributes: keyValues(sketch.attributes ?? {}),
    events: (sketch.events ?? []).map((event, at) => ({
      name: event.name,
      timeUnixNano: nanos(start + at),
      attributes: keyValues(event.attributes ?? {}),
    })),
    status: sketch.status ?? {},
    droppedAttributesCount: sketch.dropped ?? 0,
  };
}

function nanos(ms: number): string {
  return `${EPOCH_MS + ms}000000`;
}

function keyValues(values: Readonly<Record<string, Json>>) {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: Json): unknown {
  if (value === null) return {};
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: (value as readonly Json[]).map(anyValue) } };
  return { kvlistValue: { values: keyValues(value as Readonly<Record<string, Json>>) } };
}
