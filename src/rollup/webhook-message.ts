import { agentOf } from './alert-agent.js';
import type { AlertRow } from './alert-rows.js';

/** What a webhook is told: JSON that Slack's incoming webhooks take, and others read the text of. */
export interface WebhookMessage {
  readonly text: string;
}

type Details = Readonly<Record<string, unknown>>;

/**
 * One transition in words. It holds names, numbers and ids, and nothing of what agents or users said.
 *
 * Names come from traces, so what Slack would read as markup in them is escaped.
 */
export function webhookMessage(alert: AlertRow): WebhookMessage {
  const head = `[${headOf(alert)}] ${agentOf(alert, plain)}`;
  const details = JSON.parse(alert.details) as Details;
  const lines = alert.kind === 'blind' ? blindLines(alert, details) : dropLines(alert, details);
  return { text: [`${head}: ${lines[0]}`, ...lines.slice(1), `tracegrade alert explain ${alert.alert_id}`].join('\n') };
}

function headOf({ transition, severity }: AlertRow): string {
  return transition === 'closed' ? 'closed' : severity;
}

function dropLines(alert: AlertRow, details: Details): string[] {
  const { transition, objective, p0, trials, correct } = alert;
  const held = `objective "${plain(objective)}", success rate >= ${rate(p0)}`;
  if (details['reason'] === 'superseded') {
    return [`no conversation for a while, and another version or policy has taken over (${held})`];
  }
  if (details['reason'] === 'withdrawn') return [`the configuration no longer holds it to this (${held})`];
  const since = alert.changed_at === null ? '' : ` since ${time(alert.changed_at)}`;
  const counts = `${correct} of ${trials} conversations were right${since}`;
  if (transition === 'closed') return [`recovered (${held})`, counts];
  const what = transition === 'upgraded' ? 'the drop is larger than it seemed' : 'succeeds less often than it should';
  const certainty =
    alert.certainty === null ? [] : [`P(below ${rate((p0 ?? 0) - (alert.delta ?? 0))}) = ${rate(alert.certainty)}`];
  return [`${what} (${held})`, [counts, ...certainty].join('; ')];
}

function blindLines({ transition }: AlertRow, details: Details): string[] {
  if (transition === 'closed') return ['can be seen again'];
  const { conversations, outstanding, since } = details;
  const why: Readonly<Record<string, string>> = {
    outstanding: `${String(outstanding)} of the latest ${String(conversations)} conversations wait for a judgement`,
    unscored: 'nothing in its latest conversations could be scored',
    silent: 'no worker gives a sign of life',
    lag: 'what is read lags behind',
    judge: 'the judge does not answer',
  };
  return [
    `cannot be seen: ${why[String(details['reason'])] ?? ''}`,
    `since ${String(since)}; drops are not looked for`,
  ];
}

function rate(value: number | null): string {
  return value === null ? '?' : String(Number(value.toFixed(4)));
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

const MAX_NAME = 100;

/** Without control characters, markup and mentions, and no longer than a name should be. */
function plain(name: string): string {
  const line = [...name.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')].slice(0, MAX_NAME).join('');
  return line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
