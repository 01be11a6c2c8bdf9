import type { Judgement, JudgeRequest, PartJudgement } from '../model/judge.js';
import { callIdOf } from '../model/judge.js';
import type { AnswerWord } from './answer.js';
import type { TurnInput } from './read-turns.js';

/** A judge of whole turns: of an answer that no rule can decide, and of the arguments of the calls, in one question. */
export interface TurnJudge {
  /** Names the settings of the judge: its answers hold under these. */
  readonly policy: string;
  /** Never rejects. */
  readonly judge: (request: JudgeRequest) => Promise<Judgement>;
}

/** What a judge of turns said of one. */
export interface TurnWord {
  readonly answer: AnswerWord;
  /** Correct calls / decided calls; null: none was decided, or one is outstanding. */
  readonly argumentCorrectness: number | null;
}

// As many as an online judge is told of.
const MOST_EARLIER = 6;

/**
 * Puts one turn to the judge. Of calls a data set has names and arguments alone, no schema and no results, so all of them
 * are judged by the query and the turns before. `cannotTell`: what a call is of which the judge cannot tell.
 */
export async function askTurnJudge(
  turn: TurnInput,
  earlier: readonly TurnInput[],
  asked: { readonly answer: boolean; readonly arguments: boolean },
  cannotTell: 'left_out' | 'correct',
  { policy, judge }: TurnJudge,
): Promise<TurnWord> {
  const calls = turn.calls.map((call, position) => ({
    id: callIdOf(position),
    name: call.name,
    arguments: call.arguments,
    outcome: { kind: 'unknown' } as const,
    knownBefore: [],
  }));
  const decidable = asked.arguments ? calls.filter((call) => call.arguments !== undefined) : [];
  if (!asked.answer && decidable.length === 0) return { answer: null, argumentCorrectness: null };
  const judgement = await judge({
    policy,
    earlier: earlier.slice(-MOST_EARLIER).map(({ query, answer }) => ({ query, answer })),
    query: turn.query,
    answer: turn.answer,
    expectedAnswer: turn.expectation.answer ?? null,
    calls,
    asked: { arguments: decidable.map(({ id }) => id), answer: asked.answer, completion: false, utilization: false },
  });
  return {
    answer: answerWord(judgement.answer),
    argumentCorrectness: argumentCorrectness(judgement, cannotTell),
  };
}

function answerWord(word: PartJudgement<number> | null): AnswerWord {
  if (word === null) return null;
  if (word.kind === 'decided') return word.value;
  if (word.kind === 'failed') return { abstained: word.abstained, reason: word.reason };
  return { abstained: 'undecidable', reason: 'the judge cannot tell' };
}

function argumentCorrectness({ arguments: words }: Judgement, cannotTell: 'left_out' | 'correct'): number | null {
  let correct = 0;
  let decided = 0;
  for (const { verdict } of words) {
    if (verdict.kind === 'failed') return null;
    if (verdict.kind === 'undecidable' && cannotTell === 'left_out') continue;
    decided += 1;
    if (verdict.kind === 'undecidable' || verdict.value === 'correct') correct += 1;
  }
  return decided === 0 ? null : correct / decided;
}
