import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { createEvents } from '../telemetry/events.js';
import { createLogger } from '../telemetry/logger.js';
import { createRegistry } from '../telemetry/metrics.js';
import { EngineMissingError, MigrationError, StoreBusyError } from '../store/errors.js';
import { startWorker, WorkerStartError, type Worker } from '../worker.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { packageVersion } from './package-version.js';
import { removeWorkerAddress, writeWorkerAddress } from './worker-address.js';
import { loadExpectations, scoringPolicy, storeConfig } from './settings.js';

/** Starts a worker as configured. Throws a CommandError when it cannot. */
export async function runWorker(config: Config, io: Io): Promise<Worker> {
  const policy = scoringPolicy(config);
  const expectations = await loadExpectations(config.score.expectations);
  const version = packageVersion();
  const registry = createRegistry({ version, nodeVersion: io.nodeVersion });
  const { logLevel: level, logFormat: format } = config.telemetry;
  const logger = createLogger({ level, format }, { sink: io.stderr, nowMs: io.nowMs });
  const events = createEvents({ logger, registry, nowMs: io.nowMs });
  const { batchRows, batchMs, maxQueuedRows } = config.store;
  try {
    const worker = await startWorker(
      {
        version,
        pid: io.pid,
        workerId: `${hostname()}:${io.pid}`,
        http: config.receive.http,
        spool: { path: join(config.dataDir, 'spool'), maxBytes: config.receive.spool.maxBytes },
        store: storeConfig(config),
        writer: { batchRows, batchMs, queueRows: maxQueuedRows },
        assemble: config.assemble,
        policy,
        expectations,
      },
      { events, registry, nowMs: io.nowMs, random: io.random, isAlive: io.isAlive },
    );
    await writeWorkerAddress(config.dataDir, { pid: io.pid, host: config.receive.http.host, port: worker.port });
    return worker;
  } catch (error) {
    throw asCommandError(error);
  }
}

/** Stops a worker that `runWorker` started. */
export async function endWorker(worker: Worker, config: Config): Promise<void> {
  await removeWorkerAddress(config.dataDir);
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
