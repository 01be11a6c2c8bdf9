import type { Config } from '../config.js';
import { assess } from '../estimate/assessment.js';
import { estimate } from '../estimate/pass.js';
import type { Assessment, Counts, Estimate } from '../model/estimate.js';
import type { Graded } from '../model/graded.js';
import { goesBeyondRules } from '../model/score.js';
import { conversationVerdict } from '../score/conversation-verdict.js';
import { plainTable } from './verdict-table.js';

/** One series of conversations, all of them counted as closed. */
export interface SeriesReport {
  readonly assistantId: string;
  readonly agentVersion: string | null;
  readonly environment: string | null;
  readonly counts: Counts;
  /** As in `estimates`: no trial although nothing left them out. */
  readonly unscored: number;
  /** Sampling or the budget left them out. */
  readonly leftOut: number;
  readonly estimates: readonly Estimate[];
  readonly assessments: ReadonlyMap<number, Assessment>;
}

/** The figures of each series. `graded` in order of start: a conversation belongs to the series of its first turn. */
export function seriesReports(graded: readonly Graded[], config: Config['estimate']): SeriesReport[] {
  const conversations = groupBy(graded, ({ interaction }) =>
    JSON.stringify([interaction.assistantId, interaction.conversationId]),
  );
  const series = groupBy([...conversations.values()], ([first]) =>
    JSON.stringify([first?.interaction.assistantId, first?.interaction.agentVersion, first?.interaction.environment]),
  );
  const reports = [...series.values()].map((members): SeriesReport => {
    const [{ interaction: first }] = members[0] as readonly Graded[] as readonly [Graded];
    const verdicts = members.map((turns) => conversationVerdict(turns.map((turn) => turn.verdict)));
    const trials = verdicts.filter((verdict) => verdict.counts);
    const outstanding = verdicts.filter((verdict) => verdict.outstanding > 0 && !verdict.leftOut);
    const judged = members.some((turns) => turns.some(({ verdict }) => verdict.scores.some(goesBeyondRules)));
    const counts: Counts = {
      trials: trials.length,
      correct: trials.filter((verdict) => verdict.label === 'correct').length,
      outstanding: outstanding.length,
      outstandingIncorrect: outstanding.filter((verdict) => verdict.incorrectWhateverComes).length,
    };
    const estimates = estimate(counts, { ks: config.k, prior: config.prior, level: config.level, mode: 'bayesian' });
    const of = (metric: Estimate['metric'], k: number) =>
      estimates.find((e) => e.metric === metric && e.k === k) as Estimate;
    return {
      assistantId: first.assistantId,
      agentVersion: first.agentVersion,
      environment: first.environment,
      counts,
      unscored: verdicts.filter((verdict) => !verdict.counts && !verdict.leftOut).length,
      leftOut: verdicts.filter((verdict) => verdict.leftOut).length,
      estimates,
      assessments: new Map(
        config.k.map((k) => [k, judged ? assess(of('pass_at_k', k), of('pass_pow_k', k)) : 'rules_only']),
      ),
    };
  });
  return reports.sort((a, b) => (a.assistantId < b.assistantId ? -1 : a.assistantId > b.assistantId ? 1 : 0));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [item]);
    else known.push(item);
  }
  return groups;
}

/** pass@K and pass^K with their intervals, a line a series and K. */
export function seriesTable(reports: readonly SeriesReport[], level: number): string {
  const percent = `${Number((100 * level).toFixed(2))} %`;
  const table = plainTable([
    'agent',
    'version',
    'trials',
    'correct',
    'unscored',
    'K',
    `pass@K  [${percent}]`,
    `pass^K  [${percent}]`,
    'assessment',
  ]);
  for (const report of reports) {
    // Without a trial the posterior is the prior, which says nothing of the agent.
    const known = report.counts.trials > 0;
    for (const [index, k] of [...report.assessments.keys()].entries()) {
      const lead =
        index > 0
          ? ['', '', '', '', '']
          : [
              report.assistantId,
              report.agentVersion ?? '-',
              report.counts.trials,
              report.counts.correct,
              report.unscored,
            ];
      const shown = (metric: Estimate['metric']) =>
        interval(known ? report.estimates.find((e) => e.metric === metric && e.k === k) : undefined);
      table.push([
        ...lead,
        k,
        shown('pass_at_k'),
        shown('pass_pow_k'),
        (report.assessments.get(k) ?? '').replaceAll('_', ' '),
      ]);
    }
  }
  return table.toString();
}

function interval(figure: Estimate | undefined): string {
  if (figure?.mean === undefined || figure.mean === null || figure.lower === null || figure.upper === null) return '-';
  return `${figure.mean.toFixed(3)} [${figure.lower.toFixed(3)}, ${figure.upper.toFixed(3)}]`;
}

/** The same as JSON, in the column names of the `estimates` table. */
export function seriesJson(report: SeriesReport) {
  return {
    assistant_id: report.assistantId,
    agent_version: report.agentVersion,
    environment: report.environment,
    n: report.counts.trials,
    c: report.counts.correct,
    unscored: report.unscored,
    outstanding: report.counts.outstanding,
    outstanding_incorrect: report.counts.outstandingIncorrect,
    left_out: report.leftOut,
    estimates: report.estimates.map((figure) => ({
      metric: figure.metric,
      k: figure.k,
      scope: 'pooled',
      mode: 'bayesian',
      mean: figure.mean,
      lower: figure.lower,
      upper: figure.upper,
      bound_lower: figure.boundLower,
      bound_upper: figure.boundUpper,
      assessment: report.assessments.get(figure.k),
    })),
  };
}
