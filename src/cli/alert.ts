import type { Command } from 'commander';
import { Argument, Option } from 'commander';
import { agentOf } from '../rollup/alert-agent.js';
import { alertExplanation, explanationText } from './alert-explain.js';
import { askingStore, rowsOf, sqlText, type Ask } from './ask-store.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { cut, plainTable } from './verdict-table.js';

const FORMATS = ['table', 'json'] as const;

interface AlertCommandOptions extends CommonOptions {
  readonly latest?: boolean;
  readonly all?: boolean;
  readonly format: (typeof FORMATS)[number];
}

const ALERT_HELP = `
Actions:
  list              alerts that are open (--all: those that are closed as well)
  explain ALERT_ID  the evidence for one alert: what the agent is held to, the counts, and the conversations that moved it
`;

export const alertCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('alert')
    .summary('list alerts, and say why one was raised')
    .description('Reads the alerts of the store. While a worker has the embedded store open, the worker is asked.')
    .addArgument(new Argument('<action>', 'what to do').choices(['list', 'explain']))
    .argument('[alert-id]', 'of the alert to explain; the beginning is enough')
    .option('--latest', 'explain the alert that changed last')
    .option('--all', 'list closed alerts as well')
    .addOption(new Option('--format <format>', 'how to print').choices(FORMATS).default('table'))
    .action(async (action: 'list' | 'explain', id: string | undefined, options: AlertCommandOptions) => {
      const config = await loadConfig(options, io);
      done(
        await askingStore(config, io, (ask) =>
          action === 'list' ? listAlerts(ask, options, io) : explainAlert(ask, id, options, io),
        ),
      );
    });
  withCommonOptions(command);
  command.addHelpText('after', ALERT_HELP);
};

async function listAlerts(ask: Ask, { all, format }: AlertCommandOptions, io: Io): Promise<ExitStatus> {
  const rows = await rowsOf(
    ask,
    `SELECT alert_id, kind, objective, transition, severity, assistant_id, agent_version, environment, policy,
       opened_at, at, trials, correct, certainty, p0
     FROM alerts_current ${all === true ? '' : "WHERE transition != 'closed'"} ORDER BY at DESC, alert_id LIMIT 1000`,
  );
  if (format === 'json') {
    for (const row of rows) io.stdout.write(`${JSON.stringify(row)}\n`);
    return ExitStatus.done;
  }
  if (rows.length === 0) {
    io.stdout.write(all === true ? 'no alert was ever raised\n' : 'no alert is open\n');
    return ExitStatus.done;
  }
  const table = plainTable([
    'alert',
    'state',
    'severity',
    'agent',
    'held to',
    'opened (UTC)',
    'right',
    'last change (UTC)',
  ]);
  for (const row of rows) {
    const isBlind = row['kind'] === 'blind';
    table.push([
      String(row['alert_id']),
      row['transition'] === 'closed' ? 'closed' : 'open',
      String(row['severity']),
      cut(agentOf(row), 40),
      isBlind ? '(cannot be seen)' : `${String(row['objective'])}, >= ${Number(Number(row['p0']).toFixed(4))}`,
      String(row['opened_at']).slice(0, 19),
      isBlind ? '-' : `${String(row['correct'])} of ${String(row['trials'])}`,
      String(row['at']).slice(0, 19),
    ]);
  }
  io.stdout.write(`${table.toString()}\n`);
  return ExitStatus.done;
}

async function explainAlert(
  ask: Ask,
  id: string | undefined,
  { latest, format }: AlertCommandOptions,
  io: Io,
): Promise<ExitStatus> {
  if ((id === undefined) === (latest !== true)) {
    throw new CommandError(
      'alert explain: an alert id or --latest expected; `alert list` has the ids',
      ExitStatus.usage,
    );
  }
  const which = id === undefined ? '' : `WHERE startsWith(alert_id, ${sqlText(id)})`;
  const found = await rowsOf(ask, `SELECT alert_id FROM alerts_current ${which} ORDER BY at DESC, alert_id LIMIT 2`);
  const [first] = found;
  if (first === undefined) {
    throw new CommandError(
      id === undefined ? 'no alert was ever raised' : `no alert has the id ${id}`,
      ExitStatus.usage,
    );
  }
  if (id !== undefined && found.length > 1) {
    throw new CommandError(`several alerts have an id that begins with ${id}`, ExitStatus.usage);
  }
  const explanation = await alertExplanation(ask, String(first['alert_id']));
  const text =
    format === 'json' ? JSON.stringify(explanation, null, 2) : explanationText(explanation, io.stdout.columns);
  io.stdout.write(`${text}\n`);
  return ExitStatus.done;
}
