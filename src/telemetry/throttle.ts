const INTERVAL_MS = 60_000; // a fault that lasts is one line a minute, however many requests meet it

/**
 * Lets the first occurrence of a key through, and then one a minute. Returns how many were held back since the last one
 * that was let through, or null when this one is held back. Keys come from small fixed sets.
 */
export function createThrottle(nowMs: () => number): (key: string) => number | null {
  const keys = new Map<string, { passedAtMs: number; held: number }>();
  return (key) => {
    const now = nowMs();
    const known = keys.get(key);
    // A wall clock that was set back must not silence a key.
    if (known && now >= known.passedAtMs && now - known.passedAtMs < INTERVAL_MS) {
      known.held += 1;
      return null;
    }
    keys.set(key, { passedAtMs: now, held: 0 });
    return known?.held ?? 0;
  };
}
