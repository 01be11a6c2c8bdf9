import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { askingStore } from './ask-store.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';

interface QueryCommandOptions extends CommonOptions {
  readonly format?: string;
}

export const queryCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('query')
    .summary('ask the store in SQL, read-only')
    .description(
      'Runs one read-only SQL statement on the store. Start with the views interactions_current, tool_calls_current, ' +
        'verdicts_current, scores_current, conversations_current, estimates_current and alerts_current. ' +
        'While a worker has the embedded store open, the worker is asked.',
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
  return askingStore(config, io, async (ask) => {
    for await (const chunk of ask(sql, format)) io.stdout.write(chunk);
    return ExitStatus.done;
  });
}
