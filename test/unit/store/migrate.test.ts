import { describe, expect, test } from 'vitest';

import { readMigrations, renderStatements } from '../../../src/store/migrate.js';

describe('readMigrations', () => {
  test('numbers them from 1 without gaps', async () => {
    const migrations = await readMigrations();

    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, index) => index + 1));
    for (const { checksum } of migrations) expect(checksum).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('renderStatements', () => {
  const template = [
    '-- a remark; with a semicolon',
    "CREATE TABLE IF NOT EXISTS {{db}}.t {{onCluster}} (a String COMMENT 'x; y')",
    'ENGINE = {{engine ReplacingMergeTree(revision)}} SETTINGS {{settings}};',
    '',
    'SELECT 1;',
  ].join('\n');

  test('makes tables that are on disk when an insert is acknowledged, for the embedded engine', () => {
    expect(renderStatements(template, { database: 'd', kind: 'embedded' })).toEqual([
      "CREATE TABLE IF NOT EXISTS `d`.t  (a String COMMENT 'x; y')\n" +
        'ENGINE = ReplacingMergeTree(revision) SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, ' +
        'non_replicated_deduplication_window = 1000',
      'SELECT 1',
    ]);
  });

  test('makes replicated tables on every server of a named cluster', () => {
    expect(renderStatements(template, { database: 'd', kind: 'server', cluster: 'c' })[0]).toBe(
      "CREATE TABLE IF NOT EXISTS `d`.t ON CLUSTER `c` (a String COMMENT 'x; y')\n" +
        'ENGINE = ReplicatedReplacingMergeTree(revision) SETTINGS replicated_deduplication_window = 1000',
    );
  });

  test('refuses a placeholder that it does not know', () => {
    expect(() => renderStatements('{{nonsense}}', { database: 'd', kind: 'server' })).toThrow(/got {{nonsense}}/);
  });
});
