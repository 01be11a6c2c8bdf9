import type { AssembleRules } from '../assemble/rules.js';
import type { Rejection } from '../model/rejection.js';
import {
  decodeRecord,
  isKeyedByTrace,
  rejectionAt,
  withoutSpans,
  type KafkaEncoding,
  type KafkaRecord,
} from '../receive/kafka-record.js';
import {
  startKafkaSource,
  type KafkaSource,
  type KafkaSourceConfig,
  type KafkaSourceEvents,
  type PartitionLag,
  type PartitionLog,
  type TopicPartition,
} from '../receive/kafka-source.js';
import { createLowWatermark } from '../receive/low-watermark.js';
import { openDeadLetters, type DeadLetterEvents, type DeadLetters } from './dead-letters.js';
import { createShard, type Shard, type ShardDeps } from './shard.js';

export interface KafkaLogEvents extends KafkaSourceEvents, DeadLetterEvents {
  spansAccepted(count: number): void;
  /** Open spans of partitions that are read again after a group join, here or by another worker. */
  spansDropped(reason: 'reread', count: number): void;
  /** A tombstone, or a value of no bytes. */
  recordEmpty(event: { readonly topic: string }): void;
  /** The spans of a trace may be spread over partitions, and so over workers. */
  recordUnkeyed(event: { readonly topic: string }): void;
}

export interface KafkaLogConfig {
  readonly source: KafkaSourceConfig;
  readonly encoding: KafkaEncoding;
  /** Where records go that cannot be read; null: nowhere. */
  readonly deadLetterTopic: string | null;
}

export interface KafkaLogDeps extends ShardDeps {
  readonly on: KafkaLogEvents;
  readonly random: () => number;
  reject(rejection: Rejection, source: string): void;
  /** The store has no room for more. */
  full(): boolean;
}

/**
 * What comes from Kafka: a shard for each assigned partition, from one group join to the next.
 *
 * Rows of shards that are void are still on their way to the store and do no harm: the same spans give the same rows.
 */
export class KafkaLog {
  private current: readonly Shard[] = [];
  private readonly deadLetters: DeadLetters | null;
  private readonly source: KafkaSource;

  constructor(
    private readonly config: KafkaLogConfig,
    private readonly deps: KafkaLogDeps,
  ) {
    const { on, nowMs, random } = deps;
    this.deadLetters = openDeadLetters(config.deadLetterTopic, config.source.connection, deps);
    this.source = startKafkaSource(config.source, {
      on,
      nowMs,
      random,
      open: (partitions) => this.open(partitions),
      full: () => deps.full() || this.deadLetters?.full === true,
    });
  }

  get shards(): readonly Shard[] {
    return this.current;
  }

  get trouble(): string | null {
    const { trouble } = this.source;
    return trouble === null ? null : `Kafka: ${trouble}`;
  }

  get lag(): readonly PartitionLag[] {
    return this.source.lag;
  }

  /** All that is in the assigned partitions has been read. */
  get drained(): boolean {
    return this.source.trouble === null && this.source.lag.every(({ lag }) => lag === 0);
  }

  tick(held: boolean): void {
    for (const shard of this.current) {
      shard.hold(held);
      shard.pass();
    }
  }

  quiesce(): void {
    this.source.quiesce();
  }

  /** After the last rows were acknowledged: commits, and leaves the group. */
  async close(): Promise<void> {
    await this.deadLetters?.close();
    await this.source.stop();
  }

  private open(partitions: readonly TopicPartition[]): readonly PartitionLog[] {
    const reread = this.current.reduce((sum, shard) => sum + shard.openSpans, 0);
    if (reread > 0) this.deps.on.spansDropped('reread', reread);
    const rules = { ...this.deps.rules, assemble: shareOf(this.deps.rules.assemble, partitions.length) };
    const opened = partitions.map((partition) => this.partitionLog(partition, { ...this.deps, rules }));
    this.current = opened.map(({ shard }) => shard);
    return opened.map(({ log }) => log);
  }

  private partitionLog(partition: TopicPartition, deps: ShardDeps): { shard: Shard; log: PartitionLog } {
    const watermark = createLowWatermark();
    const name = `kafka:${partition.topic}/${String(partition.partition)}`;
    const shard = createShard(name, deps, (offsets) => offsets.forEach((offset) => watermark.release(offset)));
    const log: PartitionLog = {
      take: (record) => {
        watermark.hold(record.offset);
        this.take(partition, record, shard, () => watermark.release(record.offset));
      },
      reached: (next) => watermark.reached(next),
      drained: (wallMs) => shard.drained(wallMs),
      get committable() {
        return watermark.committable;
      },
    };
    return { shard, log };
  }

  private take(from: TopicPartition, record: KafkaRecord, shard: Shard, release: () => void): void {
    const { on } = this.deps;
    const result = decodeRecord(record, this.config.encoding);
    if (result.kind === 'empty') {
      on.recordEmpty({ topic: from.topic });
      release();
      return;
    }
    if (result.kind === 'malformed') return this.bury(from, record, result.rejection, release);

    const { spans, rejections } = result.batch;
    const [first] = rejections;
    if (spans.length === 0 && rejections.every((rejection) => rejection.spans === 0)) {
      return this.bury(from, record, first ?? withoutSpans(record), release);
    }
    for (const rejection of rejections) this.reject(from, record, rejection);
    if (spans.length === 0) return release();
    if (!isKeyedByTrace(record.key, traceIdsOf(spans))) on.recordUnkeyed({ topic: from.topic });
    on.spansAccepted(spans.length);
    shard.receive({ offset: record.offset, receivedAtMs: record.timestampMs, spans });
  }

  /** A record of which nothing can be used. */
  private bury(from: TopicPartition, record: KafkaRecord, rejection: Rejection, release: () => void): void {
    this.reject(from, record, rejection);
    if (this.deadLetters === null) release();
    else void this.deadLetters.send(from, record, rejection).then((done) => done && release());
  }

  private reject(from: TopicPartition, record: KafkaRecord, rejection: Rejection): void {
    this.deps.reject(rejectionAt(from, record, rejection), 'kafka');
  }
}

function* traceIdsOf(spans: readonly { readonly traceId: string }[]): Iterable<string> {
  for (const { traceId } of spans) yield traceId;
}

/** The bounds of one of `shards`, which together keep those of the process. */
function shareOf(rules: AssembleRules, shards: number): AssembleRules {
  const share = (bound: number) => Math.max(1, Math.floor(bound / Math.max(1, shards)));
  return {
    ...rules,
    maxOpenTraces: share(rules.maxOpenTraces),
    maxOpenBytes: share(rules.maxOpenBytes),
    rememberedInteractions: share(rules.rememberedInteractions),
    rememberedSpans: share(rules.rememberedSpans),
  };
}
