/**
 * The rollup as it runs: a tick, a pause, a tick, one at a time, until it is stopped.
 *
 * A tick that fails is repeated by the next one, soon. Stopping waits for the step in hand and begins no other: what was
 * not done the next start does.
 */
import { MigrationError } from '../store/errors.js';
import type { RollupStore } from '../store/rollup-store.js';
import type { Events } from '../telemetry/events.js';
import { replayTicks, type Replay, type ReplayRange } from './replay.js';
import type { Alerting } from './alerting.js';
import type { RollupRules } from './rules.js';
import { createTick, type TickReport } from './tick.js';

export interface RollupDeps {
  readonly store: RollupStore;
  /** Looks for alerts behind each tick; absent: nobody does. */
  readonly alerting?: Alerting;
  /** Brings the tables to this program's version; called until it has succeeded once. */
  readonly prepare: () => Promise<unknown>;
  readonly events: Pick<Events, 'rollupTicked' | 'rollupFailed'>;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: () => number;
}

export interface Rollup {
  /** Why the last tick failed; null when it did not. */
  readonly trouble: Error | null;
  /** How far the last tick is behind the wall clock, in milliseconds; 0 before the first one. */
  readonly lagMs: number;
  /** Resolves with the fault that keeps it from working for good. */
  readonly failed: Promise<unknown>;
  /** Runs a tick now, behind the one in hand; rejects when it fails. */
  tick(): Promise<TickReport>;
  /** Counts a time again, behind the tick in hand; see `replayTicks`. */
  replay(range: ReplayRange): Promise<Replay>;
  stop(): Promise<void>;
}

/** Between a tick that failed and the next one. */
const RETRY_MS = 5_000;

export function startRollup(rules: RollupRules, deps: RollupDeps): Rollup {
  const { store, alerting, events, nowMs } = deps;
  const runTick = createTick(store, rules);
  let timer: NodeJS.Timeout | undefined;
  let trouble: Error | null = null;
  const stopping = new AbortController();
  let prepared = false;
  let atMs: number | null = null;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<unknown>((resolve) => (fail = resolve));
  let last: Promise<unknown> = Promise.resolve();

  async function run(): Promise<TickReport> {
    const startedMs = nowMs();
    if (!prepared) await deps.prepare();
    prepared = true;
    const report = await runTick(stopping.signal);
    ({ atMs } = report);
    await alerting?.step({ nowMs: atMs, wallMs: nowMs() });
    // Not waited for: a webhook that hangs holds no tick.
    void alerting?.deliver(nowMs());
    trouble = null;
    events.rollupTicked({ ...report, ms: nowMs() - startedMs });
    return report;
  }

  function behind<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  }

  function goOn(): void {
    behind(run)
      .catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        trouble = error instanceof Error ? error : new Error(String(error));
        events.rollupFailed(error);
        if (error instanceof MigrationError) fail(error);
      })
      .finally(() => {
        const pauseMs = trouble === null ? rules.tickMs : Math.min(rules.tickMs, RETRY_MS);
        if (!stopping.signal.aborted) timer = setTimeout(goOn, pauseMs);
      });
  }
  goOn();

  return {
    failed,
    get trouble() {
      return trouble;
    },
    get lagMs() {
      return atMs === null ? 0 : Math.max(0, nowMs() - atMs);
    },
    tick: () => behind(run),
    replay: (range) => behind(() => replayTicks(store, range, rules)),
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await last;
      await alerting?.stop();
    },
  };
}
