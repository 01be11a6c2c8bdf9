import type { DecodedBatch, Rejection } from '../model/rejection.js';
import type { Span, TraceId } from '../model/span.js';
import { decodeTraces, type OtlpEncoding } from './decode.js';
import { DEFAULT_DECODE_LIMITS, type DecodeLimits } from './decode-limits.js';
import { sortJson, writeJson } from './split-json.js';
import { sortProtobuf, writeProtobuf } from './split-protobuf.js';
import { TraceSorter } from './trace-sorter.js';

export interface SplitLimits extends DecodeLimits {
  /**
   * Each part has a copy of what stands above its spans. So many bytes may all parts have together beyond those of the
   * body; traces whose parts do not fit are refused as `too_large`.
   */
  readonly maxRepeatedBytes: number;
}

export const DEFAULT_SPLIT_LIMITS: SplitLimits = {
  ...DEFAULT_DECODE_LIMITS,
  maxRepeatedBytes: 256 * 1024 * 1024, // 8192 spans, each of a trace of its own, below a resource of 32 kB
};

export interface Split {
  readonly kind: 'split';
  /** A request for each trace id, in order of their first spans. */
  readonly parts: ReadonlyMap<TraceId, Buffer>;
  /** Of the spans that are in no part, and the decoder's warnings. */
  readonly rejections: readonly Rejection[];
}

export type SplitResult = Split | { readonly kind: 'malformed'; readonly rejection: Rejection };

/**
 * Cuts an ExportTraceServiceRequest into one request per trace id, in the same encoding.
 *
 * - The parts hold exactly the spans that `decodeTraces` takes from the body; the others are told as it tells them,
 *   and what is malformed there is malformed here.
 * - Nothing is written anew: spans, resources, scopes, schema URLs and fields that we do not know are the sender's
 *   bytes. Spans of a trace keep their order; a resource or scope without spans of a trace is not in its part.
 * - A body of one trace is its own part, without a copy, and shares its memory; so does a part that is split again.
 *   In JSON the part begins at its `{`, without the byte order mark that the body may have.
 *
 * Any bytes give a value, never a throw, in time and memory in proportion to their number and `maxRepeatedBytes`.
 */
export function splitByTrace(
  body: Uint8Array,
  encoding: OtlpEncoding,
  limits: SplitLimits = DEFAULT_SPLIT_LIMITS,
): SplitResult {
  const result = decodeTraces(body, encoding, limits);
  return result.kind === 'malformed' ? result : splitDecoded(body, encoding, result.batch, limits);
}

/** The same for a body that has been decoded already: `batch` is what `decodeTraces` made of it. */
export function splitDecoded(
  body: Uint8Array,
  encoding: OtlpEncoding,
  batch: Pick<DecodedBatch, 'spans' | 'rejections'>,
  { maxRepeatedBytes }: Pick<SplitLimits, 'maxRepeatedBytes'> = DEFAULT_SPLIT_LIMITS,
): Split {
  const { spans, rejections } = batch;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const [first] = spans;
  if (first === undefined) return { kind: 'split', parts: new Map(), rejections };
  if (isAllOf(first.traceId, batch)) {
    const whole = encoding === 'json' ? bytes.subarray(bytes.indexOf('{')) : bytes;
    return { kind: 'split', parts: new Map([[first.traceId, whole]]), rejections };
  }

  const { sort, write } = ENCODINGS[encoding];
  const sorter = new TraceSorter(bytes, spans);
  sort(bytes, sorter);
  sorter.assertAllPlaced();

  const parts = new Map<TraceId, Buffer>();
  const bound = bytes.length + maxRepeatedBytes;
  let written = 0;
  let refused = 0;
  for (const [traceId, part] of sorter.parts) {
    const pieces: Uint8Array[] = [];
    const length = write(part.request, pieces);
    if (written + length > bound) {
      refused += part.spans;
      continue;
    }
    parts.set(traceId, Buffer.concat(pieces, length));
    written += length;
  }
  if (refused === 0) return { kind: 'split', parts, rejections };
  const detail = `requests of one trace each with at most ${bound} bytes together expected, got more`;
  return { kind: 'split', parts, rejections: [...rejections, { reason: 'too_large', detail, spans: refused }] };
}

const ENCODINGS = {
  protobuf: { sort: sortProtobuf, write: writeProtobuf },
  json: { sort: sortJson, write: writeJson },
} as const;

/** Is there nothing in the body but spans of this trace? */
function isAllOf(
  traceId: TraceId,
  { spans, rejections }: { spans: readonly Span[]; rejections: readonly Rejection[] },
) {
  return rejections.every(({ spans: lost }) => lost === 0) && spans.every((span) => span.traceId === traceId);
}
