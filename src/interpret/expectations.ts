import type { ArgumentsMatch, ExpectedCall, Expectation, SequenceMode } from '../model/expectation.js';
import { isJsonObject, type Json } from '../model/json.js';
import { jsonish } from './jsonish.js';

const NAME_KEYS = ['name', 'tool', 'tool_name', 'toolName'];
const ARGUMENT_KEYS = ['arguments', 'args', 'input', 'input_parameters', 'inputParameters', 'parameters'];

/** Expected tool calls: names, or objects with a name and perhaps arguments; values, JSON text, or a list of texts. */
export function expectedTools(value: Json | undefined): readonly ExpectedCall[] | undefined {
  if (value === undefined || value === null) return undefined;
  const parsed = jsonish(value);
  if (typeof parsed === 'string') return parsed.trim() === '' ? undefined : names(parsed).map((name) => ({ name }));
  if (!Array.isArray(parsed)) return undefined;
  const calls: ExpectedCall[] = [];
  for (const item of parsed as readonly Json[]) {
    const call = expectedCall(typeof item === 'string' ? jsonish(item) : item);
    // One that cannot be read would make the others wrong.
    if (call === undefined) return undefined;
    calls.push(call);
  }
  return calls;
}

function expectedCall(item: Json): ExpectedCall | undefined {
  if (typeof item === 'string') return item.trim() === '' ? undefined : { name: item.trim() };
  if (!isJsonObject(item)) return undefined;
  const name = NAME_KEYS.map((key) => item[key]).find((value) => typeof value === 'string');
  if (typeof name !== 'string' || name === '') return undefined;
  const recorded = ARGUMENT_KEYS.map((key) => item[key]).find((value) => value !== undefined && value !== null);
  const args = recorded === undefined ? undefined : jsonish(recorded);
  return {
    name,
    ...(isJsonObject(args) ? { arguments: args } : {}),
    ...(typeof item.step === 'number' ? { step: item.step } : {}),
  };
}

/** A list of names: a value, JSON text, or names parted by commas. An empty list is a statement too. */
export function nameList(value: Json | undefined): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const parsed = jsonish(value);
  if (typeof parsed === 'string') return names(parsed);
  if (!Array.isArray(parsed)) return undefined;
  return (parsed as readonly Json[]).filter((item) => typeof item === 'string').map((item) => item.trim());
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

/** The members that are stated; undefined when none is. */
export function stated(members: { [K in keyof Expectation]?: Expectation[K] | undefined }): Expectation | undefined {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
