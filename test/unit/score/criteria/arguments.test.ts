import { describe, expect, test } from 'vitest';
import type { Interaction, ToolCall } from '../../../../src/model/interaction.js';
import { scoreArguments } from '../../../../src/score/criteria/arguments.js';
import type { ScoringOptions } from '../../../../src/score/policy.js';
import { resolvePolicy } from '../../../../src/score/policy.js';
import { call, interaction, outcome } from '../../../support/score-builders.js';

const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
    days: { type: 'integer' },
  },
  required: ['city', 'unit'],
  additionalProperties: false,
};
const offer: ToolCall['offer'] = { kind: 'offered', schema: SCHEMA, freeText: false };
const GOOD = { city: 'Lindholm', unit: 'celsius' };
const weather = (args: ToolCall['arguments'], changes: Partial<ToolCall> = {}) =>
  call('get_weather', { arguments: args, offer, ...changes });

function run(of: Interaction, options: ScoringOptions = {}) {
  const score = scoreArguments(of, resolvePolicy(options));
  return { outcome: outcome(score), reason: score.kind === 'open' ? null : score.reason, details: score.details };
}

const ofCalls = (...calls: ToolCall[]) => run(interaction(calls));

describe('rules on one call', () => {
  test('valid arguments are correct, and the reason says that nobody judged their meaning', () => {
    expect(ofCalls(weather(GOOD))).toMatchObject({ outcome: 1, reason: 'no rule objects; nobody judged the meaning' });
  });

  test('what redaction took out is nothing that a schema may object to', () => {
    expect(ofCalls(weather({ ...GOOD, days: '[REDACTED]' })).outcome).toBe(1);
  });

  test.each([
    ['required', { city: 'Lindholm' }, "arguments must have required property 'unit'"],
    ['type', { ...GOOD, days: 'two' }, '/days must be integer'],
    ['enum', { ...GOOD, unit: 'kelvin' }, '/unit must be equal to one of the allowed values'],
    ['additionalProperties', { ...GOOD, planet: 'Mars' }, 'arguments must NOT have additional properties (planet)'],
  ])('%s: the schema objects', (_rule, args, problem) => {
    const found = ofCalls(weather(args));

    expect(found.outcome).toBe(0);
    expect(found.details['calls']).toEqual([
      { position: 0, call_id: null, name: 'get_weather', verdict: 'incorrect', rule: 'schema', problem },
    ]);
  });

  test('a schema that is itself invalid objects to nothing', () => {
    expect(
      ofCalls(weather({}, { offer: { kind: 'offered', schema: { type: 'objekt' }, freeText: false } })).outcome,
    ).toBe(1);
  });

  test('text of the model that is no JSON is wrong, unless the tool takes any text', () => {
    const text = { arguments: 'SELECT count(*)', argumentsStatus: 'malformed' as const };

    expect(ofCalls(call('run_sql', text)).outcome).toBe(0);
    expect(ofCalls(call('run_sql', { ...text, offer: { kind: 'offered', freeText: true } })).outcome).toBe(1);
    expect(
      ofCalls(call('run_sql', { arguments: 'SELECT 1', offer: { kind: 'offered', freeText: true } })).outcome,
    ).toBe(1);
  });

  test('a tool that was not offered is wrong, unless the provider ran it', () => {
    expect(ofCalls(call('web_search', { offer: { kind: 'not_offered' } })).outcome).toBe(0);
    expect(ofCalls(call('web_search', { offer: { kind: 'not_offered' }, providerExecuted: true })).outcome).toBe(1);
  });

  test('a tool that ran without a fault was offered, whatever the recorded definitions say', () => {
    const ran = { offer: { kind: 'not_offered' }, startedAtMs: 1, endedAtMs: 2 } as const;

    expect(ofCalls(call('list_tables', ran)).outcome).toBe(1);
    expect(ofCalls(call('list_tables', { ...ran, failed: true, error: 'unknown tool' })).outcome).toBe(0);
  });

  test('a parameterless call is correct if the schema requires nothing, also when it was recorded as null', () => {
    const nothing: ToolCall['offer'] = { kind: 'offered', schema: { type: 'object', properties: {} }, freeText: false };

    expect(ofCalls(call('list_tables', { offer: nothing })).outcome).toBe(1);
    expect(ofCalls(call('list_tables', { arguments: null, offer: nothing })).outcome).toBe(1);
    expect(ofCalls(weather(null)).outcome).toBe('not_captured');
  });

  test('an integer beyond 2^53, which is recorded as text, is an integer', () => {
    const schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
    const one = call('get_order', {
      arguments: { id: '9007199254740993' },
      offer: { kind: 'offered', schema, freeText: false },
    });

    expect(ofCalls(one).outcome).toBe(1);
  });
});

