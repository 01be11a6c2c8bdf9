import { readText } from './short-strings.js';

/** Deeper JSON is refused; the limit for attribute values is far lower. */
const MAX_NESTING = 100_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
const LEFT_BRACKET = 0x5b;
const RIGHT_BRACKET = 0x5d;

const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)));

/** The text is no JSON. Never leaves this room: the decoder makes it a Rejection. */
export class JsonSyntaxError extends Error {
  constructor(
    readonly kind: 'malformed' | 'too_deep',
    message: string,
    /** Byte at which reading stopped. */
    readonly at: number,
  ) {
    super(message);
  }
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/**
 * Walks over JSON text (RFC 8259) byte by byte and builds nothing by itself: its caller steps into what it knows and
 * skips the rest. Every byte passed over is checked, so text that was walked over once can be read again without
 * fear. Beyond the RFC it takes the words NaN, Infinity and -Infinity for numbers, and counts them.
 */
export class JsonReader {
  /** The string or number that was passed over last: without its quotes. */
  tokenStart = 0;
  tokenEnd = 0;
  private tokenEscaped = false;
  nonFiniteWords = 0;

  constructor(
    readonly bytes: Buffer,
    public pos: number,
    readonly end: number = bytes.length,
  ) {}

  /** The next byte that is no white space; -1 at the end. */
  peek(): number {
    while (this.pos < this.end) {
      const byte = this.bytes[this.pos] as number;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.pos++;
    }
    return -1;
  }

  kind(): JsonKind {
    const byte = this.peek();
    switch (byte) {
      case LEFT_BRACE:
        return 'object';
      case LEFT_BRACKET:
        return 'array';
      case QUOTE:
        return 'string';
      case 0x74:
      case 0x66:
        return 'boolean';
      case 0x6e:
        return 'null';
      case MINUS:
      case 0x4e: // NaN
      case 0x49: // Infinity
        return 'number';
      default:
        if (byte >= 0x30 && byte <= 0x39) return 'number';
        return this.fail('a value');
    }
  }

  fail(expected: string): never {
    const byte = this.peek();
    const actual = byte < 0 ? 'the end' : `byte 0x${byte.toString(16).padStart(2, '0')}`;
    throw new JsonSyntaxError('malformed', `${expected} expected at byte ${this.pos}, got ${actual}`, this.pos);
  }

  /** Steps into the object here; false when it is empty. Its first key is read next. */
  openObject(): boolean {
    return this.open(LEFT_BRACE, RIGHT_BRACE, '{');
  }

  /** After a member's value: true when another key follows. */
  nextMember(): boolean {
    return this.next(RIGHT_BRACE, '}');
  }

  openArray(): boolean {
    return this.open(LEFT_BRACKET, RIGHT_BRACKET, '[');
  }

  nextElement(): boolean {
    return this.next(RIGHT_BRACKET, ']');
  }

  /** Passes over a key and its colon. */
  key(): string {
    if (this.peek() !== QUOTE) this.fail('a key');
    this.skipString();
    const key = this.text();
    if (this.peek() !== COLON) this.fail('":"');
    this.pos++;
    return key;
  }

  /** The string that was passed over last. Half surrogate pairs become U+FFFD. */
  text(): string {
    if (!this.tokenEscaped) return readText(this.bytes, this.tokenStart, this.tokenEnd);
    const quoted = this.bytes.toString('utf8', this.tokenStart - 1, this.tokenEnd + 1);
    return (JSON.parse(quoted) as string).toWellFormed();
  }

  /** The number that was passed over last, as it was written. */
  numberText(): string {
    return this.bytes.toString('latin1', this.tokenStart, this.tokenEnd);
  }

  skipString(): void {
    const { bytes, end } = this;
    let at = this.pos + 1;
    this.tokenStart = at;
    this.tokenEscaped = false;
    for (;;) {
      if (at >= end) {
        this.pos = end;
        this.fail('the end of a string');
      }
      const byte = bytes[at] as number;
      if (byte === QUOTE) break;
      if (byte < 0x20) {
        this.pos = at;
        this.fail('a character that may stand in a string');
      }
      if (byte === BACKSLASH) {
        this.tokenEscaped = true;
        at = this.skipEscape(at + 1);
      } else {
        at++;
      }
    }
    this.tokenEnd = at;
    this.pos = at + 1;
  }

