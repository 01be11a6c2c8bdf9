/**
 * What an insert's failure says about the rows in it.
 *
 * - `wait`: nothing. The engine is away, overloaded, full, or set up wrongly; the same rows will do later.
 * - `row`: the engine read the rows and refuses one of them.
 * - `unknown`: none of the above is sure.
 */
export type FailureKind = 'wait' | 'row' | 'unknown';

export interface Failure {
  readonly kind: FailureKind;
  /** ClickHouse's error code, or the code of the network error, or `none`. */
  readonly code: string;
  /** Its name, as ClickHouse gives it. */
  readonly type: string;
  /** The column that the engine was reading, when it says so. */
  readonly column: string | null;
}

/** Codes by which the engine says "not now", or "not while I am set up like this". Names as in ClickHouse's ErrorCodes. */
export const WAIT_CODES: Readonly<Record<number, string>> = {
  16: 'NO_SUCH_COLUMN_IN_TABLE', // another version's schema: a person must migrate, no row is at fault
  60: 'UNKNOWN_TABLE',
  74: 'CANNOT_READ_FROM_FILE_DESCRIPTOR',
  75: 'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
  76: 'CANNOT_OPEN_FILE',
  81: 'UNKNOWN_DATABASE',
  95: 'CANNOT_READ_FROM_SOCKET',
  96: 'CANNOT_WRITE_TO_SOCKET',
  159: 'TIMEOUT_EXCEEDED',
  160: 'TOO_SLOW',
  164: 'READONLY',
  173: 'CANNOT_ALLOCATE_MEMORY',
  192: 'UNKNOWN_USER',
  193: 'WRONG_PASSWORD',
  194: 'REQUIRED_PASSWORD',
  198: 'DNS_ERROR',
  201: 'QUOTA_EXCEEDED',
  202: 'TOO_MANY_SIMULTANEOUS_QUERIES',
  203: 'NO_FREE_CONNECTION',
  209: 'SOCKET_TIMEOUT',
  210: 'NETWORK_ERROR',
  225: 'NO_ZOOKEEPER',
  236: 'ABORTED',
  241: 'MEMORY_LIMIT_EXCEEDED',
  242: 'TABLE_IS_READ_ONLY',
  243: 'NOT_ENOUGH_SPACE',
  252: 'TOO_MANY_PARTS',
  279: 'ALL_CONNECTION_TRIES_FAILED',
  285: 'TOO_FEW_LIVE_REPLICAS',
  286: 'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE',
  289: 'REPLICA_IS_NOT_IN_QUORUM',
  319: 'UNKNOWN_STATUS_OF_INSERT',
  373: 'SESSION_IS_LOCKED',
  394: 'QUERY_WAS_CANCELLED',
  425: 'SYSTEM_ERROR',
  439: 'CANNOT_SCHEDULE_TASK',
  473: 'DEADLOCK_AVOIDED',
  497: 'ACCESS_DENIED',
  499: 'S3_ERROR',
  516: 'AUTHENTICATION_FAILED',
  745: 'SERVER_OVERLOADED',
  999: 'KEEPER_EXCEPTION',
};

/** Codes by which the engine refuses what a row holds. */
export const ROW_CODES: Readonly<Record<number, string>> = {
  6: 'CANNOT_PARSE_TEXT',
  25: 'CANNOT_PARSE_ESCAPE_SEQUENCE',
  26: 'CANNOT_PARSE_QUOTED_STRING',
  27: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  32: 'ATTEMPT_TO_READ_AFTER_EOF',
  33: 'CANNOT_READ_ALL_DATA',
  38: 'CANNOT_PARSE_DATE',
  41: 'CANNOT_PARSE_DATETIME',
  53: 'TYPE_MISMATCH',
  69: 'ARGUMENT_OUT_OF_BOUND',
  70: 'CANNOT_CONVERT_TYPE',
  72: 'CANNOT_PARSE_NUMBER',
  117: 'INCORRECT_DATA',
  128: 'TOO_LARGE_ARRAY_SIZE',
  130: 'CANNOT_READ_ARRAY_FROM_TEXT',
  131: 'TOO_LARGE_STRING_SIZE',
  190: 'SIZES_OF_ARRAYS_DONT_MATCH',
  321: 'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
  349: 'CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN',
  395: 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO',
  407: 'DECIMAL_OVERFLOW',
  467: 'CANNOT_PARSE_BOOL',
  469: 'VIOLATED_CONSTRAINT',
};

/**
 * Reads an insert's failure. An error that is no answer of ClickHouse (refused, reset, timed out, a proxy's 503) is of
 * kind `wait`: whether the rows arrived is unknown, and sending them again with the same token is harmless.
 *
 * Of the engine's message only the code, its name and the column survive: the rest quotes the row.
 */
export function readFailure(error: unknown, columns: readonly string[]): Failure {
  if (!isEngineError(error)) return { kind: 'wait', code: networkCode(error), type: 'NO_ANSWER', column: null };

  const code = Number(error.code);
  const kind = code in WAIT_CODES ? 'wait' : code in ROW_CODES ? 'row' : 'unknown';
  const read = /while reading the value of key ([\w.]+)/.exec(error.message)?.[1];
  const column = read !== undefined && columns.includes(read) ? read : null;
  return { kind, code: error.code, type: error.type ?? 'UNKNOWN', column };
}

/**
 * Is it an answer of ClickHouse, with one of its numeric codes? By shape, because the embedded engine throws another
 * copy of the client's error class.
 */
export function isEngineError(error: unknown): error is Error & { readonly code: string; readonly type?: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^\d+$/.test(error.code);
}

function networkCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? code : 'none';
}

/** Exponential backoff with full jitter, so that workers that lost a server together do not come back together. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Milliseconds to wait before attempt `attempt` + 1, for `attempt` = 1, 2, ...: between half and the whole of
 * min(maxMs, firstMs x 2^(attempt - 1)); `chance` is uniform in [0, 1).
 */
export function backoffMs(attempt: number, backoff: Backoff, chance: number): number {
  const ceiling = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceiling * (0.5 + chance / 2));
}
