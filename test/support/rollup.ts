import { conversationOf } from '../../src/estimate/conversations.js';
import type { JudgedTurn } from '../../src/model/estimate.js';
import { comparisonRows } from '../../src/estimate/comparison-rows.js';
import { estimateRows } from '../../src/estimate/estimate-rows.js';
import { windowNamed } from '../../src/estimate/windows.js';
import { countWindows } from './count-windows.js';
import type { ComparisonRow, Conversation, EstimateRow, Window, WindowCounts } from '../../src/model/estimate.js';
import type { Graded } from '../../src/model/graded.js';
import { goesBeyondRules } from '../../src/model/score.js';
import type { RollupRules } from '../../src/rollup/rules.js';
import { conversationVerdict } from '../../src/score/conversation-verdict.js';
import type { RollupStore } from '../../src/store/rollup-store.js';
import { seededRandom } from './random.js';
import { graded, turn, type TestStore, WRITER_DEPS } from './store.js';

export const MINUTE = 60_000;
export const NINE = Date.parse('2026-11-30T09:00:00Z');

export const RULES: RollupRules = {
  idleMs: 10 * MINUTE,
  tickMs: MINUTE,
  windows: ['10m', '1h', 'last_5', 'last_20'].map(windowNamed),
  figures: { ks: [1, 3], prior: { a: 1, b: 1 }, level: 0.95 },
  margin: 0,
};

export function rollupOf(store: TestStore): RollupStore {
  return store.rollup({ nowMs: () => Date.now() });
}

/** Lets a worker say that it has read up to this time. */
export async function streamTime(store: TestStore, ms: number): Promise<void> {
  await store.recordHeartbeats([{ worker: 'w', source: 'spool', atMs: Date.now(), streamTimeMs: ms, details: {} }]);
}

/** Rows as a worker writes them, all at once. */
export async function write(store: TestStore, rows: readonly Graded[]): Promise<void> {
  const writer = store.writer(WRITER_DEPS);
  const written = rows.map((row) => writer.write(row));
  writer.flush();
  for (const outcome of await Promise.all(written)) {
    if (outcome.status !== 'ok') throw new Error(`ok expected, got ${outcome.status}`);
  }
  await writer.close({ drainMs: 10_000 });
}

interface Spoken {
  readonly conversation: string;
  /** Which trace, 1 .. 65535: one a turn. */
  readonly trace: number;
  readonly startMs: number;
  readonly seconds?: number;
  readonly assistantId?: string;
  readonly agentVersion?: string | null;
  readonly task?: string | null;
}

/** A turn of a conversation with its verdict. */
export function spoken(
  { conversation, trace, startMs, seconds = 10, ...of }: Spoken,
  changes: Parameters<typeof graded>[1] = {},
): Graded {
  const at = new Date(startMs).toISOString();
  return graded(turn({ trace, at, seconds, conversationId: conversation, assistantId: 'bot', ...of }), changes);
}

/**
 * Conversations of two agents over an hour, of one to three turns less than the idle time apart: most correct, some
 * incorrect, and some of each kind that is no trial; those of the second half hour are of a second version. In order of
 * end.
 */
export function traffic(seed: number, conversations: number): readonly Graded[] {
  const random = seededRandom(seed);
  const below = (n: number) => Math.floor(random() * n);
  let trace = 0;
  const turns = Array.from({ length: conversations }, (_, number) => {
    let startMs = NINE + below(60 * MINUTE);
    const agent = below(2);
    const task = [null, 'refund', 'order'][below(3)] ?? null;
    const agentVersion = startMs < NINE + 30 * MINUTE ? '1' : '2';
    return Array.from({ length: 1 + below(3) }, () => {
      trace += 1;
      const seconds = below(40);
      const of = {
        conversation: `c-${number}`,
        trace,
        startMs,
        seconds,
        task,
        assistantId: `bot-${agent}`,
        agentVersion,
      };
      startMs += seconds * 1_000 + 1 + below(8 * MINUTE);
      return spoken(of, VERDICTS[below(VERDICTS.length)]);
    });
  });
  return turns.flat().sort((a, b) => a.interaction.endedAtMs - b.interaction.endedAtMs);
}

