import type { Conversation, Counts } from '../model/estimate.js';
import { comparePositions } from './fold-order.js';

/** A stretch of a series, in order of close. */
export type Window =
  /** What closed within `spanMs` before the tick: after at - spanMs, and not after at. */
  | { readonly name: string; readonly kind: 'time'; readonly spanMs: number }
  /** The last `trials` conversations that count, and whatever else closed since the first of them. */
  | { readonly name: string; readonly kind: 'count'; readonly trials: number };

const HOUR_MS = 3_600_000;

export const DEFAULT_WINDOWS: readonly Window[] = [
  { name: '1h', kind: 'time', spanMs: HOUR_MS },
  { name: '24h', kind: 'time', spanMs: 24 * HOUR_MS },
  { name: '7d', kind: 'time', spanMs: 7 * 24 * HOUR_MS },
  { name: 'last_50', kind: 'count', trials: 50 },
  { name: 'last_200', kind: 'count', trials: 200 },
  { name: 'last_1000', kind: 'count', trials: 1_000 },
];

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
  /** Sum of the conversations' versions. */
  readonly version: number;
}

/** What a window needs of a conversation. */
export type Countable = Pick<
  Conversation,
  'conversationId' | 'series' | 'firstClosedAtMs' | 'verdict' | 'judged' | 'version'
>;

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
  let version = 0;
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
    version += conversation.version;
  }
  return { ...all.counts, unscored, leftOut, judged, tasks: countsByTask(tasks), version };
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
