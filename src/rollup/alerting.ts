import type { Store } from '../store/clickhouse.js';
import type { Events } from '../telemetry/events.js';
import type { AlertRow } from './alert-rows.js';
import type { AlertRules } from './alert-rules.js';
import type { DeliveryEvents, DeliveryRules } from './deliveries.js';
import { deliverAlerts } from './deliveries.js';
import { createDetectors } from './detectors.js';
import { stepJudge } from './judge-watch.js';
import { stepStream } from './stream-watch.js';
import type { WebhookRules } from './webhook-http.js';
import { postWebhook } from './webhook-http.js';

export type AlertingEvents = DeliveryEvents & Pick<Events, 'alertChanged' | 'alertDeliveryFailed'>;

export interface AlertingRules {
  readonly alerts: AlertRules;
  readonly webhook: DeliveryRules & WebhookRules;
}

export interface Alerting {
  /**
   * Looks for what raises or ends an alert; gives the transitions that it wrote, which another rollup may have written
   * as well. `nowMs`: the tick's stream time, after its conversations and trials were written; null when there is no
   * fresh sign of life, which is what this has to notice. `wallMs`: the time on the wall.
   *
   * What it throws is the store's; the next step makes up for one that threw.
   */
  step(times: { readonly nowMs: number | null; readonly wallMs: number }): Promise<readonly AlertRow[]>;
  /** Tells webhooks what is due. One run at a time: a second call gives the first one's end. Never throws. */
  deliver(wallMs: number): Promise<void>;
  /** Ends with the message in hand; what else is due is told by the next start. */
  stop(): Promise<void>;
}

/** Alerts of a store, for a tick to call. */
export function createAlerting(
  store: Pick<Store, 'rows' | 'insertRows'>,
  rules: AlertingRules,
  events: AlertingEvents,
): Alerting {
  const detectors = createDetectors(store, rules.alerts);
  const post: Parameters<typeof deliverAlerts>[2]['post'] = (url, message) => postWebhook(url, message, rules.webhook);
  const stopping = new AbortController();
  let delivering: Promise<void> | null = null;

  return {
    async step({ nowMs, wallMs }) {
      const blind = await stepStream(store, rules.alerts.blind, wallMs);
      const judge = await stepJudge(store, rules.alerts.blind, wallMs);
      const drops = nowMs === null ? [] : await detectors.step(nowMs);
      const written = [...blind, ...judge, ...drops];
      for (const { alert_id: alertId, assistant_id: assistantId, kind, transition, severity, objective } of written) {
        events.alertChanged({ alertId, assistantId, kind, transition, severity, objective });
      }
      return written;
    },
    deliver(wallMs) {
      delivering ??= deliverAlerts(rules.webhook, wallMs, { store, post, events, stop: stopping.signal })
        .catch((error: unknown) => events.alertDeliveryFailed(error))
        .finally(() => (delivering = null));
      return delivering;
    },
    async stop() {
      stopping.abort();
      await delivering;
    },
  };
}
