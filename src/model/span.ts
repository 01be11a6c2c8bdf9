import type { Json } from './json.js';

/** 32 lowercase hex digits, not all zero. */
export type TraceId = string;
/** 16 lowercase hex digits, not all zero. */
export type SpanId = string;

/**
 * The attributes of a span, an event, a link, a resource or a scope. A key that was sent twice has its last value.
 *
 * Values are decoded when asked for, by the table of OTLP's AnyValue: an int64 beyond 2^53 becomes its decimal text,
 * bytes become base64, NaN and the infinities become their names, an empty AnyValue becomes null.
 */
export interface Attributes {
  /** Distinct keys. */
  readonly size: number;
  has(key: string): boolean;
  /** `undefined` when the key is absent; `null` when it is there without a value. */
  get(key: string): Json | undefined;
  /**
   * A text that is equal only for equal values, made without decoding: for what is read once and shared. Absent where
   * values have no bytes; `undefined` when the key is absent or has no value.
   */
  encoded?(key: string): string | undefined;
  /** In order of first appearance. */
  keys(): readonly string[];
}

export interface Resource {
  readonly attributes: Attributes;
}

export interface Scope {
  /** Empty when the sender names none. */
  readonly name: string;
  readonly version: string;
}

export interface SpanEvent {
  readonly name: string;
  /** Nanoseconds since the Unix epoch. */
  readonly timeUnixNano: bigint;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: TraceId;
  readonly spanId: SpanId;
}

/** OTLP's Status.code: 0 unset, 1 ok, 2 error. */
export type StatusCode = 0 | 1 | 2;

/** OTLP's SpanKind: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
export type OtlpSpanKind = 0 | 1 | 2 | 3 | 4 | 5;

/**
 * One operation, as received. Immutable once decoded; what is not asked for stays bytes, so a span keeps the buffer
 * it was decoded from alive until `compact()` gives it bytes of its own.
 */
export interface Span {
  readonly traceId: TraceId;
  readonly spanId: SpanId;
  /** Absent on a root span. */
  readonly parentSpanId: SpanId | undefined;
  /** From the OTLP span flags: does the parent live in another process? `undefined` when the sender did not say. */
  readonly parentIsRemote: boolean | undefined;
  readonly name: string;
  readonly kind: OtlpSpanKind;
  /** Nanoseconds since the Unix epoch; bigint because 2^53 ns is only 104 days. */
  readonly startUnixNano: bigint;
  /** 0n when the span has not ended. */
  readonly endUnixNano: bigint;
  readonly statusCode: StatusCode;
  /** Empty when there is none. */
  readonly statusMessage: string;
  readonly attributes: Attributes;
  /** In the sender's order. */
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  /** Attributes that the sender's SDK dropped for its own limits. */
  readonly droppedAttributes: number;
  readonly resource: Resource;
  readonly scope: Scope;
  /** Encoded size of this span alone, in bytes. */
  readonly bytes: number;
  /** The encoded span; of two copies of one span that are equally full, the greater bytes win. */
  encoded(): Uint8Array;
  /** The same span, no longer keeping its whole request in memory. */
  compact(): Span;
}
