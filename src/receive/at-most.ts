import { setTimeout as pause } from 'node:timers/promises';

/** Resolves when the work is over, whatever came of it, and after `ms` at the latest. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([
    work.catch(() => undefined),
    pause(ms, undefined, { signal: timer.signal }).catch(() => undefined),
  ]);
  timer.abort();
}
