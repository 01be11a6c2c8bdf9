import type { Json } from '../model/json.js';
import { jsonEqual } from './json-equal.js';
import { NUMBER_WORDS } from './written-numbers.js';

export interface AnswerRule {
  readonly kind: 'number' | 'label' | 'code' | 'JSON value';
  accepts(answer: string, query: string): boolean;
}

/**
 * The rule that can accept and reject answers, chosen by the expected answer alone; null when there is none.
 *
 * - number (`8`, `-3.5`, `1,234`, `42 %`, `$12.50`): it is among the answer's numbers that the query did not hold. When the
 *   query holds it too, it has to be the answer's last number.
 * - label (yes/no, true/false, and the configured sets): the first label of its set in the answer.
 * - code, one word with a digit, an underscore or only capitals (`ORD-1234`, `in_stock`, `APPROVED`): the answer holds it.
 * - JSON object or list: the answer, or a fenced block in it, is an equal value.
 */
export function answerRule(expected: string, labels: readonly (readonly string[])[]): AnswerRule | null {
  const text = expected.trim();
  const set = [...labels, ['yes', 'no'], ['true', 'false']].find((known) => known.some((label) => same(label, text)));
  if (set !== undefined) return { kind: 'label', accepts: (answer) => same(firstLabel(answer, set) ?? '', text) };
  const number = wholeNumber(text);
  if (number !== null) {
    return { kind: 'number', accepts: (answer, query) => holdsNumber(answer, number, query) };
  }
  if (/^[[{]/.test(text)) {
    const value = parse(text);
    if (value !== undefined) return { kind: 'JSON value', accepts: (answer) => holdsJson(answer, value) };
  }
  if (isCode(text)) return { kind: 'code', accepts: (answer) => positionOf(answer, text) >= 0 };
  return null;
}

/**
 * Does the answer say the expected text word by word, as its whole or as whole sentences of it? Letters' case, blanks and
 * closing marks do not matter. It can only accept: other words may say the same.
 */
export function saysTheSame(answer: string, expected: string): boolean {
  const wanted = plain(expected).replace(/[.!?]+$/, '');
  const given = plain(answer);
  if (wanted === '') return false;
  for (let at = given.indexOf(wanted); at >= 0; at = given.indexOf(wanted, at + 1)) {
    const before = given.slice(0, at).trimEnd();
    const after = given.slice(at + wanted.length);
    // Short ones only as the whole answer: "yes." stands in answers that go on to take it back.
    if (before === '' && /^[.!?]*$/.test(after)) return true;
    if (wanted.length >= MIN_SENTENCE && /(?:^|[.!?])$/.test(before) && /^(?:[.!?]|$)/.test(after)) return true;
  }
  return false;
}

const MIN_SENTENCE = 20;

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

const WORD = String.raw`[\p{L}\p{N}_]`;

/** Where the word stands on its own, whatever its case; -1 if nowhere. */
function positionOf(answer: string, word: string): number {
  const escaped = word.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  return answer.search(new RegExp(`(?<!${WORD})${escaped}(?!${WORD})`, 'iu'));
}

function firstLabel(answer: string, labels: readonly string[]): string | null {
  let first: { label: string; at: number } | null = null;
  for (const label of labels) {
    const at = positionOf(answer, label);
    if (at < 0) continue;
    // Of two that start together ("not approved", "not") the longer is meant.
    if (first === null || at < first.at || (at === first.at && label.length > first.label.length))
      first = { label, at };
  }
  return first?.label ?? null;
}

function isCode(text: string): boolean {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_.:#-]{1,63}$/u.test(text)) return false;
  return /[\p{N}_]/u.test(text) || (text === text.toUpperCase() && text !== text.toLowerCase());
}

const NUMBER = /(?<![\p{L}\p{N}_.])[-+−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d+)?/giu;
function wholeNumber(text: string): number | null {
  const bare = text.replace(/^[$€£¥]\s?/, '').replace(/\s?[%€]$/, '');
  const found = numbersIn(bare);
  return found.length === 1 && new RegExp(`^${NUMBER.source}$`, 'iu').test(bare) ? (found[0] as number) : null;
}

function numbersIn(text: string): readonly number[] {
  return [...text.matchAll(NUMBER)].map(([digits]) => Number(digits.replaceAll(',', '').replace('−', '-')));
}

function holdsNumber(answer: string, expected: number, query: string): boolean {
  const equal = (number: number) => Math.abs(number - expected) <= 1e-9 * Math.max(1, Math.abs(expected));
  const inAnswer = numbersIn(answer);
  const inQuery = numbersIn(query);
  if (inQuery.some(equal)) return inAnswer.length > 0 && equal(inAnswer.at(-1) as number);
  if (inAnswer.some(equal)) return true;
  const word = NUMBER_WORDS[expected];
  return word !== undefined && positionOf(answer, word) >= 0;
}

function holdsJson(answer: string, expected: Json): boolean {
  const fenced = [...answer.matchAll(/```(?:json)?[ \t\r]*\n([^`]*)```/gi)].map(([, inside]) => inside as string);
  return [answer, ...fenced].some((text) => {
    const value = parse(text);
    return value !== undefined && jsonEqual(value, expected);
  });
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
