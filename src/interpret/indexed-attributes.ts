import type { Json } from '../model/json.js';
import type { Attributes } from '../model/span.js';

/** More elements than this in one list are an attack or an accident; the rest is left out. */
const MAX_ELEMENTS = 10_000;

const UNSAFE = new Set(['__proto__', 'constructor', 'prototype']);

/** The members of one element of a flattened list: what stands behind `<prefix>.<index>.`. */
export type Members = ReadonlyMap<string, Json>;

/** Elements in order of their index, which may start anywhere and have gaps. */
export interface IndexedList {
  readonly elements: readonly Members[];
  /** Elements were left out because there were too many. */
  readonly capped: boolean;
}

/**
 * Collects a list that was flattened into attributes: `<prefix>.<index>.<rest>`. The index is only a sort key, so a
 * huge one costs nothing. Keys with a segment that could reach a prototype are dropped.
 */
export function indexedAttributes(attributes: Attributes, prefix: string): IndexedList {
  const start = `${prefix}.`;
  const found: [string, Json][] = [];
  for (const key of attributes.keys()) {
    if (key.startsWith(start)) found.push([key.slice(start.length), attributes.get(key) ?? null]);
  }
  return group(found);
}

/** The same, within the members of an element: `tool_calls.<index>.<rest>`. */
export function indexedMembers(members: Members, prefix: string): IndexedList {
  const start = `${prefix}.`;
  const found: [string, Json][] = [];
  for (const [key, value] of members) if (key.startsWith(start)) found.push([key.slice(start.length), value]);
  return group(found);
}

function group(entries: readonly [string, Json][]): IndexedList {
  const byIndex = new Map<number, Map<string, Json>>();
  let capped = false;
  for (const [path, value] of entries) {
    const match = /^(\d{1,15})\.(.+)$/s.exec(path);
    if (match === null) continue;
    const rest = match[2] as string;
    if (rest.split('.').some((segment) => UNSAFE.has(segment))) continue;
    const index = Number(match[1]);
    let members = byIndex.get(index);
    if (members === undefined) {
      if (byIndex.size >= MAX_ELEMENTS) {
        capped = true;
        continue;
      }
      members = new Map();
      byIndex.set(index, members);
    }
    members.set(rest, value);
  }
  const elements = [...byIndex].sort(([a], [b]) => a - b).map(([, members]) => members);
  return { elements, capped };
}
