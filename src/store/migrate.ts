import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import type { Engine } from './engine.js';
import { MigrationError } from './errors.js';

/** What differs between the places where the tables can live. */
export interface MigrationTarget {
  readonly database: string;
  readonly kind: 'embedded' | 'server';
  readonly cluster?: string;
}

export interface Migration {
  /** 1, 2, 3, ... without gaps. */
  readonly version: number;
  /** File name without its ending: `001_facts_and_verdicts`. */
  readonly name: string;
  /** With placeholders in it. */
  readonly template: string;
  /** SHA-256 of the template, so that it is the same for every target. */
  readonly checksum: string;
}

export interface MigrationReport {
  /** Names of those applied now; in a dry run, of those that would be. */
  readonly applied: readonly string[];
  /** Version of the database afterwards; in a dry run, now. */
  readonly version: number;
}

/** Reads the SQL files that stand beside this module, in order of version. */
export async function readMigrations(folder = new URL('./migrations/', import.meta.url)): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{3}_\w+\.sql$/.test(file)).sort();
  return Promise.all(
    files.map(async (file, index) => {
      const version = Number(file.slice(0, 3));
      if (version !== index + 1) throw new MigrationError(`migration ${index + 1} expected, got the file ${file}`);
      const template = (await readFile(new URL(file, folder), 'utf8')).replaceAll('\r\n', '\n');
      const checksum = createHash('sha256').update(template).digest('hex');
      return { version, name: file.slice(0, -'.sql'.length), template, checksum };
    }),
  );
}

/**
 * The statements of a migration for one target. A statement ends with a semicolon at the end of a line.
 * @throws MigrationError for a placeholder that is none.
 */
export function renderStatements(template: string, target: MigrationTarget): string[] {
  const replicated = target.cluster !== undefined;
  const settings = [
    // The spool lets go of its entry after the insert, so the embedded engine must have it on disk by then.
    ...(target.kind === 'embedded' ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : []),
    // How many inserts back a repeated token is recognised.
    `${replicated ? 'replicated' : 'non_replicated'}_deduplication_window = 1000`,
  ].join(', ');
  const text = template
    .split('\n')
    .filter((line) => !line.startsWith('--'))
    .join('\n')
    .replaceAll(/\{\{([^}]*)\}\}/g, (_, placeholder: string) => {
      if (placeholder === 'db') return `\`${target.database}\``;
      if (placeholder === 'onCluster') return onCluster(target);
      if (placeholder === 'settings') return settings;
      const engine = /^engine (\w+\(\w*\))$/.exec(placeholder)?.[1];
      if (engine !== undefined) return replicated ? `Replicated${engine}` : engine;
      throw new MigrationError(`one of db, onCluster, settings, engine X() expected, got {{${placeholder}}}`);
    });
  return text
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/**
 * Brings the database to the version of this program.
 *
 * Two processes may do so at once: every statement can be repeated (IF NOT EXISTS), and both record the same row, which
 * merges into one. A run that was cut off leaves no record of its unfinished migration and starts it again.
 *
 * @throws MigrationError when an applied migration's text has changed since, or the database is newer than the program.
 */
export async function migrate(
  engine: Engine,
  migrations: readonly Migration[],
  options: { readonly cluster?: string; readonly dryRun?: boolean } = {},
): Promise<MigrationReport> {
  const target: MigrationTarget = {
    database: engine.database,
    kind: engine.kind,
    ...(options.cluster === undefined ? {} : { cluster: options.cluster }),
  };
  const done = await appliedMigrations(engine);
  const version = Math.max(0, ...done.map((row) => row.version));
  checkHistory(done, migrations, engine.database);

  const known = new Set(done.map((row) => row.version));
  const due = migrations.filter((migration) => !known.has(migration.version));
  if (options.dryRun === true || due.length === 0) return { applied: due.map(({ name }) => name), version };

  await createDatabase(engine, target);
  for (const migration of due) {
    for (const statement of renderStatements(migration.template, target)) await engine.command(statement);
    await engine.insert(
      'schema_migrations',
      ['version', 'name', 'checksum'],
      [JSON.stringify([migration.version, migration.name, migration.checksum])],
      // Of two processes at once, the second one's row is a repetition.
      `migration-${migration.version}-${migration.checksum}`,
    );
  }
  return { applied: due.map(({ name }) => name), version: Math.max(version, ...due.map((each) => each.version)) };
}

