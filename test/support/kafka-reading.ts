import { randomUUID } from 'node:crypto';
import { Partitioners } from 'kafkajs';
import { onTestFinished, vi } from 'vitest';
import type { KafkaConnection } from '../../src/receive/kafka-client.js';
import type { KafkaRecord } from '../../src/receive/kafka-record.js';
import {
  startKafkaSource,
  type KafkaSource,
  type KafkaSourceConfig,
  type PartitionLog,
  type TopicPartition,
} from '../../src/receive/kafka-source.js';
import { createLowWatermark } from '../../src/receive/low-watermark.js';
import { kafkaClient, theBroker } from './kafka.js';

export interface Taken extends TopicPartition {
  readonly offset: number;
  readonly text: string;
  /** Which group join it came after, from 1. */
  readonly join: number;
}

export interface ReadingOptions extends Partial<Omit<KafkaSourceConfig, 'connection'>> {
  readonly connection?: Partial<KafkaConnection>;
  /** Records that are not released; the others are at once. */
  readonly keeps?: (record: KafkaRecord) => boolean;
}

/** A running source with all that it told. */
export interface Reading {
  readonly source: KafkaSource;
  readonly groupId: string;
  readonly taken: Taken[];
  /** The partitions of each join, and an empty list when a session ended. */
  readonly opens: (readonly TopicPartition[])[];
  readonly lost: { readonly trouble: string; readonly error: Error; readonly retryMs: number }[];
  readonly told: string[];
  /** Times that a partition was said to be drained. */
  readonly drained: Map<number, number>;
  full: boolean;
  releaseAll(): void;
}

export function connectionTo(brokers: readonly string[]): KafkaConnection {
  return { brokers, clientId: 'test', tls: null, sasl: null };
}

/** Reads topics of the shared broker, or of another; stopped when the test is over. */
export function reading(topics: readonly string[], options: ReadingOptions = {}): Reading {
  const { connection, keeps = () => false, ...config } = options;
  const groupId = config.groupId ?? `group-${randomUUID()}`;
  const brokers = connection?.brokers ?? theBroker().brokers;
  const taken: Taken[] = [];
  const opens: (readonly TopicPartition[])[] = [];
  const lost: Reading['lost'] = [];
  const told: string[] = [];
  const drained = new Map<number, number>();
  const releases: (() => void)[] = [];
  let joins = 0;

  const logOf = (part: TopicPartition, join: number): PartitionLog => {
    const watermark = createLowWatermark();
    return {
      take(record) {
        taken.push({ ...part, offset: record.offset, text: record.value?.toString() ?? '', join });
        watermark.hold(record.offset);
        const release = () => watermark.release(record.offset);
        if (keeps(record)) releases.push(release);
        else release();
      },
      reached: (next) => watermark.reached(next),
      drained: () => drained.set(part.partition, (drained.get(part.partition) ?? 0) + 1),
      get committable() {
        return watermark.committable;
      },
    };
  };
  const state = { full: false };
  const source = startKafkaSource(
    {
      groupId,
      topics,
      startFrom: 'earliest',
      sessionTimeoutMs: 10_000,
      maxBytesPerPartition: 1024 * 1024,
      ...config,
      connection: { ...connectionTo(brokers), ...connection },
    },
    {
      nowMs: () => Date.now(),
      random: () => 0.5,
      full: () => state.full,
      open(partitions) {
        opens.push(partitions);
        if (partitions.length > 0) joins += 1;
        return partitions.map((part) => logOf(part, joins));
      },
      on: {
        kafkaJoined: () => told.push('joined'),
        kafkaLost: (event) => lost.push(event),
        kafkaTopicsMissing: ({ topics: missing }) => told.push(`missing ${missing.join(' ')}`),
        kafkaCommitFailed: ({ error }) => told.push(`commit failed: ${String(error)}`),
        kafkaPaused: ({ paused }) => told.push(paused ? 'paused' : 'resumed'),
        kafkaCodecMissing: ({ codec }) => told.push(`codec ${codec}`),
        kafkaRecordsGone: ({ records }) => told.push(`gone ${records}`),
        kafkaClientLog: () => undefined,
      },
    },
  );
  onTestFinished(() => source.stop());
  return {
    source,
    groupId,
    taken,
    opens,
    lost,
    told,
    drained,
    get full() {
      return state.full;
    },
    set full(full) {
      state.full = full;
    },
    releaseAll: () => releases.splice(0).forEach((release) => release()),
  };
}

/** Waits for what has to become true, and says what it was when it does not. */
export function until<T>(read: () => T | Promise<T>, timeout = 60_000): Promise<T> {
  return vi.waitFor(read, { timeout, interval: 20 });
}

/** What the group has committed, by partition; -1: nothing. */
export async function committed(groupId: string, topic: string, brokers = theBroker().brokers): Promise<number[]> {
  const admin = kafkaClient(brokers).admin();
  await admin.connect();
  try {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const partitions = [...(found?.partitions ?? [])].sort((a, b) => a.partition - b.partition);
    return partitions.map(({ offset }) => Number(offset));
  } finally {
    await admin.disconnect();
  }
}

export interface ToWrite {
  readonly partition?: number;
  readonly key?: string | null;
  readonly value: string | Buffer | null;
  readonly timestamp?: string;
}

export async function write(topic: string, records: readonly ToWrite[], brokers = theBroker().brokers): Promise<void> {
  // One that is not idempotent writes twice what a busy broker was slow to acknowledge.
  const producer = kafkaClient(brokers).producer({
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages: records.map((record) => ({ key: null, ...record })) });
  } finally {
    await producer.disconnect();
  }
}
