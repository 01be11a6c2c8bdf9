/** A day; the year is null where the text leaves it out. */
export interface WrittenDate {
  readonly year: number | null;
  /** 1..12 */
  readonly month: number;
  /** 1..31 */
  readonly day: number;
}

export interface DatesAndTimes {
  /** Each with all ways to read it: `05/06/2031` is in June or in May. */
  readonly dates: readonly (readonly WrittenDate[])[];
  /** Minutes since midnight; where `7:30` says no more it may be in the evening, which is its second reading. */
  readonly times: readonly (readonly number[])[];
  /** The text with blanks in their place, so that their digits are taken for no numbers. */
  readonly rest: string;
}

// English, German, French, Spanish, Portuguese, Italian, Dutch; without diacritics.
const MONTHS = [
  'january januar janvier enero janeiro gennaio januari janv jan ene',
  'february februar fevrier febrero fevereiro febbraio februari fevr feb',
  'march marz mars marzo marco maart mrz mar',
  'april avril abril aprile avr apr abr',
  'may mai mayo maio maggio mei',
  'june juni juin junio junho giugno jun',
  'july juli juillet julio julho luglio juil jul',
  'august aout agosto augustus aug ago',
  'september septembre septiembre setembro settembre sept sep',
  'october oktober octobre octubre outubro ottobre oct okt',
  'november novembre noviembre novembro nov',
  'december dezember decembre diciembre dezembro dicembre dec dez dic',
].map((names) => names.split(' '));
const MONTH_OF = new Map(MONTHS.flatMap((names, i) => names.map((name) => [name, i + 1] as const)));
// A word that may be a month: which one it is, is looked up, because trying all names at every letter is slow.
const MONTH = '([a-z]{3,10})';

const FREE = String.raw`(?<![\p{L}\p{N}.,:/-])`;
const END = String.raw`(?![\p{L}\p{N}]|[.,:/-]\d)`;
const SECONDS = String.raw`(?::\d\d(?:[.,]\d+)?(?:[+-]\d\d:?\d\d)?)?z?`;
const HALF = String.raw`(a\.?m\.?|p\.?m\.?)`;
const expression = (source: string) => new RegExp(source, 'gu');

const YEAR_FIRST = expression(String.raw`${FREE}(\d{4})([-/.])(\d\d?)\2(\d\d?)(?:t(?=\d\d:)|${END})`);
const YEAR_LAST = expression(String.raw`${FREE}(\d\d?)(?:([./-])(\d\d?)\2(\d{4})|/(\d\d?)/(\d\d))${END}`);
const DAY_MONTH = expression(
  String.raw`${FREE}(\d\d?)(?:st|nd|rd|th|er|\.)?[ -](?:of |de |del )?${MONTH}(?![a-z])\.?(?:,?[ -](?:de |del )?(\d{4})(?!\d))?`,
);
const MONTH_DAY = expression(
  String.raw`(?<![a-z])${MONTH}\.?[ -](\d\d?)(?:st|nd|rd|th)?(?![\p{L}\d])(?:,? (\d{4})(?!\d))?`,
);
const CJK = expression(String.raw`(?:(\d{4})年 ?)?(?<!\d)(\d\d?)月 ?(\d\d?)日`);
const CLOCK = expression(
  String.raw`(?<![\p{L}\p{N}.,:/])(\d\d?)[:h](\d\d)${SECONDS}(?: ?${HALF}(?!\p{L}))?(?![\p{L}\p{N}]|[.,:/]\d)`,
);
const HOUR = expression(String.raw`${FREE}(\d\d?)(?:\.(\d\d))? ?(?:${HALF}|uhr)(?!\p{L})`);
const NAMED = expression(String.raw`(?<!\p{L})(?:(noon|midday|mittag|midi)|midnight|mitternacht|minuit)(?!\p{L})`);

/**
 * The days and times of day that a text names, in the ways people write them: `2031-06-05`, `5 June 2031`, `Jun 5th`,
 * `05/06/2031`, `5. Juni`, `6月5日`; `19:00`, `7 pm`, `7:00 p.m.`, `19h00`, `noon`. What is no day of a calendar is left.
 *
 * `text` in lower case and in Unicode's form NFKD without marks.
 */
export function datesAndTimesIn(text: string): DatesAndTimes {
  const dates: (readonly WrittenDate[])[] = [];
  const times: (readonly number[])[] = [];
  const day = (whole: string, readings: readonly WrittenDate[]): string => {
    const real = readings.filter(isDay);
    if (real.length > 0) dates.push(real);
    return real.length > 0 ? ' ' : whole;
  };
  const time = (whole: string, hour: number, minute: number, half: string | undefined): string => {
    if (hour > (half === undefined ? 24 : 12) || minute > 59) return whole;
    const minutes = (hour % (half === undefined ? 24 : 12)) * 60 + minute + (half?.startsWith('p') === true ? 720 : 0);
    times.push(half === undefined && hour > 0 && hour <= 12 ? [minutes, (minutes + 720) % 1440] : [minutes]);
    return ' ';
  };
  const named = (_whole: string, noon?: string): string => {
    times.push([noon === undefined ? 0 : 720]);
    return ' ';
  };
  if (!/\d/.test(text)) return { dates, times, rest: text.replace(NAMED, named) };
  const rest = text
    .replace(YEAR_FIRST, (whole, y: string, _mark, m: string, d: string) => day(whole, [dateOf(y, m, d)]))
    .replace(YEAR_LAST, (whole, a: string, _mark, b?: string, year?: string, c?: string, short?: string) => {
      const [second, y] = [(b ?? c) as string, year ?? `20${short}`];
      return day(whole, a === second ? [dateOf(y, a, a)] : [dateOf(y, second, a), dateOf(y, a, second)]);
    })
    .replace(DAY_MONTH, (whole, d: string, m: string, y?: string) => day(whole, [dateOf(y, m, d)]))
    .replace(MONTH_DAY, (whole, m: string, d: string, y?: string) => day(whole, [dateOf(y, m, d)]))
    .replace(CJK, (whole, y: string | undefined, m: string, d: string) => day(whole, [dateOf(y, m, d)]))
    .replace(CLOCK, (whole, h: string, m: string, half?: string) => time(whole, Number(h), Number(m), half))
    .replace(HOUR, (whole, h: string, m?: string, half?: string) => time(whole, Number(h), Number(m ?? 0), half))
    .replace(NAMED, named);
  return { dates, times, rest };
}

/** The same day, as far as both say which year. */
export function sameDay(a: WrittenDate, b: WrittenDate): boolean {
  return a.month === b.month && a.day === b.day && (a.year === null || b.year === null || a.year === b.year);
}

function dateOf(year: string | undefined, month: string, day: string): WrittenDate {
  return {
    year: year === undefined ? null : Number(year),
    month: MONTH_OF.get(month) ?? Number(month), // NaN for another word
    day: Number(day),
  };
}

function isDay({ month, day }: WrittenDate): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}