/** Tables that age, and the column that tells a row's age. */
const AGEING: readonly (readonly [table: string, column: string])[] = [
  ['interactions', 'started_at'],
  ['verdicts', 'started_at'],
  ['open_tops', 'started_at'],
  ['rejections', 'at'],
  ['conversations', 'started_at'],
  ['conversation_index', 'started_at'],
  ['trials', 'first_closed_at'],
  ['estimates', 'at'],
  ['comparisons', 'at'],
  ['rollup_ticks', 'at'],
];

/**
 * Makes rows live for `ttlDays` days (null: for ever). Not a migration, because an operator may change it any day;
 * a table that has it already is left alone, since changing it rewrites parts.
 */
export async function applyRetention(engine: Engine, ttlDays: number | null, cluster?: string): Promise<void> {
  const tables = await engine.rows(
    'SELECT name, create_table_query AS sql FROM system.tables WHERE database = {db:String}',
    { db: engine.database },
  );
  for (const [table, column] of AGEING) {
    const sql = tables.find((row) => row['name'] === table)?.['sql'];
    if (typeof sql !== 'string') continue;
    const now = /TTL .*?toIntervalDay\((\d+)\)/.exec(sql)?.[1];
    if ((now === undefined ? null : Number(now)) === ttlDays) continue;

    const change =
      ttlDays === null ? 'REMOVE TTL' : `MODIFY TTL toDateTime(${column}) + INTERVAL ${Math.trunc(ttlDays)} DAY`;
    const where = cluster === undefined ? '' : `ON CLUSTER \`${cluster}\``;
    await engine.command(`ALTER TABLE \`${engine.database}\`.${table} ${where} ${change}`);
  }
}

interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

async function appliedMigrations(engine: Engine): Promise<AppliedMigration[]> {
  const [table] = await engine.rows(
    "SELECT name FROM system.tables WHERE database = {db:String} AND name = 'schema_migrations'",
    { db: engine.database },
  );
  if (table === undefined) return [];
  const rows = await engine.rows(
    `SELECT DISTINCT version, name, checksum FROM \`${engine.database}\`.schema_migrations ORDER BY version`,
  );
  return rows.map((row) => ({
    version: Number(row['version']),
    name: String(row['name']),
    checksum: String(row['checksum']),
  }));
}

function checkHistory(done: readonly AppliedMigration[], migrations: readonly Migration[], database: string): void {
  const newest = migrations.at(-1)?.version ?? 0;
  for (const row of done) {
    const ours = migrations.find((migration) => migration.version === row.version);
    if (ours === undefined) {
      throw new MigrationError(
        `database ${database}: schema version ${newest} or older expected, got ${row.version} (${row.name}): ` +
          'it was made by a newer tracegrade, which has to be used',
      );
    }
    if (ours.checksum !== row.checksum) {
      throw new MigrationError(
        `database ${database}: migration ${ours.name} with checksum ${ours.checksum.slice(0, 12)} expected, ` +
          `got ${row.checksum.slice(0, 12)}: its text has changed since it was applied`,
      );
    }
  }
}

async function createDatabase(engine: Engine, target: MigrationTarget): Promise<void> {
  const [found] = await engine.rows('SELECT name FROM system.databases WHERE name = {db:String}', {
    db: target.database,
  });
  // Asked first, because a user of a server may be allowed to fill a database and not to make one.
  if (found === undefined) {
    await engine.command(`CREATE DATABASE IF NOT EXISTS \`${target.database}\` ${onCluster(target)}`);
  }
  for (const statement of renderStatements(MIGRATIONS_TABLE, target)) await engine.command(statement);
}

function onCluster(target: MigrationTarget): string {
  return target.cluster === undefined ? '' : `ON CLUSTER \`${target.cluster}\``;
}

const MIGRATIONS_TABLE = `
CREATE TABLE IF NOT EXISTS {{db}}.schema_migrations {{onCluster}}
(
    \`version\` UInt32 COMMENT 'number of the migration, from 1',
    \`name\` String COMMENT 'file name of the migration without its ending',
    \`checksum\` String COMMENT 'SHA-256 of its text',
    \`applied_at\` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when it was applied, by the clock of the store'
)
ENGINE = {{engine ReplacingMergeTree()}}
ORDER BY version
SETTINGS {{settings}}
COMMENT 'Migrations of this database that have been applied.';
`;
