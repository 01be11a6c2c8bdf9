import type { Window } from '../model/estimate.js';

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `30m`, `24h`, `7d`: by time; `last_200`: by count. Throws RangeError for a name that says neither. */
export function windowNamed(name: string): Window {
  const time = /^([1-9]\d{0,5})([mhd])$/.exec(name);
  if (time) return { name, kind: 'time', spanMs: Number(time[1]) * UNIT_MS[time[2] as keyof typeof UNIT_MS] };
  const count = /^last_([1-9]\d{0,6})$/.exec(name);
  if (count) return { name, kind: 'count', trials: Number(count[1]) };
  throw new RangeError(`a window such as 30m, 24h, 7d or last_200 expected, got "${name}"`);
}
