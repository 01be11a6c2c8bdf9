import type { Command } from 'commander';
import { Option } from 'commander';
import type { AgenticSummary } from '../batch/agentic-metric.js';
import { createAgentic, type Agentic } from '../batch/agentic.js';
import { BayesianMode, FrequentistMode, type StatisticalMode } from '../estimate/statistical-mode.js';
import type { BetaPrior } from '../model/estimate.js';
import type { ToolWeights } from '../score/assess-tools.js';
import { streamDatasetFile } from '../score/dataset-files.js';
import type { DatasetFault } from '../score/datasets.js';
import type { Config } from '../config.js';
import { policyHash } from '../score/policy.js';
import type { JudgeRequest } from '../model/judge.js';
import { repeatable, withCommonOptions, type RegisterCommand } from './command.js';
import { counted } from './counted.js';
import { createJudgeNotes } from './judge-notes.js';
import { offlineJudge } from './judge-settings.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { scoringPolicy } from './settings.js';
import type { OpenJudge } from '../worker/live-judge.js';
import { createReport, EVALUATE_FORMATS, summaryLines, type EvaluateFormat } from './evaluate-report.js';
import { CommandError, ExitStatus } from './exit-status.js';
import { missedBy, parseGate, type Figure, type Gate } from './gates.js';
import type { Io } from './io.js';
import type { GateResult } from './junit.js';
import { openOutput } from './output-file.js';
import { createProgress } from './progress.js';

interface EvaluateOptions extends CommonOptions {
  readonly k: string;
  readonly mode?: 'bayesian' | 'frequentist';
  readonly ciLevel?: string;
  readonly prior?: string;
  readonly threshold?: string;
  readonly toolThreshold?: string;
  readonly toolWeights?: string;
  readonly compat?: 'gaussia' | 'deepeval';
  readonly format: EvaluateFormat;
  readonly output?: string;
  readonly failUnder: readonly string[];
}

export const evaluateCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('evaluate')
    .summary("Gaussia's batch metric over recorded conversations")
    .description(
      'Evaluates conversations that were recorded in Gaussia’s JSON: the answers and tool calls of each turn against the ' +
        'ground truth beside them, pass@K and pass^K of each conversation’s turns, and of the conversations as trials. ' +
        'Answers that no rule can compare go to the judge, and the arguments of calls with them, where one is configured ' +
        '(judge.model); else they stay unscored, and nothing is sent anywhere. Nothing is stored.',
    )
    .argument('<dataset...>', '.json: one dataset or a list of them; .jsonl: one a line, read as a stream')
    .requiredOption('--k <number>', 'the K of pass@K and pass^K (needed)')
    .addOption(
      new Option(
        '--mode <mode>',
        'posterior with intervals, or c/n (default: bayesian; under --compat gaussia frequentist)',
      ) //
        .choices(['bayesian', 'frequentist']),
    )
    .option('--ci-level <number>', 'mass of the Bayesian interval (default: 0.95)')
    .option(
      '--prior <prior>',
      'Beta prior of the Bayesian figures: a,b (prior successes and failures), uniform (1,1) or jeffreys (0.5,0.5) ' +
        '(default: uniform)',
    )
    .option('--threshold <number>', 'least score of a correct answer (default: 0.7)')
    .option('--tool-threshold <number>', 'least tool correctness that is correct (default: 1)')
    .option(
      '--tool-weights <weights>',
      'selection=0.4,parameters=0.2,sequence=0.1,utilization=0.3 (default: 0.25 each)',
    )
    .addOption(
      new Option('--compat <tool>', 'give the figures of another tool, with its faults').choices([
        'gaussia',
        'deepeval',
      ]),
    )
    .addOption(new Option('--format <format>', 'how to print').choices(EVALUATE_FORMATS).default('table'))
    .option('--output <file>', 'write there instead of standard output')
    .addOption(
      repeatable(
        '--fail-under <gate>',
        'exit with 1 when a figure is below a bound: 0.9 (share of correct interactions), answer=0.8, tools=0.95 (means), ' +
          'policy=1 (share within their scope), pass^3=0.8, pass@3=0.99 (of conversations); may be repeated',
      ),
    )
    .action(async (paths: readonly string[], options: EvaluateOptions) => done(await runEvaluate(paths, options, io)));
  withCommonOptions(command);
};

