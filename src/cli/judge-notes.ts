import type { JudgeEvents, JudgeStats } from '../judge/judge.js';
import { counted } from './counted.js';

/** What a person is told of the judge after a command that asked it. */
export interface JudgeNotes {
  readonly on: JudgeEvents;
  /** What it cost, and why it had no word where it had none. */
  notes(stats: JudgeStats): Generator<string>;
}

export function createJudgeNotes(): JudgeNotes {
  let trouble: string | null = null;
  let faults = 0;
  const quiet = () => undefined;
  return {
    on: {
      modelAnswered({ rejected }) {
        if (rejected !== null) trouble = `an answer could not be used (${rejected})`;
      },
      modelFailed: ({ kind, message }) => void (trouble = `${kind}: ${message}`),
      breakerMoved: quiet,
      cacheFailed: quiet,
      judgeFaulted: () => void (faults += 1),
    },
    *notes({ questions, modelCalls, cacheHits, shared, inputTokens, outputTokens, abstained }) {
      if (questions === 0) return;
      const known = cacheHits + shared;
      yield (
        `the judge was asked ${counted(questions, 'question')}: ${known} known already, ${counted(modelCalls, 'request')} to the model, ` +
        `${inputTokens} + ${counted(outputTokens, 'token')}`
      );
      const without = Object.entries(abstained).filter(([, count]) => count > 0);
      if (without.length > 0) {
        const said = without.map(([reason, count]) => `${count} ${reason}`).join(', ');
        yield `the judge had no word on some of what it was asked (${said}); the last trouble: ${trouble ?? 'none'}`;
      }
      if (faults > 0)
        yield `${counted(faults, 'interaction')} could not be judged, by a fault of Tracegrade: please report it`;
    },
  };
}
