import { Command, CommanderError } from 'commander';
import { alertCommand } from './alert.js';
import { compareCommand } from './compare.js';
import { completionCommand } from './completion.js';
import { demoCommand } from './demo.js';
import { evaluateCommand } from './evaluate.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { migrateCommand } from './migrate.js';
import { packageVersion } from './package-version.js';
import { queryCommand } from './query.js';
import { rollupCommand } from './rollup.js';
import { rescoreCommand } from './rescore.js';
import { scoreCommand } from './score.js';
import { startCommand } from './start.js';

/** Runs one command line and gives the status to exit with. Nothing a user did makes a stack trace. */
export async function runCommand(args: readonly string[], io: Io): Promise<ExitStatus> {
  let status: ExitStatus = ExitStatus.done;
  const done = (result: ExitStatus) => {
    status = result;
  };
  const program = new Command('tracegrade')
    .description('Grades LLM agents in production from their OpenTelemetry traces.')
    .version(packageVersion())
    .showHelpAfterError('(run with --help for the options)')
    .addHelpText(
      'after',
      `
Examples:
  tracegrade demo                              three sample agents, graded, in seconds
  tracegrade score traces/ --dataset truth.json
  tracegrade evaluate recorded.jsonl --k 3     Gaussia's batch metric, exact
  tracegrade rescore --since 24h --dry-run     what the judge could say now
  tracegrade start                             receives OTLP on http://127.0.0.1:4318
  tracegrade alert explain --latest            why an alert was raised
  tracegrade query "SELECT * FROM verdicts_current LIMIT 10"

Exit status: 0 done, 1 a gate was missed, 2 wrong use or configuration, 3 some input unreadable, 4 a peer out of reach.`,
    );
  for (const register of [
    startCommand,
    scoreCommand,
    evaluateCommand,
    rescoreCommand,
    queryCommand,
    alertCommand,
    compareCommand,
    migrateCommand,
    rollupCommand,
    demoCommand,
    completionCommand,
  ])
    register(program, io, done);
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHelpWidth: () => Math.min(io.stdout.columns ?? 100, 120),
      getErrHelpWidth: () => Math.min(io.stderr.columns ?? 100, 120),
    });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitStatus.done : ExitStatus.usage;
    if (error instanceof CommandError) {
      io.stderr.write(`tracegrade: ${error.message}\n`);
      return error.status;
    }
    throw error;
  }
}
