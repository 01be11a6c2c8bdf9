import type { Json } from '../model/json.js';
import { newMap } from '../model/null-map.js';

const MAX_DEPTH = 100;

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  0: '\0',
};
const NUMBER = /[+-]?(?:\d[\d_]*)?(?:\.\d*)?(?:[eE][+-]?\d+)?/y;

/**
 * Reads what `repr` of Python writes for strings, numbers, True, False, None, lists, tuples and dicts of these.
 * Anything else (objects, calls, sets, bytes, NaN) is undefined: it stays text. Tuples become arrays, keys text.
 */
export function pythonLiteral(text: string): Json | undefined {
  const reader = new Reader(text.trim());
  try {
    const value = reader.value(0);
    return reader.atEnd() ? value : undefined;
  } catch (error) {
    if (error instanceof NoLiteral) return undefined;
    throw error;
  }
}

/** As `pythonLiteral`, for a text that may be JSON as well: only what begins like a dict or a list of dicts of Python. */
export function pythonOrText(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string' || !/^\s*\[?\s*\{\s*'/.test(value)) return value;
  return pythonLiteral(value) ?? value;
}

class NoLiteral extends Error {}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  atEnd(): boolean {
    return this.at >= this.text.length;
  }

  value(depth: number): Json {
    if (depth > MAX_DEPTH) throw new NoLiteral();
    const next = this.peek();
    if (next === '{') return this.dict(depth);
    if (next === '[') return this.list(']', depth);
    if (next === '(') return this.list(')', depth);
    if (next === "'" || next === '"') return this.string();
    if (this.take('None')) return null;
    if (this.take('True')) return true;
    if (this.take('False')) return false;
    return this.number();
  }

  private dict(depth: number): Json {
    const members = newMap();
    this.at += 1;
    for (;;) {
      if (this.take('}')) return members;
      const key = this.value(depth + 1);
      if (typeof key === 'object' && key !== null) throw new NoLiteral();
      if (!this.take(':')) throw new NoLiteral();
      members[String(key)] = this.value(depth + 1);
      if (this.take('}')) return members;
      if (!this.take(',')) throw new NoLiteral();
    }
  }

  private list(close: string, depth: number): Json {
    const items: Json[] = [];
    let commas = 0;
    this.at += 1;
    for (;;) {
      if (this.take(close)) break;
      items.push(this.value(depth + 1));
      if (this.take(close)) break;
      if (!this.take(',')) throw new NoLiteral();
      commas += 1;
    }
    // Parentheses around one value, without a comma, only group.
    return close === ')' && items.length === 1 && commas === 0 ? (items[0] as Json) : items;
  }

  private string(): string {
    const quote = this.text[this.at] as string;
    let value = '';
    this.at += 1;
    for (;;) {
      const char = this.text[this.at];
      if (char === undefined) throw new NoLiteral();
      this.at += 1;
      if (char === quote) return value.toWellFormed();
      if (char !== '\\') value += char;
      else value += this.escape();
    }
  }

  private escape(): string {
    const char = this.text[this.at];
    if (char === undefined) throw new NoLiteral();
    this.at += 1;
    const digits = char === 'x' ? 2 : char === 'u' ? 4 : char === 'U' ? 8 : 0;
    if (digits === 0) return ESCAPES[char] ?? (`\\'"`.includes(char) ? char : char === '\n' ? '' : `\\${char}`);
    const hex = this.text.slice(this.at, this.at + digits);
    const code = /^[0-9a-fA-F]+$/.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : Number.NaN;
    if (!(code <= 0x10ffff)) throw new NoLiteral();
    this.at += digits;
    return String.fromCodePoint(code);
  }

  private number(): Json {
    NUMBER.lastIndex = this.at;
    const digits = NUMBER.exec(this.text)?.[0] ?? '';
    if (!/\d/.test(digits)) throw new NoLiteral();
    this.at += digits.length;
    const value = Number(digits.replaceAll('_', ''));
    if (!Number.isFinite(value)) throw new NoLiteral();
    return /^[+-]?\d+$/.test(digits) && !Number.isSafeInteger(value) ? digits.replace(/^\+/, '') : value;
  }

  private peek(): string | undefined {
    while (' \t\r\n'.includes(this.text[this.at] ?? '-')) this.at += 1;
    return this.text[this.at];
  }

  private take(word: string): boolean {
    this.peek();
    if (!this.text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }
}
