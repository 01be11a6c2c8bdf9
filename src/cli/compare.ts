import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import { MAX_K } from '../config.js';
import { compareCounts, type ComparedFigure, type Comparison, type ComparisonRules } from '../estimate/comparison.js';
import { windowNamed } from '../estimate/windows.js';
import type { Estimate, Window } from '../model/estimate.js';
import { askingStore, rowsOf, sqlText, type Ask } from './ask-store.js';
import { withCommonOptions, type RegisterCommand } from './command.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { loadConfig, type CommonOptions } from './load-config.js';
import { rfc3339Ms } from './rfc3339.js';
import { plainTable } from './verdict-table.js';

const FORMATS = ['table', 'json'] as const;
const KEYS = ['assistant', 'version', 'environment', 'policy', 'window', 'from', 'to'] as const;
type Key = (typeof KEYS)[number];
/** null: not recorded. */
type Filter = Readonly<Partial<Record<Key, string | null>>>;

interface CompareOptions extends CommonOptions, Partial<Record<Exclude<Key, 'version'>, string>> {
  readonly a: Filter;
  readonly b: Filter;
  readonly metric: Estimate['metric'];
  readonly k: number;
  readonly margin?: number;
  readonly format: (typeof FORMATS)[number];
}

const COMPARE_HELP = `
A side is named by key=value, several with commas between, or --a and --b given several times: version, environment,
assistant, policy, window, from, to. A value with a comma stands in double quotes, of which one inside is written twice:
--a 'version="1,2"'. version= (nothing behind it) is an agent without a version, version="" one whose version is empty.
An option of the same name is for both sides. A window is a time such as 30m, 24h or 7d, up to the last tick or --to, or
the last so many conversations that count, such as last_200. No conversation may be on both sides.

Examples:
  tracegrade compare --a version=1 --b version=2 --assistant order-desk --k 3 --margin 0.02
  tracegrade compare --a window=7d,to=2026-11-23T00:00:00Z --b window=24h --assistant order-desk
`;

export const compareCommand: RegisterCommand = (program, io, done) => {
  const command: Command = program
    .command('compare')
    .summary('how probable it is that one version is worse than another')
    .description(
      'Compares two versions, environments or stretches of time by pass^K or pass@K of their closed conversations: the ' +
        'probability that B is worse, or better, than A by more than a margin, computed exactly.',
    )
    .requiredOption('--a <side>', 'what to compare with, version=1 for example (needed)', sideOf)
    .requiredOption('--b <side>', 'what is compared, version=2 for example (needed)', sideOf)
    .addOption(new Option('--metric <metric>', 'figure').choices(['pass_pow_k', 'pass_at_k']).default('pass_pow_k'))
    .option('--k <k>', 'K of the figure', wholeNumber, 3)
    .option('--margin <d>', 'the smallest difference that matters, 0 <= d < 1 (default: estimate.margin)', margin)
    .option('--assistant <name>', 'agent of both sides')
    .option('--environment <name>', 'environment of both sides')
    .option('--policy <policy>', 'scoring policy of both sides (default: that of the latest conversation of B)')
    .option('--window <window>', 'of both sides (default: all there is)')
    .option('--from <time>', 'conversations that closed then or later, as in RFC 3339')
    .option('--to <time>', 'conversations that closed before, as in RFC 3339')
    .addOption(new Option('--format <format>', 'how to print').choices(FORMATS).default('table'))
    .action(async (options: CompareOptions) => done(await runCompare(options, io)));
  withCommonOptions(command);
  command.addHelpText('after', COMPARE_HELP);
};

