import type { TestProject } from 'vitest/node';

import { createBroker, type Broker } from './kafka-broker.mjs';
import { findKafka } from './kafka-runtime.mjs';

type Runtime = Awaited<ReturnType<typeof findKafka>>;

/** A broker as far as it can be handed to another process; `toolCommand` is null for a broker that is not ours. */
export type SharedBroker = Pick<Broker, 'brokers' | 'secure'> & {
  readonly toolCommand: readonly string[] | null;
};

declare module 'vitest' {
  export interface ProvidedContext {
    /** The broker that all test files share; null: there is none. */
    kafka: SharedBroker | null;
    /** With what a test may start brokers of its own. */
    kafkaRuntime: Runtime;
  }
}

/**
 * One broker for the whole project: the one named by `TRACEGRADE_TEST_KAFKA_BROKERS` (`host:port,...`, without
 * authentication), else one of our own. Where there can be none the tests that need it are left out, and the reason is
 * printed; in CI that is a failure.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TRACEGRADE_TEST_KAFKA_BROKERS'];
  const runtime = await findKafka();
  project.provide('kafkaRuntime', runtime);
  if (runtime.kind === 'unavailable') {
    const what = given ? 'The tests that restart a broker' : 'The tests on Kafka';
    if (process.env['CI'] === 'true') throw new Error(`${what} cannot run: ${runtime.reason}`);
    console.warn(`\n${what} are left out: ${runtime.reason}\n`);
  }
  if (given) {
    project.provide('kafka', { brokers: given.split(','), secure: null, toolCommand: null });
    return undefined;
  }
  if (runtime.kind === 'unavailable') {
    project.provide('kafka', null);
    return undefined;
  }

  const broker = await createBroker(runtime, { secure: true });
  try {
    await broker.start();
  } catch (error) {
    await broker.remove();
    throw error;
  }
  const { brokers, secure, toolCommand } = broker;
  project.provide('kafka', { brokers, secure, toolCommand });
  return () => broker.remove();
}
