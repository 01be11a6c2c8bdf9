import type { Admin } from 'kafkajs';
import { expect } from 'vitest';
import { freshTopic, kafkaClient, kafkaTest } from '../../support/kafka.js';
import { committed, reading, until, write } from '../../support/kafka-reading.js';

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => String(from + at));
const values = (texts: readonly string[], partition = 0) => texts.map((value) => ({ value, partition }));

async function administer(act: (admin: Admin) => Promise<unknown>): Promise<void> {
  const admin = kafkaClient().admin();
  await admin.connect();
  try {
    await act(admin);
  } finally {
    await admin.disconnect();
  }
}

const commit = (topic: string, offset: number) =>
  administer((admin) =>
    admin.setOffsets({ groupId: topic, topic, partitions: [{ partition: 0, offset: String(offset) }] }),
  );

kafkaTest('says how many records were deleted before it read them, and has no lag of what is gone', async () => {
  const topic = await freshTopic();
  await write(topic, values(numbers(0, 10)));
  await commit(topic, 2);
  await administer(async (admin) => {
    await admin.fetchTopicOffsets(topic); // the client has to know the topic first
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '10' }] });
  });

  const one = reading([topic], { groupId: topic });

  await until(async () => expect(await committed(topic, topic)).toEqual([10]));
  await until(() => expect(one.drained.get(0)).toBeGreaterThan(0));
  expect(one.source.lag.map(({ lag }) => lag)).toEqual([0]);
  expect(one.told.filter((told) => told.startsWith('gone'))).toEqual(['gone 8']);
  await write(topic, values(['new']));
  await until(() => expect(one.taken.map(({ text }) => text)).toEqual(['new']));
});

kafkaTest(
  'reads a topic from its beginning when its group has committed beyond the end, and commits there',
  async () => {
    const topic = await freshTopic();
    await write(topic, values(numbers(0, 5)));
    await commit(topic, 100);

    const one = reading([topic], { groupId: topic });

    await until(() => expect(one.taken.map(({ text }) => text)).toEqual(numbers(0, 5)));
    await until(async () => expect(await committed(topic, topic)).toEqual([5]));
  },
);

kafkaTest('commits nothing of a topic that was made again before it has read it', async () => {
  const topic = await freshTopic();
  await write(topic, values(numbers(0, 50)));
  const one = reading([topic], { groupId: topic, keeps: ({ offset }) => offset === 30 });
  await until(async () => expect(await committed(topic, topic)).toEqual([30]));

  await administer((admin) => admin.deleteTopics({ topics: [topic] }));
  await freshTopic({ topic });
  await write(topic, values(numbers(100, 110)));
  await until(() => expect(one.taken.slice(-10).map(({ text }) => text)).toEqual(numbers(100, 110)));
  one.releaseAll();

  // 50 is what came next in the topic of before: the records 10..49 would be read by nobody.
  await until(async () => expect(await committed(topic, topic)).toEqual([10]));
  await one.source.stop();
  expect(await committed(topic, topic)).toEqual([10]);
});

kafkaTest(
  'a partition that is added to a topic is read from its beginning, whatever a new group starts from',
  async () => {
    const topic = await freshTopic();
    await write(topic, values(['old']));
    const one = reading([topic], { groupId: topic, startFrom: 'latest' });
    await until(async () => expect(await committed(topic, topic)).toEqual([1]));
    await one.source.stop();

    await administer((admin) => admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] }));
    await until(() => write(topic, values(['added'], 1)));
    const two = reading([topic], { groupId: topic, startFrom: 'latest' });

    await until(() => expect(two.taken.map(({ text }) => text)).toEqual(['added']));
  },
);

kafkaTest(
  'a start at the end is where it was first: what another member has read since is not read again',
  async () => {
    const topic = await freshTopic({ numPartitions: 2 });
    const both = (from: number, to: number) => [0, 1].flatMap((partition) => values(numbers(from, to), partition));
    await write(topic, both(0, 10));
    const one = reading([topic], { groupId: topic, startFrom: 'latest' });
    const two = reading([topic], { groupId: topic, startFrom: 'latest' });
    await until(() => expect([one.opens.at(-1)?.length, two.opens.at(-1)?.length]).toEqual([1, 1]));
    await until(async () => expect(await committed(topic, topic)).toEqual([10, 10]));
    await write(topic, both(10, 60));
    await until(async () => expect(await committed(topic, topic)).toEqual([60, 60]));

    await two.source.stop();
    await until(() => expect(one.opens.at(-1)).toHaveLength(2));
    await write(topic, both(60, 61));

    await until(() => expect(one.taken.filter(({ text }) => text === '60')).toHaveLength(2));
    expect([...one.taken, ...two.taken].map(({ text }) => text).sort()).toEqual(
      both(10, 61).map(({ value }) => value).sort(), // prettier-ignore
    );
  },
);
