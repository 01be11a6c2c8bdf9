import { z } from 'zod';

const TIME = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Milliseconds since the Unix epoch of a date (its beginning in UTC), or of a time with its offset; NaN for others. */
export function rfc3339Ms(text: string): number {
  return TIME.safeParse(text).success ? Date.parse(text) : NaN;
}
