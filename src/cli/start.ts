import type { Command } from 'commander';
import { Option } from 'commander';
import { startSelfTracing } from '../telemetry/self-tracing.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { packageVersion } from './package-version.js';
import { endWorker, runWorker } from './run-worker.js';

export const startCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('start')
    .summary('receive traces, grade them and store the result')
    .description(
      'Runs a worker until SIGTERM or SIGINT: receives OTLP/HTTP traces (POST /v1/traces), grades the interactions in ' +
        'them and writes them to ClickHouse. GET /healthz, /readyz and /metrics tell how it is.',
    )
    .addOption(new Option('--role <role>', 'what this process does').choices(['all']).default('all'))
    .action(async (options: CommonOptions) => done(await runStart(options, io)));
  withCommonOptions(command);
};

async function runStart(options: CommonOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  const worker = await runWorker(config, io);
  const endpoint = config.telemetry.otlpEndpoint;
  const tracing = endpoint === undefined ? undefined : await startSelfTracing({ endpoint, version: packageVersion() });

  const stopped = new Promise<null>((resolve) => {
    if (io.stop.aborted) resolve(null);
    io.stop.addEventListener('abort', () => resolve(null), { once: true });
  });
  const fault = await Promise.race([stopped, worker.failed]);
  await endWorker(worker, config);
  await tracing?.stop();
  if (fault === null) return ExitStatus.done;
  throw new CommandError(fault instanceof Error ? fault.message : 'the worker failed', ExitStatus.usage);
}
