/**
 * The rollup as it runs: a tick, a pause, a tick, one at a time, until it is stopped.
 *
 * A tick that fails is repeated by the next one; the pause is the same. Stopping waits for the tick in hand and writes
 * nothing more: what it has not done the next start does.
 */
import { MigrationError } from '../store/errors.js';
import type { RollupStore } from '../store/rollup-store.js';
import type { Events } from '../telemetry/events.js';
import type { RollupRules } from './rules.js';
import { runTick, type TickReport } from './tick.js';

export interface RollupDeps {
  readonly store: RollupStore;
  /** Brings the tables to this program's version; called until it has succeeded once. */
  readonly prepare: () => Promise<unknown>;
  readonly events: Pick<Events, 'rollupTicked' | 'rollupFailed'>;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: () => number;
}

export interface Rollup {
  /** How far the last tick is behind the wall clock, in milliseconds; 0 before the first one. */
  readonly lagMs: number;
  /** Resolves with the fault that keeps it from working for good. */
  readonly failed: Promise<unknown>;
  /** Runs a tick now, behind the one in hand; rejects when it fails. */
  tick(): Promise<TickReport>;
  stop(): Promise<void>;
}

export function startRollup(rules: RollupRules, deps: RollupDeps): Rollup {
  const { store, events, nowMs } = deps;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let prepared = false;
  let atMs: number | null = null;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<unknown>((resolve) => (fail = resolve));
  let last: Promise<unknown> = Promise.resolve();

  async function run(): Promise<TickReport> {
    const startedMs = nowMs();
    if (!prepared) await deps.prepare();
    prepared = true;
    const report = await runTick(store, rules);
    ({ atMs } = report);
    events.rollupTicked({ ...report, ms: nowMs() - startedMs });
    return report;
  }

  function tick(): Promise<TickReport> {
    const next = last.then(run);
    last = next.catch(() => undefined);
    return next;
  }

  function goOn(): void {
    tick()
      .catch((error: unknown) => {
        if (stopped) return;
        events.rollupFailed(error);
        if (error instanceof MigrationError) fail(error);
      })
      .finally(() => {
        if (!stopped) timer = setTimeout(goOn, rules.tickMs);
      });
  }
  goOn();

  return {
    failed,
    get lagMs() {
      return atMs === null ? 0 : Math.max(0, nowMs() - atMs);
    },
    tick,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await last;
    },
  };
}
