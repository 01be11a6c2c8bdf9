import type { AlertRules } from '../../src/rollup/alert-rules.js';
import type { AlertingEvents } from '../../src/rollup/alerting.js';
import { DEFAULT_OBJECTIVE } from '../../src/estimate/objective.js';
import type { TestStore } from './store.js';

export const MINUTE_MS = 60_000;
export const START_MS = Date.UTC(2026, 10, 2);

export const ALERT_RULES: AlertRules = {
  objectives: [
    {
      ...DEFAULT_OBJECTIVE,
      name: 'reliable',
      target: { kind: 'pass_pow_k', atLeast: 0.8, k: 3 },
      // The least A, 1000.
      falseAlarmDays: 0,
      assistants: [],
      environments: [],
    },
  ],
  waitMs: 60 * MINUTE_MS,
  supersededMs: 24 * 60 * MINUTE_MS,
  blind: {
    window: 20,
    outstandingShare: 0.5,
    unscoredRun: 100,
    afterMs: 10 * MINUTE_MS,
    silentMs: 5 * MINUTE_MS,
    lagMs: 10 * MINUTE_MS,
    forMs: 5 * MINUTE_MS,
    judgeMs: 5 * MINUTE_MS,
    severity: 'ticket',
  },
};

export const ALERTING_RULES = {
  alerts: ALERT_RULES,
  webhook: { urls: [] as string[], timeoutMs: 1_000, maxAgeMs: 24 * 60 * MINUTE_MS },
};

export const NO_EVENTS: AlertingEvents = {
  alertChanged: () => undefined,
  alertDelivered: () => undefined,
  alertNotDelivered: () => undefined,
  alertDeliveryFailed: (error) => {
    throw error;
  },
};

/** A closed conversation as the rollup writes it. `c` correct, `i` incorrect, `o` outstanding, `O` outstanding and incorrect, `u` unscored, `s` sampled out. */
export interface MadeConversation {
  readonly id: string;
  readonly closedAtMs: number;
  readonly kind: 'c' | 'i' | 'o' | 'O' | 'u' | 's';
  readonly assistant?: string;
  readonly version?: string;
}

const IDLE_MS = 15 * MINUTE_MS;

/** Writes conversations, and the trials of those that are one, as a tick of the rollup would. */
export async function writeClosed(store: TestStore, made: readonly MadeConversation[]): Promise<void> {
  const series = ({ assistant = 'order-desk', version = '1' }: MadeConversation) => [assistant, version, 'prod', 'p1'];
  await store.insertRows(
    'conversations',
    [
      'conversation_id',
      'assistant_id',
      'agent_version',
      'environment',
      'policy',
      'started_at',
      'ended_at',
      'first_closed_at',
      'interaction_ids',
      'verdict',
      'counts',
      'left_out',
      'outstanding',
      'incorrect_whatever_comes',
      'judged',
      'retracted',
      'version',
    ],
    made.map((one) => [
      one.id,
      ...series(one),
      one.closedAtMs - IDLE_MS - 10_000,
      one.closedAtMs - IDLE_MS,
      one.closedAtMs,
      [`${one.id}-turn`],
      one.kind === 'c' ? 'correct' : 'iO'.includes(one.kind) ? 'incorrect' : 'unscored',
      'ci'.includes(one.kind),
      one.kind === 's',
      'oO'.includes(one.kind) ? 1 : 0,
      one.kind === 'O',
      true,
      false,
      Date.now() * 1_000,
    ]),
  );
  const trials = made.filter(({ kind }) => 'ci'.includes(kind));
  await store.insertRows(
    'trials',
    [
      'conversation_id',
      'assistant_id',
      'agent_version',
      'environment',
      'policy',
      'first_closed_at',
      'correct',
      'version',
    ],
    trials.map((one) => [one.id, ...series(one), one.closedAtMs, one.kind === 'c', 2 ** 53 - Date.now() * 1_000]),
  );
}

/** Conversations that close one a minute, from `fromMinute` on. Of each 100 so many are incorrect, evenly. */
export function stream(
  count: number,
  incorrectPercent: number,
  fromMinute = 0,
  changes: Partial<MadeConversation> = {},
): MadeConversation[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `${changes.version ?? '1'}-${String(fromMinute + at).padStart(5, '0')}`,
    closedAtMs: START_MS + (fromMinute + at) * MINUTE_MS,
    kind: Math.floor(((at + 1) * incorrectPercent) / 100) > Math.floor((at * incorrectPercent) / 100) ? 'i' : 'c',
    ...changes,
  }));
}

/** What stands in `alerts`, without what tells when it was written. */
export function alertsOf(store: TestStore): Promise<Readonly<Record<string, unknown>>[]> {
  return store.rows(
    'SELECT * EXCEPT (version, written_at) FROM {db}.alerts FINAL ORDER BY series, objective, at, alert_id, transition',
  );
}
