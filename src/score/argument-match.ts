import type { ArgumentsMatch } from '../model/expectation.js';
import type { Json, JsonObject } from '../model/json.js';
import { canonicalJson, isJsonObject } from '../model/json.js';
import { boundedPattern } from './bounded-pattern.js';
import { jsonEqual } from './json-equal.js';

/** How one argument is compared, where equality is too strict. */
export type ArgumentMatcher =
  /** The made text (or the JSON text of another value) matches this pattern; what was expected is not looked at. */
  | { readonly regex: string }
  /** Numbers that differ by at most this much. */
  | { readonly tolerance: number }
  /** Texts that are equal but for case and outer blanks. */
  | { readonly caseFold: true }
  /** Lists with the same items, each as often, in any order. */
  | { readonly set: true };

export interface ToolArgumentRules {
  readonly match?: ArgumentsMatch;
  readonly keys?: Readonly<Record<string, ArgumentMatcher>>;
}

export interface ArgumentRules {
  readonly match: ArgumentsMatch;
  /** "1" equals 1, "true" equals true. */
  readonly coerce: boolean;
  /** By tool name; stands above `match`. */
  readonly overrides: Readonly<Record<string, ToolArgumentRules>>;
}

/** How the arguments of one tool are compared. */
export interface Comparison {
  readonly match: ArgumentsMatch;
  readonly coerce: boolean;
  readonly keys: Readonly<Record<string, ArgumentMatcher>> | undefined;
}

export function comparisonOf(tool: string, rules: ArgumentRules): Comparison {
  const own = Object.hasOwn(rules.overrides, tool) ? rules.overrides[tool] : undefined;
  return { match: own?.match ?? rules.match, coerce: rules.coerce, keys: own?.keys };
}

/**
 * How far made arguments are the expected ones, 0..1: equal keys and values / keys of both (`exact`), of the made ones
 * (`subset`: keys may be missing), of the expected ones (`superset`: keys may be added); 1 under `ignore`.
 * No credit inside a value. Without keys to compare, 1. Made arguments that are no object (a tool that takes free text)
 * are compared with the only expected value, if there is one.
 */
export function similarity(expected: JsonObject, made: Json, how: Comparison): number {
  if (how.match === 'ignore') return 1;
  const named = asObject(made, expected);
  if (named === null) return 0;
  let equal = 0;
  let shared = 0;
  let keys = 0;
  for (const key in expected) {
    keys += 1;
    const given = member(named, key);
    if (given === undefined) continue;
    shared += 1;
    if (sameValue(key, expected[key] as Json, given, how)) equal += 1;
  }
  if (how.match === 'subset') keys = 0;
  if (how.match !== 'superset') {
    for (const _key in named) keys += 1;
    if (how.match === 'exact') keys -= shared;
  }
  return keys === 0 ? 1 : equal / keys;
}

/** Whether the similarity is 1; told without comparing what follows the first difference. */
export function alike(expected: JsonObject, made: Json, how: Comparison): boolean {
  if (how.match === 'ignore') return true;
  const named = asObject(made, expected);
  if (named === null) return false;
  let shared = 0;
  for (const key in expected) {
    const given = member(named, key);
    if (given === undefined) {
      if (how.match === 'subset') continue;
      return false;
    }
    if (!sameValue(key, expected[key] as Json, given, how)) return false;
    shared += 1;
  }
  if (how.match === 'superset') return true;
  for (const _key in named) shared -= 1;
  return shared === 0;
}

/** Keys that differ, are missing or are surplus, as far as the match mode minds. */
export function differingKeys(expected: JsonObject, made: Json, how: Comparison): readonly string[] {
  if (how.match === 'ignore') return [];
  const named = asObject(made, expected);
  if (named === null) return Object.keys(expected);
  const differing = Object.keys(expected).filter((key) =>
    Object.hasOwn(named, key)
      ? !sameValue(key, expected[key] as Json, named[key] as Json, how)
      : how.match !== 'subset',
  );
  if (how.match === 'superset') return differing;
  return [...differing, ...Object.keys(named).filter((key) => !Object.hasOwn(expected, key))];
}

function asObject(made: Json, expected: JsonObject): JsonObject | null {
  if (isJsonObject(made)) return made;
  const [only, second] = Object.keys(expected);
  if (only !== undefined && second === undefined) return { [only]: made };
  return made === null ? {} : null;
}

/**
 * An object's own member; undefined when it has none. Most members can be told from what an object inherits by what
 * they are, which is several times as fast as asking whose they are.
 */
function member(object: JsonObject, key: string): Json | undefined {
  const value: unknown = object[key];
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    default:
      return value !== undefined && Object.hasOwn(object, key) ? (value as Json) : undefined;
  }
}

function sameValue(key: string, expected: Json, made: Json, { keys, coerce }: Comparison): boolean {
  if (keys === undefined || !Object.hasOwn(keys, key)) {
    return expected === made || ((coerce || typeof expected === 'object') && jsonEqual(expected, made, coerce));
  }
  const matcher = keys[key] as ArgumentMatcher;
  if ('regex' in matcher) {
    return patternOf(matcher.regex)?.(typeof made === 'string' ? made : canonicalJson(made)) ?? false;
  }
  if ('tolerance' in matcher) {
    const [a, b] = [numberOf(expected, coerce), numberOf(made, coerce)];
    return a !== null && b !== null ? Math.abs(a - b) <= matcher.tolerance : jsonEqual(expected, made, coerce);
  }
  if ('caseFold' in matcher) {
    if (typeof expected === 'string' && typeof made === 'string') return folded(expected) === folded(made);
    return jsonEqual(expected, made, coerce);
  }
  if (!Array.isArray(expected) || !Array.isArray(made)) return jsonEqual(expected, made, coerce);
  return jsonEqual(inOneOrder(expected as readonly Json[]), inOneOrder(made as readonly Json[]), coerce);
}

// A handful of configured patterns; compiling one per comparison would cost more than all the rest.
const patterns = new Map<string, ReturnType<typeof boundedPattern>>();

function patternOf(source: string): ReturnType<typeof boundedPattern> {
  const known = patterns.get(source);
  if (known !== undefined) return known;
  if (patterns.size >= 200) patterns.clear();
  const pattern = boundedPattern(source);
  patterns.set(source, pattern);
  return pattern;
}

function numberOf(value: Json, coerce: boolean): number | null {
  if (typeof value === 'number') return value;
  if (!coerce || typeof value !== 'string' || value.trim() === '') return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

function folded(text: string): string {
  return text.normalize('NFC').trim().toLowerCase();
}

function inOneOrder(items: readonly Json[]): Json {
  return [...items].sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
}
