import { expect } from 'vitest';
import type { Span } from '../../../src/model/span.js';
import { decodeTraces, type OtlpEncoding } from '../../../src/receive/decode.js';
import { splitByTrace, type Split } from '../../../src/receive/split-by-trace.js';
import { decodeBody, describeSpan } from '../../support/decoding.js';
import { TraceRequestType, type OtlpJson } from '../../support/otlp-proto.js';

/** What holds of every body: the parts together are the body, one trace each, and a part is its own part. */
export function expectSplitLaws(body: Uint8Array, encoding: OtlpEncoding): Split | null {
  const whole = decodeTraces(body, encoding);
  const split = splitByTrace(body, encoding);
  if (whole.kind === 'malformed' || split.kind === 'malformed') {
    expect(split).toEqual(whole);
    return null;
  }

  const { spans, rejections } = whole.batch;
  expect(split.rejections).toEqual(rejections);
  const byTrace = new Map<string, Span[]>();
  for (const span of spans) byTrace.set(span.traceId, [...(byTrace.get(span.traceId) ?? []), span]);
  expect([...split.parts.keys()]).toEqual([...byTrace.keys()]);
  for (const [traceId, part] of split.parts) {
    const batch = decodeBody(part, encoding);
    const expected = byTrace.get(traceId) as Span[];
    expect(batch.rejections.filter(({ spans: lost }) => lost > 0)).toEqual([]);
    expect(batch.spans.map(describeSpan)).toEqual(expected.map(describeSpan));
    expect(encodedOf(batch.spans).equals(encodedOf(expected))).toBe(true);
    expect(batch.leniencies['byte_order_mark']).toBeUndefined();

    const again = splitByTrace(part, encoding);
    const parts = again.kind === 'split' ? [...again.parts] : [];
    expect(parts.map(([id, same]) => [id, same.equals(part)])).toEqual([[traceId, true]]);
  }
  return split;
}

function encodedOf(spans: readonly Span[]): Buffer {
  return Buffer.concat(spans.map((span) => span.encoded()));
}

/** Another parser's view of a request; it keeps integers of 64 bits as text. */
export function parsedElsewhere(body: Buffer, encoding: OtlpEncoding): OtlpJson {
  if (encoding === 'json') return JSON.parse(body.toString('utf8'));
  return TraceRequestType.toObject(TraceRequestType.decode(body), { longs: String, bytes: String });
}

/** What is left of a parsed request when only these spans may stay: a resource or scope without any goes too. */
export function filtered(request: OtlpJson, keep: (span: OtlpJson) => boolean): OtlpJson {
  return filterLists(request, ['resourceSpans'], (group) =>
    filterLists(group, ['scopeSpans', 'instrumentationLibrarySpans'], (scope) =>
      filterLists(scope, ['spans'], (span) => (keep(span) ? span : null)),
    ),
  );
}

/** null when the lists are empty afterwards. */
function filterLists(message: OtlpJson, names: readonly string[], filter: (element: OtlpJson) => OtlpJson): OtlpJson {
  const left = { ...message };
  let kept = 0;
  for (const name of names) {
    const elements = (message[name] ?? []).map(filter).filter((element: OtlpJson) => element !== null);
    kept += elements.length;
    if (elements.length > 0) left[name] = elements;
    else delete left[name];
  }
  return kept === 0 ? null : left;
}
