import type { DecodedBatch, Rejection } from '../model/rejection.js';
import { DEFAULT_DECODE_LIMITS } from './decode-limits.js';
import type { DecodeLimits } from './decode-limits.js';
import { DecodeReport } from './decode-report.js';
import { decodeJson } from './otlp-json.js';
import { decodeProtobuf } from './otlp-protobuf.js';
import type { OtlpEncoding } from './encoding.js';
import type { SpanRecord } from './span-record.js';

export type { OtlpEncoding } from './encoding.js';

export type DecodeResult =
  | {
      readonly kind: 'decoded';
      readonly batch: DecodedBatch;
      /** What a JSON body that is not empty and holds no `resourceSpans` is instead; `traces` for every other body. */
      readonly content: 'traces' | 'other_signal' | 'not_otlp';
    }
  /** The body cannot be read as a whole: an HTTP sender is answered 400, and sending it again will not help. */
  | { readonly kind: 'malformed'; readonly rejection: Rejection };

/**
 * Reads an ExportTraceServiceRequest in one pass over its bytes, without an intermediate tree.
 *
 * Any bytes give a value, never a throw, in time and memory in proportion to their number. A span that cannot be
 * used becomes a Rejection that says what and where, and the rest of the body goes on; what cannot be read above the
 * spans makes the whole body malformed. What the specification does not allow and is plain all the same is read and
 * counted under `leniencies`. The spans share `body`, which must not change while they live; `compact()` parts them.
 *
 * - Ids: 16 and 8 bytes (hex text in JSON, case-insensitive), not zero. A parent's id may be empty or zero: a root.
 * - Times: an end of 0 is legal (not ended); a start of 0 is taken from the end; both 0 are refused.
 * - Text is always well-formed: bytes that are no UTF-8 and half surrogate pairs become U+FFFD.
 */
export function decodeTraces(
  body: Uint8Array,
  encoding: OtlpEncoding,
  limits: DecodeLimits = DEFAULT_DECODE_LIMITS,
): DecodeResult {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const report = new DecodeReport(limits);
  const spans: SpanRecord[] = [];
  let content: 'traces' | 'other_signal' | 'not_otlp' = 'traces';

  if (encoding === 'protobuf') {
    const fault = decodeProtobuf(bytes, limits, report, spans);
    if (fault !== null) return malformed(fault.kind, fault.detail);
  } else {
    const result = decodeJson(bytes, limits, report, spans);
    if (result.kind === 'unreadable') return malformed(result.reason, result.detail);
    if (result.kind === 'foreign') {
      content = result.signal === null ? 'not_otlp' : 'other_signal';
      report.reject('malformed_body', 0, () => `resourceSpans expected, got ${result.signal ?? 'other members only'}`);
    }
  }
  const batch = { spans, rejections: report.rejections(), leniencies: report.leniencies() };
  return { kind: 'decoded', batch, content };
}

function malformed(kind: 'malformed' | 'too_deep' | 'too_large', detail: string): DecodeResult {
  const reason = kind === 'malformed' ? 'malformed_body' : kind;
  return { kind: 'malformed', rejection: { reason, detail, spans: 0 } };
}
