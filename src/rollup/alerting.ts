import type { Store } from '../store/clickhouse.js';
import type { AlertRow } from './alert-rows.js';
import type { AlertRules } from './alert-rules.js';
import { createDetectors } from './detectors.js';
import { stepStream } from './stream-watch.js';

export interface Alerting {
  /**
   * Looks for what raises or ends an alert; gives the transitions that it wrote, which another rollup may have written
   * as well. `nowMs`: the tick's stream time, after its conversations and trials were written; null when there is no
   * fresh sign of life, which is what this has to notice. `wallMs`: the time on the wall.
   */
  step(times: { readonly nowMs: number | null; readonly wallMs: number }): Promise<readonly AlertRow[]>;
}

/** Throws nothing by itself: what a step throws is the store's, and the next step does what this one left. */
export function createAlerting(store: Pick<Store, 'rows' | 'insertRows'>, rules: AlertRules): Alerting {
  const detectors = createDetectors(store, rules);
  return {
    async step({ nowMs, wallMs }) {
      const blind = await stepStream(store, rules.blind, wallMs);
      return nowMs === null ? blind : [...blind, ...(await detectors.step(nowMs))];
    },
  };
}