async function runCompare(options: CompareOptions, io: Io): Promise<ExitStatus> {
  const config = await loadConfig(options, io);
  const { prior, level } = config.estimate;
  const { metric, k, format, margin: d = config.estimate.margin } = options;
  return askingStore(config, io, async (ask) => {
    const common = Object.fromEntries(
      KEYS.filter((key) => key !== 'version').flatMap((key) =>
        options[key] === undefined ? [] : [[key, options[key] === '' ? null : options[key]]],
      ),
    ) as Filter;
    const policy = options.policy ?? (await latestPolicy(ask, { ...common, ...options.b }));
    const sides = { a: { policy, ...common, ...options.a }, b: { policy, ...common, ...options.b } };
    const a = await countsOf(ask, 'A', sides.a);
    const b = await countsOf(ask, 'B', sides.b);
    await assertNothingShared(ask, sides.a, sides.b);
    const rules = { metric, k, margin: d, prior, level };
    const comparison = compareCounts(a, b, rules);
    const shown = { ...rules, sides, ...comparison };
    io.stdout.write(format === 'json' ? `${JSON.stringify(shown)}\n` : tableOf(sides, comparison, rules));
    return ExitStatus.done;
  });
}

/** One `key=value`, or `key="value"`, and what follows the comma behind it. */
const PART = /^\s*([^=,]*?)\s*=\s*(?:"((?:[^"]|"")*)"|([^,]*?))\s*(?:,(.*))?$/s;

/** Adds to what was named before. */
function sideOf(text: string, before: Filter = {}): Filter {
  const filter: Partial<Record<Key, string | null>> = { ...before };
  for (let rest: string | undefined = text; rest !== undefined;) {
    const part = PART.exec(rest);
    const key = part?.[1] as Key;
    if (part === null || !KEYS.includes(key)) {
      throw new InvalidArgumentError(`${KEYS.join('=, ')}= expected, got "${rest}"`);
    }
    const [, , quoted, plain = '', behind] = part;
    filter[key] = quoted?.replaceAll('""', '"') ?? (plain === '' ? null : plain);
    rest = behind;
  }
  return filter;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1 || value > MAX_K) {
    throw new InvalidArgumentError(`a whole number from 1 to ${MAX_K} expected`);
  }
  return value;
}

function margin(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value < 1)) throw new InvalidArgumentError('0 <= d < 1 expected');
  return value;
}

async function latestPolicy(ask: Ask, filter: Filter): Promise<string> {
  const { policy: _any, ...others } = filter;
  const [row] = await rowsOf(
    ask,
    `SELECT policy FROM conversations_current WHERE ${conditions(others).join(' AND ')}
     ORDER BY first_closed_at DESC, conversation_id DESC LIMIT 1`,
  );
  if (row === undefined) throw nothingFound('B', filter);
  return filter.policy ?? String(row['policy']);
}

async function countsOf(ask: Ask, side: string, filter: Filter): Promise<{ trials: number; correct: number }> {
  const [row] = await rowsOf(
    ask,
    `SELECT count() AS trials, countIf(verdict = 'correct') AS correct, groupUniqArray(5)(assistant_id) AS assistants
     FROM (${selection(filter)})`,
  );
  const assistants = (row?.['assistants'] ?? []) as readonly string[];
  if (assistants.length > 1) {
    throw new CommandError(
      `${side} has several agents, --assistant expected: ${assistants.join(', ')}`,
      ExitStatus.usage,
    );
  }
  const trials = Number(row?.['trials'] ?? 0);
  if (trials === 0) throw nothingFound(side, filter);
  return { trials, correct: Number(row?.['correct']) };
}

/** The conversations of a side. */
function selection(filter: Filter): string {
  const window = windowOf(filter);
  return `SELECT verdict, assistant_id, conversation_id FROM conversations_current WHERE ${conditions(filter).join(' AND ')}
    ORDER BY first_closed_at DESC, conversation_id DESC ${window?.kind === 'count' ? `LIMIT ${window.trials}` : ''}`;
}

