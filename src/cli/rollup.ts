import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { replayTicks } from '../rollup/replay.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { counted } from './counted.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { createProgress } from './progress.js';
import { rfc3339Ms } from './rfc3339.js';
import { rollupRules } from './settings.js';
import { withStore } from './with-store.js';

interface RollupOptions extends CommonOptions {
  readonly from?: number;
  readonly to?: number;
}

export const rollupCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('rollup')
    .summary('count a time again, as its conversations are judged now')
    .description(
      'Makes the conversations of a time anew from their verdicts and writes its estimates again, tick by tick. Needed ' +
        'where estimates of the past should follow later verdicts, other windows or another idle time; what is new is ' +
        'counted by `start` by itself. It may run beside it, on the same server. Trials that were written stand. ' +
        'An embedded store has one process: stop its worker first.',
    )
    .option('--from <time>', 'as in RFC 3339, or a date (default: the first close)', time)
    .option('--to <time>', 'as in RFC 3339, or a date (default: the last tick)', time)
    .action(async (options: RollupOptions) => done(await runRollup(options, io)));
  withCommonOptions(command);
};

function time(text: string): number {
  const ms = rfc3339Ms(text);
  if (!(ms >= 0)) throw new InvalidArgumentError('a time such as 2026-11-30T09:00:00Z expected.');
  return ms;
}

async function runRollup(options: RollupOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  const { from = null, to = null } = options;
  if (from !== null && to !== null && from >= to) {
    throw new CommandError('--from: a time before --to expected', ExitStatus.usage);
  }
  return withStore(config, io, async (store) => {
    await store.migrate();
    const progress = createProgress(io.stderr, io.nowMs);
    const rollup = store.rollup({ nowMs: io.nowMs });
    const report = await replayTicks(rollup, { fromMs: from, toMs: to }, rollupRules(config), (ratio) =>
      progress.update(`${bar(ratio)} ${Math.floor(100 * ratio)} %`),
    );
    progress.done();
    if (report.range === null) io.stdout.write('nothing to count: no conversation has closed in that time\n');
    else {
      const at = (ms: number) => new Date(ms).toISOString();
      io.stdout.write(
        `${at(report.range.fromMs)} to ${at(report.range.toMs)}: ` +
          `${counted(report.conversations, 'conversation')} changed, ${counted(report.estimates, 'estimate')} written\n`,
      );
    }
    return ExitStatus.done;
  });
}

const BAR = 30;

function bar(ratio: number): string {
  const full = Math.round(BAR * ratio);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`;
}
