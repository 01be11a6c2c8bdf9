import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { openStore, type Store } from '../../../src/store/clickhouse.js';
import { freshTopic, kafkaClient, kafkaTest, theBroker } from '../../support/kafka.js';
import { committed, until, write } from '../../support/kafka-reading.js';
import { keyed, ownClickHouse, SESSION_TIMEOUT_MS, turn } from '../../support/kafka-worker.js';
import { ENGINE_DEPS, temporaryDir } from '../../support/store.js';
import { agent, request, tool } from '../../support/turn-traffic.js';
import { workerProcess, type WorkerProcess } from '../../support/worker-process.js';

const UNKEYED = 'tracegrade_kafka_unkeyed_records_total';

/** Processes that share a broker and a store. */
async function fleet() {
  const { url } = await ownClickHouse();
  const store = await openStore({ url, database: 'tracegrade', dataDir: temporaryDir() }, ENGINE_DEPS);
  onTestFinished(() => store.close());
  const kafka = (groupId: string) => ({
    dataDir: temporaryDir(),
    'receive.kafka.brokers': theBroker().brokers,
    'receive.kafka.groupId': groupId,
    'receive.kafka.sessionTimeoutMs': SESSION_TIMEOUT_MS,
  });
  const worker = (topic: string, settings = {}) =>
    workerProcess('worker', {
      ...kafka(topic),
      'receive.kafka.topics': [topic],
      'store.url': url,
      'store.batchMs': 50,
      'assemble.quietMs': 300,
      'assemble.lateMs': 600,
      ...settings,
    });
  const relay = (from: string, topic: string) =>
    workerProcess('relay', { ...kafka(from), 'relay.fromTopics': [from], 'relay.topic': topic });
  return { store, worker, relay };
}

/** How many partitions each of them owns, once they have all joined: the fewest first. */
async function shares(workers: readonly WorkerProcess[]): Promise<number[]> {
  const lags = await Promise.all(workers.map((worker) => worker.samples('tracegrade_kafka_lag_records')));
  return lags.map(({ length }) => length).sort((a, b) => a - b);
}

async function stateOf(groupId: string): Promise<string | undefined> {
  const admin = kafkaClient().admin();
  await admin.connect();
  try {
    return (await admin.describeGroups([groupId])).groups[0]?.state;
  } finally {
    await admin.disconnect();
  }
}

/** What the store holds: interactions, their rows, and the tool calls in them. */
async function stored(store: Store): Promise<Readonly<Record<string, number>>> {
  const [row] = await store.rows(`SELECT uniqExact(interaction_id) AS interactions, count() AS rows,
    sum(length(tool_calls.name)) AS calls, countIf(open_top) AS openTopped FROM {db}.interactions_current`);
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, Number(value)]));
}

const turns = (from: number, to: number, partitions = 1) =>
  Array.from({ length: to - from }, (_, at) => from + at).map((trace) =>
    keyed(trace, request(...turn(trace, 2)), trace % partitions),
  );

/** As an exporter without keys may write them: the parts of a trace in two partitions. */
const torn = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => from + at).flatMap((trace) => [
    { partition: 0, value: request(tool(trace, 2), tool(trace, 3)) },
    { partition: 1, value: request(agent(trace)) },
  ]);

kafkaTest('two workers on a topic that is not keyed say so, by metric and in their logs', async () => {
  const topic = await freshTopic({ numPartitions: 2 });
  const { worker } = await fleet();
  const workers = await Promise.all([worker(topic), worker(topic)]);
  await until(async () => expect(await shares(workers)).toEqual([1, 1]));

  await write(topic, torn(1, 11));

  await until(async () =>
    expect((await Promise.all(workers.map((one) => one.samples(UNKEYED)))).flat()).toEqual([10, 10]),
  );
  expect(workers.map((one) => one.told('recordUnkeyed') > 0)).toEqual([true, true]);
});

