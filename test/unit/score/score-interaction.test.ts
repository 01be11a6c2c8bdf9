import { describe, expect, test } from 'vitest';
import type { Expectation } from '../../../src/model/expectation.js';
import type { Interaction } from '../../../src/model/interaction.js';
import type { CallJudgement, Judgement, JudgeAbstention, PartJudgement } from '../../../src/model/judge.js';
import { isOutstanding } from '../../../src/model/score.js';
import { resolvePolicy, type ScoringOptions } from '../../../src/score/policy.js';
import { assess, score } from '../../../src/score/score-interaction.js';
import { call, interaction, outcome, scoreOf } from '../../support/score-builders.js';

const JUDGE: ScoringOptions = { judge: { model: 'm' } };
const policy = (options: ScoringOptions = {}) => resolvePolicy({ ...JUDGE, ...options });
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = (args: object = { city: 'Lindholm' }) =>
  call('get_weather', { arguments: args as never, offer: { kind: 'offered', schema, freeText: false } });
const noNeed = call('get_time', {
  arguments: {},
  offer: { kind: 'offered', schema: { type: 'object', properties: { zone: { type: 'string' } } }, freeText: false },
});

const said = <T>(value: T, decidedBy: 'judge' | 'cache' = 'judge'): PartJudgement<T> => ({
  kind: 'decided',
  value,
  decidedBy,
  reason: 'because',
});
const cannotTell = { kind: 'undecidable', decidedBy: 'judge', reason: 'nobody said' } as const;
const failed = (abstained: JudgeAbstention) => ({ kind: 'failed', abstained, reason: 'trouble' }) as const;
const onCall = (position: number, verdict: CallJudgement['verdict']): CallJudgement => ({
  id: `call_${position}`,
  verdict,
  parameters: [],
});
const judgement = (parts: Partial<Judgement>): Judgement => ({
  arguments: [],
  answer: null,
  completion: null,
  utilization: null,
  modelCalls: 1,
  ...parts,
});

const openIn = (of: Interaction, expectation: Expectation | null = null, options: ScoringOptions = {}) =>
  assess(of, expectation, policy(options)).open;
const NOTHING_ELSE = { answer: false, completion: false, utilization: false };

describe('what rules leave open', () => {
  test('calls that no rule decides, by their positions', () => {
    // 0: nobody can tell without a judge; 1: the schema objects; 2: made without arguments, which its schema allows.
    const of = interaction([weather(), weather({}), noNeed]);

    expect(openIn(of)).toEqual({ arguments: [0], ...NOTHING_ELSE });
  });

  test('nothing where rules decide all, where no judge is configured, and where they accept by themselves', () => {
    expect(openIn(interaction([weather({}), noNeed]))).toBeNull();
    expect(assess(interaction([weather()]), null, resolvePolicy({})).open).toBeNull();
    expect(openIn(interaction([weather()]), null, { arguments: { acceptByRules: true } })).toBeNull();
  });

  test('an answer that no rule accepts, and none that says the expected one', () => {
    const of = (answer: string) => interaction([], { answer });
    const open = { arguments: [], ...NOTHING_ELSE, answer: true };

    expect(openIn(of('Rain all day.'), { answer: 'It rains.' })).toEqual(open);
    expect(
      openIn(of('Sure! It is on its way to Lindholm. Anything else?'), { answer: 'It is on its way to Lindholm' }),
    ).toBeNull();
    expect(
      openIn(of('I never said: it is on its way to Lindholm, sorry'), { answer: 'It is on its way to Lindholm' }),
    ).toEqual(open);
    expect(openIn(of('14'), { answer: '14' })).toBeNull();
    // A rule that rejects has a judge behind it now.
    expect(openIn(of('fourteen and a bit'), { answer: '15' })).toEqual(open);
  });

  test('completion when it is switched on, with query and answer', () => {
    const on = { enabled: { completion: true } };

    expect(openIn(interaction(), null, on)).toEqual({ arguments: [], ...NOTHING_ELSE, completion: true });
    expect(openIn(interaction([], { answer: null }), null, on)).toBeNull();
    expect(openIn(interaction([], { coverage: ['cut_at_bound'] }), null, on)).toBeNull();
  });

  test('the use of results that the answer does not state', () => {
    const truth: Expectation = { tools: [{ name: 'get_weather' }] };
    const of = (answer: string) => interaction([{ ...weather(), result: { celsius: 14.2 } }], { answer });
    const byRules = { arguments: { acceptByRules: true } };

    expect(openIn(of('You will need a coat.'), truth, byRules)).toEqual({
      arguments: [],
      ...NOTHING_ELSE,
      utilization: true,
    });
    expect(openIn(of('It is 14.2 degrees.'), truth, byRules)).toBeNull();
    expect(openIn(of('You will need a coat.'), { ...truth, resultsUsed: true }, byRules)).toBeNull();
  });

  test('no arguments where nobody knows what was asked, whether a rule objects or not', () => {
    const blind = { query: null };

    for (const of of [interaction([weather()], blind), interaction([weather({})], blind)]) {
      expect(openIn(of)).toBeNull();
      expect(outcome(scoreOf(score(of, null, policy()), 'arguments'))).toBe('not_captured');
    }
  });
});

