import type { Rejection } from '../model/rejection.js';
import type { TraceId } from '../model/span.js';
import { decodeTraces, type DecodeResult, type OtlpEncoding } from './decode.js';

/** `sniff`: JSON when the first byte that is no white space is `{`, else protobuf. */
export type KafkaEncoding = 'sniff' | 'otlp_proto' | 'otlp_json';

/** One record of a topic, as its producer wrote it. */
export interface KafkaRecord {
  readonly offset: number;
  readonly key: Buffer | null;
  /** Null is a tombstone. */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
  /** Milliseconds since the Unix epoch: when it was produced or, on a topic with LogAppendTime, appended. */
  readonly timestampMs: number;
}

export type KafkaDecodeResult =
  /** A tombstone or an empty value: legal, and holds nothing. */
  { readonly kind: 'empty' } | (DecodeResult & { readonly encoding: OtlpEncoding });

const LOOKS_LIKE_JSON = /^[ \t\r\n]*\{/;
const SNIFFED_BYTES = 64;
const RESOURCE_SPANS = 0x0a;

/**
 * The encoding of a record's value, which its topic is configured with or its first byte tells; null: it holds
 * nothing.
 */
export function encodingOfRecord({ value }: Pick<KafkaRecord, 'value'>, encoding: KafkaEncoding): OtlpEncoding | null {
  if (value === null || value.length === 0) return null;
  if (encoding !== 'sniff') return encoding === 'otlp_json' ? 'json' : 'protobuf';
  if (!LOOKS_LIKE_JSON.test(value.toString('latin1', 0, SNIFFED_BYTES))) return 'protobuf';
  // `0a 7b` may be a line feed before an object, or a ResourceSpans of 123 bytes.
  const unclear = value[0] === RESOURCE_SPANS && decodeTraces(value, 'json').kind === 'malformed';
  return unclear && decodeTraces(value, 'protobuf').kind === 'decoded' ? 'protobuf' : 'json';
}

/**
 * Reads the value of a record as OpenTelemetry Collector's kafka exporter writes it: one ExportTraceServiceRequest,
 * without framing.
 */
export function decodeRecord(record: Pick<KafkaRecord, 'value'>, encoding: KafkaEncoding): KafkaDecodeResult {
  const read = encodingOfRecord(record, encoding);
  return read === null ? { kind: 'empty' } : { ...decodeTraces(record.value as Buffer, read), encoding: read };
}

/** Is the record keyed by its trace id, in hex text or as its 16 bytes? All spans must be of that trace. */
export function isKeyedByTrace(key: Buffer | null, traceIds: Iterable<TraceId>): boolean {
  if (key === null) return false;
  const text = key.length === 16 ? key.toString('hex') : key.toString('latin1').toLowerCase();
  for (const traceId of traceIds) if (traceId !== text) return false;
  return true;
}

/** The same, said with the place of the record. */
export function rejectionAt(
  { topic, partition }: { readonly topic: string; readonly partition: number },
  { offset }: Pick<KafkaRecord, 'offset'>,
  rejection: Rejection,
): Rejection {
  return { ...rejection, detail: `${topic}/${String(partition)}, offset ${String(offset)}: ${rejection.detail}` };
}

/** Of a value that can be read, and holds no span at all. */
export function withoutSpans({ value }: Pick<KafkaRecord, 'value'>): Rejection {
  const detail = `spans expected, got none in ${String(value?.length)} bytes`;
  return { reason: 'malformed_body', detail, spans: 0 };
}
