import type { ComparisonRow, Counts, Series } from '../model/estimate.js';
import { chancesOf, figureOf, type Chances, type ComparisonRules } from './comparison.js';

export interface ComparedSide {
  readonly series: Series;
  readonly counts: Pick<Counts, 'trials' | 'correct'>;
}

/** As `ComparisonRules`, for several K of pass^K. */
export type ComparisonRowRules = Omit<ComparisonRules, 'metric' | 'k'> & { readonly ks: readonly number[] };

/**
 * The rows of `comparisons` of two sides at the tick `atMs`, one for each K. They differ by their version, or not at all.
 * Without a trial on one side there is nothing to compare: that posterior is the prior.
 */
export function comparisonRows(
  kind: ComparisonRow['kind'],
  { before, now }: { readonly before: ComparedSide; readonly now: ComparedSide },
  window: string,
  atMs: number,
  { ks, ...rules }: ComparisonRowRules,
): readonly ComparisonRow[] {
  const isEmpty = before.counts.trials === 0 || now.counts.trials === 0;
  const chances = isEmpty ? () => null : chancesByK(before, now, rules);
  return ks.map((k): ComparisonRow => {
    const figure = { ...rules, metric: 'pass_pow_k', k } as const;
    const [earlier, later] = [figureOf(before.counts, figure), figureOf(now.counts, figure)];
    const found = chances(k);
    return {
      kind,
      assistant_id: now.series.assistantId,
      agent_version: now.series.agentVersion,
      environment: now.series.environment,
      policy: now.series.policy,
      window,
      k,
      at: atMs,
      n: later.trials,
      c: later.correct,
      mean: later.mean,
      lower: later.lower,
      upper: later.upper,
      before_version: before.series.agentVersion,
      before_n: earlier.trials,
      before_c: earlier.correct,
      before_mean: earlier.mean,
      before_lower: earlier.lower,
      before_upper: earlier.upper,
      difference: later.mean - earlier.mean,
      margin: rules.margin,
      worse: found?.worse ?? null,
      better: found?.better ?? null,
      prior_a: rules.prior.a,
      prior_b: rules.prior.b,
      level: rules.level,
    };
  });
}

/** Without a margin the chances are those of the success rates, whatever K. */
function chancesByK(
  { counts: a }: ComparedSide,
  { counts: b }: ComparedSide,
  rules: Omit<ComparisonRules, 'metric' | 'k'>,
): (k: number) => Chances {
  const of = (k: number) => chancesOf(a, b, { ...rules, metric: 'pass_pow_k', k });
  if (rules.margin > 0) return of;
  const all = of(1);
  return () => all;
}
