import type { Json } from '../model/json.js';
import { isJsonObject } from '../model/json.js';
import type { Value } from './text-facts.js';
import { fold, wordsOf } from './text-facts.js';
import { datesAndTimesIn } from './written-dates.js';
import { numbersIn } from './written-numbers.js';

/** A value of a tool's result that an answer would state if it used the result. */
export interface SalientValue {
  readonly value: Value;
  /** As it stood in the result. */
  readonly text: string;
  /** So common (a digit, a year, a plain word) that among many values it is stated by chance. */
  readonly weak: boolean;
  /** An answer that uses the result may keep it to itself, or say it in words of its own: a word, a flag, an id. */
  readonly silent: boolean;
}

export interface SalientValues {
  readonly values: readonly SalientValue[];
  /** Besides them it holds what an answer may use without stating a value: prose, or more than was read. */
  readonly more: boolean;
  /** How many characters were read. */
  readonly chars: number;
}

/** How much of a result is read. */
export interface ReadingBounds {
  readonly values: number;
  /** UTF-16 code units of text. */
  readonly chars: number;
}

const MAX_DEPTH = 24;
// A field of a record, not prose.
const SHORT_CHARS = 80;
const SHORT_WORDS = 8;

// Parsing JSON is so many times faster than looking for numbers and days in a text.
const PARSED_PER_READ = 8;

/** Outcomes that every tool reports and every answer may hold. */
const SAYS_NOTHING = new Set(
  'ok okay success successful successfully succeeded done completed true false yes no none null nil nan infinity error failed failure unknown undefined text json string object found result results'.split(
    ' ',
  ),
);

const ID_KEY =
  /(?:^|_)(?:id|ids|uuid|guid|hash|token|key|ref|etag|cursor|offset|version|timestamp|index|code|number|no)$/;
