import type { Json } from '../model/json.js';

const MAX_UINT64 = (1n << 64n) - 1n;
/** 10^30 is beyond every integer of OTLP; a larger exponent would only make a huge bigint. */
const MAX_EXPONENT = 30;

/** JSON has no NaN and no infinities: they become their names. */
export function doubleOrName(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** An exact integer as a JSON value: a number while it is safe, else its decimal text. */
export function integerOrText(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/**
 * The integer that a decimal text stands for, `1.796e18` included; undefined when it stands for none.
 * It never passes through a double.
 */
export function exactInteger(text: string): bigint | undefined {
  if (/^-?\d{1,40}$/.test(text)) return BigInt(text);
  const parts = /^(-?)(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]\+?(\d{1,2}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  const places = Number(exponent);
  if (places > MAX_EXPONENT || /[1-9]/.test(fraction.slice(places))) return undefined;
  const digits = whole + fraction.slice(0, places).padEnd(places, '0');
  return BigInt(sign + digits);
}

/** Is this a time that OTLP's fixed64 can hold? */
export function isUint64(value: bigint): boolean {
  return value >= 0n && value <= MAX_UINT64;
}

/** A JSON number's text as a value: exact integers stay exact. */
export function numberOfText(text: string): Json {
  if (/^-?\d+$/.test(text)) {
    const number = Number(text);
    if (Number.isSafeInteger(number)) return number + 0;
    const integer = exactInteger(text);
    return integer === undefined ? text : integer.toString();
  }
  return doubleOrName(Number(text));
}
