import type { Command } from 'commander';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { withStore } from './with-store.js';

interface MigrateOptions extends CommonOptions {
  readonly dryRun?: boolean;
}

export const migrateCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('migrate')
    .summary('bring the store’s tables to this version')
    .description(
      'Applies the migrations that the database lacks, in order. `start` does the same by itself; run it apart when the ' +
        'worker’s user may not change tables. An embedded store has one process: stop its worker first.',
    )
    .option('--dry-run', 'only say what would be applied')
    .action(async (options: MigrateOptions) => done(await runMigrate(options, io)));
  withCommonOptions(command);
};

async function runMigrate(options: MigrateOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  return withStore(config, io, async (store) => {
    const report = await store.migrate({ dryRun: options.dryRun === true });
    const verb = options.dryRun === true ? 'would apply' : 'applied';
    for (const name of report.applied) io.stdout.write(`${verb} ${name}\n`);
    if (report.applied.length === 0) io.stdout.write(`nothing to apply: ${config.store.database} is up to date\n`);
    return ExitStatus.done;
  });
}
