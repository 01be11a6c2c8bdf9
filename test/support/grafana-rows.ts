import { comparisonRows } from '../../src/estimate/comparison-rows.js';
import { estimateRows } from '../../src/estimate/estimate-rows.js';
import type { Series } from '../../src/model/estimate.js';
import type { Score } from '../../src/model/score.js';
import { openEngine } from '../../src/store/engine.js';
import { comparisonLines } from '../../src/store/rollup-rows.js';
import { call } from './score-builders.js';
import {
  ENGINE_DEPS,
  freshStore,
  graded,
  turn,
  WRITER_DEPS,
  writeInTurn,
  type AtEnd,
  type TestStore,
} from './store.js';

/** The range that the boards show, in the test's data. */
export const RANGE = { fromMs: Date.parse('2026-11-30T09:00:00Z'), toMs: Date.parse('2026-11-30T12:00:00Z') };

const POLICY = 'policy-1';

export const ORDER_DESK: Series = {
  assistantId: 'order-desk',
  agentVersion: '2.0.1',
  environment: 'prod',
  task: null,
  policy: POLICY,
};
/** Nothing recorded but a name, which is one that SQL could stumble over. */
export const ODD: Series = {
  assistantId: String.raw`it's a \ "name"`,
  agentVersion: null,
  environment: null,
  task: null,
  policy: POLICY,
};
export const SERIES = [ORDER_DESK, ODD];

const time = (clock: string) => Date.parse(`2026-11-30T${clock}Z`);
type Row = Readonly<Record<string, unknown>>;

const seriesColumns = ({ assistantId, agentVersion, environment, task, policy }: Series): Row => ({
  assistant_id: assistantId,
  agent_version: agentVersion,
  environment,
  task,
  policy,
});

/** Estimates of a series in the window `24h`, as the rollup writes them. */
function estimates(series: Series, at: string, trials: number, correct: number, version: number): readonly Row[] {
  const counts = {
    trials,
    correct,
    outstanding: 2,
    outstandingIncorrect: 1,
    unscored: 3,
    leftOut: 4,
    judged: true,
    tasks: new Map(),
  };
  const rules = { ks: [1, 3], prior: { a: 1, b: 1 }, level: 0.95 };
  return estimateRows(series, '24h', counts, time(at), rules).map((row) => ({ ...row, version }));
}

/** Of the order desk over `24h`, with 10 trials of which so many were right, against 10 of 10 before. */
function comparisons(kind: 'version' | 'window', before: string, at: string, correct: number, read: number) {
  const side = (agentVersion: string, right: number) => {
    return { series: { ...ORDER_DESK, agentVersion }, counts: { trials: 10, correct: right } };
  };
  const sides = { before: side(before, 10), now: side('2.0.1', correct) };
  const rules = { ks: [1, 3], prior: { a: 1, b: 1 }, margin: 0, level: 0.95 };
  const { columns, lines } = comparisonLines(comparisonRows(kind, sides, '24h', time(at), rules), read);
  return lines.map(({ text }) => {
    const values = JSON.parse(text) as unknown[];
    return Object.fromEntries(columns.map((column, i) => [column, values[i]]));
  });
}

const FAILED: Score = {
  kind: 'scored',
  criterion: 'tools',
  value: 0.5,
  passed: false,
  decidedBy: 'rule',
  reason: 'missing lookup_order',
  details: {},
};
const ABSTAINED: Score = {
  kind: 'abstained',
  criterion: 'answer',
  abstained: 'no_expectation',
  reason: 'no answer is expected',
  details: {},
};

/** The turns of the conversation that failed: the second one did. */
export const TURNS = [
  turn({ trace: 0xa1, at: '2026-11-30T10:00:00Z', conversationId: 'conversation-1', assistantId: 'order-desk' }),
  turn({
    trace: 0xa2,
    at: '2026-11-30T10:01:00Z',
    conversationId: 'conversation-1',
    assistantId: 'order-desk',
    toolCalls: [call('refund_order')],
  }),
] as const;

function conversation(series: Series, id: string, closed: string, version: number, changes: Row = {}): Row {
  return {
    conversation_id: id,
    ...seriesColumns(series),
    started_at: time('10:00:00'),
    ended_at: time('10:01:10'),
    first_closed_at: time(closed),
    interaction_ids: TURNS.map(({ interactionId }) => interactionId),
    verdict: 'incorrect',
    counts: true,
    left_out: false,
    outstanding: 0,
    incorrect_whatever_comes: false,
    judged: true,
    retracted: false,
    version,
    ...changes,
  };
}

function alert(changes: Row): Row {
  return {
    alert_id: 'alert-1',
    kind: 'drop',
    objective: 'baseline',
    transition: 'opened',
    severity: 'ticket',
    at: time('10:30:00'),
    conversation_id: 'conversation-1',
    ...seriesColumns(ORDER_DESK),
    opened_at: time('10:30:00'),
    changed_at: time('10:10:00'),
    trials: 20,
    correct: 11,
    log_evidence: 7.1,
    log_threshold: 6.9,
    certainty: 0.9,
    p0: 0.83,
    delta: 0.03,
    details: '{}',
    version: 10,
    ...changes,
  };
}

