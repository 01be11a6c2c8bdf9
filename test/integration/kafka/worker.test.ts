import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import type { WorkerSettings } from '../../../src/worker/worker.js';
import { encodeOtlpJson } from '../../support/otlp-proto.js';
import { temporaryDir } from '../../support/store.js';
import { agent, hex, request, tool } from '../../support/turn-traffic.js';
import { expectBalance, runningWorker, type RunningWorker } from '../../support/worker.js';
import { freshTopic, kafkaClient, kafkaTest, theBroker } from '../../support/kafka.js';
import { committed, connectionTo, until, write } from '../../support/kafka-reading.js';
import { keyed, turn } from '../../support/kafka-worker.js';

interface Settings {
  readonly topic: string;
  readonly groupId?: string;
  readonly dataDir?: string;
  readonly deadLetterTopic?: string;
  readonly assemble?: Partial<WorkerSettings['assemble']>;
}

async function workerOn({ topic, dataDir, assemble, ...kafka }: Settings): Promise<RunningWorker> {
  const running = await runningWorker(dataDir ?? temporaryDir(), assemble, {
    kafka: {
      source: {
        connection: connectionTo(theBroker().brokers),
        groupId: kafka.groupId ?? topic,
        topics: [topic],
        startFrom: 'earliest',
        sessionTimeoutMs: 10_000,
        maxBytesPerPartition: 1024 * 1024,
      },
      encoding: 'sniff',
      deadLetterTopic: kafka.deadLetterTopic ?? null,
    },
  });
  onTestFinished(() => running.worker.stop());
  return running;
}

async function idle({ worker, metric }: RunningWorker, interactions: number): Promise<void> {
  await until(async () => expect(await metric('tracegrade_interactions_total')).toBeGreaterThanOrEqual(interactions));
  await worker.whenIdle();
}

const ROWS = `SELECT interaction_id, conversation_id, revision, length(tool_calls.name) AS calls
  FROM {db}.interactions FINAL ORDER BY conversation_id`;

kafkaTest('grades what a topic holds in both encodings, and commits what it no longer needs', async () => {
  const topic = await freshTopic({ numPartitions: 3 });
  await write(topic, [
    ...[1, 2].map((trace) => keyed(trace, request(...turn(trace, 2)), trace)),
    keyed(3, encodeOtlpJson(JSON.parse(request(...turn(3, 3)))), 0),
  ]);

  const running = await workerOn({ topic });
  await idle(running, 3);

  const rows = await running.worker.store.rows(ROWS);
  expect(rows.map((row) => [row['conversation_id'], Number(row['calls'])])).toEqual([
    ['c1', 2],
    ['c2', 2],
    ['c3', 3],
  ]);
  await until(async () => expect(await committed(topic, topic)).toEqual([1, 1, 1]));
  expect(await running.metric('tracegrade_kafka_lag_records')).toBe(0);
  expect(await running.metric('tracegrade_kafka_unkeyed_records_total')).toBe(0);
  await expectBalance(running);
});

kafkaTest('decides a turn whose spans came before a restart and its root after it', async () => {
  const topic = await freshTopic();
  const dataDir = temporaryDir();
  const first = await workerOn({ topic, dataDir });
  await write(topic, [keyed(1, request(tool(1, 2), tool(1, 3))), keyed(2, request(...turn(2, 1)))]);
  await until(async () => expect(await first.metric('tracegrade_interactions_total')).toBe(1));
  await first.worker.stop();
  // The first record is still needed, so nothing behind it is committed either.
  expect(await committed(topic, topic)).toEqual([0]);

  await write(topic, [keyed(1, request(agent(1)))]);
  const second = await workerOn({ topic, dataDir });
  await idle(second, 2);

  const rows = await second.worker.store.rows(ROWS);
  expect(rows.map((row) => [row['conversation_id'], Number(row['calls'])])).toEqual([
    ['c1', 2],
    ['c2', 1],
  ]);
  await until(async () => expect(await committed(topic, topic)).toEqual([3]));
});

kafkaTest('changes no row, verdict or count when all is read again from the beginning', async () => {
  const topic = await freshTopic();
  const dataDir = temporaryDir();
  await write(
    topic,
    [1, 2, 3].map((trace) => keyed(trace, request(...turn(trace, trace)))),
  );
  const verdicts =
    'SELECT interaction_id, verdict, revision, outstanding FROM {db}.verdicts FINAL ORDER BY interaction_id';
  const first = await workerOn({ topic, dataDir });
  await idle(first, 3);
  const before = [await first.worker.store.rows(ROWS), await first.worker.store.rows(verdicts)];
  await first.worker.stop();

  const second = await workerOn({ topic, dataDir, groupId: `again-${topic}` });
  await idle(second, 3);

  expect([await second.worker.store.rows(ROWS), await second.worker.store.rows(verdicts)]).toEqual(before);
});

