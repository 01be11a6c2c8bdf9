/** What Grafana's ClickHouse plugin knows when it expands macros. */
export interface MacroContext {
  /** Milliseconds since the Unix epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Milliseconds, as Grafana derives it from range and width; 0 happens in tests of alert rules. */
  readonly intervalMs: number;
}

type Macro = (args: readonly string[], context: MacroContext) => string;

const seconds = (ms: number) => `toDateTime(${Math.floor(ms / 1_000)})`;
const milliseconds = (ms: number) => `fromUnixTimestamp64Milli(${Math.floor(ms)})`;
const date = (ms: number) => `toDate('${new Date(ms).toISOString().slice(0, 10)}')`;
const between = (column: string, literal: (ms: number) => string, { fromMs, toMs }: MacroContext) =>
  `${column} >= ${literal(fromMs)} AND ${column} <= ${literal(toMs)}`;
const wholeSeconds = ({ intervalMs }: MacroContext) => Math.max(1, Math.floor(intervalMs / 1_000));

/** The macro of so many arguments; an error, in the plugin's manner, for any other number. */
const of =
  (count: number, expand: (args: readonly string[], context: MacroContext) => string): Macro =>
  (args, context) => {
    if (args.length !== count) throw new RangeError(`${count} arguments expected, got ${args.length}`);
    return expand(args, context);
  };

const dateAndTime = of(2, ([day = '', time = ''], context) => {
  return `(${between(day, date, context)}) AND (${between(time, seconds, context)})`;
});

/** Those that the boards may use, by the plugin's documentation of version 4; its back end alone expands them. */
const MACROS: Readonly<Record<string, Macro>> = {
  fromTime: (_, { fromMs }) => seconds(fromMs),
  toTime: (_, { toMs }) => seconds(toMs),
  fromTime_ms: (_, { fromMs }) => milliseconds(fromMs),
  toTime_ms: (_, { toMs }) => milliseconds(toMs),
  timeFilter: of(1, ([column = ''], context) => between(column, seconds, context)),
  timeFilter_ms: of(1, ([column = ''], context) => between(column, milliseconds, context)),
  dateFilter: of(1, ([column = ''], context) => between(column, date, context)),
  dateTimeFilter: dateAndTime,
  dt: dateAndTime,
  timeInterval: of(1, ([column = ''], context) => {
    return `toStartOfInterval(toDateTime(${column}), INTERVAL ${wholeSeconds(context)} second)`;
  }),
  timeInterval_ms: of(1, ([column = ''], { intervalMs }) => {
    return `toStartOfInterval(toDateTime64(${column}, 3), INTERVAL ${Math.max(1, Math.floor(intervalMs))} millisecond)`;
  }),
  interval_s: (_, context) => String(wholeSeconds(context)),
};

/**
 * SQL as the plugin's back end sends it: comments stripped, macros expanded. One that it does not know stays as it is, for
 * the engine to refuse; a wrong number of arguments throws RangeError.
 */
export function expandMacros(sql: string, context: MacroContext): string {
  const plain = withoutComments(sql);
  let out = '';
  let at = 0;
  for (const { index, 0: text, 1: name } of plain.matchAll(/\$__(\w+)/g)) {
    if (index < at) continue; // Inside the arguments of another one, which were expanded with it.
    const macro = MACROS[name as string];
    if (macro === undefined) continue;
    const open = index + text.length;
    const close = plain[open] === '(' ? closing(plain, open) : open - 1;
    const args = close > open ? splitArguments(plain.slice(open + 1, close)) : [];
    out +=
      plain.slice(at, index) +
      macro(
        args.map((arg) => expandMacros(arg, context)),
        context,
      );
    at = close + 1;
  }
  return out + plain.slice(at);
}

const QUOTED_OR_COMMENT = /'(?:[^'\\]|\\.|'')*'|`[^`]*`|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\//g;

function withoutComments(sql: string): string {
  return sql.replace(QUOTED_OR_COMMENT, (part) => (/^(--|\/\*)/.test(part) ? '' : part));
}

/** Where the bracket that opens at `open` closes. */
function closing(sql: string, open: number): number {
  let depth = 0;
  for (let i = open; i < sql.length; i += 1) {
    if (sql[i] === '(') depth += 1;
    if (sql[i] === ')' && --depth === 0) return i;
  }
  throw new RangeError(`a closing bracket expected for the one at ${open}`);
}

function splitArguments(text: string): string[] {
  const args: string[] = [];
  let depth = 0;
  let arg = '';
  for (const char of text) {
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (char === ',' && depth === 0) {
      args.push(arg.trim());
      arg = '';
    } else arg += char;
  }
  return text.trim() === '' ? [] : [...args, arg.trim()];
}

/** What is chosen in the board's variables: one value, or several where more can be chosen. */
export type Chosen = Readonly<Record<string, string | readonly string[]>>;

const FORMATS: Readonly<Record<string, (values: readonly string[]) => string>> = {
  // Escapes quotes and nothing else, as Grafana does.
  singlequote: (values) => values.map((value) => `'${value.replaceAll("'", "\\'")}'`).join(','),
  csv: (values) => values.join(','),
};

/** Grafana's own step before the plugin's: `${name:format}` in SQL. Throws for what is not of this form, or not known. */
export function expandVariables(sql: string, chosen: Chosen): string {
  const expanded = sql.replace(/\$\{(\w+)(?::(\w+))?\}/g, (text, name: string, format: string | undefined) => {
    const values = chosen[name];
    const write = FORMATS[format ?? ''];
    if (values === undefined || write === undefined)
      throw new RangeError(`a known variable and format expected, got ${text}`);
    return write(typeof values === 'string' ? [values] : values);
  });
  const bare = /\$(?!__)\w+/.exec(expanded)?.[0];
  if (bare !== undefined) throw new RangeError(`a variable with a format expected, got ${bare}`);
  return expanded;
}
