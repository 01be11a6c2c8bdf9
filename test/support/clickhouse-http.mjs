/**
 * ClickHouse's HTTP protocol over the embedded engine, as a process of its own: several processes of a test share one
 * store, through the client that users have, where no server can be installed.
 *
 * Like a server it takes the query from the URL, the body or a multipart form, `param_*`, settings, `database`, users
 * with Basic authentication, gzip both ways, and answers with the engine's own codes. Each request has a session of its
 * own, so nothing of it stays for the next. Other than a server:
 *
 * - an answer is sent when it is whole (as with `wait_end_of_query=1`), so no error comes after the first row;
 * - the summary counts rows read, not rows written; formats that are no text, `session_id` and `role` are refused;
 * - it can be told to misbehave: `POST /fault?kind=hang|refuse|cut|none`, see `fault` below.
 *
 * Its life: created -> `start` -> running -> `stop` or `kill` (-9) -> `start` again on the same port and data -> `remove`.
 *
 * As a program it serves until it is told to stop, and prints its address as a line of JSON:
 *
 *     node test/support/clickhouse-http.mjs [DIRECTORY] [PORT]
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, gzip, inflate } from 'node:zlib';

/**
 * @typedef {{ readonly name: string, readonly password: string, readonly readonly?: 0 | 1 | 2 }} User
 * @typedef {'none' | 'hang' | 'refuse' | 'cut'} Fault
 *
 * @typedef {object} ClickHouse
 * @property {string} url
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} stop
 * @property {() => Promise<void>} kill
 * @property {() => Promise<void>} remove Kills it and deletes its data.
 * @property {(kind: Fault, times?: number) => Promise<void>} fault
 *   `hang`: requests are taken and wait until the fault is over; `refuse`: 503, as from a proxy; `cut`: an INSERT is done
 *   and its connection cut in place of the answer. For the next `times` requests that it concerns; absent: until told.
 */

/** @type {readonly User[]} */
const DEFAULT_USERS = [{ name: 'default', password: '' }];

/**
 * @param {{ readonly users?: readonly User[] }} [options]
 * @returns {Promise<ClickHouse>} Not started yet.
 */
export async function createClickHouse({ users = DEFAULT_USERS } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'tracegrade-clickhouse-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  /** @type {import('node:child_process').ChildProcess | null} */
  let child = null;
  const killAtExit = () => child?.kill('SIGKILL');
  process.once('exit', killAtExit);

  async function end(signal) {
    const ending = child;
    if (ending === null) return;
    child = null;
    const gone = once(ending, 'exit');
    ending.kill(signal);
    await gone;
  }

  return {
    url,
    async start() {
      if (child !== null) return;
      // Queries run on libuv's pool; a server has more threads than its default of four.
      const env = { ...process.env, UV_THREADPOOL_SIZE: '16', TRACEGRADE_TEST_USERS: JSON.stringify(users) };
      const args = [fileURLToPath(import.meta.url), join(dir, 'clickhouse'), String(port)];
      const starting = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
      child = starting;
      const ended = once(starting, 'exit').then(([code]) => {
        if (child === starting) child = null;
        throw new Error(`clickhouse-http: it ended with ${code} while it started`);
      });
      await Promise.race([once(starting.stdout, 'data'), ended]);
      ended.catch(() => undefined);
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async remove() {
      await end('SIGKILL');
      process.off('exit', killAtExit);
      rmSync(dir, { recursive: true, force: true });
    },
    async fault(kind, times = Infinity) {
      const response = await fetch(`${url}/fault?kind=${kind}&times=${times}`, { method: 'POST' });
      if (!response.ok) throw new Error(`fault ${kind}: 200 expected, got ${response.status}`);
    },
  };
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await promisify(probe.close.bind(probe))();
  return port;
}

/** An error with one of ClickHouse's codes. */
class EngineError extends Error {
  constructor(code, type, text) {
    super(`Code: ${code}. DB::Exception: ${text}. (${type})`);
    this.engineCode = code;
  }
}

/** HTTP status by error code; all others are 500. Source: ClickHouse's exceptionCodeToHTTPStatus.cpp. */
const STATUS = new Map([
  ...[6, 7, 16, 25, 26, 27, 36, 38, 41, 44, 53, 62, 72, 117, 168, 321, 427, 675, 676, 677].map((code) => [code, 400]),
  [159, 408],
  [194, 401],
  ...[192, 193, 497, 512, 516].map((code) => [code, 403]),
  ...[46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 336].map((code) => [code, 404]),
  [48, 501],
  ...[76, 209, 439].map((code) => [code, 503]),
]);

/** What in the URL is no setting. */
const NO_SETTINGS = new Set([
  ...['query', 'database', 'user', 'password', 'query_id', 'default_format', 'wait_end_of_query', 'buffer_size'],
  ...['session_id', 'role', 'readonly', 'stacktrace', 'quota_key'],
]);

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate), br: promisify(brotliDecompress) };
const compress = promisify(gzip);

