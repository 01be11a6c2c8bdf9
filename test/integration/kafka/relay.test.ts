import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { CompressionTypes } from 'kafkajs';
import { expect, onTestFinished } from 'vitest';
import { decodeRecord, isKeyedByTrace, type KafkaRecord } from '../../../src/receive/kafka-record.js';
import { startRelay, type Relay, type RelaySettings } from '../../../src/worker/relay.js';
import { freshTopic, kafkaClient, kafkaTest, ownBroker, ownKafkaTest, theBroker } from '../../support/kafka.js';
import { committed, connectionTo, reading, until, write } from '../../support/kafka-reading.js';
import { encodeOtlpJson } from '../../support/otlp-proto.js';
import { telemetryProbe, type TelemetryProbe } from '../../support/telemetry.js';
import { agent, hex, request, tool } from '../../support/turn-traffic.js';

interface RunningRelay {
  readonly relay: Relay;
  readonly telemetry: TelemetryProbe;
  readonly post: (body: string | Uint8Array, contentType?: string) => Promise<Response>;
}

async function relayTo(
  topic: string,
  { from, ...settings }: Partial<Omit<RelaySettings, 'from'>> & { readonly from?: string } = {},
): Promise<RunningRelay> {
  const telemetry = telemetryProbe();
  const connection = settings.connection ?? connectionTo(theBroker().brokers);
  const relay = await startRelay(
    {
      version: '0.0.0',
      pid: process.pid,
      http: { host: '127.0.0.1', port: 0, tokens: [] },
      connection,
      topic,
      compression: 'lz4',
      create: null,
      deadLetterTopic: null,
      ...settings,
      from:
        from === undefined
          ? null
          : {
              encoding: 'sniff',
              source: {
                connection,
                groupId: `${from}-relay`,
                topics: [from],
                startFrom: 'earliest',
                sessionTimeoutMs: 10_000,
                maxBytesPerPartition: 1024 * 1024,
              },
            },
    },
    { ...telemetry, nowMs: () => Date.now(), random: () => 0.5 },
  );
  onTestFinished(() => relay.stop());
  return {
    relay,
    telemetry,
    post: (body, type = 'application/json') =>
      fetch(`http://127.0.0.1:${String(relay.port)}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: body as string,
      }),
  };
}

type Stored = Pick<KafkaRecord, 'key' | 'value'> & { readonly partition: number };

/** All records of a topic, once there are `count`. */
async function records(topic: string, count: number, brokers = theBroker().brokers): Promise<readonly Stored[]> {
  const consumer = kafkaClient(brokers).consumer({ groupId: `read-${randomUUID()}` });
  onTestFinished(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const found: Stored[] = [];
  await consumer.run({
    eachMessage: ({ partition, message }) => Promise.resolve(void found.push({ ...message, partition })),
  });
  await until(() => expect(found).toHaveLength(count));
  return found;
}

/** Trace ids to the span ids in each of their records, in order. */
function spansByTrace(found: readonly Stored[]): Map<string, string[][]> {
  const byTrace = new Map<string, string[][]>();
  for (const record of found) {
    const result = decodeRecord(record, 'sniff');
    if (result.kind !== 'decoded') throw new Error(`a decoded record expected, got ${result.kind}`);
    const { spans } = result.batch;
    expect(isKeyedByTrace(record.key, new Set(spans.map((span) => span.traceId)))).toBe(true);
    const key = String(record.key);
    byTrace.set(key, [...(byTrace.get(key) ?? []), spans.map((span) => span.spanId)]);
  }
  return byTrace;
}

const mixed = request(agent(1), tool(2, 2), tool(1, 2), agent(2), tool(1, 3));
const PARTS = new Map([
  [hex(1, 32), [[hex(1, 16), hex(2, 16), hex(3, 16)]]],
  [hex(2, 32), [[hex(2, 16), hex(1, 16)]]],
]);

kafkaTest('answers 200 once the topic has the request, cut up by trace and keyed by trace id', async () => {
  const topic = await freshTopic({ numPartitions: 6 });
  const { post, telemetry } = await relayTo(topic);

  expect((await post(mixed)).status).toBe(200);
  expect((await post(encodeOtlpJson(JSON.parse(mixed)), 'application/x-protobuf')).status).toBe(200);

  const found = await records(topic, 4);
  for (const [trace, parts] of spansByTrace(found)) expect(parts).toEqual([...PARTS.get(trace)!, ...PARTS.get(trace)!]);
  // Both requests' parts of a trace are in one partition.
  expect(new Set(found.map(({ key, partition }) => `${String(key)} ${String(partition)}`)).size).toBe(2);
  expect(await telemetry.sample('tracegrade_relay_records_total')).toBe(4);
});

kafkaTest('makes of an unkeyed topic a keyed one, so that each trace is whole in one partition', async () => {
  const from = await freshTopic({ numPartitions: 2 });
  const topic = await freshTopic({ numPartitions: 4 });
  // One trace over both partitions, as an exporter without keys writes it.
  const traces = Array.from({ length: 20 }, (_, at) => at + 1);
  await write(from, [
    ...traces.map((trace) => ({ partition: 0, value: request(tool(trace, 2), tool(trace, 3)) })),
    ...traces.map((trace) => ({ partition: 1, value: request(agent(trace)) })),
    { partition: 1, value: null },
    { partition: 0, value: 'no OTLP' },
  ]);

  const { relay, telemetry } = await relayTo(topic, { from });

  const found = await records(topic, 40);
  expect(new Set(found.map(({ key, partition }) => `${String(key)} ${String(partition)}`)).size).toBe(20);
  for (const parts of spansByTrace(found).values())
    expect(parts.flat().sort()).toEqual([1, 2, 3].map((n) => hex(n, 16)));
  await until(async () => expect(await committed(`${from}-relay`, from)).toEqual([21, 21]));
  expect(relay.drained).toBe(true);
  expect(await telemetry.sample('tracegrade_spans_rejected_total{reason="malformed_body"}')).toBe(0);
  expect(telemetry.text()).toContain('malformed_body');
});

kafkaTest('makes its topic when it is asked to: with the broker’s time, and of the size that was said', async () => {
  const topic = `made-${randomUUID()}`;
  const create = { topic, partitions: 3, replicationFactor: 1, maxMessageBytes: 4_000_000 };
  const { post } = await relayTo(topic, { create });

  await until(async () => expect((await post(mixed)).status).toBe(200));

  const admin = kafkaClient().admin();
  onTestFinished(() => admin.disconnect());
  await admin.connect();
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  expect(topics[0]?.partitions).toHaveLength(3);
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: 2, name: topic, configNames: ['message.timestamp.type', 'max.message.bytes'] }],
  });
  const entries = resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]) ?? [];
  expect(Object.fromEntries(entries)).toEqual({
    'message.timestamp.type': 'LogAppendTime',
    'max.message.bytes': '4000000',
  });
});

kafkaTest('refuses for good what the topic does not take, and takes the next request', async () => {
  const topic = await freshTopic({ configEntries: [{ name: 'max.message.bytes', value: '20000' }] });
  const { post } = await relayTo(topic, { compression: 'none' });
  const large = agent(1);
  (large['attributes'] as unknown[]).push({ key: 'blob', value: { stringValue: 'x'.repeat(30_000) } });

  const [first, second] = await Promise.all([post(request(large)), post(request(agent(2)))]);

  expect([first.status, second.status]).toEqual([413, 200]);
  expect(spansByTrace(await records(topic, 1)).has(hex(2, 32))).toBe(true);
});

kafkaTest('takes a request whose records are together larger than what the topic takes of one', async () => {
  const topic = await freshTopic({ configEntries: [{ name: 'max.message.bytes', value: '20000' }] });
  const { post } = await relayTo(topic, { compression: 'none' });
  const traces = Array.from({ length: 30 }, (_, at) => {
    const span = agent(at + 1);
    (span['attributes'] as unknown[]).push({ key: 'blob', value: { stringValue: 'x'.repeat(5_000) } });
    return span;
  });

  expect((await post(request(...traces))).status).toBe(200);

  expect(spansByTrace(await records(topic, 30)).size).toBe(30);
});

kafkaTest('reads no further than its bound while the keyed topic takes nothing', async () => {
  const from = await freshTopic();
  const large = agent(1);
  (large['attributes'] as unknown[]).push({ key: 'blob', value: { stringValue: 'x'.repeat(900_000) } });
  const producer = kafkaClient().producer();
  await producer.connect();
  for (let at = 0; at < 100; at += 1) {
    const messages = [{ value: request(large) }];
    await producer.send({ topic: from, messages, compression: CompressionTypes.GZIP });
  }
  await producer.disconnect();

  const { relay, telemetry } = await relayTo(`nowhere-${randomUUID()}`, { from });

  const pauses = () => telemetry.sample('tracegrade_kafka_pauses_total');
  await until(async () => expect(await pauses()).toBe(1));
  // Long enough for several attempts, between which nothing is on its way to the brokers.
  const admin = kafkaClient().admin();
  await admin.connect();
  const startedMs = Date.now();
  while (Date.now() - startedMs < 8_000) await admin.fetchTopicOffsets(from);
  await admin.disconnect();

  // 64 MiB of 100 x 0.9 MB; it has not read on while it tries again.
  expect(await pauses()).toBe(1);
  expect(await telemetry.sample(`tracegrade_kafka_lag_records{topic="${from}",partition="0"}`)).toBeGreaterThan(20);
  expect(relay.drained).toBe(false);
});

kafkaTest('says why its topic cannot be made, and refuses requests meanwhile', async () => {
  const topic = `made-${randomUUID()}`;
  const create = { topic, partitions: 1, replicationFactor: 5, maxMessageBytes: 4_000_000 };
  const { relay, post, telemetry } = await relayTo(topic, { create });

  const ready = () => fetch(`http://127.0.0.1:${String(relay.port)}/readyz`);
  await until(async () => expect(await (await ready()).text()).toContain('Replication-factor is invalid'));

  expect((await post(mixed)).status).toBe(503);
  expect(telemetry.text()).toContain('"trouble":"refused"');
});

kafkaTest('ends with requests in hand though its brokers take a connection and never answer', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const brokers = [`127.0.0.1:${String((silent.address() as AddressInfo).port)}`];
  const { relay, post } = await relayTo('any', { connection: connectionTo(brokers) });
  const large = agent(1);
  (large['attributes'] as unknown[]).push({ key: 'blob', value: { stringValue: 'x'.repeat(3_000_000) } });
  const answers = Array.from({ length: 12 }, () => post(request(large)).then(({ status }) => status, () => 'cut')); // prettier-ignore
  await once(silent, 'connection');

  await relay.stop();

  // The client gives up on a broker after half a minute: one attempt for each request would be six.
  expect(new Set(await Promise.all(answers)).has(200)).toBe(false);
});

ownKafkaTest('answers 503 while the brokers are away, and what is sent again then arrives', async () => {
  const broker = await ownBroker();
  const topic = await freshTopic({}, broker.brokers);
  const { post } = await relayTo(topic, { connection: connectionTo(broker.brokers) });
  expect((await post(mixed)).status).toBe(200);

  await broker.kill();
  const refused = await post(mixed);
  await broker.start();

  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
  await until(async () => expect((await post(mixed)).status).toBe(200));
  const one = reading([topic], { connection: { brokers: broker.brokers } });
  await until(() => expect(one.taken.length).toBeGreaterThanOrEqual(4));
});