// A file whose every line is wrong in the same way needs no more to be understood.
const MOST_FAULTS = 100;

async function runEvaluate(paths: readonly string[], options: EvaluateOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  const judgeNotes = createJudgeNotes();
  const judging = await offlineJudge(config, io, judgeNotes.on);
  const gates = options.failUnder.map((text) => parseEvaluateGate(text, judging !== null));
  const progress = createProgress(io.stderr, io.nowMs);
  let faultCount = 0;
  const onFaults = (faults: readonly DatasetFault[]) => {
    for (const { place, problem } of faults) {
      faultCount += 1;
      if (faultCount > MOST_FAULTS) continue;
      progress.done();
      io.stderr.write(`tracegrade: ${place}: ${problem}\n`);
    }
  };
  const agentic = create(options, onFaults, judging, config);
  const report = createReport(options.format);
  const output = await openOutput(options.output, io.stdout);
  let summary: AgenticSummary;
  let results: readonly GateResult[];
  try {
    let conversations = 0;
    await output.write(report.head());
    for (const path of paths) {
      const before = conversations + faultCount;
      for await (const metric of agentic.run(streamDatasetFile(path))) {
        if (io.stop.aborted) throw new CommandError('interrupted', ExitStatus.usage);
        conversations += 1;
        progress.update(`${counted(conversations, 'conversation')}, ${path}`);
        await output.write(report.conversation(metric));
      }
      if (conversations + faultCount === before) onFaults([{ place: path, problem: 'holds no conversation' }]);
    }
    progress.done();
    summary = agentic.summary();
    results = gates.map((gate): GateResult => {
      const [missed] = missedBy(gate, [figureOf(gate, agentic, summary)]);
      return { name: `${gate.name} >= ${gate.least}`, missed: missed ?? null };
    });
    await output.write(report.tail(summary, results));
  } finally {
    await output.close();
  }

  if (faultCount > MOST_FAULTS)
    io.stderr.write(`tracegrade: ... and ${counted(faultCount - MOST_FAULTS, 'more fault')}\n`);
  if (options.format !== 'table' || options.output !== undefined) {
    for (const line of summaryLines(summary)) io.stderr.write(`${line}\n`);
  }
  if (judging !== null) for (const note of judgeNotes.notes(judging.judge.stats())) io.stderr.write(`note: ${note}\n`);
  for (const note of notes(summary)) io.stderr.write(`note: ${note}\n`);
  const missed = results.flatMap((result) => (result.missed === null ? [] : [result.missed]));
  for (const line of missed) io.stderr.write(`tracegrade: gate missed: ${line}\n`);
  if (faultCount > 0) return ExitStatus.inputUnreadable;
  return missed.length > 0 ? ExitStatus.gateMissed : ExitStatus.done;
}

function create(
  options: EvaluateOptions,
  onFaults: (faults: readonly DatasetFault[]) => void,
  judging: OpenJudge | null,
  config: Config,
): Agentic {
  const { threshold, toolThreshold, toolWeights, compat } = options;
  const mode = statisticalMode(options);
  try {
    return createAgentic({
      k: numberOf('--k', options.k),
      ...(threshold === undefined ? {} : { threshold: numberOf('--threshold', threshold) }),
      ...(toolThreshold === undefined ? {} : { toolThreshold: numberOf('--tool-threshold', toolThreshold) }),
      ...(toolWeights === undefined ? {} : { toolWeights: weightsOf(toolWeights) }),
      ...(mode === undefined ? {} : { statisticalMode: mode }),
      ...(compat === undefined ? {} : { compat }),
      ...(judging === null ? {} : judgeOptions(judging, config)),
      onFaults,
    });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(error.message, ExitStatus.usage);
    throw error;
  }
}

function judgeOptions({ judge, atOnce }: OpenJudge, config: Config) {
  const policy = policyHash(scoringPolicy(config));
  return { turnJudge: { policy, judge: (request: JudgeRequest) => judge.judge(request) }, atOnce };
}

