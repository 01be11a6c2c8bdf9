import { describe, expect, test } from 'vitest';
import type { AbstainReason, Criterion, Score } from '../../../src/model/score.js';
import { conversationVerdict } from '../../../src/score/conversation-verdict.js';
import { abstain, decided } from '../../../src/score/make-score.js';
import { resolvePolicy } from '../../../src/score/policy.js';
import { score } from '../../../src/score/score-interaction.js';
import { decideVerdict } from '../../../src/score/verdict.js';
import { call, interaction, scoreOf } from '../../support/score-builders.js';

type Given = 'pass' | 'fail' | AbstainReason;

function scores(given: Partial<Record<Criterion, Given>>): Score[] {
  return (['tools', 'arguments', 'answer', 'completion', 'policy'] as const).map((criterion) => {
    const one = given[criterion] ?? 'no_expectation';
    if (one === 'pass' || one === 'fail') return decided(criterion, one === 'pass' ? 1 : 0, one === 'pass', '', {});
    return abstain(criterion, one, '');
  });
}

const verdict = (given: Partial<Record<Criterion, Given>>, configured = false, required: Criterion[] | null = null) =>
  decideVerdict(scores(given), required, configured);

describe('the verdict of an interaction', () => {
  test.each<[string, Partial<Record<Criterion, Given>>, string, boolean]>([
    ['one fails', { tools: 'pass', arguments: 'fail' }, 'incorrect', false],
    ['one fails and one is outstanding', { tools: 'fail', answer: 'judge_failed' }, 'incorrect', false],
    ['one is outstanding', { tools: 'pass', answer: 'pending' }, 'unscored', false],
    ['only one outstanding', { answer: 'undecidable' }, 'unscored', false],
    ['one passes, the others do not apply', { arguments: 'pass', answer: 'no_judge' }, 'correct', false],
    ['nothing applies', { arguments: 'no_tool_calls', answer: 'no_judge', tools: 'not_captured' }, 'unscored', true],
    ['left out by sampling', { answer: 'sampled_out', tools: 'pass' }, 'unscored', false],
    ['completion is not required', { tools: 'pass', completion: 'fail' }, 'correct', false],
  ])('%s', (_name, given, label, neutral) => {
    expect(verdict(given)).toMatchObject({ label, neutral });
  });

  test('policy counts where it is configured', () => {
    expect(verdict({ policy: 'fail' }, true).label).toBe('incorrect');
    expect(verdict({ policy: 'pass' }, true)).toMatchObject({ label: 'correct', neutral: false });
  });

  test('the loop rule acts beside another scored criterion, never alone', () => {
    expect(verdict({ policy: 'fail' })).toMatchObject({ label: 'unscored', neutral: true });
    expect(verdict({ policy: 'pass' })).toMatchObject({ label: 'unscored', neutral: true });
    expect(verdict({ policy: 'fail', arguments: 'pass' }).label).toBe('incorrect');
    expect(verdict({ policy: 'fail', answer: 'pending' })).toMatchObject({ label: 'unscored', outstanding: 1 });
  });

  test('the required criteria can be named', () => {
    expect(verdict({ tools: 'fail', completion: 'pass' }, false, ['completion']).label).toBe('correct');
    expect(verdict({ tools: 'pass', policy: 'fail' }, true, ['tools']).label).toBe('correct');
    expect(verdict({ policy: 'fail' }, false, ['policy']).label).toBe('incorrect');
  });

  test('counts what is outstanding among the required ones, and says what was left out', () => {
    expect(verdict({ tools: 'judge_failed', answer: 'breaker_open', completion: 'pending' }).outstanding).toBe(2);
    expect(verdict({ answer: 'budget', tools: 'fail' })).toMatchObject({ leftOut: true, label: 'incorrect' });
  });
});

describe('the verdict of a conversation', () => {
  const of = (label: 'correct' | 'incorrect' | 'unscored', more = {}) => ({
    label,
    neutral: false,
    leftOut: false,
    outstanding: 0,
    ...more,
  });
  const neutral = of('unscored', { neutral: true });
  const waiting = of('unscored', { outstanding: 1 });

  test.each<[string, ReturnType<typeof of>[], object]>([
    ['all correct', [of('correct'), of('correct')], { label: 'correct', counts: true }],
    ['neutral ones do not matter', [neutral, of('correct')], { label: 'correct', counts: true }],
    ['one incorrect', [of('correct'), of('incorrect'), neutral], { label: 'incorrect', counts: true }],
    ['all neutral', [neutral, neutral], { label: 'unscored', counts: false }],
    ['none', [], { label: 'unscored', counts: false }],
    ['one outstanding', [of('correct'), waiting], { label: 'unscored', counts: false, outstanding: 1 }],
    [
      'incorrect with something outstanding is shown and bounded, not counted',
      [of('incorrect'), waiting],
      { label: 'incorrect', counts: false, outstanding: 1, incorrectWhateverComes: true },
    ],
    ['left out', [of('incorrect', { leftOut: true })], { label: 'incorrect', counts: false, leftOut: true }],
  ])('%s', (_name, verdicts, expected) => {
    expect(conversationVerdict(verdicts)).toMatchObject(expected);
    expect(conversationVerdict([...verdicts].reverse())).toEqual(conversationVerdict(verdicts));
  });
});

describe('score', () => {
  const policy = resolvePolicy();

  test('names every criterion once, and the policy', () => {
    const found = score(interaction([call('search')]), { tools: [{ name: 'search' }] }, policy);

    expect(found.scores.map(({ criterion }) => criterion)).toEqual([
      'tools',
      'arguments',
      'answer',
      'completion',
      'policy',
    ]);
    expect(found).toMatchObject({ label: 'correct', neutral: false, leftOut: false, outstanding: 0 });
    expect(found.policy).toMatch(/^[0-9a-f]{12}$/);
  });

  test('a turn without calls and ground truth is neutral', () => {
    expect(score(interaction(), null, policy)).toMatchObject({ label: 'unscored', neutral: true });
  });

  test('what needs a judge says so', () => {
    const found = score(interaction(), { answer: 'It is mild.' }, resolvePolicy({ enabled: { completion: true } }));

    expect(scoreOf(found, 'answer')).toMatchObject({ abstained: 'no_judge' });
    expect(scoreOf(found, 'completion')).toMatchObject({ abstained: 'no_judge' });
  });
});
