import { randomUUID } from 'node:crypto';

import { Kafka, logLevel, type ITopicConfig } from 'kafkajs';
import { inject, onTestFinished, test, vi } from 'vitest';

import { createBroker, runTool, type Broker, type BrokerOptions } from './kafka-broker.mjs';
import type { SharedBroker } from './kafka-setup.js';

const shared = inject('kafka');
const runtime = inject('kafkaRuntime');

/** A test on the broker that all files share. Left out where there is none. */
export const kafkaTest = test.skipIf(shared === null);

/** A test that needs authentication or TLS on the shared broker. */
export const secureKafkaTest = test.skipIf(shared?.secure == null);

/** A test that runs Kafka's own programs against the shared broker. */
export const kafkaToolTest = test.skipIf(shared?.toolCommand == null);

/** A test with a broker of its own, that it may stop. */
export const ownKafkaTest = test.skipIf(runtime.kind === 'unavailable');

export function theBroker(): SharedBroker {
  if (shared === null) throw new Error('a broker expected, got none: use kafkaTest');
  return shared;
}

/** A client of the shared broker, or of another, that logs nothing. */
export function kafkaClient(brokers: readonly string[] = theBroker().brokers): Kafka {
  return new Kafka({ clientId: 'test', brokers: [...brokers], logLevel: logLevel.NOTHING });
}

/** A new topic with a name of its own on the shared broker, or on another; gives its name. */
export async function freshTopic(
  topic: Partial<ITopicConfig> = {},
  brokers: readonly string[] = theBroker().brokers,
): Promise<string> {
  const name = topic.topic ?? `test-${randomUUID()}`;
  const admin = kafkaClient(brokers).admin();
  await admin.connect();
  try {
    await admin.createTopics({ topics: [{ numPartitions: 1, ...topic, topic: name }], waitForLeaders: false });
    // The client's own wait fails when the broker has not heard of the topic yet.
    await vi.waitFor(() => admin.fetchTopicMetadata({ topics: [name] }), { timeout: 30_000, interval: 20 });
  } finally {
    await admin.disconnect();
  }
  return name;
}

/** A broker for one test, started; removed after it. */
export async function ownBroker(options: BrokerOptions = {}): Promise<Broker> {
  const broker = await createBroker(runtime, options);
  onTestFinished(() => broker.remove());
  await broker.start();
  return broker;
}

/** Runs one of Kafka's own programs against the shared broker; gives what it prints. */
export async function kafkaTool(mainClass: string, args: readonly string[], input = ''): Promise<string> {
  const { toolCommand, brokers } = theBroker();
  if (toolCommand === null) throw new Error("Kafka's programs expected, got none: use kafkaToolTest");
  return runTool(toolCommand, mainClass, ['--bootstrap-server', brokers.join(','), ...args], input);
}
