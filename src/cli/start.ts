import type { Command } from 'commander';
import { Option } from 'commander';
import type { Config } from '../config.js';
import { startSelfTracing } from '../telemetry/self-tracing.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { packageVersion } from './package-version.js';
import { endWorker, runRelay, runRollupRole, runWorker } from './run-worker.js';
import { untilStopped } from './until-stopped.js';

const ROLES = ['all', 'worker', 'relay', 'rollup'] as const;
type Role = (typeof ROLES)[number];

const ROLES_HELP = `
Roles:
  all     receives OTLP/HTTP traces (POST /v1/traces) and, where receive.kafka.brokers are named, reads from Kafka;
          grades the interactions in them and writes them to ClickHouse
  worker  the same from Kafka alone; start as many as the topic has partitions
  relay   writes what comes over OTLP/HTTP, and the records of relay.fromTopics, to relay.topic, keyed by trace id
  rollup  turns verdicts into conversations, trials and estimates; all has one in it. One is enough, two do no harm
`;

export const startCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('start')
    .summary('receive traces, grade them and store the result')
    .description(
      'Receives traces, grades the interactions in them and stores the result, until SIGTERM or SIGINT (Ctrl-C). ' +
        'GET /healthz, /readyz and /metrics tell how it is.',
    )
    .addOption(new Option('--role <role>', 'what this process does').choices(ROLES).default('all'))
    .action(async (options: CommonOptions & { role: Role }) => done(await runStart(options, io)));
  withCommonOptions(command);
  command.addHelpText('after', ROLES_HELP);
};

async function runStart(options: CommonOptions & { role: Role }, io: Io): Promise<ExitStatus> {
  const { role } = options;
  const config = await loadConfig(options, io);
  const running = await startRole(role, config, io);
  const endpoint = config.telemetry.otlpEndpoint;
  const tracing = endpoint === undefined ? undefined : await startSelfTracing({ endpoint, version: packageVersion() });

  try {
    await untilStopped(running, io);
  } finally {
    await running.stop();
    await tracing?.stop();
  }
  return ExitStatus.done;
}

interface Running {
  readonly failed: Promise<unknown>;
  stop(): Promise<void>;
}

async function startRole(role: Role, config: Config, io: Io): Promise<Running> {
  if (role === 'rollup') return runRollupRole(config, io);
  if (role === 'relay') {
    const relay = await runRelay(config, io);
    return { failed: new Promise(() => undefined), stop: () => relay.stop() };
  }
  const running = await runWorker(config, io, role);
  return { failed: running.failed, stop: () => endWorker(running, config) };
}
