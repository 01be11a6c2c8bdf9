import type { ArgumentsMatch, ExpectedCall, Expectation, SequenceMode } from '../model/expectation.js';
import { isJsonObject, type Json } from '../model/json.js';
import { jsonish } from './jsonish.js';

const NAME_KEYS = ['name', 'tool', 'tool_name', 'toolName'];
const ARGUMENT_KEYS = ['arguments', 'args', 'input', 'input_parameters', 'inputParameters', 'parameters'];

/** A statement that is there and says nothing that can be graded against. */
export const UNREADABLE = Symbol('unreadable');
type Unreadable = typeof UNREADABLE;

/** Expected tool calls: names, or objects with a name and perhaps arguments; values, JSON text, or a list of texts. */
export function expectedTools(value: Json | undefined): readonly ExpectedCall[] | Unreadable | undefined {
  if (isAbsent(value)) return undefined;
  const parsed = jsonish(value);
  if (typeof parsed === 'string') return plainNames(parsed, (name): ExpectedCall => ({ name }));
  if (!Array.isArray(parsed)) return UNREADABLE;
  const calls: ExpectedCall[] = [];
  for (const item of parsed as readonly Json[]) {
    const call = expectedCall(typeof item === 'string' ? jsonish(item) : item);
    // One that cannot be read would make the others wrong.
    if (call === undefined) return UNREADABLE;
    calls.push(call);
  }
  return calls;
}

function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

/** Names parted by commas. What begins like JSON was JSON once and has been cut, and a bare `null` is no name. */
function plainNames<T>(text: string, make: (name: string) => T): readonly T[] | Unreadable {
  if (/^\s*(?:[[{"]|null\s*$)/.test(text)) return UNREADABLE;
  return names(text).map(make);
}

function expectedCall(item: Json): ExpectedCall | undefined {
  if (typeof item === 'string') {
    const name = item.trim();
    return name === '' || /^[[{"]/.test(name) ? undefined : { name };
  }
  if (!isJsonObject(item)) return undefined;
  const name = NAME_KEYS.map((key) => item[key]).find((value) => typeof value === 'string');
  if (typeof name !== 'string' || name === '') return undefined;
  const recorded = ARGUMENT_KEYS.map((key) => item[key]).find((value) => value !== undefined && value !== null);
  const args = recorded === undefined ? undefined : jsonish(recorded);
  return {
    name,
    ...(isJsonObject(args) ? { arguments: args } : {}),
    ...(typeof item.step === 'number' ? { step: item.step } : {}),
    ...(item.optional === true ? { optional: true } : {}),
  };
}

/** A list of names: a value, JSON text, or names parted by commas. An empty list is a statement too. */
export function nameList(value: Json | undefined): readonly string[] | Unreadable | undefined {
  if (isAbsent(value)) return undefined;
  const parsed = jsonish(value);
  if (typeof parsed === 'string') return plainNames(parsed, (name) => name);
  if (!Array.isArray(parsed) || parsed.some((item) => typeof item !== 'string')) return UNREADABLE;
  return (parsed as readonly string[]).map((item) => item.trim());
}

function names(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** An expected answer: text as it is, another value as its JSON. */
export function expectedAnswer(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.toWellFormed();
  return JSON.stringify(value);
}

const MODES: ReadonlySet<string> = new Set<SequenceMode>([
  'exact_order',
  'in_order',
  'any_order',
  'subset',
  'superset',
]);
const MATCHES: ReadonlySet<string> = new Set<ArgumentsMatch>(['exact', 'subset', 'superset', 'ignore']);

export function sequenceMode(value: string | undefined): SequenceMode | undefined {
  return value !== undefined && MODES.has(value) ? (value as SequenceMode) : undefined;
}

export function argumentsMatch(value: string | undefined): ArgumentsMatch | undefined {
  return value !== undefined && MATCHES.has(value) ? (value as ArgumentsMatch) : undefined;
}

/** The members that are stated, those that cannot be read by their name; undefined when none is. */
export function stated(members: {
  [K in keyof Expectation]?: Expectation[K] | Unreadable | undefined;
}): Expectation | undefined {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return undefined;
  const readable = entries.filter(([, value]) => value !== UNREADABLE);
  const unreadable = entries.filter(([, value]) => value === UNREADABLE).map(([name]) => name);
  return { ...(Object.fromEntries(readable) as Expectation), ...(unreadable.length > 0 ? { unreadable } : {}) };
}