describe('the judge’s word', () => {
  const settle = (of: Interaction, parts: Partial<Judgement>, expectation: Expectation | null = null, options = {}) =>
    score(of, expectation, policy(options), { judgement: judgement(parts), leftOut: null });

  test('decides calls beside the rules: correct / decided, and whose word it was', () => {
    const of = interaction([weather(), weather({}), weather()]);
    const verdict = settle(of, { arguments: [onCall(0, said('correct', 'cache')), onCall(2, said('incorrect'))] });
    const found = scoreOf(verdict, 'arguments');

    // one of three
    expect(found).toMatchObject({ kind: 'scored', value: 1 / 3, passed: false, decidedBy: 'judge' });
    expect(found.details).toMatchObject({ correct: 1, incorrect: 2, left_out: 0 });
    expect(verdict.label).toBe('incorrect');
  });

  test('leaves out what it cannot tell; if nothing is left the criterion is undecidable; DeepEval counts it as correct', () => {
    const two = interaction([weather(), weather()]);
    const words = [onCall(0, cannotTell), onCall(1, said('incorrect' as const))];

    expect(outcome(scoreOf(settle(two, { arguments: words }), 'arguments'))).toBe(0);
    expect(
      outcome(scoreOf(settle(two, { arguments: words }, null, { arguments: { undecidable: 'correct' } }), 'arguments')),
    ).toBe(0.5);
    const alone = settle(interaction([weather()]), { arguments: [onCall(0, cannotTell)] });
    expect(outcome(scoreOf(alone, 'arguments'))).toBe('undecidable');
    expect(alone).toMatchObject({ label: 'unscored', outstanding: 1 });
  });

  test('grades the answer against its threshold', () => {
    const truth = { answer: 'It rains.' };
    const at = (value: number) => settle(interaction(), { answer: said(value) }, truth);

    expect(at(0.7).label).toBe('correct');
    expect(at(0.69).label).toBe('incorrect');
  });

  test('decides the use of results, and what it cannot tell of that does not apply', () => {
    const of = interaction([{ ...weather(), result: { celsius: 14.2 } }], { answer: 'You will need a coat.' });
    const truth: Expectation = { tools: [{ name: 'get_weather' }] };
    const with_ = (utilization: PartJudgement<'used' | 'unused'>) =>
      scoreOf(settle(of, { utilization }, truth, { arguments: { acceptByRules: true } }), 'tools');

    expect(with_(said('used'))).toMatchObject({ value: 1, details: { utilization: 1 }, decidedBy: 'judge' });
    // selection, parameters and sequence 1, utilization 0
    expect(with_(said('unused'))).toMatchObject({ value: 0.75, passed: false });
    expect(with_(cannotTell)).toMatchObject({ value: 1, details: { utilization: null } });
  });
});

describe('without the judge’s word', () => {
  const reasons: readonly JudgeAbstention[] = ['judge_failed', 'judge_rejected', 'breaker_open', 'pending'];
  const of = interaction([weather(), weather({})]);

  test('open criteria are pending', () => {
    expect(score(of, null, policy())).toMatchObject({ label: 'unscored', outstanding: 1 });
    expect(outcome(scoreOf(score(of, null, policy()), 'arguments'))).toBe('pending');
  });

  test.each(reasons)('%s: the criterion waits with this reason, although a rule objects to another call', (reason) => {
    const verdict = score(of, null, policy(), {
      judgement: judgement({ arguments: [onCall(0, failed(reason))] }),
      leftOut: null,
    });

    expect(outcome(scoreOf(verdict, 'arguments'))).toBe(reason);
    expect(isOutstanding(reason)).toBe(true);
    expect(verdict).toMatchObject({ label: 'unscored', outstanding: 1, leftOut: false });
  });

  test('a word that is missing is a failure of the judge, not of the agent', () => {
    const verdict = score(of, null, policy(), { judgement: judgement({}), leftOut: null });

    expect(outcome(scoreOf(verdict, 'arguments'))).toBe('judge_failed');
  });

  test.each(['sampled_out', 'budget'] as const)(
    '%s: open criteria say so, and the whole is left out whatever rules say',
    (why) => {
      const leftOut = (each: Interaction) => score(each, null, policy(), { judgement: null, leftOut: why });

      expect(outcome(scoreOf(leftOut(of), 'arguments'))).toBe(why);
      expect(leftOut(of)).toMatchObject({ label: 'unscored', leftOut: true, outstanding: 0, neutral: false });
      // Nothing is open here: it fails by rules alone, and is left out all the same.
      expect(leftOut(interaction([weather({})]))).toMatchObject({ label: 'incorrect', leftOut: true });
      expect(leftOut(interaction())).toMatchObject({ label: 'unscored', leftOut: true });
    },
  );
});
