import type { Attributes } from '../model/span.js';
import type { Json } from '../model/json.js';
import { noKeys, OwnKeys } from './key-lists.js';
import type { KeyIndex, KeyList } from './key-lists.js';
import type { OtlpEncoding } from './encoding.js';
import { readKey } from './short-strings.js';

/** Reads the AnyValue that stands at `start` .. `end`. Only asked for bytes that were checked before. */
export type ValueReader = (bytes: Buffer, start: number, end: number) => Json;

type Positions = number[] | Int32Array;

/** Attributes that know where their values stand; a value is decoded each time it is asked for. */
class PositionedAttributes implements Attributes {
  private readonly distinct: readonly string[];
  /** The key that is asked for next when somebody walks over all of them. */
  private expected = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly index: KeyIndex,
    /** From `at` on, start and end of each value in turn; -1 for a key without a value. */
    private readonly positions: Positions,
    private readonly at: number,
    private readonly readValue: ValueReader,
    private readonly encoding: OtlpEncoding,
  ) {
    this.distinct = index.keys;
  }

  get size(): number {
    return this.distinct.length;
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
    const at = this.at + 2 * slot;
    const start = this.positions[at] as number;
    return start < 0 ? null : this.readValue(this.bytes, start, this.positions[at + 1] as number);
  }

  encoded(key: string): string | undefined {
    const slot = this.index.find(key);
    if (slot === undefined) return undefined;
    const at = this.at + 2 * slot;
    const start = this.positions[at] as number;
    if (start < 0) return undefined;
    // The same bytes may be another value in another encoding.
    return `${this.encoding} ${this.bytes.toString('latin1', start, this.positions[at + 1])}`;
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

/** Bytes of a request an entry of its table of positions, at the start: an attribute takes two and hardly less than 32. */
const BYTES_A_POSITION = 16;
const LEAST_TABLE = 64;

/** Collects the keys and the positions of values, in the sender's order. A repeated key has its last value. */
export class AttributesBuilder {
  private shared: KeyList | null = noKeys();
  private own: OwnKeys | null = null;
  private positions: Positions = [];
  /** Where the present set begins in `positions`, and how much belongs to it. */
  private from = 0;
  private used = 0;

  constructor(private readonly bytes: Buffer) {}

  /**
   * A builder for all spans of a request. Their positions stand in one table outside the heap, which the collector
   * neither copies nor searches as long as the spans are held.
   */
  static ofRequest(bytes: Buffer): AttributesBuilder {
    const builder = new AttributesBuilder(bytes);
    builder.positions = new Int32Array(Math.max(LEAST_TABLE, Math.ceil(bytes.length / BYTES_A_POSITION)));
    return builder;
  }

  /** Forgets what was added since the last set was built. */
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
    const at = this.from;
    this.from += this.used;
    return new PositionedAttributes(this.bytes, index, this.positions, at, readValue, encoding);
  }

  private place(slot: number, start: number, end: number): void {
    let at = this.from + 2 * slot;
    if (at + 2 > this.positions.length && this.positions instanceof Int32Array) {
      this.startTable(this.positions);
      at = 2 * slot;
    }
    this.positions[at] = start;
    this.positions[at + 1] = end;
    this.used = Math.max(this.used, 2 * slot + 2);
  }

  /** The sets that are built keep the table that is full; the present one moves to the next. */
  private startTable(full: Int32Array): void {
    const table = new Int32Array(Math.max(full.length, 2 * this.used + LEAST_TABLE));
    table.set(full.subarray(this.from, this.from + this.used));
    this.positions = table;
    this.from = 0;
  }

  private ownKeys(): OwnKeys {
    this.own ??= new OwnKeys(this.shared?.keys ?? []);
    this.shared = null;
    return this.own;
  }
}
