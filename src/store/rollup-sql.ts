/** What the queries of the rollup have in common. */

/** One row as the engine answers it in JSONEachRow. */
export type Row = Readonly<Record<string, unknown>>;

/** Asks for rows; `{db}` in the SQL is the database. */
export type Rows = (sql: string, params: Readonly<Record<string, unknown>>) => Promise<readonly Row[]>;

/** The sorting key of `conversations`: all versions of one have the same. */
export const CONVERSATION_KEY = 'toDate(started_at), series, started_at, conversation_id';

/** The columns that tell a series and the task in it. */
export const SERIES_COLUMNS = ['assistant_id', 'agent_version', 'environment', 'task', 'policy'] as const;

/** SQL of a moment that is a parameter, in milliseconds since the Unix epoch. */
export function time(name: string): string {
  return `fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;
}
