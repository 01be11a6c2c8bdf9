/**
 * The role rollup: a process that ticks, and a port that says how it is. It receives nothing. A store that is away is
 * waited for.
 */
import { decodeTraces } from '../receive/decode.js';
import { startOtlpHttp, type OtlpHttpConfig } from '../receive/otlp-http.js';
import { createAlerting, type AlertingRules } from '../rollup/alerting.js';
import { startRollup } from '../rollup/rollup.js';
import type { RollupRules } from '../rollup/rules.js';
import { openStore } from '../store/clickhouse.js';
import type { StoreConfig } from '../store/engine.js';
import type { Events } from '../telemetry/events.js';
import { exposeReadings, type Registry } from '../telemetry/metrics.js';
import { WorkerStartError } from './start-error.js';

export interface RollupRoleSettings {
  readonly version: string;
  readonly pid: number;
  readonly http: OtlpHttpConfig;
  readonly store: StoreConfig;
  readonly rules: RollupRules;
  readonly alerting: AlertingRules;
}

export interface RollupRoleDeps {
  readonly events: Events;
  readonly registry: Registry;
  readonly nowMs: () => number;
  readonly isAlive: (pid: number) => boolean;
}

export interface RollupRole {
  readonly port: number;
  readonly failed: Promise<unknown>;
  stop(): Promise<void>;
}

const REQUEST_DEADLINE_MS = 10_000;

/** Starts it; resolves when its port answers. Throws WorkerStartError, or what `openStore` throws. */
export async function startRollupRole(settings: RollupRoleSettings, deps: RollupRoleDeps): Promise<RollupRole> {
  const { events, registry, nowMs } = deps;
  const { version, pid, http } = settings;
  const store = await openStore(settings.store, deps);
  const rollup = startRollup(settings.rules, {
    store: store.rollup({ nowMs, on: events }),
    alerting: createAlerting(store, settings.alerting, events),
    prepare: () => store.migrate(),
    events,
    nowMs,
  });
  exposeReadings(registry, { rollupLagMs: () => rollup.lagMs });
  const close = async () => {
    await rollup.stop();
    await store.close();
  };

  const elsewhere = 'this process is a rollup; send traces to a worker or a relay';
  const start = await startOtlpHttp(http, {
    decode: (body, encoding) => decodeTraces(body, encoding),
    append: () => Promise.resolve({ status: 'rejected', cause: new Error(elsewhere) }),
    tracesElsewhere: elsewhere,
    accepting: () => ({ status: 'ok' }),
    readiness: () => {
      const { trouble } = rollup;
      return { ready: trouble === null, reasons: trouble === null ? [] : ['the last tick failed'] };
    },
    metricsText: () => registry.metrics(),
    events,
    nowMs,
  });
  if (start.status !== 'started') {
    await close();
    throw new WorkerStartError(start.cause.message, { cause: start.cause });
  }
  const { server } = start;
  const { database } = settings.store;
  events.workerStarted({
    role: 'rollup',
    version,
    pid,
    host: http.host,
    port: server.port,
    store: store.kind,
    database,
  });
  return {
    port: server.port,
    failed: rollup.failed,
    async stop() {
      await server.close(REQUEST_DEADLINE_MS);
      await close();
    },
  };
}
