import type { Graded } from '../model/graded.js';
import type { Outcome } from '../model/outcome.js';
import type { Offset } from '../model/received.js';
import type { Span } from '../model/span.js';
import { createPipeline, type PipelineDeps, type PipelineRules } from '../pipeline.js';
import { createStreamClock } from '../receive/stream-clock.js';

/** One ordered log with stream time and a pipeline of its own: the spool, or one partition of a topic. */
export interface Shard {
  /** What heartbeats call it: `spool`, `kafka:otlp_spans/3`. */
  readonly source: string;
  /** Stream time, milliseconds since the Unix epoch; 0 before anything was seen. */
  readonly nowMs: number;
  /** Records whose time was too far ahead of the wall clock, since this was last asked. */
  takeAheadRecords(): number;
  readonly openSpans: number;
  readonly unstored: number;
  /** See `Pipeline`. */
  readonly unjudged: number;
  whenJudged(): Promise<void>;
  /** Takes one entry of the log. `receivedAtMs`: when it was received. */
  receive(entry: { readonly offset: Offset; readonly receivedAtMs: number; readonly spans: readonly Span[] }): void;
  /** There was nothing more to read when the wall clock stood at `wallMs`. */
  drained(wallMs: number): void;
  /** While held (the store takes no rows) stream time stands still. */
  hold(held: boolean): void;
  /** Does what is due at the stream time that has come. */
  pass(): void;
  /** Its log has no room for more; see `Pipeline.relieve`. */
  relieve(): void;
  whenStored(): Promise<void>;
}

export interface ShardDeps {
  readonly rules: PipelineRules;
  readonly expectations: PipelineDeps['expectations'];
  readonly events: PipelineDeps['events'];
  readonly judging: PipelineDeps['judging'];
  readonly store: (graded: Graded) => Promise<Outcome>;
  /** The wall clock. */
  readonly nowMs: () => number;
}

export function createShard(source: string, deps: ShardDeps, release: PipelineDeps['release']): Shard {
  const { rules, expectations, events, judging, store } = deps;
  const clock = createStreamClock();
  const pipeline = createPipeline(rules, { expectations, events, judging, store, release });
  let aheadRecords = 0;
  return {
    source,
    get nowMs() {
      return clock.nowMs;
    },
    takeAheadRecords() {
      const more = clock.aheadRecords - aheadRecords;
      aheadRecords = clock.aheadRecords;
      return more;
    },
    get openSpans() {
      return pipeline.openSpans;
    },
    get unstored() {
      return pipeline.unstored;
    },
    get unjudged() {
      return pipeline.unjudged;
    },
    whenJudged: () => pipeline.whenJudged(),
    receive({ offset, receivedAtMs, spans }) {
      pipeline.receive({ offset, receivedAtMs, spans }, clock.see(receivedAtMs, deps.nowMs()));
    },
    drained(wallMs) {
      clock.drained(wallMs);
    },
    hold(held) {
      if (held) clock.hold();
      else clock.letGo();
    },
    pass() {
      if (pipeline.nextDueMs !== null && pipeline.nextDueMs <= clock.nowMs) pipeline.pass(clock.nowMs);
    },
    relieve: () => pipeline.relieve(),
    whenStored: () => pipeline.whenStored(),
  };
}
