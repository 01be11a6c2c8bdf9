import { isJsonObject, type Json } from '../model/json.js';
import { newMap } from '../model/null-map.js';

/** Deeper values are left as text: whoever walks them later may recurse. */
const MAX_DEPTH = 100;

/** Some exporters encode a value that is JSON text already, and some do it twice. */
const MAX_ENCODINGS = 3;

const LONG_INTEGER = /\d{16}/;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Reads a value that may be JSON text, encoded up to three times. Text that is no JSON object, array or string comes
 * back as it is, so `418` and `hello` stay text. Integers beyond 2^53 become their digits, lone surrogates U+FFFD.
 */
export function jsonish(value: Json): Json {
  const parsed = looseJson(value);
  if (typeof parsed !== 'object' || parsed === null) return typeof parsed === 'string' ? parsed.toWellFormed() : parsed;
  const own = ownJson(parsed);
  return own === undefined ? value : own;
}

/**
 * As `jsonish`, but what it parsed still has ordinary prototypes and may hold lone surrogates: for reading known
 * members out of. What travels further goes through `ownJson`.
 */
export function looseJson(value: Json): Json {
  let current = value;
  for (let round = 0; round < MAX_ENCODINGS && typeof current === 'string' && looksLikeJson(current); round += 1) {
    const parsed = parseJson(current);
    if (parsed === undefined) return current;
    current = parsed;
  }
  return current;
}

/** Does a text start as an object, an array or a string of JSON does? */
export function looksLikeJson(text: string): boolean {
  let at = 0;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  const first = text[at];
  return first === '{' || first === '[' || first === '"';
}

function isSpace(code: number): boolean {
  return code <= 0x20
    ? code === 0x20 || (code >= 0x09 && code <= 0x0d)
    : code > 0x7f && /\s/.test(String.fromCharCode(code));
}

/** The value of a JSON text; undefined when it is none. Integers beyond 2^53 become their digits. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(LONG_INTEGER.test(text) ? quoteLongIntegers(text) : text) as Json;
  } catch {
    return undefined;
  }
}

function quoteLongIntegers(text: string): string {
  return text.replace(STRING_OR_NUMBER, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  );
}

/**
 * A copy with null prototypes and well-formed strings; undefined when it is nested too deeply. Values that the
 * decoder made have both already and are not copied.
 */
export function ownJson(value: Json): Json | undefined {
  try {
    return copy(value, 0);
  } catch (error) {
    if (error instanceof TooDeep) return undefined;
    throw error;
  }
}

class TooDeep extends Error {}

function copy(value: Json, depth: number): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) throw new TooDeep();
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => copy(item, depth + 1));
  // What JSON.parse and literals make; no other object has the prototype of all objects.
  if (!isJsonObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const own = newMap();
  for (const key of Object.keys(value)) own[key.toWellFormed()] = copy(value[key] as Json, depth + 1);
  return own;
}
