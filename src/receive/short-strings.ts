/** A power of two. */
const SLOTS = 4096;
const HASHED_BYTES = 12;

/**
 * Telemetry repeats its keys and short values on nearly every span, so short ASCII texts are looked up by their bytes
 * before a new string is made. A slot holds the text that came last: whatever senders write, a table never grows.
 */
class TextTable {
  private readonly held: Uint8Array;
  private readonly lengths = new Uint8Array(SLOTS);
  private readonly texts: string[] = new Array<string>(SLOTS).fill('');

  constructor(
    /** Longer texts are rarely repeated, and hashing them costs more than making them again. At most 255. */
    private readonly maxBytes: number,
    private readonly make: (bytes: Buffer, start: number, end: number) => string,
  ) {
    this.held = new Uint8Array(SLOTS * maxBytes);
  }

  read(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length > this.maxBytes) return bytes.toString('utf8', start, end);
    // The last bytes tell most texts apart; two that share a slot only take turns in it.
    let hash = length;
    for (let i = length > HASHED_BYTES ? end - HASHED_BYTES : start; i < end; i++) {
      hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
    }
    const slot = (hash ^ (hash >>> 13)) & (SLOTS - 1);
    const at = slot * this.maxBytes;
    if (this.lengths[slot] === length && equalBytes(bytes, start, this.held, at, length)) {
      return this.texts[slot] as string;
    }

    for (let i = start; i < end; i++) {
      if ((bytes[i] as number) > 0x7f) return bytes.toString('utf8', start, end);
    }
    const text = this.make(bytes, start, end);
    for (let i = 0; i < length; i++) this.held[at + i] = bytes[start + i] as number;
    this.lengths[slot] = length;
    this.texts[slot] = text;
    return text;
  }
}

const values = new TextTable(48, (bytes, start, end) => bytes.toString('latin1', start, end));

// Engines keep one copy of each text that names a property, and compare those by address: that is the one to hand out.
const keys = new TextTable(
  96,
  (bytes, start, end) => Object.keys({ [bytes.toString('latin1', start, end)]: null })[0] as string,
);

/** The text of UTF-8 bytes; bytes that are no UTF-8 become U+FFFD, so the text is always well-formed. */
export function readText(bytes: Buffer, start: number, end: number): string {
  return values.read(bytes, start, end);
}

/** The same for a text that will be a key. */
export function readKey(bytes: Buffer, start: number, end: number): string {
  return keys.read(bytes, start, end);
}

export function equalBytes(a: Uint8Array, aStart: number, b: Uint8Array, bStart: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aStart + i] !== b[bStart + i]) return false;
  return true;
}
