import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { openStore } from '../store/clickhouse.js';
import { StoreBusyError } from '../store/errors.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { asCommandError } from './run-worker.js';
import { storeConfig } from './settings.js';
import { readWorkerAddress, workerUrl } from './worker-address.js';

/** The answer to one read-only statement, in a ClickHouse output format. Throws a CommandError when there is none. */
export type Ask = (sql: string, format: string) => AsyncIterable<string>;

/**
 * Lets `use` ask the store: the worker that has the embedded one open, over its HTTP port, or else the store itself.
 * Throws a CommandError when neither answers.
 */
export async function askingStore<T>(config: Config, io: Io, use: (ask: Ask) => Promise<T>): Promise<T> {
  if (config.store.url === 'embedded') {
    if (!existsSync(join(config.dataDir, 'clickhouse'))) {
      throw new CommandError(
        `nothing is stored in ${config.dataDir} (dataDir): another directory, or no worker ran yet?`,
        ExitStatus.usage,
      );
    }
    // Asked before the store is opened: the engine would complain on standard error by itself.
    const worker = await readWorkerAddress(config.dataDir, io.isAlive);
    if (worker !== null && (await answers(workerUrl(worker, '/healthz')))) {
      return use((sql, format) => askWorker(sql, format, workerUrl(worker, '/query'), config));
    }
  }
  try {
    const store = await openStore(storeConfig(config), io);
    try {
      return await use(async function* (sql, format) {
        const outcome = await store.query(sql, { format });
        if (outcome.status === 'failed') throw unreachable(outcome.cause);
        if (outcome.status === 'refused')
          throw new CommandError(`${outcome.type}: ${outcome.message}`, ExitStatus.usage);
        for await (const chunk of outcome.body) yield Buffer.from(chunk).toString('utf8');
      });
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof StoreBusyError) {
      throw unreachable(new Error(`${error.message}, and no worker answers for it`));
    }
    throw asCommandError(error);
  }
}

/** The rows of a SELECT, as objects. */
export async function rowsOf(ask: Ask, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  let text = '';
  for await (const chunk of ask(sql, 'JSONEachRow')) text += chunk;
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A text as a literal of ClickHouse's SQL. */
export function sqlText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).body?.cancel();
    return true;
  } catch {
    return false;
  }
}

async function* askWorker(sql: string, format: string, url: string, config: Config): AsyncIterable<string> {
  const [token] = config.receive.http.tokens;
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ query: sql, format }),
    });
  } catch (error) {
    throw unreachable(new Error(`no answer from the worker at ${url}`, { cause: error }));
  }
  const body = await response.text();
  if (response.ok) {
    yield body;
    return;
  }
  if (response.status === 401) {
    throw new CommandError(`the worker at ${url} wants a token: set receive.http.tokens`, ExitStatus.usage);
  }
  const status = response.status === 400 ? ExitStatus.usage : ExitStatus.peerUnreachable;
  throw new CommandError(`the worker at ${url} answered ${response.status}: ${body.trim()}`, status);
}

function unreachable(cause: Error): CommandError {
  return new CommandError(`the store is out of reach: ${cause.message}`, ExitStatus.peerUnreachable);
}
