/** A JSON value. Objects made by Tracegrade inherit nothing, so that a key `__proto__` is only a key. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type JsonObject = { readonly [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Values never change, and the arguments of one call are compared in several places. */
const CANONICAL = new WeakMap<object, string>();

/**
 * One text per value: keys in code-unit order, numbers as JSON writes them (`1` and `1.0` are the same number),
 * `-0` as `0`. Two values are equal as JSON exactly when their canonical texts are equal.
 */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  let text = CANONICAL.get(value);
  if (text === undefined) {
    text = canonical(value);
    CANONICAL.set(value, text);
  }
  return text;
}

/** What redaction leaves in place of what it took out. */
export const REDACTED = '[REDACTED]';

/** Was something taken out of a value, so that it is not what was recorded? */
export function holdsRedacted(value: Json): boolean {
  return canonicalJson(value).includes(REDACTED);
}

/** Most senders write their keys in one order, and a look is cheaper than a sort. */
function sorted(keys: string[]): readonly string[] {
  for (let at = 1; at < keys.length; at += 1) if ((keys[at - 1] as string) > (keys[at] as string)) return keys.sort();
  return keys;
}

/** Are the canonical texts of two values equal? Told without making them. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    const [left, right] = [a as readonly Json[], b as readonly Json[]];
    return (
      Array.isArray(b) && left.length === right.length && left.every((item, at) => sameJson(item, right[at] as Json))
    );
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] as Json, b[key] as Json))
  );
}

function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  let members = '';
  for (const key of sorted(Object.keys(value))) {
    members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonical(value[key] as Json)}`;
  }
  return `{${members}}`;
}
