import type { Json } from '../model/json.js';
import { isJsonObject } from '../model/json.js';

// Deeper values are called unequal: a comparison must not overflow the stack on `[[[[...`.
const MAX_DEPTH = 1000;

/**
 * Equality of JSON values: numbers by value (1 = 1.0), objects whatever the order of their keys, arrays in order.
 * Types never mix (1 is neither "1" nor true), unless `coerce`: then a text that writes a number or a boolean equals it.
 */
export function jsonEqual(a: Json, b: Json, coerce = false): boolean {
  return equal(a, b, coerce, 0);
}

function equal(a: Json, b: Json, coerce: boolean, depth: number): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return coerce && sameWritten(a, b);
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return (a as readonly Json[]).every((item, i) => equal(item, (b as readonly Json[])[i] as Json, coerce, depth + 1));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal(a[key] as Json, b[key] as Json, coerce, depth + 1));
}

function sameWritten(a: Json, b: Json): boolean {
  if (typeof a === 'string' && typeof b === 'string') return false;
  const [text, value] = typeof a === 'string' ? [a.trim(), b] : [typeof b === 'string' ? b.trim() : null, a];
  if (text === null || text === '') return false;
  if (typeof value === 'number') return Number(text) === value;
  return typeof value === 'boolean' && text.toLowerCase() === String(value);
}