const MONEY_IN_MINOR_UNITS = /(?:^|_)(?:amount|price|total|cost|fee|balance|cents|minor|pence)(?:_|$)/;
const CODE = /^[\p{L}\p{N}]+(?:[-_./:#][\p{L}\p{N}]+)*$/u;
const BLANKS = /\s+/;
const DIGIT = /\d/;
const DIGITS = /^\d+$/;
const STARTS_WITH_DIGIT = /^\d/;
const LETTER = /\p{L}/u;
const LATIN = /^\p{Script=Latin}+$/u;
const HUMP = /(?<=[\p{Ll}\d])(?=\p{Lu})/gu;
const NUMBER_WITH_UNIT = /^\d+(?:[.,]\d+)?\p{L}{1,3}$/u;
const OPENS_JSON = /^\s*[[{]/;
// Repetitions are bounded, so that no text makes these slow.
const CODE_IN_PROSE =
  /(?<![\p{L}\p{N}_/.-])(?=[\p{L}\p{N}_-]{0,64}\d)[\p{L}\p{N}]{1,64}(?:[-_][\p{L}\p{N}]{1,64}){0,8}(?![\p{L}\p{N}_/-])/gu;
const NAME_IN_PROSE = /(?<![\p{L}\p{N}])\p{Lu}[\p{L}'’-]{1,40}(?: \p{Lu}[\p{L}'’-]{1,40}){1,3}(?![\p{L}\p{N}])/gu;

/**
 * Reads the numbers, days, times, names, codes and short texts out of a result, also out of JSON inside its texts. Of
 * prose it takes numbers, days, times, codes and names of several words. Stops at the bounds, and says so in `more`.
 */
export function salientValues(result: Json, bounds: ReadingBounds): SalientValues {
  const reader = new Reader(bounds);
  reader.walk(result, '', 0);
  return { values: reader.values, more: reader.more || reader.isFull, chars: bounds.chars - reader.chars };
}

class Reader {
  readonly values: SalientValue[] = [];
  more = false;
  /** How many more may be read. */
  chars: number;

  constructor(private readonly bounds: ReadingBounds) {
    this.chars = bounds.chars;
  }

  get isFull(): boolean {
    return this.values.length >= this.bounds.values || this.chars <= 0;
  }

  /** `name`: the key under which the value stands, in snake_case. */
  walk(value: Json, name: string, depth: number): void {
    if (typeof value === 'object') this.chars -= 1; // Else a million empty records would be looked at.
    if (this.isFull || depth > MAX_DEPTH) {
      this.more = true;
    } else if (typeof value === 'number') {
      this.takeNumber(value, name);
    } else if (typeof value === 'boolean') {
      this.takeFlag(value, name);
    } else if (typeof value === 'string') {
      const inside = jsonIn(value, this.chars * PARSED_PER_READ);
      if (inside === undefined) {
        this.takeText(value, name);
      } else {
        this.chars -= Math.ceil(value.length / PARSED_PER_READ);
        this.walk(inside, name, depth + 1);
      }
    } else if (Array.isArray(value)) {
      for (const item of value as readonly Json[]) {
        this.walk(item, name, depth + 1);
        if (this.isFull) break;
      }
    } else if (isJsonObject(value)) {
      for (const key in value) {
        this.walk(value[key] as Json, snakeCase(key), depth + 1);
        if (this.isFull) break;
      }
    }
  }

  private add(value: Value, text: string, weak: boolean, silent: boolean): void {
    this.values.push({ value, text, weak, silent });
  }

  private takeNumber(number: number, name: string): void {
    if (!Number.isFinite(number)) return;
    const isMinor = Number.isInteger(number) && Math.abs(number) >= 100 && MONEY_IN_MINOR_UNITS.test(name);
    const values = isMinor ? [number, number / 100] : [number];
    this.add({ kind: 'number', values }, String(number), isCommon(number), ID_KEY.test(name));
  }

  private takeFlag(holds: boolean, name: string): void {
    const word = name.slice(name.lastIndexOf('_') + 1);
    if (word.length < 4 || SAYS_NOTHING.has(word)) this.more = true;
    else this.add({ kind: 'flag', word, holds }, name, true, true);
  }

  private takeText(whole: string, name: string): void {
    const text = whole.slice(0, this.chars).trim();
    if (whole.length > this.chars) this.more = true;
    this.chars -= Math.min(whole.length, this.chars);
    if (text === '') return;
    const isShort = text.length <= SHORT_CHARS && text.split(BLANKS, SHORT_WORDS + 1).length <= SHORT_WORDS;
    const isCode = isShort && isCodeLike(text);
    const { dates, times, rest } = datesAndTimesIn(fold(text));
    for (const readings of dates) this.add({ kind: 'date', readings }, text, false, false);
    for (const [minutes = 0] of times) this.add({ kind: 'time', minutes }, text, false, false);
    if (!isCode || dates.length > 0) {
      for (const readings of numbersIn(rest)) {
        // In whole units: nobody counts cents in a text.
        const values = readings.filter(({ step }) => step > 0).map(({ value }) => value);
        const [first = 0] = values;
        this.add({ kind: 'number', values }, String(first), isCommon(first), ID_KEY.test(name));
      }
    }
    if (!isShort) this.takeNamesOfProse(text);
    else if (dates.length === 0 && times.length === 0) this.takeWords(text, isCode);
    else if (LETTER.test(rest)) this.more = true;
  }

  private takeWords(text: string, isCode: boolean): void {
    const words = wordsOf(text);
    const [first] = words;
    if (first === undefined) return;
    const isPlain = words.length === 1 && !isCode;
    if (isPlain && (SAYS_NOTHING.has(first) || (first.length < 3 && LATIN.test(first)))) return;
    // A bare number, with or without its unit, has been read as one.
    if (!isCode && words.every((word) => word.length <= 2 || STARTS_WITH_DIGIT.test(word))) return;
    const isUncased = text === text.toLowerCase() || text === text.toUpperCase();
    this.add({ kind: 'words', words, loose: !isCode && BLANKS.test(text) }, text, isPlain && isUncased, true);
  }

  private takeNamesOfProse(text: string): void {
    this.more = true;
    for (const [code] of text.matchAll(CODE_IN_PROSE)) {
      if (code.length >= 4 && isCodeLike(code)) {
        this.add({ kind: 'words', words: wordsOf(code), loose: false }, code, false, true);
      }
    }
    for (const [name] of text.matchAll(NAME_IN_PROSE)) {
      this.add({ kind: 'words', words: wordsOf(name), loose: false }, name, false, true);
    }
  }
}

/** One digit, or a year of our time. */
function isCommon(number: number): boolean {
  return Number.isInteger(number) && (Math.abs(number) < 10 || (number >= 1900 && number < 2100));
}

/** Letters and digits in one word, or digits that are no quantity (`0042`, `3.2.1`, more than a double holds). */
function isCodeLike(text: string): boolean {
  if (!DIGIT.test(text) || !CODE.test(text)) return false;
  if (DIGITS.test(text)) return text.length > 15 || (text.length > 1 && text.startsWith('0'));
  return LETTER.test(text) ? !NUMBER_WITH_UNIT.test(text) : numbersIn(text).length === 0;
}

function snakeCase(key: string): string {
  return key.length > 64 ? '' : key.replace(HUMP, '_').toLowerCase();
}

function jsonIn(text: string, maxChars: number): Json | undefined {
  if (text.length > maxChars || !OPENS_JSON.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
