import type { WrittenDate } from './written-dates.js';
import { datesAndTimesIn, sameDay } from './written-dates.js';
import type { NumberReading } from './written-numbers.js';
import { NUMBER_WORDS, numbersIn, writesNumber } from './written-numbers.js';

/** What a text states, read once so that many values can be looked for in it. */
export interface TextFacts {
  readonly numbers: readonly (readonly NumberReading[])[];
  readonly dates: readonly (readonly WrittenDate[])[];
  readonly times: readonly (readonly number[])[];
  /** Folded words with one blank between, before and behind them. */
  readonly words: string;
  readonly wordSet: ReadonlySet<string>;
}

/** A value that a text can state, in the form in which it is looked for. */
export type Value =
  /** Numbers of which any will do: the ways to read one that was itself written in a text. */
  | { readonly kind: 'number'; readonly values: readonly number[] }
  | { readonly kind: 'date'; readonly readings: readonly WrittenDate[] }
  /** Minutes since midnight. */
  | { readonly kind: 'time'; readonly minutes: number }
  /** Folded words; `loose`: all that are long enough, in any order, will do. */
  | { readonly kind: 'words'; readonly words: readonly string[]; readonly loose: boolean }
  /** A flag by its name: "is deleted", "not available". */
  | { readonly kind: 'flag'; readonly word: string; readonly holds: boolean };

// An enumeration's `1.` at the start of a line, also in Markdown's bold or as a heading, numbers the line and says nothing.
const LIST_MARK = /^[ \t]{0,16}(?:>[ \t]?|[-*#]{1,6}[ \t]{1,4})?(?:\*\*|__)?(?:step )?\d{1,2}[.):](?=[\s*_])/gm;

// A number with its fraction is one word, so that 12 is no word of 12.5; so are times and addresses.
const WORD = /[\p{L}\p{N}]+(?:(?<=\d)[.,:]\d+)*/gu;

const MARK = /\p{M}/gu;
const HUMP = /(?<=\p{Ll})(?=\p{Lu})/gu;

const NEGATIONS = new Set(
  'not no never neither nor cannot t without unable nicht kein keine keinen weder pas'.split(' '),
);
const NEAR = 3; // words between "not" and what it denies: "not yet been deleted"

// Below this a word is an article or a preposition as often as a word that says something.
const LONG_WORD = 4;

// Scripts that are written without blanks between words.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** Lower case, without diacritics, compatibility forms replaced: texts that a reader takes for the same become the same. */
export function fold(text: string): string {
  if (/^[\x20-\x7e\s]*$/.test(text)) return text.toLowerCase();
  return text.normalize('NFKD').replace(MARK, '').toLowerCase();
}

/** Words of a text, folded; `in_transit`, `inTransit` and `in transit` are the same two. */
export function wordsOf(text: string): readonly string[] {
  const parted = /[_\d]/.test(text) ? text : text.replace(HUMP, ' ');
  return fold(parted).match(WORD) ?? [];
}

export function factsOf(text: string): TextFacts {
  const folded = fold(text);
  const { dates, times, rest } = datesAndTimesIn(folded.replace(LIST_MARK, ' '));
  const words = folded.match(WORD) ?? [];
  return { numbers: numbersIn(rest), dates, times, words: ` ${words.join(' ')} `, wordSet: new Set(words) };
}

/** Does the text state the value? */
export function states(facts: TextFacts, value: Value): boolean {
  switch (value.kind) {
    case 'number':
      return value.values.some((number) => statesNumber(facts, number));
    case 'date':
      return facts.dates.some((written) => written.some((a) => value.readings.some((b) => sameDay(a, b))));
    case 'time':
      return facts.times.some((readings) => readings.includes(value.minutes));
    case 'words':
      return statesWords(facts, value.words, value.loose);
    case 'flag':
      return statesFlag(facts, value.word, value.holds);
  }
}

/** Does the text only deny the value: "has not shipped"? Told of single words; a number or a name of several says more. */
export function denies(facts: TextFacts, value: Value): boolean {
  if (value.kind !== 'words' || value.words.length !== 1) return false;
  const [word] = value.words;
  const words = facts.words.trim().split(' ');
  return words.includes(word as string) && words.every((each, i) => each !== word || isDenied(words, i));
}

function isDenied(words: readonly string[], i: number): boolean {
  return words.slice(Math.max(0, i - NEAR), i).some((before) => NEGATIONS.has(before));
}

function statesNumber(facts: TextFacts, number: number): boolean {
  if (facts.numbers.some((readings) => readings.some((reading) => writesNumber(reading, number)))) return true;
  // "one" is a pronoun more often than a number.
  const word = number > 1 ? NUMBER_WORDS[number] : undefined;
  return word !== undefined && facts.wordSet.has(word);
}

function statesWords(facts: TextFacts, words: readonly string[], loose: boolean): boolean {
  const [first] = words;
  if (first === undefined) return false;
  if (UNSPACED.test(first)) return facts.words.includes(words.join(' '));
  if (words.length === 1) return facts.wordSet.has(first);
  if (words.every((word) => facts.wordSet.has(word)) && facts.words.includes(` ${words.join(' ')} `)) return true;
  if (!loose) return false;
  const long = words.filter((word) => word.length >= LONG_WORD);
  return long.length > 1 && long.every((word) => facts.wordSet.has(word));
}

function statesFlag(facts: TextFacts, word: string, holds: boolean): boolean {
  if (!holds && (facts.wordSet.has(`un${word}`) || facts.wordSet.has(`in${word}`))) return true;
  if (!facts.wordSet.has(word)) return false;
  const words = facts.words.trim().split(' ');
  return words.some((each, i) => each === word && isDenied(words, i) !== holds);
}
