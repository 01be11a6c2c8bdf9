import type { Span } from './span.js';

/** Why something that was received cannot be used. A small fixed set: it is a metric label and a column. */
export type RejectionReason =
  | 'malformed_body'
  | 'malformed_span'
  | 'invalid_trace_id'
  | 'invalid_span_id'
  | 'invalid_time'
  | 'too_large'
  | 'too_deep'
  | 'unsupported_media_type'
  | 'unauthorized'
  | 'invalid_expectation'
  | 'store_refused_row';

/**
 * Something that was refused, said so that its sender can mend it. Never holds span content, prompts or secrets.
 * Counted, written to the `rejections` table, and reported in OTLP's partial success.
 */
export interface Rejection {
  readonly reason: RejectionReason;
  /** What and where: `resourceSpans[0].scopeSpans[1].spans[7].traceId: 32 hex digits expected, got 30`. */
  readonly detail: string;
  /** How many spans were lost by it; 0 for a warning. */
  readonly spans: number;
}

/** What the decoder makes of one request: usable spans, and what had to be refused. */
export interface DecodedBatch {
  readonly spans: readonly Span[];
  readonly rejections: readonly Rejection[];
  /** Leniencies used, for `doctor`: counted by kind, nothing was lost (`snake_case_keys`, `enum_names`, ...). */
  readonly leniencies: Readonly<Record<string, number>>;
}
