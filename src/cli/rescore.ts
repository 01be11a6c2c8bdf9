import type { Command } from 'commander';
import { after } from '../after.js';
import type { Config } from '../config.js';
import { rescore, countRescored, type Rescored, type RescoreRange } from '../rescore.js';
import { policyHash, policySettings } from '../score/policy.js';
import type { Store } from '../store/clickhouse.js';
import type { StoreWriter } from '../store/writer.js';
import { openJudge, type JudgeSettings } from '../worker/live-judge.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { counted } from './counted.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { createJudgeNotes } from './judge-notes.js';
import { judgeSettings } from './judge-settings.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { createProgress } from './progress.js';
import { rfc3339Ms } from './rfc3339.js';
import { loadExpectations, scoringPolicy } from './settings.js';
import { withStore } from './with-store.js';

interface RescoreOptions extends CommonOptions {
  readonly since: string;
  readonly until?: string;
  readonly series?: string;
  readonly policy?: boolean;
  readonly dryRun?: boolean;
}

export const rescoreCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('rescore')
    .summary('grade again what the judge had no word on, or everything under a new policy')
    .description(
      'Reads interactions from the store and grades them again under the policy of the configuration: those whose verdict ' +
        'waits for the judge (pending, judge_failed, judge_rejected, breaker_open), or with --policy all of them. Verdicts ' +
        'that change are stored; nothing is ever replaced by less. It can be run beside workers and beside itself. A store ' +
        'that is embedded has one process: stop its worker first (it asks again by itself, judge.healEveryMs).',
    )
    .requiredOption(
      '--since <time>',
      'start of the interactions: as in RFC 3339, a date, or back from now: 90m, 36h, 7d',
    )
    .option('--until <time>', 'the same for the other end (default: now)')
    .option('--series <agent>', 'only this agent: its assistant id, or assistant-id@version')
    .option('--policy', 'also what has a verdict: everything under the policy of the configuration')
    .option(
      '--dry-run',
      'only print which verdicts would change; what the judge answers is kept for the run that follows',
    )
    .action(async (options: RescoreOptions) => done(await runRescore(options, io)));
  withCommonOptions(command);
};

async function runRescore(options: RescoreOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  const range = rangeOf(options, io.nowMs());
  const settings = await judgeSettings(config, io);
  if (settings === null && !range.everything) {
    throw new CommandError('no judge is configured (judge.model), so that nobody can be asked again', ExitStatus.usage);
  }
  return withStore(config, io, (store) => rescoreStore(store, range, settings, config, options.dryRun === true, io));
}

