import { CompressionCodecs, CompressionTypes } from 'kafkajs';
import { expect, onTestFinished } from 'vitest';

import { registerCodecs } from '../../../src/receive/kafka-codecs.js';
import { freshTopic, kafkaClient, kafkaTest, kafkaTool, kafkaToolTest } from '../../support/kafka.js';

const TYPES = {
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
} as const;

/** The first values of a topic, and how many batches of this codec they came in. */
async function read(topic: string, count: number, type: keyof typeof TYPES) {
  registerCodecs();
  const ours = CompressionCodecs[TYPES[type]];
  let batches = 0;
  CompressionCodecs[TYPES[type]] = () => {
    batches += 1;
    return ours() as unknown;
  };
  const consumer = kafkaClient().consumer({ groupId: `${topic}-group` });
  onTestFinished(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const values: string[] = [];
  await new Promise<void>((resolve, reject) => {
    consumer.on('consumer.crash', ({ payload }) => payload.restart || reject(payload.error));
    const eachMessage = ({ message }: { message: { value: Buffer | null } }) => {
      if (values.push(String(message.value)) === count) resolve();
      return Promise.resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });
  return { values, batches };
}

/** Repetitive as telemetry is, and no line like another. */
function lines(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `{"traceId":"${(n * 7919) % 65_536}","name":"chat","text":"é ${n}"}`);
}

kafkaToolTest.for(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'reads what the Java client writes with %s',
  async (type) => {
    const topic = await freshTopic();
    const written = lines(3_000);

    const args = ['--topic', topic, '--compression-codec', type, '--batch-size', '200000', '--timeout', '200'];
    await kafkaTool('org.apache.kafka.tools.ConsoleProducer', args, `${written.join('\n')}\n`);
    const { values, batches } = await read(topic, written.length, type);

    expect(values).toEqual(written);
    expect(batches).toBeGreaterThan(0);
  },
);

kafkaTest.for(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'reads a large batch that the broker compresses with %s',
  async (type) => {
    const topic = await freshTopic({ configEntries: [{ name: 'compression.type', value: type }] });
    const written = ['a', 'é'.repeat(400_000), lines(1_000).join('')];
    const producer = kafkaClient().producer();
    await producer.connect();
    await producer.send({ topic, messages: written.map((value) => ({ value })) });
    await producer.disconnect();

    const { values, batches } = await read(topic, written.length, type);

    expect(values).toEqual(written);
    expect(batches).toBe(1);
  },
);

kafkaToolTest('the Java client reads what is written with gzip, snappy and lz4', async () => {
  registerCodecs();
  const topic = await freshTopic();
  const written = lines(300);
  const producer = kafkaClient().producer();
  await producer.connect();
  for (const [index, type] of (['gzip', 'snappy', 'lz4'] as const).entries()) {
    const messages = written.slice(index * 100, index * 100 + 100).map((value) => ({ value }));
    await producer.send({ topic, messages, compression: TYPES[type] });
  }
  await producer.disconnect();

  const args = ['--topic', topic, '--from-beginning', '--max-messages', '300', '--timeout-ms', '60000'];
  const printed = await kafkaTool('org.apache.kafka.tools.consumer.ConsoleConsumer', args);

  expect(printed.trimEnd().split('\n')).toEqual(written);
});
