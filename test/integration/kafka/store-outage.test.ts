import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_WRITER_RULES } from '../../../src/store/writer.js';
import type { ClickHouse } from '../../support/clickhouse-http.mjs';
import { freshTopic, kafkaClient, kafkaTest } from '../../support/kafka.js';
import { committed, until, write } from '../../support/kafka-reading.js';
import { keyed, ownClickHouse, SESSION_TIMEOUT_MS, turn, workerOver } from '../../support/kafka-worker.js';
import { request } from '../../support/turn-traffic.js';
import { expectBalance, type RunningWorker } from '../../support/worker.js';

const PARTITIONS = 2;
const turns = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => from + at).map((trace) =>
    keyed(trace, request(...turn(trace, 2)), trace % PARTITIONS),
  );

/** All versions of all rows, and how many are meant: nothing is doubled when they are the same without FINAL. */
async function counts({ worker }: RunningWorker): Promise<unknown> {
  const [row] = await worker.store.rows(`SELECT
    (SELECT count() FROM {db}.interactions) AS interactions,
    (SELECT uniqExact(interaction_id) FROM {db}.interactions) AS ids,
    (SELECT count() FROM {db}.verdicts) AS verdicts,
    (SELECT min(length(tool_calls.name)) FROM {db}.interactions) AS fewestCalls`);
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, Number(value)]));
}

/** What the group's coordinator says of its members. */
async function membersOf(groupId: string): Promise<{ state: string; members: string[] }> {
  const admin = kafkaClient().admin();
  await admin.connect();
  try {
    const { groups } = await admin.describeGroups([groupId]);
    const [group] = groups;
    return { state: group?.state ?? '', members: group?.members.map(({ memberId }) => memberId) ?? [] };
  } finally {
    await admin.disconnect();
  }
}

/** Until the group would have put a member out that had been silent since now. */
async function pastTheSession(groupId: string): Promise<void> {
  const startedMs = Date.now();
  while (Date.now() - startedMs < 1.5 * SESSION_TIMEOUT_MS) await membersOf(groupId);
}

const told = ({ telemetry }: RunningWorker, event: string) =>
  telemetry.records().filter((record) => record['event'] === event).length;

interface Outage {
  readonly begin: (clickhouse: ClickHouse) => Promise<void>;
  readonly end: (clickhouse: ClickHouse) => Promise<void>;
}
const OUTAGES: readonly (readonly [string, Outage])[] = [
  ['hangs', { begin: (store) => store.fault('hang'), end: (store) => store.fault('none') }],
  ['refuses', { begin: (store) => store.fault('refuse'), end: (store) => store.fault('none') }],
  ['is killed', { begin: (store) => store.kill(), end: (store) => store.start() }],
];

kafkaTest.for(OUTAGES)(
  'waits for a store that %s: says so, keeps its place in the group, moves no offset, and grades all afterwards',
  async ([, { begin, end }]) => {
    const topic = await freshTopic({ numPartitions: PARTITIONS });
    const clickhouse = await ownClickHouse();
    const running = await workerOver(clickhouse, topic);
    const ready = async () => {
      const answer = await fetch(`${running.url}/readyz`);
      return { status: answer.status, text: await answer.text() };
    };
    await write(topic, turns(2, 6));
    await until(async () => expect(await committed(topic, topic)).toEqual([2, 2]));
    await running.worker.whenIdle();
    const before = await membersOf(topic);
    expect((await ready()).status).toBe(200);

    await begin(clickhouse);
    await write(topic, turns(6, 10));
    await until(async () => expect((await ready()).status).toBe(503));
    expect((await ready()).text).toContain('the store takes no rows');
    await write(topic, turns(10, 50));
    await until(async () => expect(await running.metric('tracegrade_kafka_lag_records')).toBe(40));
    expect(told(running, 'kafkaPaused')).toBeGreaterThan(0);
    await pastTheSession(topic);

    expect(told(running, 'storeUnavailable')).toBe(told(running, 'storeRecovered') + 1);
    expect((await ready()).status).toBe(503);
    expect(await committed(topic, topic)).toEqual([2, 2]);
    expect(await membersOf(topic)).toEqual({ ...before, state: 'Stable' });
    expect({ joins: told(running, 'kafkaJoined'), lost: told(running, 'kafkaLost') }).toEqual({ joins: 1, lost: 0 });

    await end(clickhouse);
    await until(async () => expect(await committed(topic, topic)).toEqual([24, 24]));
    await running.worker.whenIdle();

    expect(await counts(running)).toEqual({ interactions: 48, ids: 48, verdicts: 48, fewestCalls: 2 });
    expect(await running.metric('tracegrade_kafka_lag_records')).toBe(0);
    await until(async () => expect((await ready()).status).toBe(200));
    expect(told(running, 'storeRecovered')).toBe(told(running, 'storeUnavailable'));
    expect(told(running, 'kafkaJoined')).toBe(1);
    await expectBalance(running);
  },
);

kafkaTest('stores once what a cut connection left in doubt', async () => {
  const topic = await freshTopic({ numPartitions: PARTITIONS });
  const clickhouse = await ownClickHouse();
  const running = await workerOver(clickhouse, topic);
  await until(() => expect(told(running, 'kafkaJoined')).toBe(1));

  // The insert is done, and its answer does not come: twice for each of the two tables of the first batch, and on.
  await clickhouse.fault('cut', 6);
  await write(topic, turns(2, 42));
  await until(async () => expect(await committed(topic, topic)).toEqual([20, 20]));
  await running.worker.whenIdle();

  expect(await counts(running)).toEqual({ interactions: 40, ids: 40, verdicts: 40, fewestCalls: 2 });
  expect(await running.metric('tracegrade_store_retries_total')).toBeGreaterThanOrEqual(5);
});

kafkaTest('begins, and says that it is not ready, when the store is away at the start', async () => {
  const topic = await freshTopic({ numPartitions: PARTITIONS });
  const clickhouse = await ownClickHouse();
  await write(topic, turns(2, 6));
  await clickhouse.fault('hang');
  onTestFinished(() => clickhouse.fault('none').catch(() => undefined));

  const running = await workerOver(clickhouse, topic);
  expect((await fetch(`${running.url}/readyz`)).status).toBe(503);
  expect(told(running, 'storeUnavailable')).toBe(1);
  await clickhouse.fault('none');

  await until(async () => expect(await committed(topic, topic)).toEqual([2, 2]));
  expect(await counts(running)).toEqual({ interactions: 4, ids: 4, verdicts: 4, fewestCalls: 2 });
});

test('finds out by default within a minute that a store hangs', () => {
  // A row waits for its batch, then for the answer to its insert.
  const { batchMs, stalledMs } = DEFAULT_WRITER_RULES;

  expect(batchMs + stalledMs).toBeLessThan(60_000);
});
