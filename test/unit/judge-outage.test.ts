import { expect, test } from 'vitest';
import { estimate } from '../../src/estimate/pass.js';
import { grade } from '../../src/grade.js';
import { JudgeTrouble, type JudgeModel } from '../../src/judge/judge-model.js';
import type { Graded } from '../../src/model/graded.js';
import type { Interaction } from '../../src/model/interaction.js';
import { conversationVerdict } from '../../src/score/conversation-verdict.js';
import { buildExpectationIndex } from '../../src/score/expectations.js';
import { resolvePolicy } from '../../src/score/policy.js';
import { startJudge } from '../support/judge.js';
import { call, interaction } from '../support/score-builders.js';

const CONVERSATIONS = 500;
const policy = resolvePolicy({ judge: { model: 'm' } });
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = (args: object) =>
  call('get_weather', { arguments: args as never, offer: { kind: 'offered', schema, freeText: false } });

/**
 * One turn, in periods of 100: two with a call that the schema objects to, one in which the expected tool was not called
 * (3 % fail by rules alone), four whose arguments the judge finds wrong, 93 that are right.
 */
function turn(i: number): Interaction {
  const kind = i % 100;
  const calls =
    kind < 2 ? [weather({})] : kind === 2 ? [] : [weather({ city: `${kind < 7 ? 'nowhere' : 'Lindholm'} ${i}` })];
  return interaction(calls, {
    interactionId: `i${i}`,
    conversationId: `c${i}`,
    expectation: { tools: [{ name: 'get_weather' }] },
    // No question twice: the cache would answer it.
    query: `What is the weather for order ${i}?`,
    answer: 'It is fine.',
  });
}

/** Says what is wrong with "nowhere", and nothing at all while `away`. */
function model(away: () => boolean): JudgeModel {
  return {
    ask(messages, { arguments: ids, utilization }) {
      if (away()) return Promise.reject(new JudgeTrouble('unreachable', '503'));
      const verdict = messages[1]?.content.includes('nowhere') === true ? 'incorrect' : 'correct';
      const answer = {
        ...(ids.length > 0 && { arguments: ids.map((call_id) => ({ call_id, parameters: [], reason: '', verdict })) }),
        ...(utilization && { utilization: { reason: '', verdict: 'used' } }),
      };
      return Promise.resolve({ content: { structured: answer }, inputTokens: 1, outputTokens: 1 });
    },
  };
}

/** Grades all, ten at a time as they would come; the judge is away for those of `outage`. */
async function run(outage: readonly [number, number], deps: { breakerOpenMs: number }) {
  let at = 0;
  const { judge } = startJudge(
    model(() => at >= outage[0] && at < outage[1]),
    { attempts: 1, ...deps },
  );
  const events = { gradingFailed: () => {}, expectationUnreadable: () => {}, expectationAmbiguous: () => {} };
  const judging = { judge, sampling: { rate: 1, salt: '' } };
  const graded: Graded[] = [];
  for (; at < CONVERSATIONS; at += 10) {
    // The rule failures come last, so that each batch has a question before them.
    const batch = Array.from({ length: 10 }, (_, i) => turn(at + 9 - i));
    const gradings = batch.map((each) =>
      grade(each, undefined, policy, { expectations: buildExpectationIndex([]), events, judging }),
    );
    graded.push(...(await Promise.all(gradings.map(async ({ graded: byRules, judged }) => (await judged) ?? byRules))));
  }
  return counted(graded);
}

function counted(graded: readonly Graded[]) {
  const counts = { trials: 0, correct: 0, outstanding: 0, outstandingIncorrect: 0 };
  for (const { verdict } of graded) {
    const { counts: counts_, label, incorrectWhateverComes, outstanding } = conversationVerdict([verdict]);
    if (counts_) counts.trials += 1;
    if (counts_ && label === 'correct') counts.correct += 1;
    if (outstanding > 0) counts.outstanding += 1;
    if (incorrectWhateverComes) counts.outstandingIncorrect += 1;
  }
  return counts;
}

test('an outage of the judge moves no share of 500 conversations of which 3 % fail by rules, but its bounds', async () => {
  const whole = await run([0, 0], { breakerOpenMs: 1 });
  const partly = await run([200, 400], { breakerOpenMs: 0 });

  // 93 of each 100
  expect(whole).toEqual({ trials: 500, correct: 465, outstanding: 0, outstandingIncorrect: 0 });
  expect(partly.trials + partly.outstanding).toBe(CONVERSATIONS);
  expect(partly.correct / partly.trials).toBe(0.93);
  expect(partly).toMatchObject({ trials: 300, outstanding: 200 });

  const rules = { ks: [1], prior: { a: 1, b: 1 }, level: 0.95, mode: 'frequentist' } as const;
  const [before] = estimate(whole, rules);
  const [during] = estimate(partly, rules);
  expect(during?.mean).toBe(before?.mean);
  // 279 of 500 if all that is outstanding were wrong; all 200 of them may be right but the w that are wrong already
  expect(during?.boundLower).toBeCloseTo(279 / 500, 12);
  expect(during?.boundUpper).toBeCloseTo((279 + 200 - partly.outstandingIncorrect) / 500, 12);
  expect([before?.boundLower, before?.boundUpper]).toEqual([before?.mean, before?.mean]);
});
