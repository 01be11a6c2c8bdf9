import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { describe, expect, onTestFinished, test } from 'vitest';

import { openStore } from '../../../src/store/clickhouse.js';
import { createClickHouse } from '../../support/clickhouse-http.mjs';
import { ENGINE_DEPS, graded, temporaryDir, turn, WRITER_DEPS } from '../../support/store.js';

const USERS = [
  { name: 'default', password: '' },
  { name: 'writer', password: 'for-tests-only' },
  { name: 'reader', password: 'for-tests-only', readonly: 1 as const },
];

async function running() {
  const clickhouse = await createClickHouse({ users: USERS });
  onTestFinished(() => clickhouse.remove());
  await clickhouse.start();
  return clickhouse;
}

function client(url: string, settings: Parameters<typeof createClient>[0] = {}): ClickHouseClient {
  const made = createClient({ url, log: { level: 127 }, ...settings });
  onTestFinished(() => made.close());
  return made;
}

function deferred() {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** The name of the error, or `ok`. */
async function typeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'ok',
    (error: { type?: string; code?: string }) => error.type ?? error.code,
  );
}

test('answers the client as a server does, whatever way it sends', async () => {
  const { url } = await running();
  const plain = client(url);
  const zipped = client(url, { compression: { request: true, response: true } });
  const odd = "it's\ta \\ line\nand é";

  await plain.command({ query: 'CREATE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n' });
  await plain.insert({ table: 't', values: [{ n: 1, s: odd }], format: 'JSONEachRow' });
  await zipped.insert({ table: 't', values: [[2, 'b']], format: 'JSONCompactEachRow' });
  const asked = {
    query: 'SELECT n FROM t WHERE s = {s:String}',
    query_params: { s: odd },
    format: 'JSONEachRow',
  } as const;
  const byUrl = await (await plain.query(asked)).json();
  const byForm = await (await plain.query({ ...asked, use_multipart_params: true })).json();
  const byZip = await (await zipped.query({ ...asked, query_params: { s: 'b' } })).json();
  const byGet = await fetch(`${url}/?query=SELECT%20count()%20FROM%20t`);
  const byBoth = await fetch(`${url}/?query=SELECT%20count()&database=system`, { method: 'POST', body: ' FROM one' });

  expect([byUrl, byForm, byZip]).toEqual([[{ n: 1 }], [{ n: 1 }], [{ n: 2 }]]);
  expect([await byGet.text(), await byBoth.text()]).toEqual(['2\n', '1\n']);
  expect(byGet.headers.get('x-clickhouse-query-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect((await plain.ping()).success).toBe(true);
});

test('fails as a server does: code, type and status', async () => {
  const { url } = await running();
  const plain = client(url);
  const raw = await fetch(url, { method: 'POST', body: 'SELECT nothing' });
  const written = await fetch(`${url}/?query=CREATE%20DATABASE%20d`);

  expect([raw.status, raw.headers.get('x-clickhouse-exception-code')]).toEqual([404, '47']);
  expect(await raw.text()).toMatch(/^Code: 47\. DB::Exception: .*\(UNKNOWN_IDENTIFIER\)/);
  // A GET only reads.
  expect([written.status, written.headers.get('x-clickhouse-exception-code')]).toEqual([500, '164']);
  expect(await typeOf(plain.query({ query: 'SELECT 1; SELECT 2' }))).toBe('SYNTAX_ERROR');
  expect(await typeOf(client(url, { database: 'nowhere' }).query({ query: 'SELECT 1' }))).toBe('UNKNOWN_DATABASE');
  expect(await typeOf(plain.command({ query: 'SELECT 1', clickhouse_settings: { nonsense: 1 } }))).toBe(
    'UNKNOWN_SETTING',
  );
});

test('settings of one request are gone with it', async () => {
  const { url } = await running();
  const plain = client(url);

  await plain.command({ query: 'SELECT 1', clickhouse_settings: { readonly: '1', max_result_rows: '1' } });

  expect(await typeOf(plain.command({ query: 'CREATE DATABASE d' }))).toBe('ok');
  expect(await typeOf(plain.query({ query: 'SELECT * FROM numbers(2)' }))).toBe('ok');
});

test('lets in who has the password; a reader only reads', async () => {
  const { url } = await running();
  const as = (username: string, password: string) => client(url, { username, password });

  expect(await typeOf(as('writer', 'for-tests-only').command({ query: 'CREATE DATABASE d' }))).toBe('ok');
  expect(await typeOf(as('writer', 'wrong').query({ query: 'SELECT 1' }))).toBe('AUTHENTICATION_FAILED');
  expect(await typeOf(as('nobody', '').query({ query: 'SELECT 1' }))).toBe('AUTHENTICATION_FAILED');
  expect(await typeOf(as('reader', 'for-tests-only').query({ query: 'SELECT 1' }))).toBe('ok');
  expect(await typeOf(as('reader', 'for-tests-only').command({ query: 'DROP DATABASE d' }))).toBe('READONLY');
});

describe('rows reach the store once', () => {
  async function writing() {
    const clickhouse = await running();
    const config = { url: clickhouse.url, database: 'grades', dataDir: temporaryDir(), requestTimeoutMs: 1_000 };
    const store = await openStore(config, ENGINE_DEPS);
    onTestFinished(() => store.close());
    await store.migrate();
    const { promise: retry, resolve } = deferred();
    const on = { batchRetried: resolve };
    const writer = store.writer({ ...WRITER_DEPS, on }, { batchMs: 1, backoff: { firstMs: 10, maxMs: 100 } });
    const count = async () => {
      const [row] = await store.rows(
        'SELECT (SELECT count() FROM {db}.interactions) AS n, (SELECT count() FROM {db}.verdicts) AS v',
      );
      return row;
    };
    return { clickhouse, writer, count, retry };
  }

  test('when the server refuses, and when it hangs, until it is well again', async () => {
    const { clickhouse, writer, count } = await writing();

    await clickhouse.fault('refuse', 3);
    const first = await writer.write(graded(turn({ trace: 1 })));
    await clickhouse.fault('hang', 1);
    const second = await writer.write(graded(turn({ trace: 2 })));
    await clickhouse.fault('none');

    expect([first.status, second.status]).toEqual(['ok', 'ok']);
    expect(await count()).toEqual({ n: 2, v: 2 });
  });

  test('when the connection is cut after the insert', async () => {
    const { clickhouse, writer, count } = await writing();

    await clickhouse.fault('cut', 2);
    const outcome = await writer.write(graded(turn({ trace: 1 })));

    expect(outcome.status).toBe('ok');
    expect(await count()).toEqual({ n: 1, v: 1 });
  });

  test('when the server is killed and comes back', async () => {
    const { clickhouse, writer, count, retry } = await writing();
    const before = await writer.write(graded(turn({ trace: 1 })));

    await clickhouse.kill();
    const after = writer.write(graded(turn({ trace: 2 })));
    await retry;
    await clickhouse.start();

    expect([before.status, (await after).status]).toEqual(['ok', 'ok']);
    expect(await count()).toEqual({ n: 2, v: 2 });
  });
});