const VERDICTS: readonly Parameters<typeof graded>[1][] = [
  ...Array.from({ length: 8 }, () => ({})),
  { label: 'incorrect' },
  { label: 'unscored', outstanding: 1 },
  { label: 'incorrect', outstanding: 2 },
  { label: 'unscored', leftOut: true },
  { label: 'unscored', neutral: true, scores: [] },
];

/** The conversations that these turns make, in memory. */
export function conversationsOf(rows: readonly Graded[], atMs: number, rules = RULES): readonly Conversation[] {
  const groups = new Map<string, JudgedTurn[]>();
  for (const { interaction, verdict } of rows) {
    const key = JSON.stringify([interaction.conversationId, interaction.assistantId]);
    const judged = verdict.scores.some(goesBeyondRules);
    groups.set(key, [...(groups.get(key) ?? []), { ...interaction, ...verdict, judged }]);
  }
  return [...groups.values()].flatMap((turns) => {
    const conversation = conversationOf(turns, atMs, { idleMs: rules.idleMs, verdictOf: conversationVerdict });
    return conversation === null ? [] : [conversation];
  });
}

/**
 * The estimates that have to be there at the tick `toMs`, counted one by one in memory: a window has rows at each tick at
 * which something came in or went out.
 */
export function expectedEstimates(rows: readonly Graded[], toMs: number, rules = RULES): readonly EstimateRow[] {
  const conversations = conversationsOf(rows, toMs, rules);
  const series = new Map<string, Conversation[]>();
  for (const conversation of conversations) {
    const { assistantId, agentVersion, environment, policy } = conversation.series;
    const key = JSON.stringify([assistantId, agentVersion, environment, policy]);
    series.set(key, [...(series.get(key) ?? []), conversation]);
  }
  const expected: EstimateRow[] = [];
  for (const members of series.values()) {
    for (let atMs = NINE - (NINE % rules.tickMs); atMs <= toMs; atMs += rules.tickMs) {
      const passed = (ms: number) => ms > atMs - rules.tickMs && ms <= atMs;
      const counts = countWindows(members, rules.windows, atMs);
      rules.windows.forEach((window, index) => {
        const changed = members.some(
          ({ firstClosedAtMs }) =>
            passed(firstClosedAtMs) || (window.kind === 'time' && passed(firstClosedAtMs + window.spanMs)),
        );
        const found = counts[index];
        if (!changed || found === undefined) return;
        const of = { ...(members[0] as Conversation).series, task: null };
        expected.push(...estimateRows(of, window.name, found, atMs, rules.figures));
      });
    }
  }
  return expected.sort(byKey);
}

/** What is in `estimates`, under the names of the columns. */
export async function storedEstimates(store: TestStore): Promise<readonly EstimateRow[]> {
  const rows = await store.rows(
    'SELECT * EXCEPT (at, series, version, written_at), toUnixTimestamp64Milli(at) AS at FROM {db}.estimates FINAL',
  );
  const numbers = ['k', 'at', 'n', 'c', 'unscored', 'outstanding', 'outstanding_incorrect', 'left_out'] as const;
  return rows
    .map(
      (row) =>
        ({ ...row, ...Object.fromEntries(numbers.map((name) => [name, Number(row[name])])) }) as unknown as EstimateRow,
    )
    .sort(byKey);
}

function byKey(a: EstimateRow, b: EstimateRow): number {
  const key = (row: EstimateRow) =>
    JSON.stringify([
      row.assistant_id,
      row.agent_version,
      row.policy,
      row.window,
      row.at,
      row.scope,
      row.mode,
      row.metric,
      row.k,
    ]);
  return key(a) < key(b) ? -1 : 1;
}

/**
 * The comparisons that have to be there at the tick `toMs`, counted one by one in memory: of each window of each version
 * with the stretch before it, and of the two newest versions of each agent; as of the last tick at which a side changed.
 */