async function rescoreStore(
  store: Store,
  range: RescoreRange,
  settings: JudgeSettings | null,
  config: Config,
  dryRun: boolean,
  io: Io,
): Promise<ExitStatus> {
  const policy = scoringPolicy(config);
  const expectations = await loadExpectations(config.score.expectations);
  const { applied: due } = await store.migrate({ dryRun });
  if (dryRun && due.length > 0) {
    throw new CommandError(
      `the store is older than this program (${due.join(', ')}): run tracegrade migrate first`,
      ExitStatus.usage,
    );
  }
  const hash = policyHash(policy);
  if (!dryRun) await store.recordPolicy({ policy: hash, sinceMs: io.nowMs(), settings: policySettings(policy) });

  const judgeNotes = createJudgeNotes();
  const { nowMs, random } = io;
  const judging =
    settings === null
      ? null
      : openJudge(settings, { keptIn: { store, policy: hash }, nowMs, random, on: judgeNotes.on });
  io.stop.addEventListener('abort', () => judging?.judge.close(), { once: true });
  const atOnce = judging?.atOnce ?? 1;
  const writer = store.writer({ nowMs, chance: random, after });
  const progress = createProgress(io.stderr, io.nowMs);
  const counts: Record<Rescored['outcome'] | 'refused', number> = {
    changed: 0,
    same: 0,
    healed: 0,
    budget: 0,
    faulted: 0,
    refused: 0,
  };
  let faults = 0;
  const events = {
    gradingFailed: () => void (faults += 1),
    expectationUnreadable: () => undefined,
    expectationAmbiguous: () => undefined,
  };
  const of = await countRescored(range, policy, store);
  let done = 0;
  let stopped: string | null = null;
  try {
    for await (const page of rescore(range, policy, { store, expectations, events, judging, atOnce })) {
      if (io.stop.aborted) throw new CommandError('interrupted', ExitStatus.usage);
      const changed = page.filter(({ outcome }) => outcome === 'changed');
      for (const { outcome } of page) counts[outcome] += 1;
      if (dryRun) {
        progress.done();
        for (const each of changed) io.stdout.write(`${changeLine(each)}\n`);
      } else {
        counts.refused += await storeAll(writer, changed);
      }
      done += page.length;
      progress.update(
        `${done} of ${counted(of, 'interaction')}, ${counted(counts.changed, 'verdict')} ${dryRun ? 'would change' : 'changed'}`,
      );
      if (judging?.judge.stats().breaker === 'open') stopped = 'the judge does not answer';
      else if (judging?.judge.budgetSpent === true) stopped = "the day's tokens of the judge are spent";
      if (stopped !== null) break;
    }
  } finally {
    progress.done();
    await writer.close({ drainMs: DRAIN_MS });
    await judging?.close();
  }
  const verb = dryRun ? 'would change' : 'changed';
  io.stdout.write(
    `${counted(done, 'interaction')} graded again: ${counted(counts.changed - counts.refused, 'verdict')} ${verb}, ${counts.same + counts.budget + counts.faulted} as before, ` +
      `${counts.healed} healed meanwhile\n`,
  );
  if (judging !== null) for (const note of judgeNotes.notes(judging.judge.stats())) io.stderr.write(`note: ${note}\n`);
  if (counts.refused > 0)
    io.stderr.write(`note: the store refused ${counted(counts.refused, 'row')}; see the table rejections\n`);
  if (faults > 0)
    io.stderr.write(`note: ${counted(faults, 'interaction')} could not be graded, by a fault of Tracegrade\n`);
  if (stopped === null) return ExitStatus.done;
  io.stderr.write(`tracegrade: stopped after ${done} of ${counted(of, 'interaction')}: ${stopped}\n`);
  return ExitStatus.peerUnreachable;
}

const DRAIN_MS = 20_000;

/** How many the store refused. */
async function storeAll(writer: StoreWriter, changed: readonly Rescored[]): Promise<number> {
  const writes = changed.map(({ graded }) => writer.writeVerdict(graded));
  writer.flush();
  const outcomes = await Promise.all(writes);
  return outcomes.filter(({ status }) => status !== 'ok').length;
}

/** `2026-11-30T09:00:00.000Z <id> agent: unscored -> correct (answer: pending -> 0.9)`. */
function changeLine({ before, graded: { interaction, verdict } }: Rescored): string {
  const started = new Date(interaction.startedAtMs).toISOString();
  const was = new Map(before?.scores.map((score) => [score.criterion, said(score)]));
  const changes = verdict.scores
    .filter((score) => was.get(score.criterion) !== said(score))
    .map((score) => `${score.criterion}: ${was.get(score.criterion) ?? 'none'} -> ${said(score)}`);
  const label = `${before?.label ?? 'none'} -> ${verdict.label}`;
  return `${started} ${interaction.interactionId} ${interaction.assistantId}: ${label} (${changes.join(', ') || 'the same values'})`;
}

function said(score: Rescored['graded']['verdict']['scores'][number]): string {
  return score.kind === 'scored' ? String(Number(score.value.toFixed(3))) : score.abstained;
}

function rangeOf({ since, until, series, policy }: RescoreOptions, nowMs: number): RescoreRange {
  const sinceMs = timeOf('--since', since, nowMs);
  const untilMs = until === undefined ? nowMs : timeOf('--until', until, nowMs);
  if (sinceMs >= untilMs) throw new CommandError(`--since ${since}: a time before --until expected`, ExitStatus.usage);
  const at = series?.lastIndexOf('@') ?? -1;
  return {
    sinceMs,
    untilMs,
    assistantId: series === undefined ? null : at > 0 ? series.slice(0, at) : series,
    agentVersion: series === undefined || at <= 0 ? null : series.slice(at + 1),
    everything: policy === true,
  };
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function timeOf(option: string, text: string, nowMs: number): number {
  const back = /^(\d{1,6})([mhd])$/.exec(text);
  if (back !== null) return nowMs - Number(back[1]) * (UNITS[back[2] as string] as number);
  const time = rfc3339Ms(text);
  if (Number.isNaN(time)) {
    throw new CommandError(
      `${option} ${text}: a time as 2026-11-30T09:00:00Z, or back from now as 36h, expected`,
      ExitStatus.usage,
    );
  }
  return time;
}