  private skipEscape(at: number): number {
    const byte = this.bytes[at] as number;
    if (at < this.end && SIMPLE_ESCAPES.has(byte)) return at + 1;
    if (at < this.end && byte === 0x75 && at + 4 < this.end) {
      let digits = 0;
      while (digits < 4 && isHexDigit(this.bytes[at + 1 + digits] as number)) digits++;
      if (digits === 4) return at + 5;
    }
    this.pos = Math.min(at, this.end);
    return this.fail('an escape of JSON');
  }

  skipNumber(): void {
    const { bytes } = this;
    const start = this.pos;
    this.tokenStart = start;
    let at = start;
    if (bytes[at] === MINUS) at++;
    for (const word of NON_FINITE) {
      if (!this.standsAt(at, word)) continue;
      this.nonFiniteWords++;
      this.tokenEnd = this.pos = at + word.length;
      return;
    }
    if (bytes[at] === 0x30 && at < this.end) at++;
    else at = this.skipDigits(at);
    if (bytes[at] === 0x2e && at < this.end) at = this.skipDigits(at + 1);
    if ((bytes[at] === 0x65 || bytes[at] === 0x45) && at < this.end) {
      at++;
      if ((bytes[at] === 0x2b || bytes[at] === MINUS) && at < this.end) at++;
      at = this.skipDigits(at);
    }
    this.tokenEnd = this.pos = at;
  }

  private skipDigits(start: number): number {
    let at = start;
    while (at < this.end && isDigit(this.bytes[at] as number)) at++;
    if (at === start) {
      this.pos = Math.min(at, this.end);
      this.fail('a digit');
    }
    return at;
  }

  /** `true`, `false` or `null`. */
  skipWord(): void {
    for (const word of WORDS) {
      if (!this.standsAt(this.pos, word)) continue;
      this.tokenStart = this.pos;
      this.tokenEnd = this.pos += word.length;
      return;
    }
    this.fail('a value');
  }

  private standsAt(at: number, word: string): boolean {
    if (at + word.length > this.end) return false;
    for (let i = 0; i < word.length; i++) if (this.bytes[at + i] !== word.charCodeAt(i)) return false;
    return true;
  }

  /** Passes over any value, however deep, without recursion. */
  skipValue(): void {
    // One entry for each open container: is it an object?
    const open: boolean[] = [];
    for (;;) {
      let opened = false;
      switch (this.kind()) {
        case 'string':
          this.skipString();
          break;
        case 'number':
          this.skipNumber();
          break;
        case 'boolean':
        case 'null':
          this.skipWord();
          break;
        case 'object':
          if (this.openObject()) {
            this.pushNesting(open, true);
            this.key();
            opened = true;
          }
          break;
        case 'array':
          if (this.openArray()) {
            this.pushNesting(open, false);
            opened = true;
          }
          break;
      }
      if (opened) continue;
      for (;;) {
        const inObject = open[open.length - 1];
        if (inObject === undefined) return;
        if (inObject ? this.nextMember() : this.nextElement()) {
          if (inObject) this.key();
          break;
        }
        open.pop();
      }
    }
  }

  private pushNesting(open: boolean[], isObject: boolean): void {
    if (open.length >= MAX_NESTING) {
      throw new JsonSyntaxError('too_deep', `JSON nested at most ${MAX_NESTING} deep expected, got more`, this.pos);
    }
    open.push(isObject);
  }

  private open(left: number, right: number, name: string): boolean {
    if (this.peek() !== left) this.fail(`"${name}"`);
    this.pos++;
    if (this.peek() !== right) return true;
    this.pos++;
    return false;
  }

  private next(right: number, name: string): boolean {
    const byte = this.peek();
    if (byte !== COMMA && byte !== right) this.fail(`"," or "${name}"`);
    this.pos++;
    return byte === COMMA;
  }
}

const NON_FINITE = ['NaN', 'Infinity'] as const;
const WORDS = ['true', 'false', 'null'] as const;

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
