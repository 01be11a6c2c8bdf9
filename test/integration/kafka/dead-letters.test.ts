import { randomUUID } from 'node:crypto';
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs';
import { expect, onTestFinished } from 'vitest';
import type { KafkaConnection } from '../../../src/receive/kafka-client.js';
import { openDeadLetters, type DeadLetters } from '../../../src/worker/dead-letters.js';
import { PASSWORD, USERNAME } from '../../support/kafka-broker.mjs';
import {
  freshTopic,
  kafkaClient,
  kafkaTest,
  kafkaTool,
  kafkaToolTest,
  ownBroker,
  ownKafkaTest,
  theBroker,
} from '../../support/kafka.js';
import { connectionTo, until } from '../../support/kafka-reading.js';

const PLACE = { topic: 'from', partition: 0 };
const REJECTION = { reason: 'malformed_body', detail: 'no OTLP', spans: 0 } as const;

function lettersTo(topic: string, connection: KafkaConnection): { letters: DeadLetters; failures: string[] } {
  const failures: string[] = [];
  const on = {
    recordDeadLettered: () => undefined,
    deadLetterFailed: ({ error }: { readonly error: Error }) => failures.push(error.message),
    kafkaClientLog: () => undefined,
  };
  const letters = openDeadLetters(topic, connection, { on, nowMs: () => Date.now() });
  if (letters === null) throw new Error('dead letters expected, got none');
  onTestFinished(() => letters.close());
  return { letters, failures };
}

/** The first `count` records of a topic, with their headers as text. */
async function headersIn(topic: string, count: number): Promise<Record<string, unknown>[]> {
  const consumer = kafkaClient().consumer({ groupId: `read-${randomUUID()}` });
  onTestFinished(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const found: Record<string, unknown>[] = [];
  await consumer.run({
    eachMessage: ({ message }) => {
      const texts = Object.entries(message.headers ?? {}).map(([name, value]) => [name, [value].flat().map(String)]);
      found.push(Object.fromEntries(texts) as Record<string, unknown>);
      return Promise.resolve();
    },
  });
  await until(() => expect(found).toHaveLength(count));
  return found;
}

kafkaToolTest('keeps all headers of a record, those without a value and those of one name too', async () => {
  const from = await freshTopic();
  const line = 'none:NULL,twice:a,twice:b\tno OTLP\n';
  const options = ['parse.headers=true', 'null.marker=NULL'].flatMap((option) => ['--property', option]);
  await kafkaTool('org.apache.kafka.tools.ConsoleProducer', ['--topic', from, ...options], line);
  const consumer = kafkaClient().consumer({ groupId: `read-${randomUUID()}` });
  onTestFinished(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topic: from, fromBeginning: true });
  const topic = `dead-${randomUUID()}`;
  const { letters, failures } = lettersTo(topic, connectionTo(theBroker().brokers));

  const written = new Promise<boolean>((resolve, reject) => {
    const eachMessage: NonNullable<Parameters<typeof consumer.run>[0]>['eachMessage'] = ({ message }) => {
      const { key, value, headers = {} } = message;
      letters.send(PLACE, { offset: 0, key, value, headers, timestampMs: 1 }, REJECTION).then(resolve, reject);
      return Promise.resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });

  expect([await written, failures]).toEqual([true, []]);
  expect(await headersIn(topic, 1)).toMatchObject([
    { none: [''], twice: ['a', 'b'], 'tracegrade.reason': ['malformed_body'] },
  ]);
});

kafkaTest('has no room for more while many wait to be tried again', async () => {
  // No topic can have this name.
  const { letters, failures } = lettersTo('..', connectionTo(theBroker().brokers));
  const value = Buffer.alloc(1024 * 1024);
  const record = { offset: 0, key: null, value, headers: {}, timestampMs: 1 };

  const sent = Array.from({ length: 33 }, () => letters.send(PLACE, record, REJECTION));
  await until(() => expect(failures.length).toBeGreaterThanOrEqual(33));
  const full = letters.full;
  await letters.close();

  expect(full).toBe(true);
  expect(new Set(await Promise.all(sent))).toEqual(new Set([false]));
});

ownKafkaTest('writes to a topic that is there with a user who may make none', async () => {
  const broker = await ownBroker({
    secure: true,
    properties: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
  });
  const topic = await freshTopic({}, broker.brokers);
  const admin = kafkaClient(broker.brokers).admin();
  onTestFinished(() => admin.disconnect());
  await admin.connect();
  const acl = {
    principal: `User:${USERNAME}`,
    host: '*',
    permissionType: AclPermissionTypes.ALLOW,
    resourceType: AclResourceTypes.TOPIC,
    resourceName: topic,
    resourcePatternType: ResourcePatternTypes.LITERAL,
  };
  await admin.createAcls({ acl: [{ ...acl, operation: AclOperationTypes.WRITE }] });
  const sasl = { mechanism: 'plain', username: USERNAME, password: PASSWORD } as const;
  const { letters, failures } = lettersTo(topic, { ...connectionTo(broker.secure?.sasl ?? []), sasl });

  const record = { offset: 0, key: null, value: Buffer.from('x'), headers: {}, timestampMs: 1 };

  expect(await letters.send(PLACE, record, REJECTION)).toBe(true);
  expect(failures).toEqual([]);
});
