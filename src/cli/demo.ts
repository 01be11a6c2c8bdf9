import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Config } from '../config.js';
import type { Graded } from '../model/graded.js';
import type { Store } from '../store/clickhouse.js';
import { interactionFromRow, verdictFromRow } from '../store/rows.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { counted } from './counted.js';
import { DEMO_AGENTS, demoConversation } from './demo-agents.js';
import { dropsText, readDrops } from './demo-drops.js';
import { startDemoSender, type DemoSender } from './demo-sender.js';
import { stay } from './demo-stay.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { ownCommand, queryLine } from './own-command.js';
import { createProgress } from './progress.js';
import { endWorker, runWorker } from './run-worker.js';
import { seriesReports, seriesTable } from './series-report.js';
import { verdictTable } from './verdict-table.js';

interface DemoOptions extends CommonOptions {
  readonly conversations: number;
  readonly keep?: string;
  readonly stay?: boolean;
}

/** Rows shown of the hundreds graded: first the wrong ones, they are what one looks for. */
const SHOWN = 12;

export const demoCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('demo')
    .summary('see it work: three sample agents, graded, and one of them becomes worse')
    .description(
      'Starts a worker on a free port of this machine, lets three scripted agents send their traces to it through the ' +
        'OpenTelemetry SDK and its OTLP exporter, and prints what was graded. After two thirds of the conversations one ' +
        'agent becomes worse, and the alert says so. Needs no API key and no server; nothing leaves this machine. All ' +
        'conversations count as closed when it ends.',
    )
    .option(
      '--conversations <n>',
      'conversations of each agent; with fewer no alert may open, for want of a baseline',
      positiveInteger,
      450,
    )
    .option('--keep <dir>', 'keep the data in this directory, to query it afterwards (default: it is thrown away)')
    .option('--stay', 'keep the worker running, and a conversation arriving every few seconds, until Ctrl-C')
    .action(async (options: DemoOptions) => done(await runDemo(options, io)));
  withCommonOptions(command);
};

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100_000) throw new InvalidArgumentError('1 to 100000 expected.');
  return value;
}

async function runDemo(options: DemoOptions, io: Io): Promise<ExitStatus> {
  if (options.keep !== undefined && (await isFilled(options.keep))) {
    throw new CommandError(
      `--keep ${options.keep}: a directory that is empty or not there yet expected`,
      ExitStatus.usage,
    );
  }
  const dataDir = options.keep ?? (await mkdtemp(join(tmpdir(), 'tracegrade-demo-')));
  const config = await loadConfig(
    { ...options, set: [...DEMO_SETTINGS, `dataDir=${JSON.stringify(dataDir)}`, ...options.set] },
    io,
  );
  try {
    // Nothing leaves the machine, whatever the configuration says of a judge.
    const running = await runWorker({ ...config, judge: { ...config.judge, model: undefined } }, io);
    const { worker, rollup } = running;
    try {
      const sender = await startDemoSender(`http://127.0.0.1:${worker.port}/v1/traces`);
      try {
        const progress = createProgress(io.stderr, io.nowMs);
        const conversations = DEMO_AGENTS * options.conversations;
        const worseFrom = Math.floor((2 * options.conversations) / 3);
        await sendConversations({ conversations, worseFrom }, sender, io, (sent) =>
          progress.update(`${sent} of ${counted(conversations, 'conversation')} sent`),
        );
        progress.update('grading');
        await worker.whenIdle();
        progress.done();
        // They happened before the worker began, so their estimates are counted as of then.
        await worker.heartbeat();
        await rollup?.tick();
        await rollup?.replay({ fromMs: null, toMs: null });
        await report(worker.store, config, io);
        if (options.stay === true) await stay(worker, { dataDir, sender, from: conversations, worseFrom }, io);
      } finally {
        await sender.stop();
      }
    } finally {
      await endWorker(running, config);
    }
  } finally {
    if (options.keep === undefined) await rm(dataDir, { recursive: true, force: true });
  }
  if (options.keep !== undefined) {
    io.stdout.write(
      `\nThe data is in ${dataDir}:\n  ${queryLine(dataDir, 'SELECT * FROM scores_current LIMIT 5', io)}\n`,
    );
  } else if (options.stay !== true) {
    io.stdout.write(
      `\nNext: ${ownCommand(io)} demo --stay to look around, score FILE..., or start for agents of your own (see --help).\n`,
    );
  }
  return ExitStatus.done;
}

