/**
 * Watches whether anything is read at all, by the signs of life of the workers. Pure: minutes in order give a state.
 *
 * Seeing: when no sign comes for `silentMs`, or the slowest source is `lagMs` behind in every minute of `forMs`, all is
 * blind. Blind: silence ends with a sign of life, lag with a minute in which it is less than half of `lagMs`.
 * Nothing has to be left out of any series for it: stream time stands still with what is not read.
 */
export interface StreamRules {
  /** Milliseconds, > 0 each. */
  readonly silentMs: number;
  readonly lagMs: number;
  readonly forMs: number;
}

/** What the workers said in one minute, of all sources together. */
export interface MinuteOfBeats {
  readonly firstMs: number;
  readonly lastMs: number;
  /** How far the slowest source was behind. Milliseconds. */
  readonly lagMs: number;
}

/** Plain JSON. */
export interface StreamSightState {
  /** The last sign of life; null: none ever, and then nothing is missed. */
  readonly lastMs: number | null;
  /** Since when every minute lagged; null: the last one did not. */
  readonly lagSinceMs: number | null;
  readonly blind: { readonly reason: StreamReason; readonly sinceMs: number; readonly decidedAtMs: number } | null;
}

export type StreamReason = 'silent' | 'lag';

export interface StreamTransition {
  readonly kind: 'opened' | 'closed';
  readonly reason: StreamReason;
  readonly atMs: number;
  /** `atMs` of the opening. */
  readonly decidedAtMs: number;
  readonly sinceMs: number;
}

export const FULL_STREAM_SIGHT: StreamSightState = { lastMs: null, lagSinceMs: null, blind: null };

/**
 * Takes minutes in order of time, then the silence from the last of them to `nowMs`. Minutes that were given before are
 * ignored.
 */
export function watchStream(
  state: StreamSightState,
  minutes: readonly MinuteOfBeats[],
  nowMs: number,
  rules: StreamRules,
): { readonly state: StreamSightState; readonly transitions: readonly StreamTransition[] } {
  const transitions: StreamTransition[] = [];
  let watching = state;
  const move = (next: StreamSightState, atMs: number): void => {
    const { blind } = watching;
    if (blind === null && next.blind !== null) transitions.push({ kind: 'opened', atMs, ...next.blind });
    if (blind !== null && next.blind === null) transitions.push({ kind: 'closed', atMs, ...blind });
    watching = next;
  };
  for (const minute of minutes) {
    if (watching.lastMs !== null && minute.lastMs <= watching.lastMs) continue;
    const silence = silentUntil(watching, minute.firstMs, rules);
    if (silence !== null) move(silence, silence.blind.decidedAtMs);
    if (watching.blind?.reason === 'silent') move({ ...watching, blind: null }, minute.firstMs);
    move(afterMinute(watching, minute, rules), minute.lastMs);
  }
  const silence = silentUntil(watching, nowMs, rules);
  if (silence !== null) move(silence, silence.blind.decidedAtMs);
  return { state: watching, transitions };
}

function silentUntil(state: StreamSightState, untilMs: number, { silentMs }: StreamRules) {
  const { lastMs, blind } = state;
  if (lastMs === null || blind !== null || untilMs - lastMs <= silentMs) return null;
  return { ...state, blind: { reason: 'silent', sinceMs: lastMs, decidedAtMs: lastMs + silentMs } } as const;
}

function afterMinute(
  { blind, lagSinceMs }: StreamSightState,
  minute: MinuteOfBeats,
  rules: StreamRules,
): StreamSightState {
  const { lastMs } = minute;
  const since = minute.lagMs >= rules.lagMs ? (lagSinceMs ?? minute.firstMs) : null;
  if (blind !== null) {
    const isOver = blind.reason === 'lag' && minute.lagMs < rules.lagMs / 2;
    return { lastMs, lagSinceMs: since, blind: isOver ? null : blind };
  }
  const isLagging = since !== null && lastMs - since >= rules.forMs;
  const decided = isLagging ? ({ reason: 'lag', sinceMs: since, decidedAtMs: lastMs } as const) : null;
  return { lastMs, lagSinceMs: since, blind: decided };
}