kafkaTest('puts a record that it cannot read aside, with its key, headers, place and reason, and goes on', async () => {
  const topic = await freshTopic({ configEntries: [{ name: 'max.message.bytes', value: '8000000' }] });
  const deadLetterTopic = `dead-${randomUUID()}`;
  const garbage = Buffer.from('ff00ff00', 'hex');
  const large = turn(9, 1);
  (large[0]?.['attributes'] as unknown[]).push({ key: 'blob', value: { stringValue: 'x'.repeat(5_000_000) } });
  const producer = kafkaClient().producer();
  await producer.connect();
  await producer.send({
    topic,
    messages: [
      { key: 'k', value: garbage, headers: { from: 'test' } },
      { key: 'k', value: '{"resourceLogs":[]}' },
      { key: 'k', value: null },
      { key: 'k', value: Buffer.alloc(0) },
      { key: hex(9, 32), value: request(...large) },
      { key: hex(1, 32), value: request(...turn(1, 1)) },
    ],
  });
  await producer.disconnect();

  const running = await workerOn({ topic, deadLetterTopic });
  await idle(running, 2);
  await until(async () => expect(await committed(topic, topic)).toEqual([6]));

  const letters = await readAll(deadLetterTopic, 2);
  expect(letters.map(({ value, key }) => [value?.toString('hex').slice(0, 8), key?.toString()])).toEqual([
    ['ff00ff00', 'k'],
    ['7b227265', 'k'],
  ]);
  const headers = Object.entries(letters[0]?.headers ?? {}).map(([name, header]) => [name, String(header)]);
  expect(Object.fromEntries(headers)).toMatchObject({
    from: 'test',
    'tracegrade.reason': 'malformed_body',
    'tracegrade.topic': topic,
    'tracegrade.partition': '0',
    'tracegrade.offset': '0',
  });
  const rejections = await running.worker.store.rows(
    'SELECT source, reason, detail FROM {db}.rejections ORDER BY detail',
  );
  expect(rejections.map((row) => [row['source'], row['reason']])).toEqual([
    ['kafka', 'malformed_body'],
    ['kafka', 'malformed_body'],
  ]);
  expect(rejections[0]?.['detail']).toContain(`${topic}/0, offset 0: `);
  expect(await running.metric('tracegrade_kafka_empty_records_total')).toBe(2);
  const rows = await running.worker.store.rows(ROWS);
  expect(rows.map((row) => row['conversation_id'])).toEqual(['c1', 'c9']);
});

kafkaTest('reports records that are not keyed by their trace id', async () => {
  const topic = await freshTopic();
  await write(topic, [
    { key: null, value: request(...turn(1, 1)) },
    { key: hex(3, 32), value: request(...turn(2, 1), ...turn(3, 1)) },
    keyed(4, request(...turn(4, 1))),
  ]);

  const running = await workerOn({ topic });
  await idle(running, 4);

  expect(await running.metric('tracegrade_kafka_unkeyed_records_total')).toBe(2);
  expect(running.telemetry.text()).toContain('partition_traces_by_id');
});

kafkaTest('lets one endless trace hold the committed offset no longer than its patience', async () => {
  const topic = await freshTopic();
  const running = await workerOn({ topic, assemble: { orphanMs: 400, maxTurnMs: 800 } });
  // Its root never comes, and a span of it comes again and again among the others.
  for (let round = 0; round < 10; round += 1) {
    const good = Array.from({ length: 20 }, (_, at) => 100 + round * 20 + at);
    await write(topic, [
      keyed(1, request(tool(1, 2 + round))),
      ...good.map((trace) => keyed(trace, request(...turn(trace, 1)))),
    ]);
  }

  await until(async () => expect(await committed(topic, topic)).toEqual([210]));

  const [row] = await running.worker.store.rows(
    'SELECT uniqExact(interaction_id) AS n FROM {db}.interactions_current WHERE NOT open_top',
  );
  expect(Number(row?.['n'])).toBe(200);
});

async function readAll(topic: string, count: number) {
  const consumer = kafkaClient().consumer({ groupId: `read-${randomUUID()}` });
  onTestFinished(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  type Message = Parameters<NonNullable<NonNullable<Parameters<typeof consumer.run>[0]>['eachMessage']>>[0]['message'];
  const messages: Message[] = [];
  await consumer.run({ eachMessage: ({ message }) => Promise.resolve(void messages.push(message)) });
  await until(() => expect(messages).toHaveLength(count));
  return messages;
}