async function serve(dir, port, users) {
  const { Session, drainPending } = await import('chdb');
  const path = resolve(dir);
  // Held open as long as the process lives; it also reads queries before they are run.
  const base = new Session(path);
  let fault = { kind: 'none', left: Infinity };
  let faultOver = deferred();

  function setFault(kind, left) {
    faultOver.resolve();
    faultOver = deferred();
    fault = { kind, left };
  }

  /** Does the fault concern this request? Counts it. */
  function hit(kind) {
    if (fault.kind !== kind || fault.left <= 0) return false;
    fault.left -= 1;
    return true;
  }

  async function handle(request, response) {
    const url = new URL(request.url, 'http://localhost');
    if (url.pathname === '/fault') {
      const times = Number(url.searchParams.get('times') ?? Infinity);
      setFault(url.searchParams.get('kind') ?? 'none', times);
      return response.end();
    }
    const body = await readBody(request);
    while (hit('hang')) await faultOver.promise;
    if (hit('refuse')) return response.writeHead(503).end('<html>503 Service Unavailable</html>');
    if (url.pathname === '/ping') return response.end('Ok.\n');
    if (url.pathname !== '/') return response.writeHead(404).end('There is no handle for this path\n');

    const queryId = url.searchParams.get('query_id') ?? randomUUID();
    const headers = { 'X-ClickHouse-Query-Id': queryId, 'X-ClickHouse-Timezone': 'UTC' };
    let status = 200;
    let answer;
    let inserts = false;
    try {
      const { form, sql, data } = await readQuery(request, url.searchParams, body);
      inserts = isInsert(sql);
      const user = authenticate(request, form, users);
      const started = process.hrtime.bigint();
      const result = await run(request, form, user, { sql, data, inserts });
      answer = result.bytes;
      headers['X-ClickHouse-Format'] = result.format;
      headers['X-ClickHouse-Summary'] = JSON.stringify({
        read_rows: String(result.rowsRead),
        read_bytes: String(result.bytesRead),
        elapsed_ns: String(process.hrtime.bigint() - started),
      });
    } catch (error) {
      const code = error.engineCode ?? Number(/Code: (\d+)\. DB::Exception/.exec(error.message)?.[1] ?? 1002);
      status = STATUS.get(code) ?? 500;
      headers['X-ClickHouse-Exception-Code'] = String(code);
      answer = Buffer.from(`${error.message}\n`);
    }
    if (inserts && hit('cut')) return request.socket.destroy();

    if (url.searchParams.get('enable_http_compression') === '1' && acceptsGzip(request)) {
      headers['Content-Encoding'] = 'gzip';
      answer = await compress(answer);
    }
    response.writeHead(status, headers).end(answer);
  }

  async function run(request, form, user, { sql, data, inserts }) {
    for (const key of ['session_id', 'role']) {
      if (form.has(key)) throw new EngineError(48, 'NOT_IMPLEMENTED', `clickhouse-http has no ${key}`);
    }
    if (!inserts) await readStatement(sql);
    const session = new Session(path);
    try {
      const database = form.get('database') ?? request.headers['x-clickhouse-database'];
      if (database) await session.queryAsync(`USE \`${database.replaceAll('`', '\\`')}\``);
      for (const [key, value] of form) {
        if (key.startsWith('param_')) await session.queryAsync(`SET ${plainName(key)} = ${literal(value)}`);
      }
      if (user.readonly) await session.queryAsync(`SET readonly = ${user.readonly}`);
      for (const [key, value] of form) {
        if (NO_SETTINGS.has(key) || key.startsWith('param_')) continue;
        await session.queryAsync(`SET ${plainName(key)} = ${literal(value)}`);
      }
      const readonly = form.get('readonly') ?? (request.method === 'GET' && !user.readonly ? '2' : '0');
      if (readonly !== '0') await session.queryAsync(`SET readonly = ${literal(readonly)}`);

      const format = form.get('default_format') ?? request.headers['x-clickhouse-format'] ?? 'TabSeparated';
      if (inserts && data !== null && data.trim() === '') return { bytes: '', rowsRead: 0, bytesRead: 0, format };
      const result = await session.queryAsync(data === null ? sql : `${sql}\n${data}`, { format });
      return { bytes: result.bytes(), rowsRead: result.rowsRead, bytesRead: result.bytesRead, format };
    } finally {
      session.close();
    }
  }

  /** The embedded engine runs several statements at once and writes to files; a server does neither. */
  async function readStatement(sql) {
    if (sql.trim() === '') throw new EngineError(62, 'SYNTAX_ERROR', 'Empty query');
    const read = await base.queryBindAsync(
      'SELECT formatQuerySingleLine({sql:String})',
      { sql },
      { format: 'RawBLOB' },
    );
    if (/\bINTO OUTFILE\b/.test(read.text().replaceAll(/'(?:[^'\\]|\\.)*'/gs, "''"))) {
      throw new EngineError(290, 'INTO_OUTFILE_NOT_ALLOWED', 'INTO OUTFILE is not allowed');
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => response.headersSent || response.writeHead(500).end(`${error.message}\n`)); // prettier-ignore
  });
  server.keepAliveTimeout = 10_000;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.close();
    server.closeAllConnections();
    base.close();
    await drainPending();
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return `http://127.0.0.1:${server.address().port}`;
}

