/**
 * Tells webhooks of transitions. What is due is a function of the store: every transition without a row that says what
 * became of it.
 *
 * An attempt is claimed before it is sent and recorded afterwards. Of two processes that claim the same attempt the store
 * keeps one (their inserts have the same token). So each transition is sent at least once, while it is news and somebody
 * takes it, and at most once, except when a process dies between sending and recording, or an answer is lost on its way.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Outcome } from '../model/outcome.js';
import type { Store } from '../store/clickhouse.js';
import type { Events } from '../telemetry/events.js';
import type { AlertRow } from './alert-rows.js';
import type { WebhookMessage } from './webhook-message.js';
import { webhookMessage } from './webhook-message.js';

export interface DeliveryRules {
  readonly urls: readonly string[];
  /** A transition is no news when it is older than this. Milliseconds. */
  readonly maxAgeMs: number;
}

export interface DeliveryDeps {
  readonly store: Pick<Store, 'rows' | 'insertRows'>;
  readonly post: (url: string, message: WebhookMessage) => Promise<Outcome>;
  readonly events: DeliveryEvents;
  /** Aborted: no other message is begun. */
  readonly stop?: AbortSignal;
}

export type DeliveryEvents = Pick<Events, 'alertDelivered' | 'alertNotDelivered'>;

/** A claim that nothing came of for so long is one of a process that died. */
const CLAIM_MS = 5 * 60_000;
/** From one attempt to the next: doubled each time from this on, up to an hour. */
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 3_600_000;
const AT_ONCE = 50;

/** Sends what is due at `wallMs`. Throws what the store throws; what a webhook says is an event. */
export async function deliverAlerts(rules: DeliveryRules, wallMs: number, deps: DeliveryDeps): Promise<void> {
  if (rules.urls.length === 0) return;
  const urls = new Map(rules.urls.map((url) => [webhookName(url), url]));
  for (const due of await dueAlerts(deps.store, [...urls.keys()], rules, wallMs)) {
    if (deps.stop?.aborted === true) return;
    await attempt(due, urls.get(due.webhook) as string, rules, wallMs, deps);
  }
}

/** What stands for a URL where it must not be written. */
export function webhookName(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 16);
}

interface Due {
  readonly alert: AlertRow;
  readonly webhook: string;
  /** The number of the attempt to make. */
  readonly attempt: number;
}

async function dueAlerts(
  store: DeliveryDeps['store'],
  webhooks: readonly string[],
  { maxAgeMs }: DeliveryRules,
  wallMs: number,
): Promise<readonly Due[]> {
  const rows = await store.rows(
    `WITH arrayJoin({webhooks:Array(String)}) AS webhook
     SELECT a.*, webhook, toUnixTimestamp64Milli(a.at) AS at_ms, toUnixTimestamp64Milli(a.opened_at) AS opened_ms,
       toUnixTimestamp64Milli(a.changed_at) AS changed_ms
     FROM (SELECT * EXCEPT (task, series, version, written_at) FROM {db}.alerts FINAL
           WHERE at >= fromUnixTimestamp64Milli({since:Int64})) AS a
     ORDER BY at_ms, a.alert_id, webhook`,
    { webhooks, since: Math.trunc(wallMs - maxAgeMs) },
  );
  if (rows.length === 0) return [];
  const tried = await store.rows(
    `SELECT alert_id, transition, webhook, max(attempt) AS attempts,
       argMax(status, attempt) AS last, toUnixTimestamp64Milli(argMax(at, attempt)) AS at_ms
     FROM {db}.alert_deliveries FINAL
     WHERE alert_id IN {ids:Array(String)} GROUP BY alert_id, transition, webhook`,
    { ids: [...new Set(rows.map((row) => String(row['alert_id'])))] },
  );
  const nameOf = (row: Row) => `${String(row['alert_id'])} ${String(row['transition'])} ${String(row['webhook'])}`;
  const byName = new Map(tried.map((row) => [nameOf(row), row]));
  const due: Due[] = [];
  for (const row of rows) {
    const last = byName.get(nameOf(row));
    const attempts = Number(last?.['attempts'] ?? 0);
    if (last !== undefined && wallMs < nextAttemptMs(String(last['last']), attempts, Number(last['at_ms']))) continue;
    due.push({ alert: alertOf(row), webhook: String(row['webhook']), attempt: attempts + 1 });
  }
  return due.slice(0, AT_ONCE);
}

type Row = Readonly<Record<string, unknown>>;

/** When the next attempt may be made; never when the last one settled it. */
function nextAttemptMs(status: string, attempts: number, atMs: number): number {
  if (status === 'claimed') return atMs + CLAIM_MS;
  if (status === 'failed') return atMs + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 30));
  return Infinity;
}

function alertOf(row: Row): AlertRow {
  const changed = row['changed_ms'];
  return {
    ...(row as unknown as AlertRow),
    at: Number(row['at_ms']),
    opened_at: Number(row['opened_ms']),
    changed_at: changed === null || changed === undefined ? null : Number(changed),
    trials: Number(row['trials']),
    correct: Number(row['correct']),
  };
}

async function attempt(
  { alert, webhook, attempt: number }: Due,
  url: string,
  rules: DeliveryRules,
  wallMs: number,
  { store, post, events }: DeliveryDeps,
): Promise<void> {
  const { alert_id: alertId, transition } = alert;
  const claimant = randomUUID();
  const columns = ['alert_id', 'transition', 'webhook', 'attempt', 'status', 'claimant', 'detail', 'version'];
  const key = [alertId, transition, webhook, number];
  const token = `delivery-${key.join('-')}`;
  await store.insertRows('alert_deliveries', columns, [[...key, 'claimed', claimant, '', 1]], token);
  const [claim] = await store.rows(
    `SELECT status, claimant FROM {db}.alert_deliveries FINAL WHERE alert_id = {id:String}
       AND transition = {transition:String} AND webhook = {webhook:String} AND attempt = {attempt:UInt32}`,
    { id: alertId, transition, webhook, attempt: number },
  );
  if (claim?.['claimant'] !== claimant || claim['status'] !== 'claimed') return;

  const outcome = await post(url, webhookMessage(alert));
  const settled = outcome.status === 'ok' ? 'delivered' : outcome.status === 'rejected' ? 'refused' : 'failed';
  const detail = outcome.status === 'ok' ? '' : outcome.cause.message;
  await store.insertRows('alert_deliveries', columns, [[...key, settled, claimant, detail, 2]]);
  if (outcome.status === 'ok') return events.alertDelivered({ alertId, transition, webhook });
  const isLast = nextAttemptMs('failed', number, wallMs) > alert.at + rules.maxAgeMs;
  const givenUp = outcome.status === 'rejected' || isLast;
  events.alertNotDelivered({ alertId, transition, webhook, attempt: number, error: outcome.cause, givenUp });
}