/**
 * A store with one insert for each revision, so that nothing is merged: what is superseded came before or after what
 * supersedes it, and says something else.
 */
export async function storeForBoards(atEnd: AtEnd): Promise<TestStore> {
  const store = await freshStore({}, atEnd);
  await store.recordPolicy({ policy: POLICY, sinceMs: time('00:00:00'), settings: {} });
  const writer = store.writer(WRITER_DEPS);
  const [first, second] = TURNS;
  await writeInTurn(writer, [
    graded({ ...second, revision: 1 }, { label: 'correct' }),
    graded({ ...second, revision: 8 }, { label: 'incorrect', scores: [FAILED, ABSTAINED] }),
    graded(first),
  ]);
  await writer.close({ drainMs: 10_000 });

  const engine = await openEngine(store.config, ENGINE_DEPS);
  let inserts = 0;
  const insert = async (table: string, rows: readonly Row[]) => {
    const columns = Object.keys(rows[0] ?? {});
    const lines = rows.map((row) => JSON.stringify(columns.map((column) => row[column])));
    await engine.insert(table, columns, lines, `${table}-${(inserts += 1)}`);
  };
  try {
    for (const series of SERIES) {
      await insert('estimates', estimates(series, '08:00:00', 10, 10, 2));
      await insert('estimates', estimates(series, '07:00:00', 5, 0, 1));
      await insert('estimates', estimates(series, '08:00:00', 9, 2, 1));
      await insert('estimates', estimates(series, '10:00:00', 10, 9, 3));
      await insert('estimates', estimates(series, '11:00:00', 10, 8, 4));
      await insert('estimates', estimates(series, '11:00:00', 10, 7, 5));
    }
    await insert('comparisons', comparisons('version', '1.9', '11:00:00', 9, 2));
    await insert('comparisons', comparisons('version', '1.9', '11:00:00', 7, 3));
    await insert('comparisons', comparisons('version', '1.8', '10:00:00', 2, 4));
    await insert('comparisons', comparisons('window', '2.0.1', '11:00:00', 7, 1));
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-1', '10:16:10', 2)]);
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-1', '10:16:10', 1, { verdict: 'correct' })]);
    // Resumed and put right, gone, open still, and out of the range.
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-2', '10:20:00', 1)]);
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-2', '10:20:00', 2, { verdict: 'correct' })]);
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-3', '10:21:00', 1)]);
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-3', '10:21:00', 2, { retracted: true })]);
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-4', '11:45:00', 1)]);
    await insert('conversations', [conversation(ORDER_DESK, 'conversation-5', '08:59:59', 1)]);
    const trial = (id: string, correct: boolean, version: number): Row => {
      return { conversation_id: id, ...seriesColumns(ORDER_DESK), first_closed_at: time('10:16:10'), correct, version };
    };
    await insert('trials', [trial('conversation-1', false, 9)]);
    await insert('trials', [trial('conversation-1', true, 8)]);
    await insert('alerts', [alert({})]);
    await insert('alerts', [alert({ version: 9, trials: 30 })]);
    await insert('alerts', [
      alert({
        transition: 'upgraded',
        severity: 'page',
        at: time('10:40:00'),
        trials: 28,
        correct: 14,
        certainty: 0.96,
      }),
    ]);
    const blind = {
      alert_id: 'alert-2',
      kind: 'blind',
      objective: '',
      ...seriesColumns(ODD),
      opened_at: time('09:30:00'),
    };
    await insert('alerts', [alert({ ...blind, at: time('09:30:00') })]);
    await insert('alerts', [alert({ ...blind, at: time('09:50:00'), transition: 'closed' })]);
    const tick = (at: string, readAt: number): Row => {
      return { at: time(at), read_at: readAt, conversations: 1, trials: 1, estimates: 1, written_at: time(at) + 1_000 };
    };
    await insert('rollup_ticks', [tick('11:29:00', 1)]);
    await insert('rollup_ticks', [tick('11:30:00', 2)]);
    await insert('rollup_ticks', [tick('11:30:00', 3)]);
  } finally {
    await engine.close();
  }
  for (const clock of ['11:29:00', '11:30:00']) {
    const beat = {
      worker: 'worker-1',
      source: 'spool',
      atMs: time(clock),
      streamTimeMs: time(clock) - 500,
      details: {},
    };
    await store.recordHeartbeats([beat]);
  }
  return store;
}

/** Merges everything that can be merged. */
export async function mergeAll(store: TestStore): Promise<void> {
  const tables = await store.rows(
    `SELECT name FROM system.tables WHERE database = '${store.config.database}' AND engine LIKE '%MergeTree'`,
  );
  for (const { name } of tables) await store.command(`OPTIMIZE TABLE {db}.${String(name)} FINAL`);
}
