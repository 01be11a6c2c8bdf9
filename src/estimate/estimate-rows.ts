import type { Assessment, Estimate, EstimateRow, Series, WindowCounts } from '../model/estimate.js';
import { assess } from './assessment.js';
import type { EstimateOf } from './known-estimates.js';
import type { EstimateRules } from './pass.js';
import { estimate } from './pass.js';
import { estimatePerTask } from './per-task.js';

export interface EstimateRowsOptions {
  readonly estimateOf?: EstimateOf;
  /** Rows of scope `per_task`; by default where a conversation has a task label. Without one they say that n is 0. */
  readonly perTask?: boolean;
}

const MODES = ['bayesian', 'frequentist'] as const;

/**
 * The rows of `estimates` of one series and window at the tick `atMs`: for each K pass@K and pass^K, Bayesian and
 * frequentist, `pooled` and, where a conversation has a task label, `per_task`.
 *
 * `n`, `c` and what was not counted are those of the figure: of the labelled conversations alone for `per_task`, except
 * `unscored` and `left_out`, which are of the window. Both modes carry the assessment of the Bayesian figures, because a
 * point does not say how sure it is; it is `rules_only` where neither an expectation nor a judge decided anything, and
 * `not_enough_evidence` without a trial.
 */
export function estimateRows(
  series: Series,
  window: string,
  counts: WindowCounts,
  atMs: number,
  rules: Omit<EstimateRules, 'mode'>,
  { estimateOf = estimate, perTask = counts.tasks.size > 0 }: EstimateRowsOptions = {},
): readonly EstimateRow[] {
  const tasks = [...counts.tasks.values()];
  const ofTasks = tasks.reduce(
    (sum, task) => ({
      trials: sum.trials + task.trials,
      correct: sum.correct + task.correct,
      outstanding: sum.outstanding + task.outstanding,
      outstandingIncorrect: sum.outstandingIncorrect + task.outstandingIncorrect,
    }),
    { trials: 0, correct: 0, outstanding: 0, outstandingIncorrect: 0 },
  );
  const scopes = [
    { scope: 'pooled', of: counts, figures: (mode: EstimateRules['mode']) => estimateOf(counts, { ...rules, mode }) },
    {
      scope: 'per_task',
      of: ofTasks,
      figures: (mode: EstimateRules['mode']) => estimatePerTask(tasks, { ...rules, mode }),
    },
  ] as const;

  return scopes.slice(0, perTask ? 2 : 1).flatMap(({ scope, of, figures }) => {
    const bayesian = figures('bayesian');
    const assessments = assessmentsOf(bayesian, counts.judged, of.trials);
    return MODES.flatMap((mode) =>
      (mode === 'bayesian' ? bayesian : figures(mode)).map((figure): EstimateRow => ({
        assistant_id: series.assistantId,
        agent_version: series.agentVersion,
        environment: series.environment,
        task: series.task,
        policy: series.policy,
        window,
        k: figure.k,
        at: atMs,
        metric: figure.metric,
        scope,
        mode,
        n: of.trials,
        c: of.correct,
        unscored: counts.unscored,
        outstanding: of.outstanding,
        outstanding_incorrect: of.outstandingIncorrect,
        left_out: counts.leftOut,
        mean: figure.mean,
        lower: figure.lower,
        upper: figure.upper,
        bound_lower: figure.boundLower,
        bound_upper: figure.boundUpper,
        assessment: assessments.get(figure.k) ?? 'not_enough_evidence',
        prior_a: rules.prior.a,
        prior_b: rules.prior.b,
        level: rules.level,
      })),
    );
  });
}

function assessmentsOf(figures: readonly Estimate[], judged: boolean, trials: number): ReadonlyMap<number, Assessment> {
  const passPowK = new Map(figures.filter(({ metric }) => metric === 'pass_pow_k').map((figure) => [figure.k, figure]));
  return new Map(
    figures
      .filter(({ metric }) => metric === 'pass_at_k')
      .map((passAtK) => {
        if (trials === 0) return [passAtK.k, 'not_enough_evidence'];
        const pow = passPowK.get(passAtK.k);
        return [passAtK.k, judged && pow !== undefined ? assess(passAtK, pow) : 'rules_only'];
      }),
  );
}
