import { comparePositions } from '../../src/estimate/fold-order.js';
import type { Conversation, Counts, Window, WindowCounts } from '../../src/model/estimate.js';

/** What a window needs of a conversation. */
export type Countable = Pick<Conversation, 'conversationId' | 'series' | 'firstClosedAtMs' | 'verdict' | 'judged'>;

/**
 * What the engine counts by SQL, counted one by one.
 *
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
