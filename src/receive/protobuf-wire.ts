/** Past every end: loops of the form `while (reader.pos < end)` stop there after a fault. */
const STOPPED = 0x7fffffff;

/** Groups of unknown fields may be nested as deep as protobuf's own readers allow. */
const MAX_GROUP_DEPTH = 100;

export type WireFault = { readonly kind: 'malformed' | 'too_deep' | 'too_large'; readonly what: string };

/**
 * Reads protobuf's wire format (protobuf.dev/programming-guides/encoding). It never throws and never reads past the
 * `end` it is given: the first fault is remembered, and moves `pos` past every end, so that all loops finish.
 */
export class WireReader {
  fault: WireFault | null = null;

  constructor(
    readonly bytes: Buffer,
    public pos: number,
  ) {}

  fail(kind: WireFault['kind'], what: string): number {
    this.fault ??= { kind, what };
    this.pos = STOPPED;
    return 0;
  }

  /** The fault, if there was one, which is then forgotten: reading goes on at `pos`. */
  recover(pos: number): WireFault | null {
    const fault = this.fault;
    this.fault = null;
    this.pos = pos;
    return fault;
  }

  /** The low 32 bits of a varint, unsigned. */
  varint(end: number): number {
    if (this.pos < end) {
      const first = this.bytes[this.pos] as number;
      if (first < 0x80) {
        this.pos++;
        return first;
      }
    }
    return this.longVarint(end);
  }

  private longVarint(end: number): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.pos >= end) return this.fail('malformed', 'a varint is cut off');
      const byte = this.bytes[this.pos++] as number;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    return this.fail('malformed', 'a varint of at most 10 bytes expected, got more');
  }

  /** An int64: exact, as a number while it is a safe integer, else as decimal text. */
  int64(end: number): number | string {
    const start = this.pos;
    const value = this.varint(end);
    if (this.pos - start <= 4) return value;

    let exact = 0n;
    for (let at = start, shift = 0n; at < this.pos && at < end; at++, shift += 7n) {
      exact |= BigInt((this.bytes[at] as number) & 0x7f) << shift;
    }
    const signed = BigInt.asIntN(64, exact);
    const number = Number(signed);
    return Number.isSafeInteger(number) ? number : signed.toString();
  }

  /** A field's number and wire type, as they stand together on the wire. */
  tag(end: number): number {
    const tag = this.varint(end);
    if (tag < 8) return this.fail('malformed', 'a field number > 0 expected, got 0');
    return tag;
  }

  /** The end of the length-delimited field that begins here; 0 on a fault. */
  lengthEnd(end: number): number {
    const length = this.varint(end);
    const stop = this.pos + length;
    if (stop > end) {
      if (this.fault !== null) return 0;
      return this.fail('malformed', `a field of ${length} bytes expected, got ${end - this.pos}`);
    }
    return stop;
  }

  advance(count: number, end: number): void {
    if (this.pos + count > end) this.fail('malformed', `${count} bytes expected, got ${Math.max(0, end - this.pos)}`);
    else this.pos += count;
  }

  skipBytes(end: number): void {
    const stop = this.lengthEnd(end);
    if (this.fault === null) this.pos = stop;
  }

  /** Passes over an unknown field whose tag has been read. */
  skip(tag: number, end: number, depth = 0): void {
    switch (tag & 7) {
      case 0:
        this.longVarint(end);
        return;
      case 1:
        this.advance(8, end);
        return;
      case 2:
        this.skipBytes(end);
        return;
      case 3:
        if (depth >= MAX_GROUP_DEPTH) {
          this.fail('too_deep', `groups nested at most ${MAX_GROUP_DEPTH} deep expected`);
          return;
        }
        while (this.fault === null) {
          const inner = this.tag(end);
          if ((inner & 7) === 4) return;
          this.skip(inner, end, depth + 1);
        }
        return;
      case 5:
        this.advance(4, end);
        return;
      default:
        this.fail('malformed', `wire type 0, 1, 2, 3 or 5 expected, got ${tag & 7}`);
    }
  }
}
