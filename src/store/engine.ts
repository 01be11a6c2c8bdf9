import { readFile } from 'node:fs/promises';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';

import type { ClickHouseClient } from '@clickhouse/client';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';

import type { StoreOwner } from './errors.js';
import { EngineMissingError, StoreBusyError } from './errors.js';
import { insertColumn } from './insert-columns.js';

export interface StoreConfig {
  /** `embedded`, or the http(s) URL of a ClickHouse server. */
  readonly url: string;
  /** A plain identifier; made when it does not exist. */
  readonly database: string;
  /** Of a server; the embedded engine has no users. */
  readonly username?: string;
  readonly password?: string;
  /** The embedded engine lives in its subdirectory `clickhouse`. */
  readonly dataDir: string;
  /** Name of a ClickHouse cluster (one shard): tables are made ON CLUSTER with Replicated engines. */
  readonly cluster?: string;
  /** Rows are deleted this many days after the start of their interaction. Absent: kept for ever. */
  readonly ttlDays?: number;
  /** How long a server may take for one insert. Default 60 000 ms. */
  readonly requestTimeoutMs?: number;
}

/** A server that does not say for so long that it is there, is away. Inserts have longer. */
const PING_MS = 10_000;

type Connection = NonNullable<NonNullable<Parameters<typeof createClient>[0]>['connection']>;

/** What the store cannot know by itself. */
export interface EngineDeps {
  /** Does a process with this id run on this machine? Says who holds a directory that the engine refused to open. */
  isAlive(pid: number): boolean;
  /** Loads the optional package chdb; absent: by its name. */
  loadEngine?(): Promise<EmbeddedEngine>;
}

export interface EmbeddedEngine {
  readonly createChdbConnection: (options: { readonly path: string }) => unknown;
  /** Resolves when every closed connection is really gone, so that another directory can be opened. */
  readonly drainPending: () => Promise<void>;
}

/** One ClickHouse, in process or a server, that speaks the same SQL, types and error codes. */
export interface Engine {
  readonly kind: 'embedded' | 'server';
  readonly database: string;
  /** For statements that change something. Every table is named with its database. */
  command(sql: string): Promise<void>;
  /** Rows of a SELECT, as objects. */
  rows(sql: string, params?: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>[]>;
  /**
   * Inserts lines of JSONCompactEachRow. Returned means stored. Sent again with the same token, it is stored once.
   * Throws what the client throws; `readFailure` reads it.
   */
  insert(table: string, columns: readonly string[], lines: readonly string[], token: string): Promise<void>;
  /** A client that holds no state of the others; close it after use. */
  session(): ClickHouseClient;
  /** null, or why the engine does not answer. */
  ping(): Promise<Error | null>;
  close(): Promise<void>;
}

/**
 * Opens the engine.
 *
 * The embedded one holds an operating system lock on its directory while it is open (the engine's own file `status`),
 * which ends with the process however it dies. One process has one directory open at a time; after `close` it may open
 * another.
 *
 * @throws StoreBusyError when another process has the directory, EngineMissingError without the package chdb,
 *   TypeError for a configuration that names nothing usable.
 */
export async function openEngine(config: StoreConfig, deps: EngineDeps): Promise<Engine> {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(config.database)) {
    throw new TypeError(`store.database: letters, digits and _ expected, got "${config.database}"`);
  }
  return config.url === 'embedded' ? openEmbedded(config, deps) : openServer(config);
}

/** Who has the embedded engine's directory open, or had it when it was killed; null when it was closed in order. */
export async function ownerOf(dataDir: string): Promise<StoreOwner | null> {
  const status = await readFile(join(enginePath(dataDir), 'status'), 'utf8').catch(() => '');
  const pid = /^PID: (\d+)$/m.exec(status)?.[1];
  return pid === undefined ? null : { pid: Number(pid), since: /^Started at: (.+)$/m.exec(status)?.[1] ?? 'unknown' };
}

function enginePath(dataDir: string): string {
  return resolve(dataDir, 'clickhouse');
}

