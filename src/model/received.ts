import type { Span } from './span.js';

/** Position of an entry in the ordered log that it was read from (spool or Kafka partition). */
export type Offset = number;

/** One entry of the log, decoded. */
export interface ReceivedBatch {
  /** null: read from a file; there is nothing to release. */
  readonly offset: Offset | null;
  /** Milliseconds since the Unix epoch, when the entry was received (not when it was read). */
  readonly receivedAtMs: number;
  readonly spans: readonly Span[];
}
