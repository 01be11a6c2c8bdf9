/** All that a topic holds, as a consumer that starts from the beginning sees it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import kafkajs from 'kafkajs';

import { registerCodecs } from '../../dist/receive/kafka-codecs.js';
import { decodeRecord } from '../../dist/receive/kafka-record.js';

const ARRIVED_MS = 120_000;

/** @param {readonly string[]} brokers */
export function kafkaClient(brokers) {
  registerCodecs();
  return new kafkajs.Kafka({ clientId: 'test-e2e', brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });
}

/**
 * @typedef {object} TopicRecord
 * @property {number} partition
 * @property {number} offset
 * @property {Buffer | null} key
 * @property {Buffer | null} value
 * @property {object} headers
 * @property {number} timestampMs
 *
 * @param {readonly string[]} brokers
 * @param {string} topic
 * @returns {Promise<readonly TopicRecord[]>}
 */
export async function readTopic(brokers, topic) {
  const kafka = kafkaClient(brokers);
  const admin = kafka.admin();
  await admin.connect();
  const ends = new Map();
  for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
    if (Number(high) > Number(low)) ends.set(partition, Number(high));
  }
  await admin.disconnect();
  if (ends.size === 0) return [];

  const records = [];
  const consumer = kafka.consumer({ groupId: `read-${randomUUID()}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    const eachBatch = async ({ batch }) => {
      for (const { offset, key, value, headers = {}, timestamp } of batch.messages) {
        const place = { partition: batch.partition, offset: Number(offset) };
        records.push({ ...place, key, value, headers, timestampMs: Number(timestamp) });
      }
      if (Number(batch.lastOffset()) + 1 >= (ends.get(batch.partition) ?? 0)) ends.delete(batch.partition);
      if (ends.size === 0) resolve();
    };
    consumer.run({ autoCommit: false, eachBatch }).catch(reject);
  });
  await consumer.disconnect();
  return records;
}

/** Waits until the topic holds so many different spans; gives its records. */
export async function untilSpans(brokers, topic, count) {
  const deadline = Date.now() + ARRIVED_MS;
  for (;;) {
    const records = await readTopic(brokers, topic);
    const ids = new Set();
    for (const record of records) {
      const result = decodeRecord(record, 'sniff');
      if (result.kind !== 'decoded') continue;
      for (const { traceId, spanId } of result.batch.spans) ids.add(`${traceId}-${spanId}`);
    }
    if (ids.size >= count) return records;
    if (Date.now() > deadline) throw new Error(`${count} spans in ${topic} expected, got ${ids.size}`);
    await delay(500);
  }
}
