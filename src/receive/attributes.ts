import type { Attributes } from '../model/span.js';
import type { Json } from '../model/json.js';
import { noKeys, OwnKeys } from './key-lists.js';
import type { KeyIndex, KeyList } from './key-lists.js';
import type { OtlpEncoding } from './encoding.js';
import { readKey } from './short-strings.js';

/** Reads the AnyValue that stands at `start` .. `end`. Only asked for bytes that were checked before. */
export type ValueReader = (bytes: Buffer, start: number, end: number) => Json;

/** Attributes that know where their values stand; a value is decoded each time it is asked for. */
class PositionedAttributes implements Attributes {
  private readonly distinct: readonly string[];
  /** The key that is asked for next when somebody walks over all of them. */
  private expected = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly index: KeyIndex,
    /** Start and end of each value in turn; -1 for a key without a value. */
    private readonly positions: readonly number[],
    private readonly readValue: ValueReader,
    private readonly encoding: OtlpEncoding,
  ) {
    this.distinct = index.keys;
  }

  get size(): number {
    return this.positions.length >>> 1;
  }

  has(key: string): boolean {
    return this.index.find(key) !== undefined;
  }

  get(key: string): Json | undefined {
    let slot: number | undefined = this.expected;
    if (this.distinct[slot] !== key) {
      slot = this.index.find(key);
      if (slot === undefined) return undefined;
    }
    this.expected = slot + 1;
    const start = this.positions[2 * slot] as number;
    return start < 0 ? null : this.readValue(this.bytes, start, this.positions[2 * slot + 1] as number);
  }

  encoded(key: string): string | undefined {
    const slot = this.index.find(key);
    const start = slot === undefined ? -1 : (this.positions[2 * slot] as number);
    if (slot === undefined || start < 0) return undefined;
    // The same bytes may be another value in another encoding.
    return `${this.encoding} ${this.bytes.toString('latin1', start, this.positions[2 * slot + 1])}`;
  }

  keys(): readonly string[] {
    return this.distinct;
  }
}

class NoAttributes implements Attributes {
  readonly size = 0;
  has(): boolean {
    return false;
  }
  get(): undefined {
    return undefined;
  }
  encoded(): undefined {
    return undefined;
  }
  keys(): readonly string[] {
    return [];
  }
}

export const NO_ATTRIBUTES: Attributes = new NoAttributes();

/** Collects the keys and the positions of values, in the sender's order. A repeated key has its last value. */
export class AttributesBuilder {
  private shared: KeyList | null = noKeys();
  private own: OwnKeys | null = null;
  private readonly positions: number[] = [];
  /** How much of `positions` belongs to the present set. */
  private used = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Forgets what was added: one builder serves all spans of a request. */
  begin(): void {
    this.shared = noKeys();
    this.own = null;
    this.used = 0;
  }

  addBytes(keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void {
    if (this.shared !== null) {
      const next = this.shared.followedByBytes(this.bytes, keyStart, keyEnd);
      if (next !== null) {
        this.shared = next;
        this.place(next.slot, valueStart, valueEnd);
        return;
      }
    }
    this.place(this.ownKeys().slotFor(readKey(this.bytes, keyStart, keyEnd)), valueStart, valueEnd);
  }

  add(key: string, valueStart: number, valueEnd: number): void {
    if (this.shared !== null) {
      const next = this.shared.followedBy(key);
      if (next !== null) {
        this.shared = next;
        this.place(next.slot, valueStart, valueEnd);
        return;
      }
    }
    this.place(this.ownKeys().slotFor(key), valueStart, valueEnd);
  }

  build(readValue: ValueReader, encoding: OtlpEncoding): Attributes {
    if (this.used === 0) return NO_ATTRIBUTES;
    const index = this.own ?? (this.shared as KeyIndex);
    // A list of its own length: one that has grown has room for half as many again, for as long as the span is held.
    return new PositionedAttributes(this.bytes, index, this.positions.slice(0, this.used), readValue, encoding);
  }

  private place(slot: number, start: number, end: number): void {
    this.positions[2 * slot] = start;
    this.positions[2 * slot + 1] = end;
    this.used = Math.max(this.used, 2 * slot + 2);
  }

  private ownKeys(): OwnKeys {
    this.own ??= new OwnKeys(this.shared?.keys ?? []);
    this.shared = null;
    return this.own;
  }
}
