/** Writes interactions to a topic: as records of one to three spans, in random order, some of them twice. */
import { setTimeout as delay } from 'node:timers/promises';

import protobuf from 'protobufjs';

import { createKafkaProducer } from '../../dist/receive/kafka-producer.js';
import { jsonRequest, shuffled } from './traffic.mjs';

/** The spans of an interaction are spread over so much of the stream. */
const SPREAD_MS = 2_000;
/** A record that is written twice is written again within so much. */
const AGAIN_MS = 6_000;
const AGAIN_SHARE = 0.05;
const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4'];
const RECORDS_PER_REQUEST = 1_000;
const TICK_MS = 20;
/** While a request takes longer, the plan stands still: what is due is not all sent at once afterwards. */
const STEP_MS = 250;

/**
 * @typedef {object} Record
 * @property {number} dueMs
 * @property {Progress} of
 * @property {boolean} isCopy
 * @property {number} spans
 * @property {string} key
 * @property {Buffer} value
 *
 * @typedef {object} Progress How far an interaction has come.
 * @property {number} number
 * @property {Set<Record>} unsent
 * @property {number} lastMs When its last record left, at the earliest; 0: none has.
 */

/**
 * All records, in the order in which they are due.
 *
 * @param {readonly import('./traffic.mjs').Interaction[]} sent
 * @param {number} perSecond So many interactions begin in a second.
 * @param {() => number} random
 * @returns {Record[]}
 */
export function plan(sent, perSecond, random) {
  const everyMs = 1_000 / perSecond;
  const endMs = sent.length * everyMs + SPREAD_MS;
  const records = sent.flatMap(({ number, traceId, toolSpans, otherSpans }) => {
    const parts = groups(shuffled([...toolSpans, ...otherSpans], random), random);
    const of = { number, unsent: new Set(), lastMs: 0 };
    return parts.flatMap((spans) => {
      const dueMs = number * everyMs + random() * SPREAD_MS;
      const value = random() < 0.5 ? Buffer.from(jsonRequest(spans)) : protobufRequest(spans);
      const record = { dueMs, of, isCopy: false, spans: spans.length, key: traceId, value };
      of.unsent.add(record);
      if (random() >= AGAIN_SHARE) return [record];
      return [record, { ...record, isCopy: true, dueMs: Math.min(endMs, dueMs + random() * AGAIN_MS) }];
    });
  });
  return records.sort((a, b) => a.dueMs - b.dueMs);
}

/**
 * Sends a plan, one request after the other, each with one of the compressions; a request that fails is sent again.
 *
 * @param {readonly Record[]} records
 * @param {{ readonly brokers: readonly string[], readonly topic: string, readonly random: () => number,
 *   readonly patienceMs: number }} options `patienceMs`: a longer pause between two records parts an interaction.
 */
