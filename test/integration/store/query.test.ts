import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { Store } from '../../../src/store/clickhouse.js';
import type { QueryOptions } from '../../../src/store/query.js';
import { embeddedTest, freshStore, graded, temporaryDir, turn, WRITER_DEPS, writeInTurn } from '../../support/store.js';

/** The text of the answer, or the name of the error. */
async function ask(store: Store, sql: string, options: Partial<QueryOptions> = {}): Promise<string> {
  const outcome = await store.query(sql, options);
  if (outcome.status !== 'ok') return outcome.status === 'refused' ? outcome.type : outcome.cause.message;
  const chunks: string[] = [];
  for await (const chunk of outcome.body) chunks.push(Buffer.from(chunk).toString('utf8'));
  return chunks.join('');
}

async function storeWithOneRow() {
  const store = await freshStore();
  await writeInTurn(store.writer(WRITER_DEPS), [graded(turn({ trace: 1, query: 'into outfile; KILL QUERY' }))]);
  return store;
}

test('reads the views by their plain names, in the format that is asked for', async () => {
  const store = await storeWithOneRow();

  expect(await ask(store, 'SELECT assistant_id FROM interactions_current')).toBe('{"assistant_id":"weather-agent"}\n');
  expect(await ask(store, 'SELECT 1 AS a, NULL AS b', { format: 'CSVWithNames' })).toBe('"a","b"\n1,\\N\n');
  expect(await ask(store, 'SELECT 1 AS a FORMAT JSONEachRow;', { format: 'CSV' })).toBe('{"a":1}\n');
  expect(await ask(store, 'SELECT 1 AS a', { format: 'PrettyCompact' })).toContain('┌─a─┐');
  expect(await ask(store, '-- who\nWITH 1 AS one SELECT one', { format: 'CSV' })).toBe('1\n');
  expect(
    await ask(store, "SELECT count() FROM interactions WHERE query = 'into outfile; KILL QUERY'", { format: 'CSV' }),
  ).toBe('1\n');
  expect(await ask(store, 'SHOW TABLES', { format: 'CSV' })).toContain('"verdicts_current"');
  expect(await ask(store, 'DESCRIBE TABLE verdicts_current', { format: 'CSV' })).toContain('"scores.criterion"');
});

test('refuses whatever changes something, and nothing has changed', async () => {
  const store = await storeWithOneRow();
  const file = join(temporaryDir(), 'out.csv');
  const refused = [
    "INSERT INTO rejections (at, source) VALUES (now(), 'x')",
    'DROP TABLE interactions',
    'ALTER TABLE interactions DELETE WHERE 1',
    'TRUNCATE TABLE interactions',
    'CREATE TABLE t (a Int8) ENGINE = Memory',
    'SET readonly = 0',
    'SELECT 1 SETTINGS readonly = 0',
    'SELECT 1 SETTINGS max_result_rows = 5',
    'OPTIMIZE TABLE interactions FINAL',
    'SYSTEM SHUTDOWN',
    "SELECT * FROM file('/etc/hostname', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    `INSERT INTO FUNCTION file('${file}') SELECT 1`,
  ];

  for (const sql of refused) expect([sql, await ask(store, sql)]).toEqual([sql, 'READONLY']);
  expect(await ask(store, 'SELECT 1; DROP TABLE interactions')).toBe('SYNTAX_ERROR');
  expect(existsSync(file)).toBe(false);
  expect(await ask(store, 'SELECT count() FROM interactions', { format: 'CSV' })).toBe('1\n');
});

embeddedTest('refuses what the embedded engine allows although it only reads', async () => {
  const store = await freshStore();
  const file = join(temporaryDir(), 'out.csv');
  const refused = [
    'USE system',
    'KILL QUERY WHERE 1',
    `SELECT 1 INTO OUTFILE '${file}'`,
    `SELECT 1 INTO/* */OUTFILE '${file}'`,
    `SELECT 'a''b' INTO OUTFILE '${file}'`,
    `EXPLAIN SELECT 1 INTO OUTFILE '${file}'`,
  ];

  for (const sql of refused) expect([sql, await ask(store, sql)]).toEqual([sql, 'READONLY']);
  expect(existsSync(file)).toBe(false);
});

embeddedTest('refuses functions that reach beyond the store, by whatever name they are called', async () => {
  const store = await freshStore();
  const dir = temporaryDir();

  for (const sql of [
    "SELECT file('/etc/hostname')",
    "SELECT FILE('/etc/hostname')",
    "SELECT `file`('/etc/hostname')",
    "SELECT 1 WHERE length(file('/etc/hostname')) > 0",
    "DESCRIBE file('/etc/hostname', 'LineAsString')",
    "DESCRIBE url('http://127.0.0.1:9/x', 'CSV')",
    "DESCRIBE mysql('127.0.0.1:9', 'a', 'b', 'c', 'd')",
    `SELECT * FROM sqlite('${dir}/made.db', 't')`,
    `EXPLAIN SELECT * FROM sqlite('${dir}/made.db', 't')`,
    "WITH (SELECT file('/etc/hostname')) AS x SELECT x",
    "SELECT * FROM (SELECT * FROM s3('http://127.0.0.1:9/b/k'))",
  ]) {
    expect([sql, await ask(store, sql)]).toEqual([sql, 'READONLY']);
  }
  expect(readdirSync(dir)).toEqual([]);
  // A text that only looks like a call, and what stays in the store.
  expect(await ask(store, "SELECT 'file(1)' AS file FROM numbers(1)", { format: 'CSV' })).toBe('"file(1)"\n');
});

test('a limit that is reached is an error, never a cut', async () => {
  const store = await freshStore();

  expect(await ask(store, 'SELECT * FROM numbers(11)', { maxRows: 10 })).toBe('TOO_MANY_ROWS_OR_BYTES');
  expect(await ask(store, "SELECT toString(number) || repeat('x', 1000) FROM numbers(100)", { maxBytes: 10_000 })).toBe(
    'TOO_MANY_ROWS_OR_BYTES',
  );
  expect(
    await ask(store, 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1', { maxSeconds: 1 }),
  ).toBe('TIMEOUT_EXCEEDED');
  expect(await ask(store, 'SELECT length(groupArray(number)) FROM numbers(100000000)', { maxMemoryBytes: 50e6 })).toBe(
    'MEMORY_LIMIT_EXCEEDED',
  );
});

test('says what is wrong with the SQL', async () => {
  const store = await freshStore();

  const outcome = await store.query('SELECT nothing FROM interactions_current');

  expect(outcome).toMatchObject({ status: 'refused', code: '47', type: 'UNKNOWN_IDENTIFIER' });
  expect(outcome.status === 'refused' && outcome.message).toContain('nothing');
  expect(await ask(store, 'SELEC 1')).toBe('SYNTAX_ERROR');
  expect(await ask(store, '')).toBe('SYNTAX_ERROR');
  expect(await ask(store, 'SELECT 1', { format: 'Nonsense' })).toBe('UNKNOWN_FORMAT');
});

test('leaves the store writable, also while questions are asked', async () => {
  const store = await freshStore();
  const writer = store.writer(WRITER_DEPS);

  const asked = Array.from({ length: 8 }, () => ask(store, 'SELECT sum(number) FROM numbers(1000)', { format: 'CSV' }));
  await writeInTurn(writer, [graded(turn({ trace: 1 })), graded(turn({ trace: 2 }))]);

  expect(await Promise.all(asked)).toEqual(asked.map(() => '499500\n'));
  expect(await ask(store, 'SELECT count() FROM interactions_current', { format: 'CSV' })).toBe('2\n');
});
