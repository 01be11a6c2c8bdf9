import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished, test } from 'vitest';

import type { Graded } from '../../src/model/graded.js';
import type { Interaction } from '../../src/model/interaction.js';
import type { Verdict } from '../../src/model/score.js';
import { openStore, type Store } from '../../src/store/clickhouse.js';
import { openEngine, type EngineDeps, type StoreConfig } from '../../src/store/engine.js';
import type { StoreWriter, WriterDeps } from '../../src/store/writer.js';
import { interaction } from './score-builders.js';

export const ENGINE_DEPS: EngineDeps = {
  isAlive: (pid) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  },
};

/** The real clock and real timers: for tests on the engine. */
export const WRITER_DEPS: Omit<WriterDeps, 'insert'> = {
  nowMs: () => Date.now(),
  after: (ms, wake) => {
    const timer = setTimeout(wake, ms);
    return () => clearTimeout(timer);
  },
  chance: () => 0.5,
};

/** Takes what has to be done when the test, or the tests that share a thing, are over; last first. */
export type AtEnd = (cleanUp: () => void | Promise<void>) => void;

export function temporaryDir(atEnd: AtEnd = onTestFinished): string {
  const dir = mkdtempSync(join(tmpdir(), 'tracegrade-store-'));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Tests of the store run twice: in the project `integration` embedded, in `clickhouse` over HTTP. */
const server = inject('clickhouse') as string | undefined;

/** A test of what only the embedded store has. */
export const embeddedTest = test.skipIf(server !== undefined);

/** A place for a new store: a directory, or a database on the server; removed after the test. */
export function freshPlace(atEnd: AtEnd = onTestFinished): StoreConfig {
  const dataDir = temporaryDir(atEnd);
  if (server === undefined) return { url: 'embedded', database: 'tracegrade', dataDir };
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  const { origin, username, password } = new URL(server);
  const credentials = username === '' ? {} : { username, password: decodeURIComponent(password) };
  const config = { url: origin, database, dataDir, ...credentials };
  atEnd(async () => {
    const engine = await openEngine(config, ENGINE_DEPS);
    await engine.command(`DROP DATABASE IF EXISTS ${database} SYNC`);
    await engine.close();
  });
  return config;
}

/** A store, and beside it what it does not let others do: change its tables. */
export interface TestStore extends Store {
  readonly config: StoreConfig;
  command(sql: string): Promise<void>;
}

/** A new store with its tables; closed and removed after the test. `{db}` stands for its database. */
export async function freshStore(
  changes: Partial<StoreConfig> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<TestStore> {
  const config = { ...freshPlace(atEnd), ...changes };
  const store = await openStore(config, ENGINE_DEPS);
  const engine = await openEngine(config, ENGINE_DEPS);
  atEnd(async () => {
    await engine.close();
    await store.close();
  });
  await store.migrate();
  return { ...store, config, command: (sql) => engine.command(sql.replaceAll('{db}', config.database)) };
}

export interface Turn extends Partial<Interaction> {
  /** 1 .. 65535: which trace. */
  readonly trace: number;
  /** 1 .. 65535: which root; default 1. */
  readonly root?: number;
  readonly at?: string;
  readonly seconds?: number;
}

/** An interaction of a numbered trace, from `at` (UTC) for some seconds. */
export function turn({ trace, root = 1, at = '2026-11-30T09:00:00Z', seconds = 10, ...changes }: Turn): Interaction {
  const traceId = `${'a'.repeat(28)}${trace.toString(16).padStart(4, '0')}`;
  const rootSpanId = `${'b'.repeat(12)}${root.toString(16).padStart(4, '0')}`;
  const startedAtMs = Date.parse(at);
  const times = { startedAtMs, endedAtMs: startedAtMs + seconds * 1_000 };
  return interaction([], { interactionId: `${traceId}-${rootSpanId}`, traceId, rootSpanId, ...times, ...changes });
}

export function graded(of: Interaction, changes: Partial<Verdict> = {}): Graded {
  const verdict: Verdict = {
    interactionId: of.interactionId,
    policy: 'policy-1',
    label: 'correct',
    neutral: false,
    leftOut: false,
    outstanding: 0,
    scores: [
      {
        kind: 'scored',
        criterion: 'tools',
        value: 1,
        passed: true,
        decidedBy: 'rule',
        reason: 'all made',
        details: {},
      },
    ],
    ...changes,
  };
  return { interaction: of, verdict };
}

/** Writes one after the other, each in an insert of its own, as they would come over time. */
export async function writeInTurn(writer: StoreWriter, rows: readonly Graded[]): Promise<void> {
  for (const row of rows) {
    const written = writer.write(row);
    writer.flush();
    const outcome = await written;
    if (outcome.status !== 'ok') throw new Error(`ok expected, got ${outcome.status}`);
  }
}
