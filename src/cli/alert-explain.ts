import { agentOf } from '../rollup/alert-agent.js';
import { rowsOf, sqlText, type Ask } from './ask-store.js';
import { counted } from './counted.js';
import { cut, plainTable } from './verdict-table.js';

type Row = Readonly<Record<string, unknown>>;

/** Why an alert was raised. Rows are under the names of their columns. */
export interface AlertExplanation {
  readonly alert: Row;
  /** Oldest first; what was decided by, and the numbers at that moment. */
  readonly transitions: readonly Row[];
  /** The objective as it was frozen for the series, or what made it blind. */
  readonly frozen: unknown;
  /** Conversations from the estimated change on to the close, or to now; those that are wrong first. At most 200. */
  readonly conversations: readonly Row[];
}

const MAX_CONVERSATIONS = 200;

/** Gathers what the store knows of an alert. Its id has to exist. */
export async function alertExplanation(ask: Ask, id: string): Promise<AlertExplanation> {
  const transitions = await rowsOf(
    ask,
    `SELECT * EXCEPT (series, version, written_at), toString(series) AS series FROM alerts FINAL
     WHERE alert_id = ${sqlText(id)} ORDER BY at, transition = 'closed'`,
  );
  const alert = transitions.at(-1) ?? {};
  const { details } = alert;
  const frozen: unknown = typeof details === 'string' ? JSON.parse(details) : null;
  return { alert, transitions, frozen, conversations: await conversationsOf(ask, alert) };
}

/** Those that moved a drop: the trials since the estimated change, with their traces and what failed in them. */
async function conversationsOf(ask: Ask, alert: Row): Promise<readonly Row[]> {
  const { changed_at: since, series, at, transition } = alert;
  if (typeof since !== 'string' || !/^\d+$/.test(String(series))) return [];
  const until = transition === 'closed' ? `AND first_closed_at <= ${moment(at)}` : '';
  const moved = await rowsOf(
    ask,
    `SELECT conversation_id, first_closed_at, correct FROM trials FINAL
     WHERE series = toUInt64(${String(series)}) AND first_closed_at >= ${moment(since)} ${until}
     ORDER BY correct, first_closed_at, conversation_id LIMIT ${MAX_CONVERSATIONS}`,
  );
  if (moved.length === 0) return [];
  const ids = moved.map((row) => sqlText(String(row['conversation_id']))).join(', ');
  const traces = await rowsOf(
    ask,
    `SELECT conversation_id, groupUniqArray(trace_id) AS trace_ids,
       arraySort(arrayDistinct(arrayFlatten(groupArray(
         arrayFilter((name, passed) -> passed = false, scores.criterion, scores.passed))))) AS failed
     FROM verdicts_current
     WHERE conversation_id IN (${ids}) AND assistant_id = ${sqlText(String(alert['assistant_id']))}
     GROUP BY conversation_id`,
  );
  const byId = new Map(traces.map((row) => [row['conversation_id'], row]));
  return moved.map((row) => {
    const { trace_ids = [], failed = [] } = byId.get(row['conversation_id']) ?? {};
    return { ...row, trace_ids, failed };
  });
}

function moment(text: unknown): string {
  return `toDateTime64(${sqlText(String(text))}, 3, 'UTC')`;
}

const SHOWN = 20;

/** The same for a person. */
export function explanationText(
  { alert, transitions, frozen, conversations }: AlertExplanation,
  width: number | undefined,
): string {
  const details = (frozen ?? {}) as Row;
  const lines = [
    `${String(alert['alert_id'])}  ${agentOf(alert)}, policy ${String(alert['policy']) || '(all)'}`,
    '',
    ...(alert['kind'] === 'blind' ? blindLines(details) : objectiveLines(alert, details)),
    '',
    ...transitions.flatMap(transitionLines),
  ];
  if (conversations.length > 0) {
    const wrong = conversations.filter((row) => row['correct'] === false).length;
    lines.push(
      '',
      `Conversations since the estimated change: ${conversations.length}${conversations.length === MAX_CONVERSATIONS ? ' or more' : ''}, ${wrong} wrong`,
    );
    const table = plainTable(['closed (UTC)', 'verdict', 'conversation', 'failed', 'traces']);
    for (const row of conversations.slice(0, SHOWN)) {
      table.push([
        String(row['first_closed_at']).slice(0, 19),
        row['correct'] === true ? 'correct' : 'incorrect',
        cut(String(row['conversation_id']), 40),
        (row['failed'] as string[]).join(', ') || '-',
        cut((row['trace_ids'] as string[]).join(' ') || '-', Math.max(33, (width ?? 120) - 90)),
      ]);
    }
    lines.push(table.toString());
    if (conversations.length > SHOWN) lines.push(`... --format json has ${conversations.length - SHOWN} more`);
  }
  return lines.join('\n');
}

function objectiveLines(alert: Row, details: Row): string[] {
  const target = (details['target'] ?? {}) as Row;
  const baseline = details['baseline'] as Row | null;
  const asked =
    target['kind'] === 'pass_pow_k'
      ? `pass^${String(target['k'])} >= ${String(target['atLeast'])}`
      : target['kind'] === 'baseline'
        ? `no worse than its first ${counted(Number(baseline?.['trials']), 'conversation')} (${String(baseline?.['correct'])} right)`
        : `success rate >= ${String(target['atLeast'])}`;
  const perDay = details['conversationsPerDay'];
  return [
    `Held to "${String(alert['objective'])}": ${asked}, that is a success rate p >= p0 = ${rounded(alert['p0'])}`,
    `Frozen with A = ${rounded(details['falseAlarmRun'])} (${counted(String(details['falseAlarmDays']), 'day')} between false alarms` +
      `${typeof perDay === 'number' ? ` at ${counted(rounded(perDay), 'conversation')} a day` : ''}), delta = ${rounded(alert['delta'])}`,
  ];
}

function blindLines({ reason, since, conversations, outstanding }: Row): string[] {
  const counts =
    typeof conversations === 'number'
      ? ` (${String(outstanding)} of the latest ${String(conversations)} outstanding)`
      : '';
  return [`Cannot be seen since ${String(since)}: ${String(reason)}${counts}; drops are not looked for meanwhile`];
}

function transitionLines(row: Row): string[] {
  const { transition, at, severity, kind, trials, correct, certainty, conversation_id: by } = row;
  const head = `${String(at).slice(0, 19)}  ${String(transition)}, ${String(severity)}`;
  const { reason } = (JSON.parse(String(row['details'])) ?? {}) as Row;
  if (kind === 'blind') return [`${head} (${String(reason)})`];
  if (reason === 'superseded') return [`${head}: another version or policy of the agent has taken over`];
  if (reason === 'withdrawn') return [`${head}: the configuration no longer holds the agent to this`];
  const evidence = `evidence ${power(row['log_evidence'])} of the ${power(row['log_threshold'])} needed`;
  return [
    `${head}: ${evidence}, decided by conversation ${cut(String(by), 60)}`,
    `    ${String(correct)} of ${String(trials)} right since the estimated change at ${String(row['changed_at']).slice(0, 19)};` +
      ` P(p < p0 - delta) ${typeof certainty === 'number' && certainty > 0.9999 ? '> 0.9999' : `= ${rounded(certainty)}`}`,
  ];
}

/** e^x, short. */
function power(log: unknown): string {
  return typeof log === 'number' ? Number(Math.exp(log).toPrecision(3)).toString() : '-';
}

function rounded(value: unknown): string {
  return typeof value === 'number' ? String(Number(value.toFixed(4))) : '-';
}