export function createSender(records, { brokers, topic, random, patienceMs }) {
  const connection = { brokers, clientId: 'crash-test', tls: null, sasl: null };
  const producers = COMPRESSIONS.map((name) => createKafkaProducer(connection, name, () => undefined));
  const parted = new Set();
  let next = 0;
  let stopped = false;

  const sender = {
    /** Records written so far. */
    sent: 0,
    /** Requests that were sent again. */
    again: 0,
    /** Interactions of which more time passed between two records than the workers wait. */
    torn: [],
    longestPauseMs: 0,
    /** From now on all records of an interaction go with its first, in one request: written or not, but not in part. */
    whole: false,
    done: false,

    /** Interactions that are written in part. */
    get parted() {
      return parted.size;
    },

    stop: () => (stopped = true),

    async run() {
      let planMs = 0;
      let lastMs = Date.now();
      while (!stopped && next < records.length) {
        const nowMs = Date.now();
        planMs += Math.min(STEP_MS, nowMs - lastMs);
        lastMs = nowMs;
        const batch = take(planMs);
        if (batch.length === 0) await delay(TICK_MS);
        else await write(batch);
      }
      sender.done = !stopped;
      await Promise.all(producers.map((producer) => producer.close()));
    },
  };

  function take(planMs) {
    const batch = [];
    while (next < records.length && records[next].dueMs <= planMs && batch.length < RECORDS_PER_REQUEST) {
      const record = records[next];
      next += 1;
      const { of } = record;
      if (record.isCopy) {
        batch.push(record);
      } else if (of.unsent.has(record)) {
        const parts = sender.whole && of.lastMs === 0 ? [...of.unsent] : [record];
        batch.push(...parts);
        for (const part of parts) of.unsent.delete(part);
      }
    }
    return batch;
  }

  async function write(batch) {
    const producer = producers[Math.floor(random() * producers.length)];
    const messages = batch.map(({ key, value }) => ({ topic, key, value }));
    const startMs = Date.now();
    const touched = new Set(batch.filter(({ isCopy }) => !isCopy).map(({ of }) => of));
    for (const of of touched) if (of.unsent.size > 0) parted.add(of);
    while (!stopped) {
      const outcome = await producer.send(messages);
      if (outcome.status === 'ok') break;
      if (outcome.status === 'rejected') throw outcome.cause;
      sender.again += 1;
      await delay(outcome.afterMs ?? 1_000);
    }
    sender.sent += batch.length;
    for (const of of touched) {
      watch(of, startMs, Date.now());
      if (of.unsent.size === 0) parted.delete(of);
    }
  }

  /** A run on a machine that stands still for longer than the workers wait proves nothing. */
  function watch(of, startMs, endMs) {
    const pauseMs = of.lastMs === 0 ? 0 : endMs - of.lastMs;
    sender.longestPauseMs = Math.max(sender.longestPauseMs, pauseMs);
    if (pauseMs > patienceMs) sender.torn.push(of.number);
    of.lastMs = startMs;
  }

  return sender;
}

/** In groups of one to three. */
function groups(list, random) {
  const result = [];
  for (let at = 0; at < list.length; at += result.at(-1).length) result.push(list.slice(at, at + 1 + Math.floor(random() * 3))); // prettier-ignore
  return result;
}

/** One ExportTraceServiceRequest as protobuf: of opentelemetry-proto 1.x, the fields that this traffic has. */
function protobufRequest(spans) {
  const scopeSpans = message((writer) => {
    for (const span of spans) writer.uint32(tag(2, BYTES)).bytes(message((inner) => writeSpan(inner, span)));
  });
  const resourceSpans = message((writer) => writer.uint32(tag(2, BYTES)).bytes(scopeSpans));
  return Buffer.from(message((writer) => writer.uint32(tag(1, BYTES)).bytes(resourceSpans)));
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const tag = (field, wireType) => (field << 3) | wireType;

/** A 64-bit number in two halves, which protobufjs takes without a library for such numbers. */
function wide(decimal) {
  const value = BigInt(decimal);
  return { low: Number(value & 0xffffffffn), high: Number(value >> 32n) };
}

function message(write) {
  const writer = protobuf.Writer.create();
  write(writer);
  return writer.finish();
}

function writeSpan(writer, span) {
  writer.uint32(tag(1, BYTES)).bytes(Buffer.from(span.traceId, 'hex'));
  writer.uint32(tag(2, BYTES)).bytes(Buffer.from(span.spanId, 'hex'));
  if (span.parentSpanId !== undefined) writer.uint32(tag(4, BYTES)).bytes(Buffer.from(span.parentSpanId, 'hex'));
  writer.uint32(tag(5, BYTES)).string(span.name);
  writer.uint32(tag(6, VARINT)).int32(span.kind);
  writer.uint32(tag(7, FIXED64)).fixed64(wide(span.startTimeUnixNano));
  writer.uint32(tag(8, FIXED64)).fixed64(wide(span.endTimeUnixNano));
  for (const attribute of span.attributes) {
    writer.uint32(tag(9, BYTES)).bytes(message((inner) => writeAttribute(inner, attribute)));
  }
}

function writeAttribute(writer, { key, value }) {
  writer.uint32(tag(1, BYTES)).string(key);
  const any = message((inner) => {
    if (value.intValue === undefined) inner.uint32(tag(1, BYTES)).string(value.stringValue);
    else inner.uint32(tag(3, VARINT)).int64(Number(value.intValue));
  });
  writer.uint32(tag(2, BYTES)).bytes(any);
}
