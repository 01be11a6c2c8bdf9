import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Config } from '../config.js';
import { openStore } from '../store/clickhouse.js';
import { StoreBusyError } from '../store/errors.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { asCommandError } from './run-worker.js';
import { storeConfig } from './settings.js';
import { readWorkerAddress, workerUrl } from './worker-address.js';

interface QueryCommandOptions extends CommonOptions {
  readonly format?: string;
}

export const queryCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('query')
    .summary('ask the store in SQL, read-only')
    .description(
      'Runs one read-only SQL statement on the store. Start with the views interactions_current, tool_calls_current, ' +
        'verdicts_current and scores_current. While a worker has the embedded store open, the worker is asked.',
    )
    .argument('<sql>', 'the statement, or - for standard input')
    .option('--format <format>', 'a ClickHouse output format (default: PrettyCompact on a terminal, else JSONEachRow)')
    .action(async (sql: string, options: QueryCommandOptions) => done(await runQueryCommand(sql, options, io)));
  withCommonOptions(command);
};

async function runQueryCommand(argument: string, options: QueryCommandOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  const sql = argument === '-' ? await text(io.stdin) : argument;
  const format = options.format ?? (io.stdout.isTTY ? 'PrettyCompact' : 'JSONEachRow');
  if (!/^\w+$/.test(format))
    throw new CommandError(`--format: a format's name expected, got "${format}"`, ExitStatus.usage);
  if (config.store.url === 'embedded') {
    if (!existsSync(join(config.dataDir, 'clickhouse'))) {
      throw new CommandError(
        `nothing is stored in ${config.dataDir} (dataDir): another directory, or no worker ran yet?`,
        ExitStatus.usage,
      );
    }
    // Asked before the store is opened: the engine would complain on standard error by itself.
    const worker = await readWorkerAddress(config.dataDir, io.isAlive);
    if (worker !== null && (await askWorker(sql, format, workerUrl(worker, '/query'), config, io))) {
      return ExitStatus.done;
    }
  }
  try {
    const store = await openStore(storeConfig(config), io);
    try {
      const outcome = await store.query(sql, { format });
      if (outcome.status === 'failed') throw unreachable(outcome.cause);
      if (outcome.status === 'refused') throw new CommandError(`${outcome.type}: ${outcome.message}`, ExitStatus.usage);
      for await (const chunk of outcome.body) io.stdout.write(Buffer.from(chunk).toString('utf8'));
      return ExitStatus.done;
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

/** The worker that has the embedded store open answers over its HTTP port. False when nobody answers there. */
async function askWorker(sql: string, format: string, url: string, config: Config, io: Io): Promise<boolean> {
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
  } catch {
    return false;
  }
  const body = await response.text();
  if (response.ok) {
    io.stdout.write(body);
    return true;
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
