import type { ComparisonRow, ConversationVerdict, EstimateRow, Series, Trial } from '../model/estimate.js';
import type { VerdictLabel } from '../model/score.js';
import { earliestStands } from './clock.js';
import { SERIES_COLUMNS, type Row } from './rollup-sql.js';

/** A row of `conversations`. Times in milliseconds since the Unix epoch. */
export interface ConversationRow {
  readonly conversationId: string;
  /** Of the first turn; its task is the turn's own label. */
  readonly series: Series;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly firstClosedAtMs: number;
  /** In order of start, as are the ids. */
  readonly interactionStartsMs: readonly number[];
  readonly interactionIds: readonly string[];
  readonly verdict: ConversationVerdict;
  readonly judged: boolean;
  /** Was its first settled verdict correct? null while there is none. */
  readonly trial: boolean | null;
  readonly retracted: boolean;
  /** `firstClosedAtMs` of the row that it replaces, when the estimates had counted that one. */
  readonly revisesMs: number | null;
  /** When its verdicts were read, in microseconds by the clock of the store. */
  readonly version: number;
}

/** A trial with the series that it counts for. */
export interface TrialRow extends Trial {
  readonly series: Series;
}

/** When a series began. */
export interface SeriesStart {
  /** As the tables hash it: a whole number of 64 bits. */
  readonly seriesId: string;
  /** Without a task. */
  readonly series: Series;
  /** The earliest close of a conversation that counts, in milliseconds since the Unix epoch. */
  readonly firstClosedAtMs: number;
}

/** How far a rollup has come. */
export interface TickRow {
  /** Everything up to it is in the tables. Milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** When it began to read, in microseconds by the clock of the store. */
  readonly readAtMicros: number;
}

export interface WrittenRows {
  readonly conversations: number;
  readonly trials: number;
  readonly estimates: number;
}

/** Lines of JSONCompactEachRow for one table. `ms` is the time that its rows are partitioned by. */
export interface Lines {
  readonly columns: readonly string[];
  readonly lines: readonly { readonly ms: number; readonly text: string }[];
}

/** Its rows with a key of another row mark that row as void. */
export function conversationLines(rows: readonly ConversationRow[]): Lines {
  return {
    columns: [...SERIES_COLUMNS, 'conversation_id', ...CONVERSATION_COLUMNS],
    lines: rows.map((row) => ({
      ms: row.startedAtMs,
      text: line([
        ...seriesValues(row.series),
        row.conversationId,
        row.startedAtMs,
        row.endedAtMs,
        row.firstClosedAtMs,
        row.interactionIds,
        row.interactionStartsMs,
        row.verdict.label,
        row.verdict.counts,
        row.verdict.leftOut,
        row.verdict.outstanding,
        row.verdict.incorrectWhateverComes,
        row.judged,
        row.trial,
        row.retracted,
        row.revisesMs,
        row.version,
      ]),
    })),
  };
}

const CONVERSATION_COLUMNS = [
  'started_at',
  'ended_at',
  'first_closed_at',
  'interaction_ids',
  'interaction_starts',
  'verdict',
  'counts',
  'left_out',
  'outstanding',
  'incorrect_whatever_comes',
  'judged',
  'trial',
  'retracted',
  'revises',
  'version',
] as const;

/** What `conversationFromRow` reads, as a SELECT list. */
export const CONVERSATION_SELECT =
  'conversation_id, assistant_id, agent_version, environment, task, policy, ' +
  'toUnixTimestamp64Milli(started_at) AS started_ms, toUnixTimestamp64Milli(ended_at) AS ended_ms, ' +
  'toUnixTimestamp64Milli(first_closed_at) AS closed_ms, interaction_ids, ' +
  'arrayMap(at -> toUnixTimestamp64Milli(at), interaction_starts) AS starts_ms, verdict, counts, left_out, outstanding, ' +
  'incorrect_whatever_comes, judged, trial, retracted, toUnixTimestamp64Milli(revises) AS revises_ms, version';

