import type { Command } from 'commander';
import { Option } from 'commander';
import type { Graded } from '../model/graded.js';
import { createOfflineGrader, type PipelineEvents, type SpanCounts } from '../pipeline.js';
import { readOtlpFiles } from '../receive/otlp-files.js';
import { trackExpectations } from '../score/tracked-expectations.js';
import { repeatable, withCommonOptions, type RegisterCommand } from './command.js';
import { counted } from './counted.js';
import { CommandError, ExitStatus } from './exit-status.js';
import { gateKs, missedGates, parseGate } from './gates.js';
import { interactionJson } from './interaction-json.js';
import type { Io } from './io.js';
import { createJudgeNotes } from './judge-notes.js';
import { offlineJudge } from './judge-settings.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { createProgress } from './progress.js';
import { loadExpectations, scoringPolicy } from './settings.js';
import { seriesJson, seriesReports, seriesTable, type SeriesReport } from './series-report.js';
import { truthJson, truthNotes, type AmbiguousMatch, type TruthUsed } from './truth-report.js';
import { verdictTable } from './verdict-table.js';

interface ScoreOptions extends CommonOptions {
  readonly dataset: readonly string[];
  readonly format: 'table' | 'json' | 'jsonl';
  readonly failUnder: readonly string[];
}

export const scoreCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('score')
    .summary('grade traces from files')
    .description(
      'Grades OTLP traces from files and prints one row an interaction: its verdict, each criterion, and why. ' +
        'Every conversation counts as closed. Nothing is stored, and nothing is sent anywhere but to the judge where one is ' +
        'configured (judge.model), which is asked what rules cannot decide.',
    )
    .argument('<path...>', '.json, .jsonl or .pb files (also .gz), directories of them, or - for standard input')
    .addOption(
      repeatable(
        '--dataset <file>',
        'ground truth: Gaussia datasets, JSON or JSONL, or a directory of them; may be repeated',
      ),
    )
    .addOption(new Option('--format <format>', 'how to print').choices(['table', 'json', 'jsonl']).default('table'))
    .addOption(
      repeatable(
        '--fail-under <gate>',
        'exit with 1 when a figure is below a bound: 0.9 (share of correct interactions), tools=0.95, arguments=1, ' +
          'pass^3=0.8, pass@3=0.99, ...; may be repeated',
      ),
    )
    .action(async (paths: readonly string[], options: ScoreOptions) => done(await runScore(paths, options, io)));
  withCommonOptions(command);
};

async function runScore(paths: readonly string[], options: ScoreOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  const gates = options.failUnder.map(parseGate);
  const policy = scoringPolicy(config);
  const datasets = [...config.score.expectations, ...options.dataset];
  const expectations = trackExpectations(await loadExpectations(datasets));
  const totals = createTotals();
  const judgeNotes = createJudgeNotes();
  const judging = await offlineJudge(config, io, judgeNotes.on);
  const grader = createOfflineGrader(
    { assemble: config.assemble, policy },
    { expectations, events: totals.events, judging },
  );
  const progress = createProgress(io.stderr, io.nowMs);

  let unreadable = 0;
  let skipped = 0;
  let rejectedSpans = 0;
  for await (const item of readOtlpFiles(paths, { stdin: io.stdin })) {
    if (io.stop.aborted) throw new CommandError('interrupted', ExitStatus.usage);
    const where = item.kind === 'skipped' || item.place === '' ? item.file : `${item.file} ${item.place}`;
    if (item.kind === 'skipped') skipped += item.documents;
    if (item.kind === 'unreadable') {
      progress.done();
      io.stderr.write(`tracegrade: ${where}: ${item.rejection.detail}\n`);
      unreadable += 1;
    } else if (item.kind === 'batch') {
      for (const rejection of item.batch.rejections) {
        progress.done();
        io.stderr.write(`tracegrade: ${where}: ${rejection.detail}\n`);
        rejectedSpans += rejection.spans;
      }
      grader.receive(item.batch.spans);
    }
    progress.update(`${counted(totals.spans, 'span')} read, ${item.file}`);
  }
  progress.update(`${counted(totals.spans, 'span')} read, grading`);
  const graded =
    judging === null
      ? grader.finish()
      : await grader.finishJudged(judging.atOnce, (judged, of) => progress.update(`${judged} of ${of} judged`));
  progress.done();
  if (io.stop.aborted) throw new CommandError('interrupted', ExitStatus.usage);

  const ks = [...new Set([...config.estimate.k, ...gateKs(gates)])].sort((a, b) => a - b);
  const reports = seriesReports(graded, { ...config.estimate, k: ks });
  const truth = datasets.length === 0 ? null : { expectations, ambiguous: totals.ambiguous };
  print({ graded, reports, truth, level: config.estimate.level }, options.format, io);
  if (skipped > 0)
    io.stderr.write(`note: ${counted(skipped, 'JSON document holds', 'JSON documents hold')} no traces\n`);
  if (truth !== null) for (const note of truthNotes(truth)) io.stderr.write(`note: ${note}\n`);
  if (judging !== null) for (const note of judgeNotes.notes(judging.judge.stats())) io.stderr.write(`note: ${note}\n`);
  for (const note of totals.notes()) io.stderr.write(`note: ${note}\n`);

  const missed = missedGates(gates, graded, reports);
  if (truth !== null && expectations.matched.size === 0 && gates.length > 0) {
    missed.push('no turn of the datasets matched an interaction');
  }
  for (const line of missed) io.stderr.write(`tracegrade: gate missed: ${line}\n`);
  if (unreadable > 0 || rejectedSpans > 0) return ExitStatus.inputUnreadable;
  return missed.length > 0 ? ExitStatus.gateMissed : ExitStatus.done;
}

