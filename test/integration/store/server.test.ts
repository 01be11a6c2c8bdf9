import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';

import { openStore } from '../../../src/store/clickhouse.js';
import { ENGINE_DEPS, graded, temporaryDir, turn, WRITER_DEPS } from '../../support/store.js';

interface Request {
  readonly sql: string;
  readonly body: string;
  readonly settings: URLSearchParams;
}

type Reaction = 'take' | 'unavailable' | 'cut' | 'full';

/** What stands in for a server that is in trouble: it reads a request whole, and then does as it is told. */
async function troubledServer(reactions: Reaction[]) {
  const requests: Request[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const settings = new URL(request.url ?? '/', 'http://x').searchParams;
      const body = Buffer.concat(chunks).toString('utf8');
      requests.push({ sql: settings.get('query') ?? body, body, settings });
      const reaction = reactions.shift() ?? 'take';
      if (reaction === 'cut') return request.socket.destroy();
      if (reaction === 'unavailable') return response.writeHead(503).end('<html>no upstream</html>');
      if (reaction === 'full') {
        const text = 'Code: 252. DB::Exception: Too many parts (3000). (TOO_MANY_PARTS) (version 26.7.2.1)';
        return response.writeHead(500, { 'X-ClickHouse-Exception-Code': '252' }).end(text);
      }
      return response.writeHead(200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const config = {
    url: `http://127.0.0.1:${port}`,
    database: 'grades',
    username: 'u',
    password: 'p',
    dataDir: temporaryDir(),
  };
  const store = await openStore(config, ENGINE_DEPS);
  onTestFinished(() => store.close());
  return { store, requests };
}

const QUICK = { backoff: { firstMs: 1, maxMs: 5 } };

test('rows wait out a server that is away, cut off or full, under the same token, and are acknowledged once', async () => {
  const { store, requests } = await troubledServer(['unavailable', 'cut', 'full', 'cut', 'take', 'cut', 'take']);
  const retried: unknown[] = [];
  const writer = store.writer(
    { ...WRITER_DEPS, on: { batchRetried: ({ table, attempt }) => retried.push([table, attempt]) } },
    QUICK,
  );

  const written = writer.write(graded(turn({ trace: 1 })));
  writer.flush();
  const outcome = await written;
  await writer.close({ drainMs: 1_000 });

  expect(outcome).toEqual({ status: 'ok' });
  expect(retried).toEqual([
    ['interactions', 1],
    ['interactions', 2],
    ['interactions', 3],
    ['interactions', 4],
    ['verdicts', 1],
  ]);
  const statements = requests.map(({ sql }) => sql);
  expect(new Set(statements.slice(0, 5)).size).toBe(1);
  expect(new Set(statements.slice(5)).size).toBe(1);
  expect(new Set(requests.slice(0, 5).map(({ body }) => body)).size).toBe(1);
  expect(statements[0]).toMatch(
    /^INSERT INTO `grades`\.`interactions` \(`interaction_id`, .*\) SETTINGS insert_deduplication_token = '[\w-]+', .*async_insert = 0.* FORMAT JSONCompactEachRow$/,
  );
  expect(statements[6]).toContain('`grades`.`verdicts`');
});

test('a question is asked read-only, with its limits, in the database of the store', async () => {
  const { store, requests } = await troubledServer([]);

  const outcome = await store.query('SELECT 1', { format: 'CSV', maxSeconds: 7, maxRows: 8, maxBytes: 9 });
  if (outcome.status === 'ok') for await (const _ of outcome.body);

  expect(outcome.status).toBe('ok');
  expect(Object.fromEntries(requests[0]?.settings ?? [])).toMatchObject({
    database: 'grades',
    readonly: '1',
    max_execution_time: '7',
    max_result_rows: '8',
    max_result_bytes: '9',
    default_format: 'CSV',
  });
});

test('a server that is not there is a failure that says so, and no exception', async () => {
  const dataDir = temporaryDir();
  const store = await openStore({ url: 'http://127.0.0.1:9', database: 'grades', dataDir }, ENGINE_DEPS);

  const away = await store.ping();
  const outcome = await store.query('SELECT 1');
  await store.close();

  expect(away).toBeInstanceOf(Error);
  expect(outcome.status).toBe('failed');
});
