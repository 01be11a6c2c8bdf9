import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { createEvents } from '../telemetry/events.js';
import { createLogger } from '../telemetry/logger.js';
import { createRegistry, exposeReadings } from '../telemetry/metrics.js';
import { EngineMissingError, MigrationError, StoreBusyError } from '../store/errors.js';
import { createAlerting } from '../rollup/alerting.js';
import { startRollup, type Rollup } from '../rollup/rollup.js';
import { startRelay, type Relay } from '../worker/relay.js';
import { startRollupRole, type RollupRole } from '../worker/rollup-role.js';
import { WorkerStartError } from '../worker/start-error.js';
import { startWorker, type Worker } from '../worker/worker.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { judgeSettings, redactionOf } from './judge-settings.js';
import { kafkaConnection, kafkaSource } from './kafka-settings.js';
import { packageVersion } from './package-version.js';
import { removeWorkerAddress, writeWorkerAddress } from './worker-address.js';
import { alertingRules, rollupRules, scoringPolicy, storeConfig, watchedExpectations } from './settings.js';

/** A worker, and the rollup that runs beside it in the role `all`. */
export interface RunningWorker {
  readonly worker: Worker;
  readonly rollup: Rollup | null;
  /** Resolves with the fault that keeps one of them from working for good. */
  readonly failed: Promise<unknown>;
}

/**
 * Starts a worker as configured. `all`: what comes over OTLP/HTTP, and from Kafka where brokers are named, and a rollup;
 * `worker`: from Kafka alone. Throws a CommandError when it cannot.
 */
export async function runWorker(config: Config, io: Io, role: 'all' | 'worker' = 'all'): Promise<RunningWorker> {
  const { brokers, encoding, deadLetterTopic } = config.receive.kafka;
  if (role === 'worker') {
    if (brokers.length === 0) throw new CommandError('the role worker needs receive.kafka.brokers', ExitStatus.usage);
    if (config.store.url === 'embedded') {
      const why = 'the embedded store has one process, in the role all';
      throw new CommandError(
        `the role worker needs the URL of a ClickHouse server in store.url: ${why}`,
        ExitStatus.usage,
      );
    }
  }
  const policy = scoringPolicy(config);
  const judge = await judgeSettings(config, io);
  const { version, registry, events } = telemetry(config, io);
  const { expectations: paths, expectationsReloadMs: reloadMs } = config.score;
  const expectations = await watchedExpectations(paths, events);
  if (paths.length > 0) {
    const unmatchedTurns = () => expectations.turns.length - expectations.matched;
    exposeReadings(registry, { matchedTurns: () => expectations.matched, unmatchedTurns });
  }
  const { batchRows, batchMs, maxQueuedRows } = config.store;
  const spool = { path: join(config.dataDir, 'spool'), maxBytes: config.receive.spool.maxBytes };
  const kafka = brokers.length === 0 ? null : { source: await kafkaSource(config), encoding, deadLetterTopic };
  try {
    const worker = await startWorker(
      {
        role,
        version,
        pid: io.pid,
        workerId: `${hostname()}:${io.pid}`,
        http: config.receive.http,
        spool: role === 'all' ? spool : null,
        kafka,
        store: storeConfig(config),
        writer: { batchRows, batchMs, queueRows: maxQueuedRows },
        assemble: config.assemble,
        policy,
        expectations,
        judge,
        storeRedaction: config.judge.redact.store ? redactionOf(config) : null,
        ...(paths.length === 0 || reloadMs === 0
          ? {}
          : { watchExpectations: (reject) => expectations.watch(reloadMs, reject) }),
      },
      { events, registry, nowMs: io.nowMs, random: io.random, isAlive: io.isAlive },
    );
    const { host } = config.receive.http;
    if (role === 'worker') return { worker, rollup: null, failed: worker.failed };
    await writeWorkerAddress(config.dataDir, { pid: io.pid, host, port: worker.port });
    const rollup = startRollup(rollupRules(config), {
      store: worker.store.rollup({ nowMs: io.nowMs, on: events }),
      alerting: createAlerting(worker.store, alertingRules(config), events),
      prepare: () => worker.store.migrate(),
      events,
      nowMs: io.nowMs,
    });
    exposeReadings(registry, { rollupLagMs: () => rollup.lagMs });
    return { worker, rollup, failed: Promise.race([worker.failed, rollup.failed]) };
  } catch (error) {
    throw asCommandError(error);
  }
}

/** Starts a relay as configured. Throws a CommandError when it cannot. */
export async function runRelay(config: Config, io: Io): Promise<Relay> {
  const { brokers, encoding, deadLetterTopic } = config.receive.kafka;
  if (brokers.length === 0) throw new CommandError('the role relay needs receive.kafka.brokers', ExitStatus.usage);
  const { version, registry, events } = telemetry(config, io);
  const { topic, fromTopics, compression, createTopic, partitions, replicationFactor, maxMessageBytes } = config.relay;
  const source = {
    ...(await kafkaSource(config)),
    topics: fromTopics,
    groupId: `${config.receive.kafka.groupId}-relay`,
  };
  try {
    return await startRelay(
      {
        version,
        pid: io.pid,
        http: config.receive.http,
        connection: await kafkaConnection(config),
        topic,
        compression,
        create: createTopic ? { topic, partitions, replicationFactor, maxMessageBytes } : null,
        from: fromTopics.length === 0 ? null : { source, encoding },
        deadLetterTopic,
      },
      { events, registry, nowMs: io.nowMs, random: io.random },
    );
  } catch (error) {
    throw asCommandError(error);
  }
}

/** Starts a rollup as configured. Throws a CommandError when it cannot. */
export async function runRollupRole(config: Config, io: Io): Promise<RollupRole> {
  if (config.store.url === 'embedded') {
    const why = 'the embedded store has one process, whose role all has a rollup in it';
    throw new CommandError(
      `the role rollup needs the URL of a ClickHouse server in store.url: ${why}`,
      ExitStatus.usage,
    );
  }
  const { version, registry, events } = telemetry(config, io);
  try {
    return await startRollupRole(
      {
        version,
        pid: io.pid,
        http: config.receive.http,
        store: storeConfig(config),
        rules: rollupRules(config),
        alerting: alertingRules(config),
      },
      { events, registry, nowMs: io.nowMs, isAlive: io.isAlive },
    );
  } catch (error) {
    throw asCommandError(error);
  }
}

function telemetry(config: Config, io: Io) {
  const version = packageVersion();
  const registry = createRegistry({ version, nodeVersion: io.nodeVersion });
  const { logLevel: level, logFormat: format } = config.telemetry;
  const logger = createLogger({ level, format }, { sink: io.stderr, nowMs: io.nowMs });
  return { version, registry, events: createEvents({ logger, registry, nowMs: io.nowMs }) };
}

/** Stops a worker that `runWorker` started. */
export async function endWorker({ worker, rollup }: RunningWorker, config: Config): Promise<void> {
  await removeWorkerAddress(config.dataDir);
  await rollup?.stop();
  await worker.stop();
}

/** Says what an operator can do about a store or worker that does not start; other faults stay what they are. */
export function asCommandError(error: unknown): unknown {
  if (error instanceof WorkerStartError) {
    return new CommandError(error.message, ExitStatus.usage);
  }
  if (error instanceof StoreBusyError || error instanceof EngineMissingError || error instanceof MigrationError) {
    return new CommandError(error.message, ExitStatus.usage);
  }
  return error;
}
