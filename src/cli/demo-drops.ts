import { estimate, type EstimateRules } from '../estimate/pass.js';
import type { Store } from '../store/clickhouse.js';
import { counted } from './counted.js';

interface Share {
  readonly trials: number;
  readonly correct: number;
}

/** An agent whose alert stands open. */
export interface Drop {
  readonly agent: string;
  /** null: not recorded. */
  readonly version: string | null;
  readonly severity: string;
  /** When it is estimated to have become worse, as the store writes times: `2026-11-30 14:02:10.000`, UTC. */
  readonly since: string;
  /** The success rate that it is held to, and the smallest loss that matters; 0..1. */
  readonly heldTo: number;
  readonly delta: number;
  /** P(the success rate is more than delta below what it is held to), 0..1, and the conversations that say so. */
  readonly certainty: number;
  readonly evidence: number;
  /** Conversations before and since the estimated change. */
  readonly before: Share;
  readonly after: Share;
}

/** The drops that stand open, the largest certainty first. */
export async function readDrops(store: Store): Promise<Drop[]> {
  const rows = await store.rows(`
    SELECT a.assistant_id AS agent, a.agent_version AS agent_version, a.severity AS severity, a.changed_at AS changed_at,
      a.p0 AS p0, a.delta AS delta, a.certainty AS certainty, a.trials AS evidence,
      countIf(t.first_closed_at < a.changed_at) AS before, countIf(t.first_closed_at < a.changed_at AND t.correct) AS right_before,
      countIf(t.first_closed_at >= a.changed_at) AS after, countIf(t.first_closed_at >= a.changed_at AND t.correct) AS right_after
    FROM {db}.alerts_current AS a
    INNER JOIN (SELECT * FROM {db}.trials FINAL) AS t ON t.series = a.series
    WHERE a.kind = 'drop' AND a.transition != 'closed'
    GROUP BY agent, agent_version, severity, changed_at, p0, delta, certainty, evidence, a.alert_id
    ORDER BY certainty DESC, agent, agent_version`);
  return rows.map((row): Drop => ({
    agent: String(row['agent']),
    version: typeof row['agent_version'] === 'string' ? row['agent_version'] : null,
    severity: String(row['severity']),
    since: String(row['changed_at']),
    heldTo: Number(row['p0']),
    delta: Number(row['delta']),
    certainty: Number(row['certainty']),
    evidence: Number(row['evidence']),
    before: { trials: Number(row['before']), correct: Number(row['right_before']) },
    after: { trials: Number(row['after']), correct: Number(row['right_after']) },
  }));
}

/** Which agent became worse, by how much and with which certainty, for a person. pass^K: of the first K above 1. */
export function dropsText(drops: readonly Drop[], rules: Omit<EstimateRules, 'mode'>): string {
  if (drops.length === 0) return 'No alert is open: nothing says so.\n';
  const k = rules.ks.find((one) => one > 1) ?? 1;
  const line = ({ trials, correct }: Share) => {
    const counts = { trials, correct, outstanding: 0, outstandingIncorrect: 0 };
    const figures = estimate(counts, { ...rules, ks: [k], mode: 'bayesian' });
    const passPowK = figures.find(({ metric }) => metric === 'pass_pow_k')?.mean ?? NaN;
    return `${correct} of ${trials} right (${percent(correct / trials)}), pass^${k} ${passPowK.toFixed(3)}`;
  };
  const texts = drops.map(
    ({ agent, version, severity, since, heldTo, delta, certainty, evidence, before, after }) =>
      `${version === null ? agent : `${agent} ${version}`} has become worse about ${since.slice(0, 16)} UTC; an alert is open (${severity}).\n` +
      `  before  ${line(before)}\n` +
      `  since   ${line(after)}\n` +
      `  It is held to ${percent(heldTo)}. After ${counted(evidence, 'conversation')} it was ${percent(certainty, 2)} certain that it had ` +
      `fallen more than ${counted(Number((100 * delta).toFixed(2)), 'point')} below.\n`,
  );
  return texts.join('\n');
}

/** Rounded down where it would say 100 % and is less. */
function percent(share: number, digits = 1): string {
  const scale = 10 ** digits;
  const rounded = share < 1 ? Math.min(Math.round(100 * share * scale) / scale, 100 - 1 / scale) : 100;
  return `${rounded.toFixed(digits)} %`;
}
