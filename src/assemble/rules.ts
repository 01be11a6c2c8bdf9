/**
 * Settings of the reducer. All times are stream time in milliseconds; all bounds are inclusive: work starts to be
 * decided early when one more than the bound is held.
 */
export interface AssembleRules {
  /** Quiet after the last span of an interaction whose root has ended. >= 1, below the smallest useful patience. */
  readonly quietMs: number;
  /** Silence after which an interaction without its root is decided as it stands. A longer tool call is split. */
  readonly orphanMs: number;
  /** Age, from its first span, at which an interaction is decided whatever is still missing. */
  readonly maxTurnMs: number;
  /** How long after a verdict spans still give a new revision; log entries are released when it is over. */
  readonly lateMs: number;
  /** Traces that hold undecided or late-window spans at one time. */
  readonly maxOpenTraces: number;
  /** Spans held of one trace; past it the trace's largest interaction is cut. */
  readonly maxSpansPerTrace: number;
  /** Encoded bytes held of one trace. */
  readonly maxBytesPerTrace: number;
  /** Encoded bytes held of all traces together. Live memory is about three times as much. */
  readonly maxOpenBytes: number;
  /** Decided interactions whose span ids are remembered, so that a re-delivery costs nothing. */
  readonly rememberedInteractions: number;
  /** Span ids remembered in all, about 100 bytes each. */
  readonly rememberedSpans: number;
}

const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;

export const DEFAULT_ASSEMBLE_RULES: AssembleRules = {
  // The batch processors of the OpenTelemetry SDKs flush every 5 s: siblings of one process arrive within that.
  quietMs: 5_000,
  orphanMs: 10 * MINUTE_MS,
  maxTurnMs: 60 * MINUTE_MS,
  lateMs: 15_000,
  maxOpenTraces: 50_000,
  // A long agent run has hundreds of spans; ten thousand are a loop, or one trace id for a whole process.
  maxSpansPerTrace: 10_000,
  maxBytesPerTrace: 64 * MIB,
  maxOpenBytes: 1024 * MIB,
  rememberedInteractions: 100_000,
  rememberedSpans: 1_000_000,
};