describe('repeated failures', () => {
  const failed = (error: string | null, changes: Partial<ToolCall> = {}) =>
    weather(GOOD, { failed: true, error, ...changes });

  test('the third identical call after two lasting failures is wrong', () => {
    const found = ofCalls(failed('unknown city'), failed('unknown city'), weather(GOOD));

    expect(found.outcome).toBeCloseTo(2 / 3, 12);
    expect(found.details['calls']).toMatchObject([{}, {}, { verdict: 'incorrect', rule: 'repeated_failure' }]);
  });

  test.each(['HTTP 503 Service Unavailable', 'Read timed out', 'ECONNRESET', 'Rate limit exceeded', '429'])(
    'after "%s" the same call again is sensible',
    (error) => {
      expect(ofCalls(failed(error), failed(error), failed(error)).outcome).toBe(1);
    },
  );

  test('other arguments, a success between, or calls in parallel are no repetition', () => {
    const other = weather({ ...GOOD, unit: 'fahrenheit' });

    expect(ofCalls(failed('unknown city'), failed('unknown city'), other).outcome).toBe(1);
    expect(ofCalls(failed('unknown city'), weather(GOOD), failed('unknown city'), weather(GOOD)).outcome).toBe(1);
    const parallel = failed('unknown city', { startedAtMs: 1000, endedAtMs: 2000 });
    expect(ofCalls(parallel, parallel, parallel).outcome).toBe(1);
  });

  test('a failure whose text was not recorded is held against nobody', () => {
    expect(ofCalls(failed(null), failed(null), failed(null)).outcome).toBe(1);
  });
});

describe('abstentions', () => {
  const blind = weather(null, { argumentsStatus: 'not_captured' });
  const cut = weather('{"city":"Li', { argumentsStatus: 'truncated' });

  test('no calls is neither 1 nor 0, unless compatibility is wanted', () => {
    expect(ofCalls().outcome).toBe('no_tool_calls');
    expect(run(interaction(), { arguments: { noCalls: 1 } }).outcome).toBe(1);
    expect(run(interaction([], { coverage: ['tool_calls_not_captured'] })).outcome).toBe('not_captured');
  });

  test('calls without captured arguments are left out; without others, not captured', () => {
    expect(ofCalls(blind, cut).outcome).toBe('not_captured');
    expect(ofCalls(blind, weather({}), weather(GOOD))).toMatchObject({
      outcome: 0.5,
      details: { correct: 1, incorrect: 1, left_out: 1 },
    });
  });

  test('only calls that wait for a person: interrupted', () => {
    expect(ofCalls(weather(GOOD, { pending: true })).outcome).toBe('interrupted');
  });

  test('when rules may not accept, nothing is decided without a judge, not even a violation', () => {
    const options: ScoringOptions = { arguments: { acceptByRules: false } };

    expect(run(interaction([weather(GOOD)]), options).outcome).toBe('no_judge');
    expect(run(interaction([weather({})]), options).outcome).toBe('no_judge');
  });

  test('switched off', () => {
    expect(run(interaction([weather(GOOD)]), { enabled: { arguments: false } }).outcome).toBe('disabled');
  });
});
