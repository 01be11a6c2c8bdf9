/** One way to read a number in a text. */
export interface NumberReading {
  readonly value: number;
  /** The unit of its last digit that counts: 0.1 for `22.6`, 100 000 for `1.2 million`. */
  readonly step: number;
}

/** English words for small numbers; the index is the number. */
export const NUMBER_WORDS: readonly string[] = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
];

// Beyond this a double no longer holds every digit: such a number is a code, and is compared as one.
const MAX_DIGITS = 15;

// A rounded number tells another one only as long as it is near to it: 23 for 22.64, not 1 for 0.6.
const MAX_ROUNDING = 0.05;

const PERCENT = String.raw`%|percent\b|per cent\b|pct\b|prozent\b|pour cent\b|por ciento\b`;
const SCALES: readonly (readonly [words: string, factor: number])[] = [
  ['k|thousand|tausend|tsd', 1e3],
  ['m|mn|mio|million|millions|millionen|millones', 1e6],
  ['b|bn|mrd|billion|billions|milliarden|milliards', 1e9],
];
const SCALE = new Map(SCALES.flatMap(([words, factor]) => words.split('|').map((word) => [word, factor] as const)));
// One letter may be a unit as well: 5 m is five metres or five million.
const SPOKEN = [...SCALE.keys()].sort((a, b) => b.length - a.length).join('|');
const HEDGE =
  /(?:~|≈|\b(?:about|around|approx(?:imately|\.)?|roughly|nearly|almost|circa|ca\.?|some|etwa|rund))\s?[$€£¥]?$/u;

/*
 * Not behind a letter or a digit, nor behind the letters of a code (R-5519), nor inside a longer number (12 in 112.5);
 * behind it may stand a scale, or a unit of at most three letters (14C, 3rd, 12kg).
 */
const NUMBER = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?<!\d[.,'’])(?<!\p{L}[-_#](?:\d{1,9}[-_#]){0,4})` +
    String.raw`([-−+])?(\d{1,3}(?:[ '’]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)` +
    String.raw`(?!\d|[.,'’]\d|_[\p{L}\p{N}])` +
    String.raw`(?:\s?(${PERCENT})|[ ]?(${SPOKEN})(?![\p{L}\p{N}])|(?!\p{L})|(?=\p{L}{1,3}(?![\p{L}\p{N}])))`,
  'gu',
);

/**
 * The numbers of a text, each with all ways to read it: grouped or not (`1,234` is 1234 or 1.234; `1.234,50`,
 * `1 234,50` and `1'234.50` are 1234.5), as a share (`25 %` is 25 or 0.25), scaled (`1.2M`), or in minor units of money
 * (`12.50` is also 1250 cents). Parts of other numbers, of codes, of versions and addresses are none.
 *
 * `text` in lower case and in Unicode's form NFKD, without dates and times.
 */
export function numbersIn(text: string): readonly (readonly NumberReading[])[] {
  const found: NumberReading[][] = [];
  if (!/\d/.test(text)) return found;
  for (const match of text.matchAll(NUMBER)) {
    const [, sign, digits, percent, scale] = match;
    const plain = readingsOf(digits as string).map(({ value, step }) => ({
      value: sign === '-' || sign === '−' ? -value : value,
      step,
    }));
    if (plain.length === 0) continue;
    const factor = scale === undefined ? undefined : SCALE.get(scale);
    const readings = factor === undefined || scale?.length === 1 ? [...plain] : [];
    if (factor !== undefined) readings.push(...plain.map((reading) => scaled(reading, factor)));
    if (percent !== undefined) readings.push(...plain.map((reading) => scaled(reading, 0.01)));
    if (factor === undefined && percent === undefined) {
      if (/[.,]\d\d$/.test(digits as string))
        readings.push(...plain.map(({ value }) => ({ value: Math.round(value * 100), step: 0 })));
      if (HEDGE.test(text.slice(Math.max(0, match.index - 16), match.index))) readings.push(...plain.map(rounded));
    }
    found.push(readings);
  }
  return found;
}

/** Does the text's number, as read, write this one: exactly, or rounded as people round? A loss of 5 may be written 5. */
export function writesNumber({ value: written, step }: NumberReading, value: number): boolean {
  const gap = Math.min(Math.abs(written - value), value < 0 ? Math.abs(written + value) : Infinity);
  if (gap <= 1e-9 * Math.max(1, Math.abs(value))) return true;
  return gap <= (step / 2) * (1 + 1e-9) && gap <= MAX_ROUNDING * Math.abs(value);
}

function scaled({ value, step }: NumberReading, factor: number): NumberReading {
  return { value: value * factor, step: step * factor };
}

/** `about 1,200` stands for anything that rounds to it. */
function rounded({ value, step }: NumberReading): NumberReading {
  let unit = step;
  while (step === 1 && value !== 0 && value % (unit * 10) === 0) unit *= 10;
  return { value, step: unit };
}

function readingsOf(written: string): readonly NumberReading[] {
  const text = written.replace(/[ '’]/g, '');
  if (text.replace(/[.,]/g, '').length > MAX_DIGITS) return [];
  const marks = [...text].filter((letter) => letter === '.' || letter === ',');
  const last = marks.at(-1);
  if (last === undefined) return [reading(text, '')];
  const at = text.lastIndexOf(last);
  const [whole, fraction] = [text.slice(0, at), text.slice(at + 1)];
  const readings: NumberReading[] = [];
  const other = last === '.' ? ',' : '.';
  if (marks.filter((mark) => mark === last).length === 1 && isGrouped(whole, other)) {
    readings.push(reading(whole.replaceAll(other, ''), fraction));
  }
  if (!marks.includes(other) && isGrouped(text, last)) readings.push(reading(text.replaceAll(last, ''), ''));
  return readings;
}

/** Digits without the mark, or in groups of three behind it (of two, but for the last, as in India). */
function isGrouped(digits: string, mark: string): boolean {
  if (!digits.includes(mark)) return /^\d+$/.test(digits);
  return /^[1-9]\d{0,2}(?:,\d{3})+$|^[1-9]\d?(?:,\d\d)+,\d{3}$/.test(digits.replaceAll(mark, ','));
}

function reading(whole: string, fraction: string): NumberReading {
  return { value: Number(fraction === '' ? whole : `${whole}.${fraction}`), step: 10 ** -fraction.length };
}
