import { randomUUID } from 'node:crypto';
import { Partitioners } from 'kafkajs';
import { expect } from 'vitest';
import {
  freshTopic,
  kafkaClient,
  kafkaTest,
  ownBroker,
  ownKafkaTest,
  secureKafkaTest,
  theBroker,
} from '../../support/kafka.js';
import { committed, reading, until, write } from '../../support/kafka-reading.js';

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => String(from + at));
const values = (texts: readonly string[], partition = 0) => texts.map((value) => ({ value, partition }));

kafkaTest('commits the offset of the next record: lag 0, and a restart reads nothing twice', async () => {
  const topic = await freshTopic();
  await write(topic, values(numbers(0, 10)));
  const first = reading([topic]);

  await until(() => expect(first.taken.map(({ text }) => text)).toEqual(numbers(0, 10)));
  await first.source.stop();

  expect(await committed(first.groupId, topic)).toEqual([10]);
  await write(topic, values(['again']));
  const second = reading([topic], { groupId: first.groupId });
  await until(() => expect(second.taken.map(({ text }) => text)).toEqual(['again']));
});

kafkaTest('commits no offset that something still needs, and reads again from there', async () => {
  const topic = await freshTopic();
  await write(topic, values(numbers(0, 10)));
  const first = reading([topic], { keeps: ({ offset }) => offset === 3 || offset === 7 });
  await until(() => expect(first.taken).toHaveLength(10));
  await until(async () => expect(await committed(first.groupId, topic)).toEqual([3]));
  await first.source.stop();

  const second = reading([topic], { groupId: first.groupId });

  await until(() => expect(second.taken.map(({ text }) => text)).toEqual(numbers(3, 10)));
  await until(async () => expect(await committed(first.groupId, topic)).toEqual([10]));
});

kafkaTest('begins at the end, or at a time, when its group has committed nothing', async () => {
  const topic = await freshTopic({ numPartitions: 1 });
  await write(topic, [{ value: 'old', timestamp: '1000000000000' }]);
  await write(topic, [{ value: 'young', timestamp: '1500000000000' }]);

  const late = reading([topic], { startFrom: 'latest' });
  const timed = reading([topic], { startFrom: 1_200_000_000_000 });
  await until(async () => expect(await committed(late.groupId, topic)).toEqual([2]));
  await write(topic, [{ value: 'new' }]);

  await until(() => expect(late.taken.map(({ text }) => text)).toEqual(['new']));
  await until(() => expect(timed.taken.map(({ text }) => text)).toEqual(['young', 'new']));
});