function deferred() {
  let settle;
  const promise = new Promise((resolve) => (settle = resolve));
  return { promise, resolve: settle };
}

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || body.length === 0) return body;
  const decode = decoders[encoding];
  if (decode === undefined) throw new Error(`Content-Encoding gzip, deflate or br expected, got ${encoding}`);
  return decode(body);
}

/**
 * The statement, and the data behind it (null: whatever data there is stands in the statement). A query in the URL and
 * a body are one text.
 */
async function readQuery(request, searchParams, body) {
  const form = new URLSearchParams(searchParams);
  const type = request.headers['content-type'] ?? '';
  let text = body.toString('utf8');
  if (type.startsWith('multipart/form-data')) {
    const parts = await new Response(body, { headers: { 'content-type': type } }).formData();
    for (const [name, value] of parts) form.set(name, String(value));
    text = '';
  }
  const inUrl = form.get('query') ?? '';
  if (inUrl === '') return { form, sql: text, data: null };
  return isInsert(inUrl) ? { form, sql: inUrl, data: text } : { form, sql: `${inUrl}\n${text}`, data: null };
}

/** An INSERT whose rows follow; not one that selects them. */
function isInsert(sql) {
  return /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*INSERT\b(?!(?:(?!\b(?:FORMAT|VALUES)\b).)*\bSELECT\b)/is.test(
    sql.slice(0, 10_000),
  );
}

function authenticate(request, form, users) {
  const [scheme, credentials = ''] = (request.headers.authorization ?? '').split(' ');
  const basic = scheme === 'Basic' ? Buffer.from(credentials, 'base64').toString('utf8').split(':') : [];
  const name = form.get('user') ?? request.headers['x-clickhouse-user'] ?? basic[0] ?? 'default';
  const password = form.get('password') ?? request.headers['x-clickhouse-key'] ?? basic.slice(1).join(':');
  const user = users.find((each) => each.name === name && each.password === password);
  if (user !== undefined) return user;
  const text = `${name}: Authentication failed: password is incorrect, or there is no user with such name`;
  throw new EngineError(516, 'AUTHENTICATION_FAILED', text);
}

function acceptsGzip(request) {
  return /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
}

function plainName(key) {
  if (/^\w+$/.test(key)) return key;
  throw new EngineError(115, 'UNKNOWN_SETTING', `Unknown setting '${key}'`);
}

function literal(value) {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [dir = mkdtempSync(join(tmpdir(), 'tracegrade-clickhouse-')), port = '0'] = process.argv.slice(2);
  const users = process.env['TRACEGRADE_TEST_USERS'];
  const url = await serve(dir, Number(port), users === undefined ? DEFAULT_USERS : JSON.parse(users));
  console.log(JSON.stringify({ url, dir }));
}
