import { Kafka, logLevel, type KafkaConfig } from 'kafkajs';
import { describe, expect, onTestFinished } from 'vitest';

import { PASSWORD, USERNAME } from '../../support/kafka-broker.mjs';
import {
  freshTopic,
  kafkaClient,
  kafkaTest,
  ownBroker,
  ownKafkaTest,
  secureKafkaTest,
  theBroker,
} from '../../support/kafka.js';

/** Values of a topic's first partition, from its beginning. */
async function consume(kafka: Kafka, topic: string, count: number): Promise<(string | undefined)[]> {
  const consumer = kafka.consumer({ groupId: `${topic}-group` });
  onTestFinished(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const values: (string | undefined)[] = [];
  return new Promise((resolve, reject) => {
    const eachMessage = ({ message }: { message: { value: Buffer | null } }) => {
      if (values.push(message.value?.toString()) === count) resolve(values);
      return Promise.resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });
}

async function produce(kafka: Kafka, topic: string, values: readonly string[]): Promise<void> {
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: values.map((value) => ({ value })) });
  await producer.disconnect();
}

kafkaTest('gives a consumer what a producer was acknowledged', async () => {
  const topic = await freshTopic();

  await produce(kafkaClient(), topic, ['a', 'b', 'c']);

  expect(await consume(kafkaClient(), topic, 3)).toEqual(['a', 'b', 'c']);
});

describe('authentication', () => {
  const client = (security: Partial<KafkaConfig>, listener: 'sasl' | 'tls'): Kafka => {
    const brokers = [...(theBroker().secure?.[listener] ?? [])];
    return new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 1 }, ...security });
  };

  secureKafkaTest.for(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
    'lets in who has the password, by %s, and nobody else',
    async (mechanism) => {
      const topic = await freshTopic();
      const sasl = { mechanism, username: USERNAME, password: PASSWORD } as NonNullable<KafkaConfig['sasl']>;
      const wrong = { ...sasl, password: 'wrong' } as NonNullable<KafkaConfig['sasl']>;

      await produce(client({ sasl }, 'sasl'), topic, ['a']);
      const refused = produce(client({ sasl: wrong }, 'sasl'), topic, ['b']);

      await expect(refused).rejects.toThrow(/[Aa]uthentication/);
    },
  );

  secureKafkaTest('encrypts, under a certificate that the client can check', async () => {
    const topic = await freshTopic();

    await produce(client({ ssl: { ca: [theBroker().secure?.ca ?? ''] } }, 'tls'), topic, ['a']);
    const unchecked = produce(client({ ssl: true }, 'tls'), topic, ['b']);

    await expect(unchecked).rejects.toThrow(/self-signed/);
  });
});

ownKafkaTest('keeps what it acknowledged through a kill and a stop, at the same address', async () => {
  const broker = await ownBroker();
  const topic = await freshTopic({}, broker.brokers);
  const kafka = kafkaClient(broker.brokers);

  await produce(kafka, topic, ['a']);
  await broker.kill();
  await broker.start();
  await produce(kafka, topic, ['b']);
  await broker.stop();
  await broker.start();

  expect(await consume(kafka, topic, 2)).toEqual(['a', 'b']);
});
