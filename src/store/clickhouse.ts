import { randomUUID } from 'node:crypto';

import type { Json } from '../model/json.js';
import type { Engine, EngineDeps, StoreConfig } from './engine.js';
import { openEngine } from './engine.js';
import type { MigrationReport } from './migrate.js';
import { applyRetention, migrate, readMigrations } from './migrate.js';
import type { QueryOptions, QueryOutcome } from './query.js';
import { runQuery } from './query.js';
import type { RollupStore, RollupStoreDeps } from './rollup-store.js';
import { createRollupStore } from './rollup-store.js';
import type { JudgeAnswersEvents, StoredJudgeAnswers } from './judge-answers.js';
import { createJudgeAnswers } from './judge-answers.js';
import type { StoreWriter, WriterDeps, WriterRules } from './writer.js';
import { createWriter, DEFAULT_WRITER_RULES } from './writer.js';

/** A sign of life: how far a worker has read one of its sources. */
export interface Heartbeat {
  readonly worker: string;
  /** `spool`, or `topic/partition`. */
  readonly source: string;
  readonly atMs: number;
  readonly streamTimeMs: number;
  readonly details: { readonly [key: string]: Json };
}

/** A scoring policy and what it stands for. */
export interface PolicyRecord {
  readonly policy: string;
  readonly sinceMs: number;
  readonly settings: Json;
}

/** The store: a ClickHouse server, or ClickHouse in this process. */
export interface Store {
  readonly kind: Engine['kind'];
  /**
   * Brings the tables to this program's version, and the age of rows to the configuration.
   * @throws MigrationError when the database is newer than the program, or its history differs.
   */
  migrate(options?: { readonly dryRun?: boolean }): Promise<MigrationReport>;
  /** One per process; close it before the store. */
  writer(deps: Omit<WriterDeps, 'insert'>, rules?: Partial<WriterRules>): StoreWriter;
  /**
   * Records that a policy is in force since `sinceMs`, unless it is the one in force already. Has to come before the
   * policy's first verdict, or `verdicts_current` cannot tell which of two policies is newer.
   */
  recordPolicy(record: PolicyRecord): Promise<void>;
  recordHeartbeats(beats: readonly Heartbeat[]): Promise<void>;
  /** What the rollup reads and writes. */
  rollup(deps: RollupStoreDeps): RollupStore;
  /** What the judge answered, for a policy; close it before the store. */
  judgeAnswers(policy: string, on: JudgeAnswersEvents): StoredJudgeAnswers;
  /**
   * Inserts rows into one of our own tables, each a list of the columns' values. Returned means stored; the engine's
   * error is thrown as it is. Sent again with the same token, they are stored once.
   */
  insertRows(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly unknown[])[],
    token?: string,
  ): Promise<void>;
  query(sql: string, options?: Partial<QueryOptions>): Promise<QueryOutcome>;
  /** Rows of our own SELECT, tables named with `{db}.`: `SELECT * FROM {db}.interactions_current`. */
  rows(sql: string, params?: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>[]>;
  /** null, or why the engine does not answer. */
  ping(): Promise<Error | null>;
  close(): Promise<void>;
}

/** Opens the store; see `openEngine` for what it throws. Makes no tables: that is `migrate`. */
export async function openStore(config: StoreConfig, deps: EngineDeps): Promise<Store> {
  const engine = await openEngine(config, deps);
  const rows: Store['rows'] = (sql, params) => engine.rows(sql.replaceAll('{db}', `\`${engine.database}\``), params);
  const insertRows: Store['insertRows'] = async (table, columns, values, token = randomUUID()) => {
    if (values.length === 0) return;
    await engine.insert(
      table,
      columns,
      values.map((row) => JSON.stringify(row)),
      token,
    );
  };

  return {
    kind: engine.kind,
    async migrate(options = {}) {
      const cluster = config.cluster === undefined ? {} : { cluster: config.cluster };
      const report = await migrate(engine, await readMigrations(), { ...options, ...cluster });
      if (options.dryRun !== true) await applyRetention(engine, config.ttlDays ?? null, config.cluster);
      return report;
    },
    writer: (writerDeps, rules) =>
      createWriter(
        { ...writerDeps, insert: (...args) => engine.insert(...args) },
        { ...DEFAULT_WRITER_RULES, ...rules },
      ),
    async recordPolicy({ policy, sinceMs, settings }) {
      const [newest] = await rows('SELECT argMax(policy, since) AS policy FROM {db}.policies');
      if (newest?.['policy'] === policy) return;
      await insertRows(
        'policies',
        ['policy', 'since', 'settings'],
        [[policy, Math.trunc(sinceMs), JSON.stringify(settings)]],
      );
    },
    async recordHeartbeats(beats) {
      await insertRows(
        'heartbeats',
        ['worker', 'source', 'at', 'stream_time', 'lag_ms', 'details'],
        beats.map(({ worker, source, atMs, streamTimeMs, details }) => [
          worker,
          source,
          Math.trunc(atMs),
          Math.trunc(streamTimeMs),
          Math.max(0, Math.trunc(atMs - streamTimeMs)),
          JSON.stringify(details),
        ]),
      );
    },
    rollup: (rollupDeps) => createRollupStore(engine, rollupDeps),
    judgeAnswers: (policy, on) =>
      createJudgeAnswers({
        select: (keys) =>
          rows(
            'SELECT key, argMax(answer, at) AS answer FROM {db}.judge_answers WHERE key IN {keys:Array(String)} GROUP BY key',
            {
              keys,
            },
          ),
        insert: (answers) =>
          insertRows(
            'judge_answers',
            ['key', 'policy', 'answer'],
            answers.map(({ key, answer }) => [key, policy, answer.toWellFormed()]),
          ),
        on,
      }),
    insertRows,
    query: (sql, options) => runQuery(engine, sql, options),
    rows,
    ping: () => engine.ping(),
    close: () => engine.close(),
  };
}