function statisticalMode({ mode, ciLevel, prior, compat }: EvaluateOptions): StatisticalMode | undefined {
  const effective = mode ?? (compat === 'gaussia' ? 'frequentist' : 'bayesian');
  if (effective === 'bayesian') {
    return new BayesianMode({
      ...(ciLevel === undefined ? {} : { level: levelOf(ciLevel) }),
      ...(prior === undefined ? {} : { prior: priorOf(prior) }),
    });
  }
  if (ciLevel !== undefined) {
    throw new CommandError('--ci-level needs --mode bayesian: frequentist figures have no interval', ExitStatus.usage);
  }
  if (prior !== undefined) {
    throw new CommandError('--prior needs --mode bayesian: frequentist figures have no prior', ExitStatus.usage);
  }
  return new FrequentistMode();
}

function levelOf(text: string): number {
  const level = numberOf('--ci-level', text);
  if (level > 0 && level < 1) return level;
  throw new CommandError(`--ci-level must be > 0 and < 1, got ${text}`, ExitStatus.usage);
}

const NAMED_PRIORS: ReadonlyMap<string, BetaPrior> = new Map([
  ['uniform', { a: 1, b: 1 }],
  ['jeffreys', { a: 0.5, b: 0.5 }],
]);

function priorOf(text: string): BetaPrior {
  const named = NAMED_PRIORS.get(text.trim().toLowerCase());
  if (named !== undefined) return named;
  const [a, b, ...more] = text.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)));
  if (a !== undefined && b !== undefined && more.length === 0 && isPriorCount(a) && isPriorCount(b)) return { a, b };
  const message = `--prior must be a,b with two numbers > 0 and <= 1e9, uniform or jeffreys, got "${text}"`;
  throw new CommandError(message, ExitStatus.usage);
}

function isPriorCount(number: number): boolean {
  return number > 0 && number <= 1e9;
}

function numberOf(name: string, text: string): number {
  const number = text.trim() === '' ? NaN : Number(text);
  if (Number.isFinite(number)) return number;
  throw new CommandError(`${name}: a number expected, got "${text}"`, ExitStatus.usage);
}

/** `selection=0.4,...`; which parts there must be is for the metric to say. */
function weightsOf(text: string): ToolWeights {
  const entries = text.split(',').map((part): [string, number] => {
    const at = part.indexOf('=');
    if (at < 0) throw new CommandError(`--tool-weights: part=number expected, got "${part}"`, ExitStatus.usage);
    return [part.slice(0, at).trim(), numberOf('--tool-weights', part.slice(at + 1))];
  });
  return Object.fromEntries(entries) as unknown as ToolWeights;
}

function parseEvaluateGate(text: string, hasJudge: boolean): Gate {
  const gate = parseGate(text);
  if (gate.name === 'completion') {
    throw new CommandError(`--fail-under ${text}: completion is not part of this metric`, ExitStatus.usage);
  }
  if (gate.name !== 'arguments' || hasJudge) return gate;
  throw new CommandError(`--fail-under ${text}: needs a judge, and none is configured (judge.model)`, ExitStatus.usage);
}

function figureOf({ name }: Gate, agentic: Agentic, summary: AgenticSummary): Figure {
  const { interactions, answers, arguments: args, tools } = summary;
  if (/^pass[@^]/.test(name)) {
    const trials = agentic.conversationsAsTrials(Number(name.slice(5)));
    const value = name[4] === '@' ? trials.pass_at_k : trials.pass_pow_k;
    return { label: `${name} of conversations`, value };
  }
  if (name === 'answer') return { label: 'the mean of answer', value: answers.mean };
  if (name === 'arguments') return { label: 'the mean of arguments', value: args.mean };
  if (name === 'tools') return { label: 'the mean of tools', value: tools.mean };
  if (name === 'policy') {
    const { scope_checked: checked, scope_violations: violations } = tools;
    return { label: 'the share within scope', value: checked === 0 ? null : (checked - violations) / checked };
  }
  const decided = interactions.correct + interactions.incorrect;
  return {
    label: 'the share of correct interactions',
    value: decided === 0 ? null : interactions.correct / decided,
  };
}

function* notes({ answers, interactions, conversations }: AgenticSummary): Generator<string> {
  const freeText = answers.abstained.no_judge ?? 0;
  if (freeText > 0) {
    yield `${freeText} of ${counted(interactions.total, 'answer')} ${freeText === 1 ? 'is' : 'are'} free text, which only a judge can compare: unscored, and so is what follows from it`;
  }
  if (conversations.left_out > 0)
    yield `${counted(conversations.left_out, 'conversation was', 'conversations were')} left out for the faults above`;
}
