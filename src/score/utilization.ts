import type { ToolCall } from '../model/interaction.js';
import type { Json } from '../model/json.js';
import { KnownBefore } from './known-before.js';
import type { ReadingBounds, SalientValue } from './salient-values.js';
import { salientValues } from './salient-values.js';
import type { TextFacts, Value } from './text-facts.js';
import { denies, factsOf, states } from './text-facts.js';

/**
 * What a rule can tell about the use of a call's result in the answer.
 *
 * - `used`: the answer states a value of the result that nobody knew before the call (it stands neither in the query nor
 *   in arguments); or a later call whose result is used was given one.
 * - `not_stated`: the result has nothing new but numbers, days and times, and the answer states none of them, nor any
 *   other new number, day or time, which might be computed from them.
 * - `unknown`: only a judge could say. Prose, words, flags and ids are often used in other words, or not to be repeated;
 *   and nothing can be said where a text was not captured, or the call failed or waits.
 *
 * The rule may only accept. Every turn of the corpora uses its results, so they cannot show how often a `not_stated` is
 * wrong; over exchanges written for it, most of them are ("do I need a coat?", 27, "no"): 5 of 8, while no unused result
 * was taken for a used one. A judge may be asked about what is not `used`; the rule itself holds nothing against an agent.
 */
export type ResultUse = 'used' | 'not_stated' | 'unknown';

/** What is known of the texts around the calls; null: not captured. */
export interface Exchange {
  readonly query: string | null;
  readonly answer: string | null;
  /** The answer is whole: what is not in it was not said. */
  readonly answerIsWhole: boolean;
}

// Measured (CPU, V8 of Node 20): 40 µs for two small calls, under 5 ms for a result of 100 kB, 8 ms for 50 of those.
const PER_CALL: ReadingBounds = { values: 200, chars: 8_000 };
const PER_INTERACTION: ReadingBounds = { values: 1_000, chars: 32_000 };
const MAX_ANSWER = 8_000;
const MAX_NUMBERS = 500; // of the answer: each number of a result is compared with all of them
const MAX_CALLS = 100;
const CUT_WORD = /[\p{L}\p{N}.,:_-]+$/u;
const LAST_WORD = 200; // characters in which the last word of a text that was cut begins

// Among more values than this a digit, a year or a plain word is found by chance.
const FEW = 12;

/**
 * The use of each call's result, in the order of the calls. The work is bounded: past 100 calls (the last ones are
 * looked at), 8 kB of text or 200 values of a result, four to five times that of all results, the rest is `unknown`.
 */
export function resultUses(
  calls: readonly ToolCall[],
  { query, answer, answerIsWhole }: Exchange,
): readonly ResultUse[] {
  const uses: ResultUse[] = calls.map(() => 'unknown');
  if (query === null || answer === null || answer.trim() === '') return uses;
  const all = factsOf(answer.slice(0, MAX_ANSWER));
  const stated = { ...all, numbers: all.numbers.slice(0, MAX_NUMBERS) };
  const isWhole = answerIsWhole && answer.length <= MAX_ANSWER && all.numbers.length <= MAX_NUMBERS;
  const known = new KnownBefore(calls, query);
  const onward: TextFacts[] = [];
  let left = PER_INTERACTION;

  // From the last call, because it is nearest to the answer, and because a result may be used through a later call.
  for (let i = calls.length - 1; i >= Math.max(0, calls.length - MAX_CALLS); i -= 1) {
    const call = calls[i] as ToolCall;
    if (left.values <= 0 || left.chars <= 0) break;
    if (!isLegible(call)) continue;
    const bounds = { values: Math.min(PER_CALL.values, left.values), chars: Math.min(PER_CALL.chars, left.chars) };
    const { values, more, chars } = salientValues(resultOf(call), bounds);
    left = { values: left.values - values.length, chars: left.chars - chars };
    const isFew = values.length <= FEW;
    const isNew = ({ value, text }: SalientValue): boolean => !known.hold(value, i, text);
    const isStated = ({ value }: SalientValue): boolean =>
      (states(stated, value) && !denies(stated, value)) || onward.some((facts) => states(facts, value));

    if (values.some((each) => (isFew || !each.weak) && isStated(each) && isNew(each))) {
      uses[i] = 'used';
      onward.push(known.argumentsOf(i));
    } else if (isFew && !more && isWhole && call.resultStatus === 'captured') {
      const news = values.filter(isNew);
      const isLoud = news.length > 0 && news.every(({ silent }) => !silent);
      if (isLoud && !quantitiesOf(stated).some((value) => !known.hold(value, i))) uses[i] = 'not_stated';
    }
  }
  return uses;
}

/** The numbers, days and times of a text. */
function quantitiesOf(facts: TextFacts): readonly Value[] {
  return [
    ...facts.numbers.map((readings): Value => ({ kind: 'number', values: readings.map(({ value }) => value) })),
    ...facts.dates.map((readings): Value => ({ kind: 'date', readings })),
    ...facts.times.map(([minutes = 0]): Value => ({ kind: 'time', minutes })),
  ];
}

/** A text that was cut without its last word: `14` may have been 145. */
function resultOf({ result, resultStatus }: ToolCall): Json {
  if (resultStatus !== 'truncated' || typeof result !== 'string') return result;
  return result.slice(0, -LAST_WORD) + result.slice(-LAST_WORD).replace(CUT_WORD, '');
}

function isLegible(call: ToolCall): boolean {
  if (call.failed || call.pending || call.resultStatus === 'not_captured') return false;
  // What the tool was given is no news: without the arguments nobody can tell what is.
  return call.argumentsStatus === 'captured' || call.argumentsStatus === 'malformed';
}
