import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

export type { Registry } from 'prom-client';

/**
 * A registry of its own (the library's global one is not touched), with `tracegrade_build_info` and the process: CPU,
 * memory, file descriptors, event loop lag, garbage collection. Its text is `await registry.metrics()`, of the media type
 * `registry.contentType`.
 */
export function createRegistry(build: { readonly version: string; readonly nodeVersion: string }): Registry {
  const registry = new Registry();
  new Gauge({
    name: 'tracegrade_build_info',
    help: 'Always 1; the labels say what is running.',
    labelNames: ['version', 'node_version'],
    registers: [registry],
  }).set({ version: build.version, node_version: build.nodeVersion }, 1);
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** What is read when someone asks for the metrics, and not before. */
export interface Readings {
  /** Spans that were accepted and are neither assembled nor dropped yet. */
  readonly openSpans?: () => number;
  readonly openTraces?: () => number;
  readonly openBytes?: () => number;
  readonly spoolEntries?: () => number;
  readonly spoolBytes?: () => number;
  /** Rows that wait for the store. */
  readonly queuedRows?: () => number;
  /** How far stream time is behind the wall clock. */
  readonly streamLagMs?: () => number;
  /** Turns of the dataset files in use whose ground truth was used since they were read. */
  readonly matchedTurns?: () => number;
  readonly unmatchedTurns?: () => number;
  /** How far the last tick of the rollup is behind the wall clock. */
  readonly rollupLagMs?: () => number;
}

const READINGS: Readonly<Record<keyof Readings, { name: string; help: string; unit?: number }>> = {
  openSpans: {
    name: 'tracegrade_spans_open',
    help: 'Spans accepted and neither assembled nor dropped yet: accepted = assembled + rejected + dropped + open.',
  },
  openTraces: { name: 'tracegrade_traces_open', help: 'Traces with an open or late interaction.' },
  openBytes: { name: 'tracegrade_spans_open_bytes', help: 'Encoded size of the open spans.' },
  spoolEntries: { name: 'tracegrade_spool_entries', help: 'Entries of the spool that are not released.' },
  spoolBytes: { name: 'tracegrade_spool_bytes', help: 'Size of the entries of the spool that are not released.' },
  queuedRows: { name: 'tracegrade_store_queued_rows', help: 'Rows that wait for the store.' },
  streamLagMs: {
    name: 'tracegrade_stream_lag_seconds',
    help: 'How far stream time is behind the wall clock.',
    unit: 1_000,
  },
  matchedTurns: {
    name: 'tracegrade_dataset_turns_matched',
    help: 'Turns of the dataset files in use that an interaction matched since their file was read.',
  },
  unmatchedTurns: {
    name: 'tracegrade_dataset_turns_unmatched',
    help: 'Turns of the dataset files in use that no interaction matched since their file was read.',
  },
  rollupLagMs: {
    name: 'tracegrade_rollup_lag_seconds',
    help: 'How far the last tick of the rollup is behind the wall clock.',
    unit: 1_000,
  },
};

/** Records between what was read and the end of each assigned partition. Once per registry. */
export function exposeKafkaLag(
  registry: Registry,
  read: () => readonly { readonly topic: string; readonly partition: number; readonly lag: number | null }[],
): void {
  new Gauge({
    name: 'tracegrade_kafka_lag_records',
    help: 'Records between what was read and the end of the partition, of those assigned here.',
    labelNames: ['topic', 'partition'],
    registers: [registry],
    collect(this: Gauge) {
      this.reset();
      for (const { topic, partition, lag } of read()) if (lag !== null) this.set({ topic, partition }, lag);
    },
  });
}

/** What a judge counts by itself. */
export interface JudgeReading {
  readonly questions: number;
  readonly cacheHits: number;
  readonly shared: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly abstained: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly breaker: 'closed' | 'open' | 'half_open';
  readonly tokensToday: number;
}

/** Once per registry. */
export function exposeJudge(registry: Registry, read: () => JudgeReading): void {
  const registers = [registry];
  const counter = (
    name: string,
    help: string,
    values: (reading: JudgeReading) => Readonly<Record<string, number>>,
    label?: string,
  ) =>
    new Counter({
      name: `tracegrade_judge_${name}_total`,
      help,
      labelNames: label === undefined ? [] : [label],
      registers,
      collect(this: Counter) {
        this.reset();
        for (const [key, value] of Object.entries(values(read()))) {
          this.inc(label === undefined ? {} : { [label]: key }, value);
        }
      },
    });
  const gauge = (name: string, help: string, value: (reading: JudgeReading) => number) =>
    new Gauge({
      name: `tracegrade_judge_${name}`,
      help,
      registers,
      collect(this: Gauge) {
        this.set(value(read()));
      },
    });
  counter('questions', 'Questions to the judge, whoever answered them.', ({ questions }) => ({ questions }));
  counter('cache_hits', 'Questions that a cache answered.', ({ cacheHits }) => ({ cacheHits }));
  counter('shared', 'Questions that were being asked already.', ({ shared }) => ({ shared }));
  counter(
    'tokens',
    'Tokens as the model’s server counts them.',
    ({ inputTokens: input, outputTokens: output }) => ({ input, output }),
    'direction',
  );
  counter('abstentions', 'Parts that the judge had no word on, by reason.', ({ abstained }) => abstained, 'reason');
  gauge('in_flight', 'Questions under way or waiting.', ({ inFlight }) => inFlight);
  gauge('available_ratio', '1 while the judge is asked, 0 while it failed too often.', ({ breaker }) =>
    breaker === 'open' ? 0 : 1,
  );
  gauge('tokens_today', 'Tokens spent since midnight UTC.', ({ tokensToday }) => tokensToday);
}

/** Adds a gauge for each reading that is given. Once per registry. */
export function exposeReadings(registry: Registry, readings: Readings): void {
  for (const [key, { name, help, unit = 1 }] of Object.entries(READINGS)) {
    const read = readings[key as keyof Readings];
    if (!read) continue;
    new Gauge({
      name,
      help,
      registers: [registry],
      collect(this: Gauge) {
        this.set(read() / unit);
      },
    });
  }
}