kafkaTest('with the relay between, each trace is whole in one of two workers', async () => {
  const from = await freshTopic({ numPartitions: 2 });
  const topic = await freshTopic({ numPartitions: 2 });
  const { store, worker, relay } = await fleet();
  // The relay reads its partitions one after the other, so that the parts of a trace come seconds apart.
  const patience = { 'assemble.quietMs': 2_000, 'assemble.lateMs': 15_000 };
  const workers = await Promise.all([worker(topic, patience), worker(topic, patience)]);
  await until(async () => expect(await shares(workers)).toEqual([1, 1]));

  await write(from, torn(1, 41));
  await relay(from, topic);

  const whole = { interactions: 40, rows: 40, calls: 80, openTopped: 0 };
  await until(async () => expect(await stored(store)).toEqual(whole));
  const byVerdict = await Promise.all(workers.map((one) => one.samples('tracegrade_interactions_total')));
  const graded = byVerdict.map((counts) => counts.reduce((a, b) => a + b, 0));
  expect(graded.reduce((a, b) => a + b, 0)).toBe(40);
  expect(Math.min(...graded)).toBeGreaterThan(0);
  expect((await Promise.all(workers.map((one) => one.samples(UNKEYED)))).flat()).toEqual([0, 0]);
});

kafkaTest('a worker without a partition is ready, and takes over when the one that has it ends', async () => {
  const topic = await freshTopic();
  const { store, worker } = await fleet();
  const owner = await worker(topic);
  await until(async () => expect(await shares([owner])).toEqual([1]));
  const spare = await worker(topic);
  await until(async () => {
    expect(await shares([owner, spare])).toEqual([0, 1]);
    expect([await owner.ready(), await spare.ready(), await stateOf(topic)]).toEqual([200, 200, 'Stable']);
  });
  await write(topic, turns(1, 11));
  await until(async () => expect((await stored(store))['interactions']).toBe(10));

  // Whichever the group has chosen.
  const [busy, idle] = (await shares([owner]))[0] === 1 ? [owner, spare] : [spare, owner];
  expect(await busy.end('SIGTERM')).toEqual({ code: 0, signal: null });
  await write(topic, turns(11, 21));

  await until(async () =>
    expect(await stored(store)).toEqual({ interactions: 20, rows: 20, calls: 40, openTopped: 0 }),
  );
  await until(async () => expect(await committed(topic, topic)).toEqual([20]));
  expect(await idle.samples('tracegrade_kafka_lag_records')).toEqual([0]);
});

kafkaTest('a worker that is told to stop ends in the middle of a rebalance, and another goes on', async () => {
  const topic = await freshTopic({ numPartitions: 3 });
  const { store, worker } = await fleet();
  const first = await worker(topic);
  await until(async () => expect(await shares([first])).toEqual([3]));
  const stuck = await stuckMember(topic);
  await until(async () => expect((await shares([first]))[0]).toBeLessThan(3));
  await write(topic, turns(3, 33, 3));
  await stuck.begun;
  await until(async () => expect((await stored(store))['interactions']).toBeGreaterThanOrEqual(10));

  // The stuck member is waited for, so the group is between two generations when both are told.
  const second = await worker(topic);
  await until(async () => expect(await stateOf(topic)).toBe('PreparingRebalance'));
  const ends = await Promise.all([first.end('SIGTERM'), second.end('SIGTERM')]);
  const between = await stateOf(topic);
  await stuck.letGo();

  expect(ends).toEqual([
    { code: 0, signal: null },
    { code: 0, signal: null },
  ]);
  expect(between).not.toBe('Stable');
  await worker(topic);
  await until(async () => expect(await committed(topic, topic)).toEqual([10, 10, 10]));
  expect(await stored(store)).toEqual({ interactions: 30, rows: 30, calls: 60, openTopped: 0 });
});

kafkaTest('a process that is told to stop twice, by whichever signals, stops at once', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  const connected = once(silent, 'connection');
  await once(silent, 'listening');
  // It waits for the answer to its first question before it ends in order.
  const relay = await workerProcess('relay', {
    'receive.kafka.brokers': [`127.0.0.1:${(silent.address() as AddressInfo).port}`],
    'relay.createTopic': true,
  });
  await connected;

  const ends = await Promise.all([relay.end('SIGTERM'), relay.end('SIGINT')]);

  expect(ends).toEqual([
    { code: 130, signal: null },
    { code: 130, signal: null },
  ]);
});

/** A member of another make, which gets stuck in its first record without leaving the group. */
async function stuckMember(topic: string) {
  const consumer = kafkaClient().consumer({ groupId: topic, sessionTimeout: 90_000, rebalanceTimeout: 90_000 });
  let goOn = (): void => undefined;
  const stuck = new Promise<void>((resolve) => (goOn = resolve));
  let isStuck = (): void => undefined;
  const begun = new Promise<void>((resolve) => (isStuck = resolve));
  const letGo = async () => {
    goOn();
    await consumer.disconnect();
  };
  onTestFinished(letGo);
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: () => {
      isStuck();
      return stuck;
    },
  });
  return { begun, letGo };
}
