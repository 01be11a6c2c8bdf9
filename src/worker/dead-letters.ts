import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Rejection } from '../model/rejection.js';
import type { ClientLog, KafkaConnection } from '../receive/kafka-client.js';
import {
  createKafkaProducer,
  ensureTopic,
  type KafkaProducer,
  type OutgoingRecord,
} from '../receive/kafka-producer.js';
import type { KafkaRecord } from '../receive/kafka-record.js';
import type { TopicPartition } from '../receive/kafka-source.js';

export interface DeadLetterEvents {
  recordDeadLettered(event: { readonly topic: string; readonly reason: string }): void;
  /** It was not written; `givenUp`: nor will it be. The original stays in its topic as long as that keeps it. */
  deadLetterFailed(event: { readonly error: Error; readonly givenUp: boolean }): void;
}

export interface DeadLetters {
  /** Too much waits to be written. */
  readonly full: boolean;
  /** Resolves when the record is written or given up: nothing waits for it any more. False: it was stopped before. */
  send(from: TopicPartition, record: KafkaRecord, rejection: Rejection): Promise<boolean>;
  close(): Promise<void>;
}

const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** What a record that waits takes beside its value, about. */
export const RECORD_BYTES = 1_024;
const GIVE_UP_MS = 300_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;

/** Few records come here; one of the largest size that a topic takes has its headers beside it. */
const SHAPE = { partitions: 1, replicationFactor: -1, maxMessageBytes: 32 * 1024 * 1024 };

/**
 * Writes records that cannot be read to a topic of their own, which is made when it is missing: original bytes, key
 * and headers, and beside them `tracegrade.reason`, `.detail`, `.topic`, `.partition`, `.offset` and `.timestamp`.
 *
 * A topic that takes nothing is tried for five minutes, so that a fault of its own does not hold the committed offset
 * back for ever. `topic` null: there is none.
 */
export function openDeadLetters(
  topic: string | null,
  connection: KafkaConnection,
  {
    on,
    nowMs,
  }: { readonly on: DeadLetterEvents & { readonly kafkaClientLog: ClientLog }; readonly nowMs: () => number },
): DeadLetters | null {
  if (topic === null) return null;
  const producer: KafkaProducer = createKafkaProducer(connection, 'gzip', on.kafkaClientLog);
  const name = topic;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // one for each letter that waits
  let topicExists: Promise<unknown> | null = null;
  /** Of all letters in hand: also of those that wait to be tried again. */
  let waitingBytes = 0;

  async function attempt(record: OutgoingRecord): Promise<Error | 'refused' | null> {
    try {
      topicExists ??= ensureTopic(connection, { topic: name, ...SHAPE }, on.kafkaClientLog);
      await topicExists;
    } catch (error) {
      topicExists = null;
      return error instanceof Error ? error : new Error('unknown error');
    }
    const outcome = await producer.send([record]);
    if (outcome.status === 'ok') return null;
    if (outcome.status === 'retryable') return outcome.cause;
    on.deadLetterFailed({ error: outcome.cause, givenUp: true });
    return 'refused';
  }

  return {
    get full() {
      return waitingBytes > MAX_WAITING_BYTES;
    },
    async send(from, record, rejection) {
      const letter = letterOf(name, from, record, rejection);
      const bytes = letter.value.length + RECORD_BYTES;
      waitingBytes += bytes;
      return deliver(letter, rejection.reason).finally(() => (waitingBytes -= bytes));
    },
    async close() {
      stopping.abort();
      await producer.close();
    },
  };

  async function deliver(letter: OutgoingRecord, reason: string): Promise<boolean> {
    const startedMs = nowMs();
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)) {
      const failure = await attempt(letter);
      if (failure === null) on.recordDeadLettered({ topic: name, reason });
      if (failure === null || failure === 'refused') return true;
      if (stopping.signal.aborted) return false;
      const givenUp = nowMs() - startedMs > GIVE_UP_MS;
      on.deadLetterFailed({ error: failure, givenUp });
      if (givenUp) return true;
      await pause(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return false;
    }
  }
}

function letterOf(
  topic: string,
  from: TopicPartition,
  { key, value, headers, offset, timestampMs }: KafkaRecord,
  { reason, detail }: Rejection,
): OutgoingRecord {
  const kept: Record<string, (Buffer | string)[]> = {};
  // A header may be there several times, and without a value, which the client reads and cannot write.
  for (const [name, header] of Object.entries(headers)) kept[name] = [header].flat().map((value) => value ?? '');
  return {
    topic,
    key,
    value: value ?? Buffer.alloc(0),
    headers: {
      ...kept,
      'tracegrade.reason': reason,
      'tracegrade.detail': detail,
      'tracegrade.topic': from.topic,
      'tracegrade.partition': String(from.partition),
      'tracegrade.offset': String(offset),
      'tracegrade.timestamp': String(timestampMs),
    },
  };
}
