/**
 * Writes records with acks from all in-sync replicas. One request is on its way at a time; what is given meanwhile
 * goes with the next one, so that load makes batches and not requests.
 */
import kafkajs, { type Admin, type CompressionTypes, type Producer } from 'kafkajs';
import type { Outcome } from '../model/outcome.js';
import { atMost } from './at-most.js';
import { createKafka, existingTopics, troubleOf, type ClientLog, type KafkaConnection } from './kafka-client.js';
import { registerCodecs } from './kafka-codecs.js';

export interface OutgoingRecord {
  readonly topic: string;
  readonly key: Buffer | string | null;
  readonly value: Buffer;
  readonly headers?: Readonly<Record<string, Buffer | string | (Buffer | string)[]>>;
}

export interface KafkaProducer {
  /**
   * `ok` when the brokers have all of the records; `rejected` when they have all but those that are larger than they
   * take; else `retryable`, and some of the records may have been written.
   */
  send(records: readonly OutgoingRecord[]): Promise<Outcome>;
  /** Why the last request failed; null: it did not. */
  readonly trouble: string | null;
  /** Bytes that were given and are not acknowledged yet. */
  readonly waitingBytes: number;
  /** Ends with what was given, as far as the brokers take it within `CLOSE_MS`; later records are refused. */
  close(): Promise<void>;
}

export type ProducerCompression = 'none' | 'gzip' | 'snappy' | 'lz4';

interface Job {
  readonly record: OutgoingRecord;
  readonly done: (outcome: Outcome) => void;
}

const COMPRESSION: Readonly<Record<ProducerCompression, CompressionTypes>> = {
  none: kafkajs.CompressionTypes.None,
  gzip: kafkajs.CompressionTypes.GZIP,
  snappy: kafkajs.CompressionTypes.Snappy,
  lz4: kafkajs.CompressionTypes.LZ4,
};
const BATCH_BYTES = 4 * 1024 * 1024;
const SEND_TIMEOUT_MS = 20_000;
const CLOSE_MS = 10_000;
const RETRY_AFTER_MS = 1_000;

export function createKafkaProducer(
  connection: KafkaConnection,
  compression: ProducerCompression,
  log: ClientLog,
): KafkaProducer {
  registerCodecs();
  const kafka = createKafka(connection, log);
  let producer: Promise<Producer> | null = null;
  let jobs: Job[] = [];
  let inHand: readonly Job[] = [];
  let waitingBytes = 0;
  let sending: Promise<void> | null = null;
  let closed = false;
  let trouble: string | null = null;

  function connected(): Promise<Producer> {
    producer ??= connect();
    return producer;
  }

  async function connect(): Promise<Producer> {
    const made = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // Java's: a key is in the same partition whoever writes it.
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      retry: { retries: 4, initialRetryTime: 200, maxRetryTime: 2_000 },
    });
    await made.connect();
    return made;
  }

  /** After a failure the sequence numbers of an idempotent producer are in doubt; a new one begins afresh. */
  async function abandon(): Promise<void> {
    const old = producer;
    producer = null;
    await old?.then((made) => made.disconnect()).catch(() => undefined);
  }

  async function run(): Promise<void> {
    while (jobs.length > 0) {
      inHand = takeBatch();
      await write(inHand);
    }
    sending = null;
  }

  function takeBatch(): Job[] {
    let bytes = 0;
    let length = 0;
    for (const { record } of jobs) {
      bytes += record.value.length;
      if (length > 0 && bytes > BATCH_BYTES) break;
      length += 1;
    }
    const batch = jobs.slice(0, length);
    jobs = jobs.slice(length);
    return batch;
  }

  async function write(batch: readonly Job[]): Promise<void> {
    const error = await attempt(batch.map(({ record }) => record));
    trouble = error === null || isTooLarge(error) ? null : error.message;
    if (error !== null && isTooLarge(error) && batch.length > 1) {
      const half = batch.length >> 1;
      await write(batch.slice(0, half));
      await write(batch.slice(half));
      return;
    }
    const outcome = outcomeOf(error);
    settle(batch, outcome);
    // Nobody waits for one attempt after the other while the brokers are away.
    if (outcome.status === 'retryable') settle(jobs.splice(0), outcome);
  }

  function settle(batch: readonly Job[], outcome: Outcome): void {
    for (const { record, done } of batch) {
      waitingBytes -= record.value.length;
      done(outcome);
    }
  }

  async function attempt(records: readonly OutgoingRecord[]): Promise<Error | null> {
    try {
      const made = await connected();
      const topics = new Map<string, OutgoingRecord[]>();
      for (const record of records) {
        const same = topics.get(record.topic);
        if (same === undefined) topics.set(record.topic, [record]);
        else same.push(record);
      }
      await made.sendBatch({
        acks: -1,
        timeout: SEND_TIMEOUT_MS,
        compression: COMPRESSION[compression],
        topicMessages: [...topics].map(([topic, messages]) => ({
          topic,
          messages: messages.map(({ key, value, headers }) => ({ key, value, ...(headers && { headers }) })),
        })),
      });
      return null;
    } catch (error) {
      await abandon();
      return error instanceof Error ? error : new Error('unknown error');
    }
  }

  return {
    get trouble() {
      return trouble;
    },
    get waitingBytes() {
      return waitingBytes;
    },
    async send(records) {
      if (records.length === 0) return { status: 'ok' };
      if (closed) return CLOSED;
      const given = records.map((record) => {
        waitingBytes += record.value.length;
        return new Promise<Outcome>((done) => jobs.push({ record, done }));
      });
      sending ??= run();
      return worstOf(await Promise.all(given));
    },
    async close() {
      closed = true;
      await atMost(CLOSE_MS, Promise.resolve(sending));
      settle(jobs.splice(0), CLOSED);
      if (sending !== null) settle(inHand, CLOSED);
      await atMost(CLOSE_MS, abandon());
    },
  };
}

