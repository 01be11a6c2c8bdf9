import type { Conversation, Counts } from '../model/estimate.js';
import { comparePositions } from './fold-order.js';

/** A stretch of a series, in order of close. */
export type Window =
  /** What closed within `spanMs` before the tick: after at - spanMs, and not after at. */
  | { readonly name: string; readonly kind: 'time'; readonly spanMs: number }
  /** The last `trials` conversations that count, and whatever else closed since the first of them. */
  | { readonly name: string; readonly kind: 'count'; readonly trials: number };

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `30m`, `24h`, `7d`: by time; `last_200`: by count. Throws RangeError for a name that says neither. */
export function windowNamed(name: string): Window {
  const time = /^([1-9]\d{0,5})([mhd])$/.exec(name);
  if (time) return { name, kind: 'time', spanMs: Number(time[1]) * UNIT_MS[time[2] as keyof typeof UNIT_MS] };
  const count = /^last_([1-9]\d{0,6})$/.exec(name);
  if (count) return { name, kind: 'count', trials: Number(count[1]) };
  throw new RangeError(`a window such as 30m, 24h, 7d or last_200 expected, got "${name}"`);
}

/** What closed in a window. `trials` + `unscored` + `leftOut` are all of it. */
export interface WindowCounts extends Counts {
  /** No trial although nothing left them out: outstanding, or nothing to judge. */
  readonly unscored: number;
  /** Sampling or budget left them out, whatever their rules say. */
  readonly leftOut: number;
  /** An expectation or a judge decided a criterion of one of them. */
  readonly judged: boolean;
  /** The conversations with a task label, label by label; empty when none has one. */
  readonly tasks: ReadonlyMap<string, Counts>;
}

/** What a window needs of a conversation. */
export type Countable = Pick<Conversation, 'conversationId' | 'series' | 'firstClosedAtMs' | 'verdict' | 'judged'>;

/**
 * The counts of the closed conversations of a series in each window at the tick `atMs`, as they are judged now; in the
 * order of `windows`. What closes after `atMs` is in none. A window by count is shorter than its name says while the
 * series is. The order of `conversations` does not matter.
 */
export function countWindows(
  conversations: readonly Countable[],
  windows: readonly Window[],
  atMs: number,
): readonly WindowCounts[] {
  const closed = conversations.filter(({ firstClosedAtMs }) => firstClosedAtMs <= atMs).sort(comparePositions);
  return windows.map((window) => countsOf(closed.slice(firstIn(closed, window, atMs))));
}

function firstIn(closed: readonly Countable[], window: Window, atMs: number): number {
  if (window.kind === 'time') {
    const first = closed.findIndex(({ firstClosedAtMs }) => firstClosedAtMs > atMs - window.spanMs);
    return first < 0 ? closed.length : first;
  }
  let trials = 0;
  for (let at = closed.length - 1; at >= 0; at -= 1) {
    if (closed[at]?.verdict.counts) trials += 1;
    if (trials === window.trials) return at;
  }
  return 0;
}

function countsOf(conversations: readonly Countable[]): WindowCounts {
  const all = new Tally();
  const tasks = new Map<string, Tally>();
  let unscored = 0;
  let leftOut = 0;
  let judged = false;
  for (const conversation of conversations) {
    const { verdict, series } = conversation;
    all.add(conversation);
    if (series.task !== null) {
      const task = tasks.get(series.task) ?? new Tally();
      task.add(conversation);
      tasks.set(series.task, task);
    }
    if (verdict.leftOut) leftOut += 1;
    else if (!verdict.counts) unscored += 1;
    judged ||= conversation.judged;
  }
  return { ...all.counts, unscored, leftOut, judged, tasks: countsByTask(tasks) };
}

function countsByTask(tasks: ReadonlyMap<string, Tally>): ReadonlyMap<string, Counts> {
  return new Map([...tasks].map(([task, tally]) => [task, tally.counts]));
}

class Tally {
  #trials = 0;
  #correct = 0;
  #outstanding = 0;
  #outstandingIncorrect = 0;

  add({ verdict }: Countable): void {
    if (verdict.leftOut) return;
    if (verdict.counts) {
      this.#trials += 1;
      if (verdict.label === 'correct') this.#correct += 1;
    } else if (verdict.outstanding > 0) {
      this.#outstanding += 1;
      if (verdict.incorrectWhateverComes) this.#outstandingIncorrect += 1;
    }
  }

  get counts(): Counts {
    return {
      trials: this.#trials,
      correct: this.#correct,
      outstanding: this.#outstanding,
      outstandingIncorrect: this.#outstandingIncorrect,
    };
  }
}
