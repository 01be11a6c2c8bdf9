/**
 * The time of one ordered source (the spool, or a Kafka partition): how far what was read has got, not what a clock
 * on the wall says.
 *
 * Running: a record moves time up to its receive time; an answer "nothing more to read" moves it up to the wall
 * clock, since nothing older can follow. Held (the store takes no rows): nothing moves it. Time never runs backwards,
 * whatever the wall clock does. So an outage of the broker, a lag or a replay ages nothing, and a replay decides as
 * the first run did. All state is three numbers; there is nothing to shut down.
 */
export interface StreamClock {
  /** Milliseconds since the Unix epoch; 0 before anything was seen. It is also the arrival of what was just read. */
  readonly nowMs: number;
  /** Records whose time was more than a minute ahead of the wall clock. They did not move time. */
  readonly aheadRecords: number;
  /** A record was read. `recordTimeMs`: when it was received; `wallMs`: the wall clock now. Returns its arrival. */
  see(recordTimeMs: number, wallMs: number): number;
  /** The source said "nothing more to read". `wallMs`: the wall clock when it was asked, not when it answered. */
  drained(wallMs: number): void;
  /** Time stops. */
  hold(): void;
  /** Time may move again, with the next record or answer. */
  letGo(): void;
}

const MAX_AHEAD_MS = 60_000; // clocks of healthy machines differ by less; one bad producer must not age everything

export function createStreamClock(): StreamClock {
  let nowMs = 0;
  let aheadRecords = 0;
  let held = false;

  function moveTo(timeMs: number): void {
    if (!held && timeMs > nowMs) nowMs = timeMs;
  }

  return {
    get nowMs() {
      return nowMs;
    },
    get aheadRecords() {
      return aheadRecords;
    },
    see(recordTimeMs, wallMs) {
      if (recordTimeMs > wallMs + MAX_AHEAD_MS) aheadRecords += 1;
      else moveTo(recordTimeMs);
      return nowMs;
    },
    drained: moveTo,
    hold() {
      held = true;
    },
    letGo() {
      held = false;
    },
  };
}