const CLOSED: Outcome = { status: 'retryable', cause: new Error('the producer is closed') };

function worstOf(outcomes: readonly Outcome[]): Outcome {
  const of = (status: Outcome['status']) => outcomes.find((outcome) => outcome.status === status);
  return of('retryable') ?? of('rejected') ?? { status: 'ok' };
}

function isTooLarge(error: Error): boolean {
  const { type, cause } = error as { type?: unknown; cause?: unknown };
  if (type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE') return true;
  return cause instanceof Error && isTooLarge(cause);
}

function outcomeOf(error: Error | null): Outcome {
  if (error === null) return { status: 'ok' };
  if (isTooLarge(error)) return { status: 'rejected', cause: error };
  const afterMs = troubleOf(error) === 'credentials' ? 10 * RETRY_AFTER_MS : RETRY_AFTER_MS;
  return { status: 'retryable', afterMs, cause: error };
}

export interface TopicShape {
  readonly topic: string;
  readonly partitions: number;
  /** -1: the broker's default. */
  readonly replicationFactor: number;
  /** Largest record batch that it takes. */
  readonly maxMessageBytes: number;
}

/**
 * Makes the topic when it is missing. Its records get the broker's time, so that no producer's clock can move stream
 * time. Returns whether it was made. Throws what the client throws.
 *
 * Asks first: a user who may write to a topic need not be allowed to make any.
 */
export async function ensureTopic(connection: KafkaConnection, shape: TopicShape, log: ClientLog): Promise<boolean> {
  const admin: Admin = createKafka(connection, log).admin();
  await admin.connect();
  try {
    const { topic, partitions, replicationFactor, maxMessageBytes } = shape;
    if ((await existingTopics(admin, [topic])).has(topic)) return false;
    return await admin.createTopics({
      // The client's own wait fails when the broker it asks has not heard of the topic yet. Writers try again anyway.
      waitForLeaders: false,
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor,
          configEntries: [
            { name: 'message.timestamp.type', value: 'LogAppendTime' },
            { name: 'max.message.bytes', value: String(maxMessageBytes) },
          ],
        },
      ],
    });
  } catch (error) {
    // All of the client's own text is that there was an error.
    const [reason] = (error as { errors?: readonly unknown[] }).errors ?? [];
    throw reason ?? error;
  } finally {
    await admin.disconnect();
  }
}
