// Writes test/fixtures/kafka/collector-records.jsonl.gz: records of a real Collector, for unit tests.
//
//   npm run build && node test/e2e/capture.mjs
//
// For each encoding and compression that its kafka exporter has, and for one that does not key by trace id, a few records
// of the demo's agents, as the broker gives them back. Bytes are base64.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { trace } from '@opentelemetry/api';

import { demoConversation } from '../../dist/cli/demo-agents.js';
import { startDemoSender } from '../../dist/cli/demo-sender.js';
import { createBroker } from '../support/kafka-broker.mjs';
import { findKafka } from '../support/kafka-runtime.mjs';
import { findCollector, startCollector } from './collector.mjs';
import { kafkaClient, readTopic, untilSpans } from './topic.mjs';

const file = fileURLToPath(new URL('../fixtures/kafka/collector-records.jsonl.gz', import.meta.url));
const START_MS = Date.UTC(2026, 0, 1);
/** Of both conversations; see demo-agents. */
const SPANS = 12;

const VARIANTS = [
  ...['none', 'gzip', 'snappy', 'lz4', 'zstd'].map((compression) => ({ compression, encoding: 'otlp_proto' })),
  { compression: 'lz4', encoding: 'otlp_json' },
  { compression: 'lz4', encoding: 'otlp_proto', keyed: false },
];

async function capture(program, broker, { compression, encoding, keyed = true }) {
  const topic = `${encoding}-${compression}-${keyed ? 'keyed' : 'unkeyed'}`;
  const admin = kafkaClient(broker.brokers).admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: true });
  await admin.disconnect();

  const set = {
    'exporters.kafka.traces.topic': topic,
    'exporters.kafka.traces.encoding': encoding,
    'exporters.kafka.producer.compression': compression,
    'exporters.kafka.partition_traces_by_id': String(keyed),
  };
  const directory = mkdtempSync(join(tmpdir(), 'tracegrade-otelcol-'));
  const collector = await startCollector(program, { brokers: broker.brokers, directory, set });
  try {
    const sender = await startDemoSender(collector.tracesUrl);
    // A conversation of one turn, and one of two.
    for (const n of [0, 1]) await sender.send(demoConversation(n), START_MS);
    await sender.flush();
    await untilSpans(broker.brokers, topic, SPANS);
  } finally {
    // The next sender would else be given this one's tracer.
    trace.disable();
    await collector.kill();
    rmSync(directory, { recursive: true, force: true });
  }
  const records = await readTopic(broker.brokers, topic);
  return records.map(({ partition, offset, key, value, headers }) => ({
    ...{ encoding, compression, keyed, partition, offset, headers },
    key: key?.toString('base64') ?? null,
    value: value.toString('base64'),
  }));
}

const program = await findCollector();
const broker = await createBroker(await findKafka());
try {
  await broker.start();
  const lines = [];
  for (const variant of VARIANTS) {
    const records = await capture(program, broker, variant);
    console.log(`${records.length} records`, variant);
    lines.push(...records.map((record) => `${JSON.stringify(record)}\n`));
  }
  mkdirSync(fileURLToPath(new URL('.', `file://${file}`)), { recursive: true });
  writeFileSync(file, gzipSync(lines.join('')));
} finally {
  await broker.remove();
}