/** The posteriors are independent only where no conversation is in both. */
async function assertNothingShared(ask: Ask, a: Filter, b: Filter): Promise<void> {
  const [row] = await rowsOf(
    ask,
    `SELECT count() AS shared FROM (${selection(a)})
     WHERE (assistant_id, conversation_id) IN (SELECT assistant_id, conversation_id FROM (${selection(b)}))`,
  );
  const shared = Number(row?.['shared']);
  if (shared === 0) return;
  throw new CommandError(
    `A and B expected to have no conversation in common, got ${shared} (A: ${nameOf(a)}; B: ${nameOf(b)})`,
    ExitStatus.usage,
  );
}

function nothingFound(side: string, filter: Filter): CommandError {
  return new CommandError(`no closed conversation counts for ${side} (${nameOf(filter) || 'all'})`, ExitStatus.usage);
}

/** null: all there is. */
function windowOf({ window }: Filter): Window | null {
  if (window === undefined) return null;
  try {
    return windowNamed(window ?? '');
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(error.message, ExitStatus.usage);
    throw error;
  }
}

function conditions(filter: Filter): string[] {
  const { assistant, version, environment, policy, from, to } = filter;
  const equal = (column: string, value: string | null | undefined): string[] =>
    value === undefined ? [] : value === null ? [`${column} IS NULL`] : [`${column} = ${sqlText(value)}`];
  const window = windowOf(filter);
  const end = to === undefined ? '(SELECT max(at) FROM rollup_ticks)' : moment('to', to);
  return [
    'closed AND counts',
    ...equal('assistant_id', assistant),
    ...equal('agent_version', version),
    ...equal('environment', environment),
    ...equal('policy', policy),
    ...(from === undefined ? [] : [`first_closed_at >= ${moment('from', from)}`]),
    ...(to === undefined ? [] : [`first_closed_at < ${moment('to', to)}`]),
    ...(window?.kind === 'time' ? [`first_closed_at > ${end} - toIntervalMillisecond(${window.spanMs})`] : []),
  ];
}

function moment(name: string, text: string | null): string {
  const ms = rfc3339Ms(text ?? '');
  if (Number.isNaN(ms)) {
    throw new CommandError(
      `${name}: a time such as 2026-11-30T09:00:00Z expected, got "${text ?? ''}"`,
      ExitStatus.usage,
    );
  }
  return `toDateTime64(${sqlText(new Date(ms).toISOString().slice(0, -1))}, 3, 'UTC')`;
}

function nameOf(filter: Filter): string {
  const written = (value: string | null) =>
    value === null ? '' : /^$|[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return KEYS.flatMap((key) => (filter[key] === undefined ? [] : [`${key}=${written(filter[key])}`])).join(', ');
}

function tableOf(
  sides: { readonly a: Filter; readonly b: Filter },
  { a, b, worse, better, within }: Comparison,
  { metric, k, margin: d, level }: ComparisonRules,
): string {
  const name = `pass${metric === 'pass_pow_k' ? '^' : '@'}${k}`;
  const table = plainTable(['', 'conversations', 'right', name, `${100 * level} % interval`, 'of']);
  const line = (side: string, { trials, correct, mean, lower, upper }: ComparedFigure, filter: Filter) =>
    table.push([side, trials, correct, mean.toFixed(4), `${lower.toFixed(4)} .. ${upper.toFixed(4)}`, nameOf(filter)]);
  line('A', a, sides.a);
  line('B', b, sides.b);
  const by = d === 0 ? '' : ` by more than ${d}`;
  return [
    table.toString(),
    '',
    `P(B worse than A${by})   ${percent(worse)}`,
    `P(B better than A${by})  ${percent(better)}`,
    ...(d === 0 ? [] : [`P(within ${d} of A)`.padEnd(`P(B better than A${by})  `.length) + percent(within)]),
    '',
  ].join('\n');
}

/** Never 0 or 100 %, which no finite number of conversations shows. */
function percent(probability: number): string {
  if (probability < 0.0001) return '< 0.01 %';
  if (probability > 0.9999) return '> 99.99 %';
  return `${(100 * probability).toFixed(2)} %`;
}