export function expectedComparisons(rows: readonly Graded[], toMs: number, rules = RULES): readonly ComparisonRow[] {
  const { ks, prior, level } = rules.figures;
  const figures = { ks, prior, level, margin: rules.margin };
  const versions = new Map<string, Conversation[]>();
  for (const conversation of conversationsOf(rows, toMs, rules)) {
    const { assistantId, agentVersion } = conversation.series;
    const key = JSON.stringify([assistantId, agentVersion]);
    versions.set(key, [...(versions.get(key) ?? []), conversation]);
  }
  const agents = new Map<string, Conversation[][]>();
  for (const members of versions.values()) {
    const { assistantId } = (members[0] as Conversation).series;
    agents.set(assistantId, [...(agents.get(assistantId) ?? []), members]);
  }
  const began = (members: readonly Conversation[]) =>
    Math.min(...members.filter(({ verdict }) => verdict.counts).map(({ firstClosedAtMs }) => firstClosedAtMs));
  const lastChange = (members: readonly Conversation[], window: Window): number => {
    const times = members.flatMap(({ firstClosedAtMs: ms }) =>
      window.kind === 'time' ? [ms, ms + window.spanMs] : [ms],
    );
    const ticks = times.map((ms) => Math.ceil(ms / rules.tickMs) * rules.tickMs);
    return Math.max(0, ...ticks.filter((ms) => ms <= toMs));
  };
  const of = (members: readonly Conversation[]) => ({ ...(members[0] as Conversation).series, task: null });
  const expected: ComparisonRow[] = [];
  for (const window of rules.windows) {
    const whole: Window =
      window.kind === 'time' ? { ...window, spanMs: 2 * window.spanMs } : { ...window, trials: 2 * window.trials };
    // The longest of their kind are not compared with what was before.
    for (const members of ['10m', 'last_5'].includes(window.name) ? versions.values() : []) {
      const atMs = lastChange(members, window);
      const [counts, all] = countWindows(members, [window, whole], atMs) as [WindowCounts, WindowCounts];
      const before = { trials: all.trials - counts.trials, correct: all.correct - counts.correct };
      const sides = { before: { series: of(members), counts: before }, now: { series: of(members), counts } };
      expected.push(...comparisonRows('window', sides, window.name, atMs, figures));
    }
    for (const series of agents.values()) {
      const [now, before] = [...series].sort((a, b) => began(b) - began(a));
      if (now === undefined || before === undefined) continue;
      const atMs = Math.max(lastChange(now, window), lastChange(before, window));
      const side = (members: readonly Conversation[]) => ({
        series: of(members),
        counts: countWindows(members, [window], atMs)[0] as WindowCounts,
      });
      const sides = { before: side(before), now: side(now) };
      expected.push(...comparisonRows('version', sides, window.name, atMs, figures));
    }
  }
  return expected.sort(byComparison);
}

/** What is in `comparisons`, under the names of the columns. */
export async function storedComparisons(store: TestStore): Promise<readonly ComparisonRow[]> {
  const rows = await store.rows(
    'SELECT * EXCEPT (at, series, subject, version, written_at), toUnixTimestamp64Milli(at) AS at FROM {db}.comparisons FINAL',
  );
  const numbers = ['k', 'at', 'n', 'c', 'before_n', 'before_c'] as const;
  return rows
    .map(
      (row) =>
        ({
          ...row,
          ...Object.fromEntries(numbers.map((name) => [name, Number(row[name])])),
        }) as unknown as ComparisonRow,
    )
    .sort(byComparison);
}

function byComparison(a: ComparisonRow, b: ComparisonRow): number {
  const key = (row: ComparisonRow) =>
    JSON.stringify([row.kind, row.assistant_id, row.agent_version, row.policy, row.window, row.k]);
  return key(a) < key(b) ? -1 : 1;
}

/** One text a row: comparing thousands of objects takes long, and says little when they differ. */
export function asLines(rows: readonly (EstimateRow | ComparisonRow)[]): readonly string[] {
  return rows.map((row) => JSON.stringify(row, Object.keys(row).sort()));
}

/** What is in `trials`: id, correct, place in the order. */
export async function storedTrials(store: TestStore): Promise<readonly unknown[]> {
  return store.rows(
    'SELECT conversation_id AS id, correct, toUnixTimestamp64Milli(first_closed_at) - {nine:Int64} AS ms FROM {db}.trials FINAL ORDER BY id',
    { nine: NINE },
  );
}
