/**
 * Watches whether the judge answers, by what the workers say of it in their signs of life. Pure: minutes in order give a
 * state.
 *
 * Seeing: when no worker has had answers of it for `judgeMs`, and one at least was refused, nothing that needs it can be
 * seen. Blind: ends with a minute in which a worker has answers again, or in which no worker has a judge any more. A worker
 * that asks nothing, as after a start or without traffic, says nothing either way, and silence neither. Detectors need
 * nothing of it: what the judge has no word on is outstanding.
 */
export interface JudgeRules {
  /** Milliseconds, > 0. */
  readonly judgeMs: number;
}

/** What the workers said of the judge in one minute. */
export interface MinuteOfJudging {
  readonly firstMs: number;
  readonly lastMs: number;
  /** A worker has a judge. */
  readonly asks: boolean;
  /** A worker had answers in this minute, and its circuit is closed. */
  readonly answers: boolean;
  /** The circuit of a worker is open. */
  readonly refuses: boolean;
}

/** Plain JSON. */
export interface JudgeSightState {
  /** The last minute that was looked at; null: none. */
  readonly lastMs: number | null;
  /** Since when it does not answer; null: it does. */
  readonly awaySinceMs: number | null;
  readonly blind: { readonly reason: 'judge'; readonly sinceMs: number; readonly decidedAtMs: number } | null;
}

export interface JudgeTransition {
  readonly kind: 'opened' | 'closed';
  readonly reason: 'judge';
  readonly atMs: number;
  /** `atMs` of the opening. */
  readonly decidedAtMs: number;
  readonly sinceMs: number;
}

export const FULL_JUDGE_SIGHT: JudgeSightState = { lastMs: null, awaySinceMs: null, blind: null };

/** Takes minutes in order of time; those that were given before are ignored. */
export function watchJudge(
  state: JudgeSightState,
  minutes: readonly MinuteOfJudging[],
  { judgeMs }: JudgeRules,
): { readonly state: JudgeSightState; readonly transitions: readonly JudgeTransition[] } {
  const transitions: JudgeTransition[] = [];
  let { lastMs, awaySinceMs, blind } = state;
  for (const minute of minutes) {
    if (lastMs !== null && minute.lastMs <= lastMs) continue;
    lastMs = minute.lastMs;
    if (minute.answers || !minute.asks) {
      if (blind !== null) transitions.push({ kind: 'closed', atMs: lastMs, ...blind });
      [awaySinceMs, blind] = [null, null];
    } else if (minute.refuses) {
      awaySinceMs ??= minute.firstMs;
      if (blind === null && lastMs - awaySinceMs >= judgeMs) {
        blind = { reason: 'judge', sinceMs: awaySinceMs, decidedAtMs: lastMs };
        transitions.push({ kind: 'opened', atMs: lastMs, ...blind });
      }
    }
  }
  return { state: { lastMs, awaySinceMs, blind }, transitions };
}
