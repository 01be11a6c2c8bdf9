import { expect, test } from 'vitest';

import { openStore } from '../../../src/store/clickhouse.js';
import { openEngine } from '../../../src/store/engine.js';
import { MigrationError } from '../../../src/store/errors.js';
import { insertColumn } from '../../../src/store/insert-columns.js';
import { applyRetention, migrate, readMigrations, renderStatements } from '../../../src/store/migrate.js';
import { ROW_CODES, WAIT_CODES } from '../../../src/store/retry.js';
import { embeddedTest, ENGINE_DEPS, freshPlace, freshStore, temporaryDir } from '../../support/store.js';

async function freshEngine() {
  return openEngine(freshPlace(), ENGINE_DEPS);
}

test('makes the tables once, and says what it did', async () => {
  const engine = await freshEngine();
  const migrations = await readMigrations();
  const names = migrations.map(({ name }) => name);

  const dryRun = await migrate(engine, migrations, { dryRun: true });
  const untouched = await engine.rows(`SELECT name FROM system.databases WHERE name = '${engine.database}'`);
  const first = await migrate(engine, migrations);
  const second = await migrate(engine, migrations);
  const recorded = await engine.rows(
    `SELECT version, name, checksum FROM ${engine.database}.schema_migrations ORDER BY version`,
  );
  await engine.close();

  expect(dryRun).toEqual({ applied: names, version: 0 });
  expect(untouched).toEqual([]);
  expect(first).toEqual({ applied: names, version: names.length });
  expect(second).toEqual({ applied: [], version: names.length });
  expect(recorded).toEqual(migrations.map(({ version, name, checksum }) => ({ version, name, checksum })));
});

test('two at once end as one', async () => {
  const engine = await freshEngine();
  const migrations = await readMigrations();

  await Promise.all([migrate(engine, migrations), migrate(engine, migrations)]);
  const after = await migrate(engine, migrations);
  const recorded = await engine.rows(`SELECT version FROM ${engine.database}.schema_migrations FINAL ORDER BY version`);
  await engine.close();

  expect(after.applied).toEqual([]);
  expect(recorded.map((row) => row['version'])).toEqual(migrations.map(({ version }) => version));
});

test('a run that was cut off goes on where it stopped', async () => {
  const engine = await freshEngine();
  const migrations = await readMigrations();
  const target = { database: engine.database, kind: engine.kind };
  await migrate(engine, []);
  await engine.command(`CREATE DATABASE IF NOT EXISTS ${engine.database}`);
  const [firstStatement] = renderStatements(migrations[0]?.template ?? '', target);
  await engine.command(firstStatement ?? '');

  const report = await migrate(engine, migrations);
  await engine.close();

  expect(report.applied).toHaveLength(migrations.length);
});

test('refuses a migration whose text has changed, and a database that is newer', async () => {
  const engine = await freshEngine();
  const migrations = await readMigrations();
  await migrate(engine, migrations);
  const changed = migrations.map((each, index) => (index === 0 ? { ...each, checksum: 'f'.repeat(64) } : each));

  const refusals = await Promise.allSettled([migrate(engine, changed), migrate(engine, migrations.slice(0, 1))]);
  await engine.close();

  const reasons = refusals.map((each) => (each.status === 'rejected' ? (each.reason as Error) : undefined));
  expect(reasons.every((reason) => reason instanceof MigrationError)).toBe(true);
  expect(reasons[0]?.message).toMatch(/migration 001_\w+ with checksum ffffffffffff expected, got [0-9a-f]{12}/);
  expect(reasons[1]?.message).toMatch(/schema version 1 or older expected, got 2 .*newer tracegrade/);
});

test('documents every column of every table', async () => {
  const store = await freshStore();
  const { database } = store.config;

  const undocumented = await store.rows(
    `SELECT table, name FROM system.columns WHERE database = '${database}' AND comment = '' ` +
      `AND table IN (SELECT name FROM system.tables WHERE database = '${database}' AND engine LIKE '%MergeTree')`,
  );
  const unexplained = await store.rows(
    `SELECT name FROM system.tables WHERE database = '${database}' AND comment = '' AND engine != 'MaterializedView'`,
  );

  expect(undocumented).toEqual([]);
  expect(unexplained).toEqual([]);
});

