import { expect } from 'vitest';
import { DEFAULT_ASSEMBLE_RULES, type AssembleRules } from '../../src/assemble/rules.js';
import { buildExpectationIndex } from '../../src/score/expectations.js';
import { resolvePolicy } from '../../src/score/policy.js';
import { startWorker, type Worker, type WorkerSettings } from '../../src/worker/worker.js';
import { ENGINE_DEPS } from './store.js';
import { telemetryProbe, type TelemetryProbe } from './telemetry.js';

export interface RunningWorker {
  readonly worker: Worker;
  readonly url: string;
  readonly telemetry: TelemetryProbe;
  post(body: string | Uint8Array, contentType?: string): Promise<Response>;
  /** The metric's value, summed over its labels. */
  readonly metric: (name: string) => Promise<number>;
}

/** A worker on the embedded engine and a free port, with the real clock and short patience. Stop it yourself. */
export async function runningWorker(
  dataDir: string,
  assemble: Partial<AssembleRules> = {},
  settings: Partial<WorkerSettings> = {},
): Promise<RunningWorker> {
  const telemetry = telemetryProbe();
  const worker = await startWorker(
    {
      role: 'all',
      version: '0.0.0',
      pid: process.pid,
      workerId: 'test',
      http: { host: '127.0.0.1', port: 0, tokens: [] },
      spool: { path: `${dataDir}/spool` },
      kafka: null,
      store: { url: 'embedded', database: 'tracegrade', dataDir },
      writer: { batchMs: 20 },
      assemble: { ...DEFAULT_ASSEMBLE_RULES, quietMs: 50, lateMs: 50, ...assemble },
      policy: resolvePolicy({}),
      expectations: buildExpectationIndex([]),
      judge: null,
      storeRedaction: null,
      ...settings,
    },
    { ...telemetry, nowMs: () => Date.now(), random: () => 0.5, isAlive: (pid) => ENGINE_DEPS.isAlive(pid) },
  );
  const url = `http://127.0.0.1:${worker.port}`;
  return {
    worker,
    url,
    telemetry,
    post: (body, contentType = 'application/json') =>
      fetch(`${url}/v1/traces`, { method: 'POST', headers: { 'content-type': contentType }, body: body as string }),
    async metric(name) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const lines = text.split('\n').filter((line) => new RegExp(`^${name}(\\{[^}]*\\})? `).test(line));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    },
  };
}

/** Every accepted span is accounted for, and none is open. */
export async function expectBalance({ metric }: RunningWorker): Promise<void> {
  const [accepted, assembled, rejected, dropped, open] = await Promise.all(
    ['accepted_total', 'assembled_total', 'rejected_total', 'dropped_total', 'open'].map((name) =>
      metric(`tracegrade_spans_${name}`),
    ),
  );
  expect(accepted).toBeGreaterThan(0);
  expect({ accepted, open }).toEqual({ accepted: (assembled ?? 0) + (rejected ?? 0) + (dropped ?? 0), open: 0 });
}