kafkaTest('starts over on each join, kept partitions included, and each partition has one owner', async () => {
  const topic = await freshTopic({ numPartitions: 6 });
  await write(
    topic,
    [0, 1, 2, 3, 4, 5].flatMap((partition) => values(numbers(0, 20), partition)),
  );
  const first = reading([topic], { keeps: () => true });
  await until(() =>
    expect(new Set(first.taken.map(({ partition, offset }) => `${partition}/${offset}`)).size).toBe(120),
  );

  const second = reading([topic], { groupId: first.groupId, keeps: () => true });

  await until(() => {
    const mine = first.opens.at(-1) ?? [];
    const theirs = second.opens.at(-1) ?? [];
    expect([...mine, ...theirs].map(({ partition }) => partition).sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(mine).toHaveLength(3);
    // Nothing was released, so everything that it kept is read again.
    const join = first.taken.at(-1)?.join;
    expect(first.taken.filter((record) => record.join === join)).toHaveLength(60);
  });
  await second.source.stop();
  await until(() => expect(first.opens.at(-1)).toHaveLength(6));
});

kafkaTest('gives nothing to a log after stop, however often it is started and stopped', async () => {
  const topic = await freshTopic({ numPartitions: 3 });
  const producer = kafkaClient().producer({
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  const groupId = `group-${randomUUID()}`;
  const seen = new Set<string>();
  let sent = 0;
  for (let round = 0; round < 20; round += 1) {
    const messages = numbers(sent, sent + 50).map((value) => ({ key: value, value }));
    sent += 50;
    await producer.send({ topic, messages });
    const one = reading([topic], { groupId });
    // Sometimes before it has joined, sometimes in the middle of its work.
    if (round % 3 > 0) await until(() => expect(one.taken.length).toBeGreaterThan(0));
    await one.source.stop();
    const { length } = one.taken;
    for (const { text } of one.taken) seen.add(text);
    await producer.send({ topic, messages: [{ key: 'x', value: String(sent++) }] });
    expect(one.taken).toHaveLength(length);
  }
  await producer.disconnect();

  const last = reading([topic], { groupId });
  await until(() => {
    for (const { text } of last.taken) seen.add(text);
    expect(seen.size).toBe(sent);
  });
});

kafkaTest('reads no more while downstream is full, and stays a member of its group', async () => {
  const topic = await freshTopic({ numPartitions: 2 });
  const one = reading([topic], { sessionTimeoutMs: 6_000 });
  await until(() => expect(one.told).toContain('joined'));
  one.full = true;
  await write(topic, [...values(['a'], 0), ...values(['b'], 1)]);
  await until(() => expect(one.told).toContain('paused'));
  const lagWhilePaused = await until(() => {
    const lag = one.source.lag.map((partition) => partition.lag);
    expect(lag).toEqual([1, 1]);
    return lag;
  });
  expect(one.taken).toEqual([]);

  // Longer than the session timeout: a member that had stopped its heartbeats would be put out and join again.
  const admin = kafkaClient().admin();
  await admin.connect();
  const startedMs = Date.now();
  while (Date.now() - startedMs < 8_000) await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  one.full = false;

  await until(() => expect(one.taken.map(({ text }) => text).sort()).toEqual(['a', 'b']));
  expect({ lagWhilePaused, joins: one.opens.length, lost: one.lost }).toEqual({
    lagWhilePaused: [1, 1],
    joins: 1,
    lost: [],
  });
});

kafkaTest('waits for a topic that does not exist yet, and reads the ones that do', async () => {
  const topic = await freshTopic();
  const later = `later-${randomUUID()}`;
  await write(topic, values(['here']));
  const one = reading([topic, later]);
  await until(() => expect(one.taken.map(({ text }) => text)).toEqual(['here']));
  expect(one.told).toContain(`missing ${later}`);

  await freshTopic({ topic: later });
  await write(later, values(['there']));

  await until(() => expect(one.taken.map(({ text }) => text)).toContain('there'));
  expect(one.lost).toEqual([]);
});

kafkaTest('says of a partition that it is drained, also when its last records are nobody’s', async () => {
  const topic = await freshTopic({ numPartitions: 2 });
  const transactional = kafkaClient().producer({
    transactionalId: topic,
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await transactional.connect();
  const kept = await transactional.transaction();
  await kept.send({ topic, messages: [{ partition: 0, value: 'kept' }] });
  await kept.commit();
  const aborted = await transactional.transaction();
  await aborted.send({ topic, messages: [{ partition: 0, value: 'aborted' }] });
  await aborted.abort();
  await transactional.disconnect();

  const one = reading([topic]);

  // Partition 1 has never held a record.
  await until(() => expect([...one.drained.keys()].sort()).toEqual([0, 1]));
  expect(one.taken.map(({ text }) => text)).toEqual(['kept']);
  expect(one.source.lag.map(({ lag }) => lag)).toEqual([0, 0]);
});

kafkaTest('is a healthy member with nothing to do when there are more members than partitions', async () => {
  const topic = await freshTopic();
  const busy = reading([topic]);
  await until(() => expect(busy.opens.at(-1)).toHaveLength(1));
  const other = reading([topic], { groupId: busy.groupId });

  await until(() => {
    expect([busy.opens.at(-1), other.opens.at(-1)].map((parts) => parts?.length).sort()).toEqual([0, 1]);
    expect([busy.source.trouble, other.source.trouble]).toEqual([null, null]);
  });
});

secureKafkaTest('says that its password is wrong, and does not ask in a hot loop', async () => {
  const topic = await freshTopic();
  const brokers = [...(theBroker().secure?.sasl ?? [])];
  const sasl = { mechanism: 'scram-sha-512', username: 'tracegrade', password: 'wrong' } as const;

  const one = reading([topic], { connection: { brokers, sasl } });

  await until(() => expect(one.lost.length).toBeGreaterThan(1));
  expect(one.source.trouble).toMatch(/the brokers refuse its credentials.*[Aa]uthentication/);
  expect(one.lost.map(({ trouble }) => trouble)).toEqual(one.lost.map(() => 'credentials'));
  // Half of the range at random() = 0.5: 1 s and 2 s, times 0.75.
  expect(one.lost.slice(0, 2).map(({ retryMs }) => retryMs)).toEqual([750, 1500]);
  expect(one.opens.every((parts) => parts.length === 0)).toBe(true);
});

secureKafkaTest('connects with a password, and with TLS', async () => {
  const topic = await freshTopic();
  await write(topic, values(['a']));
  const { secure } = theBroker();
  const sasl = { mechanism: 'plain', username: 'tracegrade', password: 'for-tests-only' } as const;

  const withPassword = reading([topic], { connection: { brokers: [...(secure?.sasl ?? [])], sasl } });
  const tls = { ca: secure?.ca ?? '', rejectUnauthorized: true };
  const withTls = reading([topic], { connection: { brokers: [...(secure?.tls ?? [])], tls } });

  await until(() => expect(withPassword.taken.map(({ text }) => text)).toEqual(['a']));
  await until(() => expect(withTls.taken.map(({ text }) => text)).toEqual(['a']));
});

ownKafkaTest('waits for a broker that goes away, and goes on where it was', async () => {
  const broker = await ownBroker();
  const topic = await freshTopic({ numPartitions: 2 }, broker.brokers);
  const one = reading([topic], { connection: { brokers: broker.brokers } });
  await write(topic, values(['before']), broker.brokers);
  await until(() => expect(one.taken.map(({ text }) => text)).toEqual(['before']));
  await until(async () => expect((await committed(one.groupId, topic, broker.brokers))[0]).toBe(1));

  await broker.kill();
  await until(() => expect(one.source.trouble).toMatch(/the brokers do not answer/));
  await broker.start();
  await write(topic, values(['after']), broker.brokers);

  await until(() => expect(one.taken.map(({ text }) => text)).toEqual(['before', 'after']));
  expect(one.lost.length).toBeLessThan(10);
});