interface Found {
  readonly graded: readonly Graded[];
  readonly reports: readonly SeriesReport[];
  /** null: no dataset was given. */
  readonly truth: TruthUsed | null;
  /** Mass of the intervals. */
  readonly level: number;
}

function print({ graded, reports, truth, level }: Found, format: ScoreOptions['format'], io: Io): void {
  if (format === 'jsonl') {
    for (const one of graded) io.stdout.write(`${JSON.stringify(interactionJson(one))}\n`);
  } else if (format === 'json') {
    const datasets = truth === null ? {} : { datasets: truthJson(truth) };
    const all = { interactions: graded.map(interactionJson), series: reports.map(seriesJson), ...datasets };
    io.stdout.write(`${JSON.stringify(all, null, 2)}\n`);
  } else if (graded.length === 0) {
    io.stdout.write('No interaction found.\n');
  } else {
    io.stdout.write(`${verdictTable(graded, io.stdout.columns ?? 160)}\n\n${seriesTable(reports, level)}\n`);
  }
}

/** What the person is told beside the rows. */
function createTotals() {
  const dropped = new Map<string, number>();
  let spans = 0;
  const ambiguous: AmbiguousMatch[] = [];
  const unreadable: string[] = [];
  let faults = 0;
  const events: PipelineEvents = {
    spansCounted(counts: SpanCounts) {
      spans += counts.arrived;
      for (const reason of ['unclaimed', 'noTurn', 'cut', 'ownJudge'] as const) {
        if (counts[reason] > 0) dropped.set(reason, (dropped.get(reason) ?? 0) + counts[reason]);
      }
    },
    interactionGraded() {},
    gradingFailed() {
      faults += 1;
    },
    expectationUnreadable({ interactionId }, members) {
      unreadable.push(`interaction ${interactionId}: its ground truth cannot be read (${members.join(', ')})`);
    },
    expectationAmbiguous({ interactionId }, { by, turns }) {
      ambiguous.push({ interactionId, by, turns });
    },
  };
  return {
    events,
    ambiguous,
    get spans() {
      return spans;
    },
    *notes(): Generator<string> {
      for (const [reason, count] of dropped) yield `${count} of ${counted(spans, 'span')} ${DROPPED[reason]}`;
      if (faults > 0)
        yield `${counted(faults, 'interaction')} could not be graded, by a fault of Tracegrade: please report it`;
      yield* unreadable.slice(0, 10);
      if (unreadable.length > 10) yield `and ${unreadable.length - 10} more`;
    },
  };
}

const DROPPED: Readonly<Record<string, string>> = {
  unclaimed: 'belong to no agent that a dialect knows',
  noTurn: 'belong to no user turn (set-up, retrievals by themselves)',
  cut: 'were beyond the bounds of their trace (assemble.maxSpansPerTrace, assemble.maxBytesPerTrace)',
  ownJudge: 'are those of Tracegrade’s own judge',
};