async function isFilled(directory: string): Promise<boolean> {
  return (await readdir(directory).catch(() => [])).length > 0;
}

/** A free port beside any worker that runs already, no waiting for stragglers, and a quiet log. */
const DEMO_SETTINGS = [
  'receive.http.host=127.0.0.1',
  'receive.http.port=0',
  'receive.http.tokens=[]',
  'store.url=embedded',
  'assemble.quietMs=300',
  'assemble.lateMs=1000',
  // A minute lies between two conversations, a second between two turns.
  'conversation.idleMs=15000',
  'estimate.tickMs=30000',
  // That an alert opens is what is to happen.
  'telemetry.logLevel=error',
];

/** Each agent has one a minute, and the last one has been over for long enough to be closed at the last tick. */
const SPACING_MS = 60_000 / DEMO_AGENTS;
const OVER_MS = 120_000;

async function sendConversations(
  { conversations, worseFrom }: { readonly conversations: number; readonly worseFrom: number },
  sender: DemoSender,
  io: Io,
  onSent: (sent: number) => void,
): Promise<void> {
  const startMs = io.nowMs() - OVER_MS - conversations * SPACING_MS;
  for (let n = 0; n < conversations; n += 1) {
    if (io.stop.aborted) throw new CommandError('interrupted', ExitStatus.usage);
    await sender.send(demoConversation(n, worseFrom), startMs + n * SPACING_MS);
    if (n % 100 === 99) {
      await sender.flush();
      onSent(n + 1);
    }
  }
  await sender.flush();
}

async function report(store: Store, config: Config, io: Io): Promise<void> {
  const rows = await readGraded(store);
  const order = (row: Graded) => (row.verdict.label === 'incorrect' ? 0 : 1);
  const shown = [...rows].sort((a, b) => order(a) - order(b)).slice(0, SHOWN);
  const { k: ks, prior, level } = config.estimate;
  const figures = { ks, prior, level };
  const labels = (label: string) => rows.filter(({ verdict }) => verdict.label === label).length;
  io.stdout.write(
    `${counted(rows.length, 'interaction was', 'interactions were')} received over OTLP, graded and stored: ` +
      `${labels('correct')} correct, ${labels('incorrect')} incorrect, ${labels('unscored')} unscored. Some of them:\n\n` +
      `${verdictTable(shown, io.stdout.columns ?? 160)}\n\n` +
      'How reliable is each agent? pass@K: at least one of K conversations is right; pass^K: all K are.\n\n' +
      `${seriesTable(seriesReports(rows, config.estimate), config.estimate.level)}\n\n` +
      `Has one of them become worse?\n\n${dropsText(await readDrops(store), figures)}\n` +
      `${await rollupLine(store)}\n`,
  );
}

/** What the rollup has written; the figures are those of the table while a window holds all conversations. */
async function rollupLine(store: Store): Promise<string> {
  const [counts] = await store.rows(
    `SELECT (SELECT count() FROM {db}.conversations_current WHERE closed) AS closed, count() AS estimates,
      uniqExact(at) AS ticks FROM {db}.estimates`,
  );
  const closed = Number(counts?.['closed']);
  const estimates = Number(counts?.['estimates']);
  return (
    `The rollup has closed ${counted(closed, 'conversation')} and written ${counted(estimates, 'estimate')} at ` +
    `${counted(Number(counts?.['ticks']), 'point')} in time, by window and K: SELECT * FROM estimates_current`
  );
}

/** From the store, as a panel would read it. */
async function readGraded(store: Store): Promise<Graded[]> {
  const interactions = await store.rows('SELECT * FROM {db}.interactions_current ORDER BY started_at, interaction_id');
  const verdicts = await store.rows('SELECT * FROM {db}.verdicts_current');
  const byId = new Map(verdicts.map((row) => [row['interaction_id'], verdictFromRow(row)]));
  return interactions.flatMap((row) => {
    const verdict = byId.get(row['interaction_id']);
    return verdict === undefined ? [] : [{ interaction: interactionFromRow(row), verdict }];
  });
}
