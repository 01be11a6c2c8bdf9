import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { windowNamed } from '../../src/estimate/windows.js';
import type { RollupRules } from '../../src/rollup/rules.js';
import { runTick } from '../../src/rollup/tick.js';
import { openStore } from '../../src/store/clickhouse.js';
import { openEngine } from '../../src/store/engine.js';

export interface RollupBench {
  readonly conversations: number;
  /** Rows that a tick writes, on average. */
  readonly rowsWritten: number;
  /** Of each tick, by the clock on the wall, and of all threads. */
  readonly ticks: readonly { readonly seconds: number; readonly cpuSeconds: number }[];
}

const MINUTE = 60_000;
const SERIES = 1_000;
/** 10M conversations in 30 days: 231 a minute. */
const APART_MS = 259;
const IDLE_MS = 15 * MINUTE;
const LASTED_MS = 30_000;
const TICKS = 5;
const ROWS_AT_ONCE = 500_000;
const END = Date.parse('2026-11-30T12:00:00Z');

const RULES: RollupRules = {
  idleMs: IDLE_MS,
  tickMs: MINUTE,
  windows: ['1h', '24h', '7d', 'last_50', 'last_200', 'last_1000'].map(windowNamed),
  figures: { ks: [1, 3, 5, 10], prior: { a: 1, b: 1 }, level: 0.95 },
  margin: 0,
};

/** In each series. */
const TASKS = 3;

const SERIES_OF = (
  tasks: boolean,
) => `concat('agent-', toString(n % ${SERIES})) AS assistant_id, '1' AS agent_version, 'prod' AS environment,
  ${tasks ? `concat('task-', toString(intDiv(n, ${SERIES}) % ${TASKS}))` : 'NULL'} AS task, 'policy' AS policy`;
const ID = "concat(lower(hex(sipHash128(n))), '-0000000000000001')";
const verdict = "if(sipHash64(n) % 100 < 7, 'incorrect', 'correct')";
const outstanding = 'sipHash64(n) % 50 = 3';

/**
 * Ticks of a minute of traffic on a store that has so many conversations, of one turn each, in 1000 series, with or
 * without the labels of three tasks: those that are new are read from their verdicts, those that close become trials, and the windows that
 * something came into or went out of are counted. As many a minute, however many there are.
 */
export async function benchRollup(conversations: number, tasks: boolean): Promise<RollupBench> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tracegrade-bench-'));
  const config = { url: 'embedded', database: 'tracegrade', dataDir };
  const deps = { isAlive: () => true };
  const store = await openStore(config, deps);
  const engine = await openEngine(config, deps);
  try {
    await store.migrate();
    const startMs = END - conversations * APART_MS;
    const started = `fromUnixTimestamp64Milli(toInt64(${startMs} + n * ${APART_MS}), 'UTC')`;
    const numbers = (from: number, count: number) => `(SELECT number AS n FROM numbers(${from}, ${count}))`;
    for (let from = 0; from < conversations; from += ROWS_AT_ONCE) {
      await engine.command(
        `INSERT INTO tracegrade.conversations (assistant_id, agent_version, environment, task, policy, conversation_id, started_at,
          ended_at, first_closed_at, interaction_ids, interaction_starts, verdict, counts, outstanding, judged, trial, version)
        SELECT ${SERIES_OF(tasks)}, concat('conversation-', toString(n)), ${started} AS s, s + toIntervalMillisecond(${LASTED_MS}),
          s + toIntervalMillisecond(${LASTED_MS + IDLE_MS}), [${ID}], [s], if(${outstanding}, 'unscored', ${verdict}), NOT (${outstanding}),
          ${outstanding}, true, if(s + toIntervalMillisecond(${LASTED_MS + IDLE_MS}) > fromUnixTimestamp64Milli(toInt64(${END}), 'UTC'), NULL, true), 1
        FROM ${numbers(from, Math.min(ROWS_AT_ONCE, conversations - from))}`,
      );
    }
    const verdicts = (from: number, count: number, writtenAt: string) =>
      engine.command(
        `INSERT INTO tracegrade.verdicts (assistant_id, agent_version, environment, task, policy, interaction_id, conversation_id,
          trace_id, version, revision, verdict, outstanding, scores.criterion, scores.value, scores.passed, scores.decided_by,
          scores.abstained, scores.reason, scores.details, started_at, ended_at, written_at)
        SELECT ${SERIES_OF(tasks)}, ${ID}, concat('conversation-', toString(n)), lower(hex(sipHash128(n))), 1, 1,
          if(${outstanding}, 'unscored', ${verdict}), ${outstanding}, ['tools'], [1], [true], ['rule'], [NULL], [''], ['{}'],
          ${started} AS s, s + toIntervalMillisecond(${LASTED_MS}), ${writtenAt}
        FROM ${numbers(from, count)}`,
      );
    const aMinute = Math.ceil(MINUTE / APART_MS);
    const open = Math.ceil((IDLE_MS + LASTED_MS) / APART_MS) + aMinute;
    await verdicts(conversations - open, open, 'now64(3) - toIntervalHour(1)');
    await store.recordPolicy({ policy: 'policy', sinceMs: 0, settings: {} });
    const rollup = store.rollup({ nowMs: () => Date.now() });
    await rollup.writeTick(
      { atMs: END, readAtMicros: await rollup.clockMicros() },
      { conversations: 0, trials: 0, estimates: 0 },
    );

    const ticks: { seconds: number; cpuSeconds: number }[] = [];
    let rowsWritten = 0;
    for (let tick = 1; tick <= TICKS; tick += 1) {
      await verdicts(conversations + (tick - 1) * aMinute, aMinute, 'now64(3)');
      const streamTimeMs = END + tick * MINUTE;
      await store.recordHeartbeats([{ worker: 'w', source: 'spool', atMs: Date.now(), streamTimeMs, details: {} }]);
      const sinceMs = performance.now();
      const before = process.cpuUsage();
      const report = await runTick(rollup, RULES);
      const cpu = process.cpuUsage(before);
      ticks.push({ seconds: (performance.now() - sinceMs) / 1_000, cpuSeconds: (cpu.user + cpu.system) / 1e6 });
      rowsWritten += (report.conversations + report.trials + report.estimates) / TICKS;
    }
    return { conversations, rowsWritten, ticks };
  } finally {
    await engine.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
