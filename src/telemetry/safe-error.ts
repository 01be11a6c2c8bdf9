/** What may be said of an error whose text we did not write: no values that may be content, prompts or secrets. */
export interface SafeError {
  readonly name: string;
  readonly code?: string;
  /** ClickHouse's name of the code. */
  readonly type?: string;
  /** Absent when nothing of it can be shown. */
  readonly message?: string;
  readonly cause?: SafeError;
}

const MAX_TEXT = 200; // the start of a message says what failed; what follows repeats what it failed on
const MAX_CAUSES = 3;
const WORD = /^[\w.-]{1,60}$/; // names and codes come from programs, not from data
const QUOTE_OR_CONTROL = /["'`\u00b4\u2018-\u201f\u00ab\u00bb\u2039\u203a]|\p{Cc}/u;
/** A ClickHouse text gives values in parentheses and behind colons as well; its code and type say the rest. */
const CLICKHOUSE_VALUE = /[("'`:]/;
const USER_INFO = /\/\/[^/@\s]*@/g;

/**
 * Keeps the class, the code, ClickHouse's type, and the first line of the message up to its first quotation mark: error
 * texts of parsers and of stores quote what they could not read. Causes are treated alike. Never throws, whatever was
 * thrown.
 */
export function safeError(error: unknown): SafeError {
  return describe(error, MAX_CAUSES);
}

/** The part of a text that quotes nothing: its first line up to the first quotation mark, shortened. */
export function safeText(text: string): string {
  return upTo(text, QUOTE_OR_CONTROL);
}

function describe(error: unknown, causes: number): SafeError {
  if (typeof error !== 'object' || error === null) return { name: typeof error };
  const { name, code, type, message, cause } = error as Record<string, unknown>;
  const shownType = word(type);
  const shownCode = word(code);
  const text = typeof message === 'string' ? shown(message, shownType !== undefined) : '';
  return {
    name: word(name) ?? 'Error',
    ...(shownCode !== undefined && { code: shownCode }),
    ...(shownType !== undefined && { type: shownType }),
    ...(text !== '' && { message: text }),
    ...(cause !== undefined && cause !== null && causes > 0 && { cause: describe(cause, causes - 1) }),
  };
}

function shown(message: string, fromClickHouse: boolean): string {
  const text = safeText(message);
  return fromClickHouse ? upTo(text.replace(/^Code: \d+\. DB::Exception: /, ''), CLICKHOUSE_VALUE) : text;
}

function upTo(text: string, end: RegExp): string {
  const start = text.slice(0, MAX_TEXT).replaceAll(USER_INFO, '//');
  const at = start.search(end);
  const kept = (at < 0 ? start : start.slice(0, at)).trimEnd();
  return at < 0 && text.length <= MAX_TEXT ? kept : `${kept}…`;
}

function word(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && WORD.test(text) ? text : undefined;
}