export function conversationFromRow(row: Row): ConversationRow {
  return {
    conversationId: String(row['conversation_id']),
    series: seriesFromRow(row),
    startedAtMs: Number(row['started_ms']),
    endedAtMs: Number(row['ended_ms']),
    firstClosedAtMs: Number(row['closed_ms']),
    interactionIds: (row['interaction_ids'] as readonly unknown[]).map(String),
    interactionStartsMs: (row['starts_ms'] as readonly unknown[]).map(Number),
    verdict: {
      label: row['verdict'] as VerdictLabel,
      counts: row['counts'] === true,
      leftOut: row['left_out'] === true,
      outstanding: Number(row['outstanding']),
      incorrectWhateverComes: row['incorrect_whatever_comes'] === true,
    },
    judged: row['judged'] === true,
    trial: row['trial'] as boolean | null,
    retracted: row['retracted'] === true,
    revisesMs: row['revises_ms'] === null ? null : Number(row['revises_ms']),
    version: Number(row['version']),
  };
}

/** The series columns of a row, whatever the table. */
export function seriesFromRow(row: Row): Series {
  return {
    assistantId: String(row['assistant_id']),
    agentVersion: row['agent_version'] as string | null,
    environment: row['environment'] as string | null,
    task: (row['task'] ?? null) as string | null,
    policy: String(row['policy']),
  };
}

function seriesValues({ assistantId, agentVersion, environment, task, policy }: Series): unknown[] {
  return [assistantId, agentVersion, environment, task, policy];
}

/** `readAtMicros`: when the verdicts were read; the earliest trial of a conversation stands. */
export function trialLines(rows: readonly TrialRow[], readAtMicros: number): Lines {
  return {
    columns: [...SERIES_COLUMNS, 'conversation_id', 'first_closed_at', 'correct', 'version'],
    lines: rows.map(({ series, conversationId, firstClosedAtMs, correct }) => ({
      ms: firstClosedAtMs,
      text: line([...seriesValues(series), conversationId, firstClosedAtMs, correct, earliestStands(readAtMicros)]),
    })),
  };
}

const ESTIMATE_COLUMNS = [
  ...SERIES_COLUMNS,
  'window',
  'k',
  'at',
  'metric',
  'scope',
  'mode',
  'n',
  'c',
  'unscored',
  'outstanding',
  'outstanding_incorrect',
  'left_out',
  'mean',
  'lower',
  'upper',
  'bound_lower',
  'bound_upper',
  'assessment',
  'prior_a',
  'prior_b',
  'level',
] as const satisfies readonly (keyof EstimateRow)[];

/** `readAtMicros`: when the conversations were read; the latest estimate of a tick stands. */
export function estimateLines(rows: readonly EstimateRow[], readAtMicros: number): Lines {
  return {
    columns: [...ESTIMATE_COLUMNS, 'version'],
    lines: rows.map((row) => ({
      ms: row.at,
      text: line([...ESTIMATE_COLUMNS.map((column) => row[column]), readAtMicros]),
    })),
  };
}

const COMPARISON_COLUMNS = [
  'kind',
  'assistant_id',
  'agent_version',
  'environment',
  'policy',
  'window',
  'k',
  'at',
  'n',
  'c',
  'mean',
  'lower',
  'upper',
  'before_version',
  'before_n',
  'before_c',
  'before_mean',
  'before_lower',
  'before_upper',
  'difference',
  'margin',
  'worse',
  'better',
  'prior_a',
  'prior_b',
  'level',
] as const satisfies readonly (keyof ComparisonRow)[];

/** `readAtMicros`: when the conversations were read; of one tick the latest row stands, and of all that of the last tick. */
export function comparisonLines(rows: readonly ComparisonRow[], readAtMicros: number): Lines {
  return {
    columns: [...COMPARISON_COLUMNS, 'version'],
    lines: rows.map((row) => {
      const version = String((BigInt(row.at) << 64n) + BigInt(readAtMicros));
      return { ms: row.at, text: line([...COMPARISON_COLUMNS.map((column) => row[column]), version]) };
    }),
  };
}

export function tickLines({ atMs, readAtMicros }: TickRow, written: WrittenRows): Lines {
  return {
    columns: ['at', 'read_at', 'conversations', 'trials', 'estimates'],
    lines: [{ ms: atMs, text: line([atMs, readAtMicros, written.conversations, written.trials, written.estimates]) }],
  };
}

/** Texts come from the store, which holds well-formed ones only. */
function line(values: readonly unknown[]): string {
  return JSON.stringify(values);
}
