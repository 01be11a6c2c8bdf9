import type { Readable } from 'node:stream';

import type { ClickHouseClient, DataFormat } from '@clickhouse/client';

import type { Engine } from './engine.js';
import { isEngineError } from './retry.js';

export interface QueryOptions {
  /** Any output format of ClickHouse, used where the SQL names none. */
  readonly format: string;
  /**
   * More seconds or bytes of work, rows or bytes of result are an error, never a silent cut. The engine counts a column
   * that is the same in every row (`repeat('x', 1000)`) as one row's bytes, so `maxRows` has to bound those.
   */
  readonly maxSeconds: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxMemoryBytes: number;
}

export const DEFAULT_QUERY_OPTIONS: QueryOptions = {
  format: 'JSONEachRow',
  maxSeconds: 60,
  maxRows: 1_000_000,
  maxBytes: 256 * 1024 * 1024,
  maxMemoryBytes: 1024 * 1024 * 1024,
};

export type QueryOutcome =
  | { readonly status: 'ok'; readonly body: AsyncIterable<Uint8Array | string> }
  /** The engine says no: wrong SQL, unknown table, a limit, something that is not read-only. Its words are for the asker. */
  | { readonly status: 'refused'; readonly code: string; readonly type: string; readonly message: string }
  /** The engine did not answer. */
  | { readonly status: 'failed'; readonly cause: Error };

/** What may be asked, by the first word of the statement as the engine itself writes it. */
const READING = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'EXPLAIN', 'EXISTS', '(']);

/**
 * Runs one read-only statement in the store's database.
 *
 * The engine enforces it (`readonly = 1`: no writes, no DDL, no change of settings, no files and no network through
 * table functions), in a session of its own, so that nothing of it (`USE`, ...) stays for the next. The embedded engine
 * has more that readonly leaves alone: `INTO OUTFILE`, several statements at once, `KILL QUERY`, and functions that reach
 * beyond the store (`reachingOut`); its own parser tells us.
 */
export async function runQuery(
  engine: Engine,
  sql: string,
  options: Partial<QueryOptions> = {},
): Promise<QueryOutcome> {
  const rules = { ...DEFAULT_QUERY_OPTIONS, ...options };
  const session = engine.session();
  try {
    if (engine.kind === 'server')
      return { status: 'ok', body: closing(session, await read(session, sql, rules, true)) };

    const refusal = await refusalOf(session, sql);
    if (refusal !== null) return done(session, refused('164', 'READONLY', refusal));
    for (const setting of embeddedSettings(engine.database, rules)) await session.command({ query: setting });
    return { status: 'ok', body: closing(session, await read(session, sql, rules, false)) };
  } catch (error) {
    if (isEngineError(error)) return done(session, refused(error.code, error.type ?? 'UNKNOWN', error.message));
    return done(session, { status: 'failed', cause: error instanceof Error ? error : new Error(String(error)) });
  }
}

/** Readonly comes last: after it no setting can be changed. */
function embeddedSettings(database: string, rules: QueryOptions): string[] {
  return [
    `USE \`${database}\``,
    `SET max_execution_time = ${rules.maxSeconds}`,
    `SET max_result_rows = ${rules.maxRows}`,
    `SET max_result_bytes = ${rules.maxBytes}`,
    `SET max_memory_usage = ${rules.maxMemoryBytes}`,
    'SET readonly = 1',
  ];
}

async function read(
  session: ClickHouseClient,
  sql: string,
  rules: QueryOptions,
  inRequest: boolean,
): Promise<Readable> {
  const { stream } = await session.exec({
    query: sql,
    clickhouse_settings: {
      default_format: rules.format as DataFormat,
      ...(inRequest
        ? {
            readonly: '1',
            max_execution_time: rules.maxSeconds,
            max_result_rows: String(rules.maxRows),
            max_result_bytes: String(rules.maxBytes),
            max_memory_usage: String(rules.maxMemoryBytes),
            // So that an error half way is an error, and not text at the end of the rows.
            wait_end_of_query: 1,
          }
        : {}),
    },
  });
  return stream;
}

async function refusalOf(session: ClickHouseClient, sql: string): Promise<string | null> {
  const result = await session.query({
    query: 'SELECT formatQuerySingleLine({sql:String}) AS statement',
    query_params: { sql },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ statement: string }>();
  const statement = row?.statement ?? '';
  const first = /^(\(|\w+)/.exec(statement)?.[1] ?? '';
  if (!READING.has(first))
    return `a statement that reads (SELECT, SHOW, DESCRIBE, EXPLAIN, EXISTS) expected, got ${first}`;

  // Quoted names stay names: a function can be called by one.
  const words = statement.replaceAll(/'(?:[^'\\]|\\.)*'/gs, "''").replaceAll(/[`"]/g, '');
  if (/\bINTO OUTFILE\b/i.test(words)) return 'a statement that only reads expected, got INTO OUTFILE';
  const functions = await reachingOut(session);
  const called = [...words.matchAll(/\b(\w+)\s*\(/g)].map(([, name]) => (name as string).toLowerCase());
  const reaching = called.find((name) => functions.has(name));
  return reaching === undefined ? null : `a statement that reads the store only expected, got ${reaching}()`;
}

/** Table functions that stay within the engine. Every other one reads files, opens connections or starts programs. */
const HARMLESS_TABLE_FUNCTIONS = new Set([
  'generateserieswithstep',
  'generateseries',
  'generate_series',
  'generaterandom',
  'null',
  'numbers',
  'numbers_mt',
  'values',
  'view',
  'viewexplain',
  'viewifpermitted',
  'zeros',
  'zeros_mt',
  'merge',
  'mergetreeindex',
  'mergetreeprojection',
  'primes',
]);

/** Scalar functions that read what is not in the store, whatever `readonly` says. */
const REACHING_FUNCTIONS = ['file', 'catboostevaluate'];

/**
 * Names, in lower case, of functions that reach beyond the store. `readonly` stops table functions only when they read,
 * not when their structure is found out (DESCRIBE), and `file()` not at all; the embedded engine has no directory for
 * users' files that would confine it.
 */
async function reachingOut(session: ClickHouseClient): Promise<ReadonlySet<string>> {
  const result = await session.query({
    query: 'SELECT lower(name) AS name FROM system.table_functions',
    format: 'JSONEachRow',
  });
  const known = (await result.json<{ name: string }>()).map(({ name }) => name);
  return new Set([...known.filter((name) => !HARMLESS_TABLE_FUNCTIONS.has(name)), ...REACHING_FUNCTIONS]);
}

async function* closing(session: ClickHouseClient, stream: Readable): AsyncGenerator<Uint8Array | string> {
  try {
    for await (const chunk of stream) yield chunk as Uint8Array | string;
  } finally {
    await session.close();
  }
}

async function done(session: ClickHouseClient, outcome: QueryOutcome): Promise<QueryOutcome> {
  await session.close();
  return outcome;
}

function refused(code: string, type: string, message: string): QueryOutcome {
  return { status: 'refused', code, type, message };
}
