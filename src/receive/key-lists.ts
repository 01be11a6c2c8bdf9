import { equalBytes, readKey } from './short-strings.js';

/** The distinct keys of a set of attributes, and where each stands. */
export interface KeyIndex {
  /** Distinct, in order of first appearance. */
  readonly keys: readonly string[];
  /** Position in `keys`; undefined when the key is absent. */
  find(key: string): number | undefined;
}

/** Attribute sets with more keys, or with longer ones, are indexed on their own. */
const MAX_SHARED_KEYS = 128;
const MAX_SHARED_KEY_LENGTH = 128;
/** Nodes and index entries that are shared at most; past it sharing starts anew, so that no sender can fill memory. */
const MAX_WEIGHT = 65_536;

let weight = 0;
let root: KeyList | undefined;

/**
 * Spans of one instrumentation carry the same keys in the same order. Lists of keys are therefore shared as a tree:
 * each node is a list, made of its prefix and one key more. Following the tree compares bytes with the key that came
 * next the last time, and makes neither strings nor maps.
 */
export class KeyList implements KeyIndex {
  /** Distinct keys in this list. */
  readonly size: number;
  /** Position of the value of the last key: the earlier one when the key is repeated. */
  readonly slot: number;
  /** The last key as UTF-8. */
  private readonly bytes: Uint8Array;
  private latest: KeyList | null = null;
  private readonly successors = new Map<string, KeyList>();
  private distinct: readonly string[] | null = null;
  private positions: ReadonlyMap<string, number> | null = null;

  constructor(
    private readonly prefix: KeyList | null,
    private readonly key: string,
  ) {
    const repeated = prefix?.slotOf(key) ?? -1;
    const before = prefix?.size ?? 0;
    this.slot = repeated >= 0 ? repeated : before;
    this.size = prefix === null ? 0 : repeated >= 0 ? before : before + 1;
    this.bytes = new TextEncoder().encode(key);
    weight++;
  }

  /** The list with one key more, told by its bytes; null when such a list is not shared. */
  followedByBytes(bytes: Buffer, start: number, end: number): KeyList | null {
    const latest = this.latest;
    const length = end - start;
    if (latest?.bytes.length === length && equalBytes(bytes, start, latest.bytes, 0, length)) return latest;
    if (length > MAX_SHARED_KEY_LENGTH) return null;
    return this.followedBy(readKey(bytes, start, end));
  }

  followedBy(key: string): KeyList | null {
    let next = this.successors.get(key);
    if (next === undefined) {
      if (this.size >= MAX_SHARED_KEYS || key.length > MAX_SHARED_KEY_LENGTH || weight >= MAX_WEIGHT) return null;
      next = new KeyList(this, key);
      this.successors.set(key, next);
    }
    this.latest = next;
    return next;
  }

  get keys(): readonly string[] {
    if (this.distinct === null) {
      const keys: string[] = new Array<string>(this.size);
      for (let list: KeyList | null = this; list.prefix !== null; list = list.prefix) keys[list.slot] = list.key; // eslint-disable-line @typescript-eslint/no-this-alias
      this.distinct = keys;
      weight += this.size;
    }
    return this.distinct;
  }

  find(key: string): number | undefined {
    if (this.positions === null) {
      this.positions = new Map(this.keys.map((name, position) => [name, position]));
      weight += this.size;
    }
    return this.positions.get(key);
  }

  private slotOf(key: string): number {
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    for (let list: KeyList | null = this; list.prefix !== null; list = list.prefix) {
      if (list.key === key) return list.slot;
    }
    return -1;
  }
}

/** The empty list, where following starts. */
export function noKeys(): KeyList {
  if (root === undefined || weight >= MAX_WEIGHT) {
    weight = 0;
    root = new KeyList(null, '');
  }
  return root;
}

/** An index of one attribute set alone, for those that are not shared. */
export class OwnKeys implements KeyIndex {
  readonly keys: string[] = [];
  private readonly positions = new Map<string, number>();

  constructor(keys: readonly string[]) {
    for (const key of keys) this.slotFor(key);
  }

  /** Where the value of this key goes: a new place, or that of its earlier appearance. */
  slotFor(key: string): number {
    let slot = this.positions.get(key);
    if (slot === undefined) {
      slot = this.keys.length;
      this.positions.set(key, slot);
      this.keys.push(key);
    }
    return slot;
  }

  find(key: string): number | undefined {
    return this.positions.get(key);
  }
}
