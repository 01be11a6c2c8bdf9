import type { Attributes, Span } from '../../src/model/span.js';
import type { DecodedBatch, Rejection } from '../../src/model/rejection.js';
import { decodeTraces } from '../../src/receive/decode.js';
import type { OtlpEncoding } from '../../src/receive/decode.js';
import type { DecodeLimits } from '../../src/receive/decode-limits.js';
import { encodeOtlpJson } from './otlp-proto.js';
import type { OtlpJson } from './otlp-proto.js';

export const TRACE_ID = '5b8efff798038103d269b633813fc60c';
export const SPAN_ID = 'eee19b7ec3c1b174';

/** The least that a span needs, as OTLP/JSON. */
export function otlpSpan(fields: OtlpJson = {}): OtlpJson {
  return { traceId: TRACE_ID, spanId: SPAN_ID, startTimeUnixNano: '1', endTimeUnixNano: '2', ...fields };
}

export function otlpRequest(...spans: OtlpJson[]): OtlpJson {
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}

/** Decodes and expects the body to be readable. */
export function decodeBody(body: Uint8Array, encoding: OtlpEncoding, limits?: DecodeLimits): DecodedBatch {
  const result = decodeTraces(body, encoding, limits);
  if (result.kind === 'malformed') throw new Error(`a readable body expected, got ${result.rejection.detail}`);
  return result.batch;
}

/** Decodes and expects the body to be refused. */
export function refuseBody(body: Uint8Array, encoding: OtlpEncoding): Rejection {
  const result = decodeTraces(body, encoding);
  if (result.kind !== 'malformed') throw new Error(`a refused body expected, got ${result.batch.spans.length} spans`);
  return result.rejection;
}

export function decodeJsonText(text: string | Uint8Array, limits?: DecodeLimits): DecodedBatch {
  return decodeBody(Buffer.from(text as string), 'json', limits);
}

/** Both encodings of the same request. */
export function decodeBoth(request: OtlpJson): readonly DecodedBatch[] {
  return [decodeJsonText(JSON.stringify(request)), decodeBody(encodeOtlpJson(request), 'protobuf')];
}

export function theSpan(batch: DecodedBatch): Span {
  const [span] = batch.spans;
  if (span === undefined) throw new Error(`a span expected, got ${JSON.stringify(batch.rejections)}`);
  return span;
}

/** All that attributes hold, as entries in their order. */
export function entriesOf(attributes: Attributes): [string, unknown][] {
  return attributes.keys().map((key) => [key, attributes.get(key)]);
}

/** Everything a span says, for comparisons. */
export function describeSpan(span: Span): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    parentIsRemote: span.parentIsRemote,
    name: span.name,
    kind: span.kind,
    start: span.startUnixNano,
    end: span.endUnixNano,
    statusCode: span.statusCode,
    statusMessage: span.statusMessage,
    attributes: entriesOf(span.attributes),
    events: span.events.map(({ name, timeUnixNano, attributes }) => [name, timeUnixNano, entriesOf(attributes)]),
    links: span.links,
    droppedAttributes: span.droppedAttributes,
    resource: entriesOf(span.resource.attributes),
    scope: [span.scope.name, span.scope.version],
  };
}
