import { SERIES_COLUMNS } from './rollup-sql.js';

/**
 * LowCardinality columns of the tables that rows go into by the thousand. They are inserted by the text column beside
 * them, of the same name and `_text`, which is less work for the engine (migration 007).
 */
const TEXT_COLUMNS: Readonly<Record<string, readonly string[] | undefined>> = {
  interactions: [
    'conversation_id_source',
    'assistant_id',
    'agent_version',
    'environment',
    'task',
    'model',
    'dialect',
    'tool_calls.name',
    'tool_calls.arguments_status',
    'tool_calls.result_status',
    'tool_calls.owner',
    'tool_calls.offer',
    'coverage',
  ],
  verdicts: [
    'policy',
    'verdict',
    'scores.criterion',
    'scores.decided_by',
    'scores.abstained',
    'assistant_id',
    'agent_version',
    'environment',
    'task',
    'model',
  ],
  estimates: [...SERIES_COLUMNS, 'window', 'metric', 'scope', 'mode', 'assessment'],
  comparisons: ['kind', 'assistant_id', 'agent_version', 'environment', 'policy', 'window', 'before_version'],
};

/** The column that values of this one are inserted by. */
export function insertColumn(table: string, column: string): string {
  return TEXT_COLUMNS[table]?.includes(column) === true ? `${column}_text` : column;
}