async function openEmbedded(config: StoreConfig, deps: EngineDeps): Promise<Engine> {
  const path = enginePath(config.dataDir);
  const { createChdbConnection, drainPending } = await (deps.loadEngine ?? loadEngine)().catch((cause: unknown) => {
    throw new EngineMissingError({ cause });
  });
  // A connection to a directory that this process has open is cheap (4 ms) and has settings and a database of its own.
  const connect = (): ClickHouseClient =>
    createClient({ connection: connection(), log: { level: ClickHouseLogLevel.OFF } });
  // Its types come from another copy of the client's, equal in shape and different in name.
  const connection = () => createChdbConnection({ path }) as Connection;

  mkdirSync(path, { recursive: true });
  let client: ClickHouseClient;
  try {
    client = connect();
  } catch (error) {
    const owner = await ownerOf(config.dataDir);
    // The engine does not say why it could not open; a living owner is why.
    if (owner !== null && deps.isAlive(owner.pid)) throw new StoreBusyError(path, owner, { cause: error });
    throw new Error(`the embedded ClickHouse could not open ${path}: ${String(error)}`, { cause: error });
  }

  return {
    ...overClient(client, config.database),
    kind: 'embedded',
    session: connect,
    close: async () => {
      await client.close();
      await drainPending();
    },
  };
}

async function loadEngine(): Promise<EmbeddedEngine> {
  const [{ createChdbConnection }, { drainPending }] = await Promise.all([import('chdb/connection'), import('chdb')]);
  return { createChdbConnection, drainPending };
}

function openServer(config: StoreConfig): Engine {
  if (!/^https?:\/\//.test(config.url)) {
    throw new TypeError(`store.url: "embedded" or an http(s) URL expected, got "${config.url.slice(0, 40)}"`);
  }
  const connect = (database?: string): ClickHouseClient =>
    createClient({
      url: config.url,
      application: 'tracegrade',
      request_timeout: config.requestTimeoutMs ?? 60_000,
      // Servers close idle sockets after 3 s (older ones) or 10 s; one that we let go first is never cut under an insert.
      keep_alive: { enabled: true, idle_socket_ttl: 1_500, eagerly_destroy_stale_sockets: true },
      log: { level: ClickHouseLogLevel.OFF },
      ...(config.username === undefined ? {} : { username: config.username }),
      ...(config.password === undefined ? {} : { password: config.password }),
      ...(database === undefined ? {} : { database }),
    });

  const client = connect();
  return {
    ...overClient(client, config.database),
    kind: 'server',
    session: () => connect(config.database),
    close: () => client.close(),
  };
}

function overClient(client: ClickHouseClient, database: string): Omit<Engine, 'kind' | 'session' | 'close'> {
  return {
    database,
    async command(sql) {
      await client.command({ query: sql });
    },
    async rows(sql, params) {
      const result = await client.query({
        query: sql,
        format: 'JSONEachRow',
        ...(params === undefined ? {} : { query_params: { ...params } }),
      });
      return result.json<Record<string, unknown>>();
    },
    async insert(table, columns, lines, token) {
      // Settings stand in the statement: set through the client they would stay on for whatever the embedded
      // connection inserts next, and a token that stays on makes the engine drop other rows as repetitions.
      // We batch by ourselves, so asynchronous inserts (on by default since ClickHouse 26) would only hide the answer.
      // Small batches gain nothing from parallel parsing (20k rows/s parsed without, 13k with), and merging a batch with
      // itself on the way in costs a third of an insert; readers use FINAL anyway.
      const settings =
        `insert_deduplication_token = '${token}', deduplicate_blocks_in_dependent_materialized_views = 1, ` +
        'async_insert = 0, input_format_parallel_parsing = 0, optimize_on_insert = 0';
      const names = columns.map((name) => `\`${insertColumn(table, name)}\``).join(', ');
      const { stream } = await client.exec({
        query: `INSERT INTO \`${database}\`.\`${table}\` (${names}) SETTINGS ${settings} FORMAT JSONCompactEachRow`,
        values: Readable.from([`${lines.join('\n')}\n`]),
      });
      // The socket is free again once the (empty) answer has been read.
      for await (const _ of stream);
    },
    async ping() {
      const result = await client.ping({ select: false, abort_signal: AbortSignal.timeout(PING_MS) });
      return result.success ? null : result.error;
    },
  };
}
