import { describe, expect, test } from 'vitest';
import type { Expectation } from '../../../../src/model/expectation.js';
import type { Interaction } from '../../../../src/model/interaction.js';
import { scorePolicy } from '../../../../src/score/criteria/policy.js';
import type { ScoringOptions } from '../../../../src/score/policy.js';
import { resolvePolicy } from '../../../../src/score/policy.js';
import { call, interaction, outcome } from '../../../support/score-builders.js';

function run(of: Interaction, policy: ScoringOptions['policy'] = {}, expectation: Expectation | null = null) {
  const score = scorePolicy(of, expectation, resolvePolicy({ policy }));
  return { outcome: outcome(score), reason: score.reason, details: score.details };
}

const made = (...names: string[]) => interaction(names.map((name, i) => call(name, { arguments: { i } })));

describe('lists', () => {
  test('a denied tool fails, by name or by prefix', () => {
    expect(run(made('search', 'delete_user'), { deny: ['delete_user'] })).toMatchObject({
      outcome: 0,
      reason: 'delete_user (denied)',
    });
    expect(run(made('delete_user'), { deny: ['delete_*'] }).outcome).toBe(0);
    expect(run(made('undelete_user'), { deny: ['delete_*'] }).outcome).toBe(1);
  });

  test('with an allow list everything else fails', () => {
    expect(run(made('search'), { allow: ['search', 'read_*'] }).outcome).toBe(1);
    expect(run(made('search', 'rm'), { allow: ['search'] })).toMatchObject({ outcome: 0, reason: 'rm (not allowed)' });
    expect(run(made('rm'), { allow: [] }).outcome).toBe(0);
  });

  test('the ground truth may forbid, and may bound the scope', () => {
    expect(run(made('rm'), {}, { forbiddenTools: ['rm'] }).outcome).toBe(0);
    expect(run(made('rm', 'search'), {}, { allowedTools: ['search'] })).toMatchObject({
      outcome: 0,
      details: { scope_violation: 1, out_of_scope_tools: ['rm'] },
    });
    expect(run(made(), {}, { allowedTools: ['search'] })).toMatchObject({
      outcome: 1,
      details: { scope_violation: 0 },
    });
  });

  test('a call that waits for approval was not carried out', () => {
    expect(run(interaction([call('rm', { pending: true })], { interrupted: true }), { deny: ['rm'] }).outcome).toBe(1);
  });

  test('names count where nothing else was captured', () => {
    const blind = call('rm', {
      arguments: null,
      argumentsStatus: 'not_captured',
      resultStatus: 'not_captured',
      result: null,
    });

    expect(run(interaction([blind]), { deny: ['rm'] }).outcome).toBe(0);
  });

  test('tool calls not captured: what was seen may fail, nothing passes', () => {
    const coverage = ['tool_calls_not_captured'] as const;

    expect(run(interaction([call('rm')], { coverage }), { deny: ['rm'] }).outcome).toBe(0);
    expect(run(interaction([], { coverage }), { deny: ['rm'] }).outcome).toBe('not_captured');
  });
});

describe('the loop rule', () => {
  const same = (times: number, changes = {}) => interaction(Array.from({ length: times }, () => call('poll', changes)));

  test('six calls alike in arguments and outcome are a loop, five are not', () => {
    expect(run(same(6))).toMatchObject({
      outcome: 0,
      details: { configured: false, loop: { tool: 'poll', calls: 6 } },
    });
    expect(run(same(5)).outcome).toBe(1);
    expect(run(same(5), { loopCalls: 5 }).outcome).toBe(0);
    expect(run(same(50), { loopCalls: 0 }).outcome).toBe('disabled');
  });

  test('a result that changes is progress, and what was not captured is no loop', () => {
    const pages = interaction(Array.from({ length: 20 }, (_, page) => call('next_page', { result: { page } })));

    expect(run(pages).outcome).toBe(1);
    expect(run(same(20, { resultStatus: 'not_captured', result: null })).outcome).toBe('not_captured');
  });

  test('without lists and calls there is nothing to look at', () => {
    expect(run(interaction()).outcome).toBe('no_tool_calls');
  });
});