test('rows go into the tables that take thousands of them by text columns, and by no LowCardinality one', async () => {
  const store = await freshStore();
  const columns = await store.rows(
    `SELECT table, name, type FROM system.columns WHERE database = '${store.config.database}' ` +
      "AND table IN ('interactions', 'verdicts', 'estimates', 'comparisons')",
  );
  const names = new Set(columns.map(({ table, name }) => `${String(table)} ${String(name)}`));

  const direct = columns.filter(({ table, name, type }) => {
    const by = insertColumn(String(table), String(name));
    const wanted = String(type).includes('LowCardinality') ? `${String(name)}_text` : name;
    return by !== wanted || !names.has(`${String(table)} ${by}`);
  });

  expect(direct).toEqual([]);
});

embeddedTest('syncs every insert into the embedded tables to disk', async () => {
  const store = await freshStore();

  const tables = await store.rows(
    "SELECT name, engine_full FROM system.tables WHERE database = 'tracegrade' AND engine LIKE '%MergeTree'",
  );

  expect(tables.map((row) => row['name'])).toEqual(
    expect.arrayContaining([
      'alerts',
      'comparisons',
      'conversation_index',
      'conversations',
      'detector_state',
      'estimates',
      'heartbeats',
      'interactions',
      'policies',
      'rejections',
      'rollup_ticks',
      'schema_migrations',
      'series_starts',
      'trials',
      'verdicts',
    ]),
  );
  for (const row of tables) {
    expect(row['engine_full']).toContain('fsync_after_insert = 1, fsync_part_directory = 1');
  }
});

test('writes SQL for a cluster that the engine can read (there is no cluster here to run it)', async () => {
  const engine = await freshEngine();
  const target = { database: 'tracegrade', kind: 'server', cluster: 'main' } as const;

  for (const { template } of await readMigrations()) {
    for (const statement of renderStatements(template, target)) {
      // What is inserted the tables replicate by themselves.
      if (!statement.startsWith('INSERT')) expect(statement).toContain('ON CLUSTER `main`');
      await engine.command(`EXPLAIN AST ${statement}`);
    }
  }
  await engine.close();
});

test('gives rows the age that is configured, changes it, and takes it back', async () => {
  const engine = await freshEngine();
  await migrate(engine, await readMigrations());
  const ages = async () => {
    const rows = await engine.rows(
      "SELECT name, extract(create_table_query, 'toIntervalDay\\\\((\\\\d+)\\\\)') AS days FROM system.tables " +
        `WHERE database = '${engine.database}' AND name IN ('interactions', 'verdicts', 'open_tops', 'rejections') ORDER BY name`,
    );
    return rows.map((row) => row['days']);
  };

  await applyRetention(engine, null);
  const forever = await ages();
  await applyRetention(engine, 30);
  const thirty = await ages();
  await applyRetention(engine, 7);
  const seven = await ages();
  await applyRetention(engine, null);
  const again = await ages();
  await engine.close();

  expect(forever).toEqual(['', '', '', '']);
  expect(thirty).toEqual(['30', '30', '30', '30']);
  expect(seven).toEqual(['7', '7', '7', '7']);
  expect(again).toEqual(['', '', '', '']);
});

test('knows the codes by the names that the engine gives them', async () => {
  const engine = await freshEngine();
  const known = { ...WAIT_CODES, ...ROW_CODES };

  const rows = await engine.rows('SELECT arrayMap(code -> errorCodeToName(code), {codes:Array(UInt32)}) AS names', {
    codes: Object.keys(known).map(Number),
  });
  await engine.close();

  expect(rows[0]?.['names']).toEqual(Object.values(known));
});

test('refuses a database whose name is no identifier, and a URL that is none', async () => {
  const dataDir = temporaryDir();

  await expect(openStore({ url: 'embedded', database: 'a`; DROP', dataDir }, ENGINE_DEPS)).rejects.toThrow(TypeError);
  await expect(openStore({ url: 'ftp://x', database: 'a', dataDir }, ENGINE_DEPS)).rejects.toThrow(
    /http\(s\) URL expected/,
  );
});
