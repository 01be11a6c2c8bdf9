import { describe, expect, test } from 'vitest';
import type { Expectation } from '../../../../src/model/expectation.js';
import type { CoverageFlag, Interaction } from '../../../../src/model/interaction.js';
import { scoreTools } from '../../../../src/score/criteria/tools.js';
import type { ScoringOptions } from '../../../../src/score/policy.js';
import { resolvePolicy } from '../../../../src/score/policy.js';
import { call, interaction, outcome } from '../../../support/score-builders.js';

const LINDHOLM = { city: 'Lindholm', unit: 'celsius' };
const weather = (changes = {}) => call('get_weather', { arguments: LINDHOLM, ...changes });
const once: Expectation = { tools: [{ name: 'get_weather', arguments: LINDHOLM }] };
const twice: Expectation = { tools: [...(once.tools ?? []), ...(once.tools ?? [])] };

function run(of: Interaction, expectation: Expectation | null, options: ScoringOptions = {}) {
  const score = scoreTools(of, expectation, resolvePolicy(options));
  return {
    outcome: outcome(score),
    passed: score.kind === 'scored' && score.passed,
    ...score.details,
    reason: score.kind === 'open' ? null : score.reason,
  };
}

test('arguments that redaction took out are neither right nor wrong', () => {
  const redacted = weather({ arguments: { ...LINDHOLM, city: '[REDACTED]' } });

  expect(run(interaction([redacted]), once).outcome).toBe('not_captured');
});

describe('repeated calls are matched one to one', () => {
  test('two expected, two made: everything is right', () => {
    expect(run(interaction([weather(), weather()]), twice)).toMatchObject({
      outcome: 1,
      passed: true,
      selection: 1,
      parameters: 1,
      sequence: 1,
      utilization: null,
      missing: 0,
      extra: 0,
    });
  });

  test('two expected, one made: half the parameters, one missing', () => {
    // (selection 1 + parameters 1/2 + sequence 1/2) / 3
    const found = run(interaction([weather()]), twice);

    expect(found).toMatchObject({
      parameters: 0.5,
      missing: 1,
      missing_tools: ['get_weather'],
      extra: 0,
      passed: false,
    });
    expect(found.outcome).toBeCloseTo(2 / 3, 12);
  });

  test('one expected, two made: all parameters, and the extra call is named', () => {
    expect(run(interaction([weather(), weather()]), once)).toMatchObject({
      outcome: 1,
      parameters: 1,
      missing: 0,
      extra: 1,
      extra_tools: ['get_weather'],
    });
  });
});

describe('edges', () => {
  test('{} equals {}', () => {
    const expectation = { tools: [{ name: 'list_tables', arguments: {} }] };

    expect(run(interaction([call('list_tables')]), expectation)).toMatchObject({
      outcome: 1,
      selection: 1,
      parameters: 1,
    });
  });

  test('an expected call that was not made is a failure', () => {
    expect(run(interaction(), once)).toMatchObject({
      outcome: 0,
      passed: false,
      selection: 0,
      parameters: 0,
      missing: 1,
    });
  });

  test('nothing expected and nothing called is right', () => {
    expect(run(interaction(), { tools: [] })).toMatchObject({
      outcome: 1,
      passed: true,
      selection: 1,
      parameters: null,
    });
  });

  test('nothing expected and something called fails', () => {
    expect(run(interaction([weather()]), { tools: [] })).toMatchObject({
      outcome: 0,
      passed: false,
      extra: 1,
    });
  });

  test('an optional call may be made or left out', () => {
    const tools = [{ name: 'f', optional: true }, { name: 'g' }];

    expect(run(interaction([call('g')]), { tools })).toMatchObject({ outcome: 1, missing: 0, extra: 0 });
    expect(run(interaction([call('f'), call('g')]), { tools })).toMatchObject({ outcome: 1, missing: 0, extra: 0 });
    expect(run(interaction([call('f')]), { tools })).toMatchObject({ passed: false, missing_tools: ['g'] });
  });

  test('ground truth that cannot be read grades nothing', () => {
    expect(run(interaction([weather()]), { unreadable: ['tools'] }).outcome).toBe('no_expectation');
  });

  test('without ground truth it abstains, and so it does when switched off', () => {
    expect(run(interaction([weather()]), null).outcome).toBe('no_expectation');
    expect(run(interaction([weather()]), { answer: '14' }).outcome).toBe('no_expectation');
    expect(run(interaction([weather()]), once, { enabled: { tools: false } }).outcome).toBe('disabled');
  });

  test('the reason names the tool and the key, not the value', () => {
    const found = run(interaction([weather({ arguments: { city: 'Sjoberg', unit: 'celsius' } })]), once);

    expect(found.reason).toBe('get_weather: city not as expected');
  });

  test('free text is compared with the only expected value', () => {
    const made = call('run_sql', { arguments: 'SELECT 1', offer: { kind: 'offered', freeText: true } });

    expect(run(interaction([made]), { tools: [{ name: 'run_sql', arguments: { sql: 'SELECT 1' } }] }).outcome).toBe(1);
  });
});

describe('what was not captured is never wrong', () => {
  const parts: CoverageFlag[] = ['root_missing', 'open_top', 'cut_at_bound', 'split_by_silence', 'decided_early'];

  test.each(parts)('%s: abstains, whatever is absent', (flag) => {
    expect(run(interaction([], { coverage: [flag] }), once).outcome).toBe('not_captured');
  });

  test('recorded in part, a forbidden call still fails', () => {
    const found = run(interaction([call('drop_table')], { coverage: ['cut_at_bound'] }), {
      ...once,
      forbiddenTools: ['drop_table'],
    });

    expect(found).toMatchObject({ outcome: 0, passed: false });
    expect(found.reason).toContain('drop_table');
  });

  test('tool calls not captured: abstains when calls are missing, else scores', () => {
    const coverage: CoverageFlag[] = ['tool_calls_not_captured'];

    expect(run(interaction([], { coverage }), once).outcome).toBe('not_captured');
    expect(run(interaction([weather()], { coverage }), once).outcome).toBe(1);
  });

  test('arguments not captured: abstains when they decide, else scores', () => {
    const blind = weather({ arguments: null, argumentsStatus: 'not_captured' });

    expect(run(interaction([blind]), once)).toMatchObject({ outcome: 'not_captured', parameters: null });
    expect(run(interaction([blind]), { tools: [{ name: 'get_weather' }] }).outcome).toBe(1);
    expect(run(interaction([blind]), { ...once, argumentsMatch: 'ignore' }).outcome).toBe(1);
    expect(run(interaction([weather(), blind]), once).outcome).toBe(1);
    expect(run(interaction([weather(), blind]), twice).outcome).toBe('not_captured');
  });

  test('arguments cut by a recorder count as not captured, arguments that are no JSON as wrong', () => {
    const cut = weather({ arguments: '{"city":"Li', argumentsStatus: 'truncated' });
    const garbled = weather({ arguments: 'city=Lindholm', argumentsStatus: 'malformed' });

    expect(run(interaction([cut]), once).outcome).toBe('not_captured');
    expect(run(interaction([garbled]), once)).toMatchObject({ passed: false, parameters: 0 });
  });

  test('a run that waits for a person is not incorrect', () => {
    expect(run(interaction([weather({ pending: true })], { interrupted: true, answer: null }), twice).outcome).toBe(
      'interrupted',
    );
  });
});

describe('modes', () => {
  const ab: Expectation = { tools: [{ name: 'a' }, { name: 'b' }] };
  const made = (...names: string[]) => interaction(names.map((name) => call(name)));
  const passes = (names: string[], mode: Expectation['mode']) =>
    run(made(...names), { ...ab, ...(mode ? { mode } : {}) }).passed;

  test.each<[Expectation['mode'], string[], boolean]>([
    ['in_order', ['a', 'b'], true],
    ['in_order', ['b', 'a'], false],
    ['in_order', ['a', 'a', 'b'], true],
    ['exact_order', ['a', 'b'], true],
    ['exact_order', ['a', 'a', 'b'], false],
    ['exact_order', ['b', 'a'], false],
    ['any_order', ['b', 'a'], true],
    ['any_order', ['b'], false],
    ['subset', ['a'], true],
    ['subset', [], true],
    ['subset', ['a', 'c'], false],
    ['superset', ['a', 'c', 'b'], true],
    ['superset', ['a', 'c'], false],
  ])('%s with %j passes: %s', (mode, names, passed) => {
    expect(passes(names, mode)).toBe(passed);
  });

  test('the expectation is asked before the policy', () => {
    const options: ScoringOptions = { tools: { mode: 'any_order' } };

    expect(run(made('b', 'a'), ab, options).passed).toBe(true);
    expect(run(made('b', 'a'), { ...ab, mode: 'in_order' }, options).passed).toBe(false);
  });

  test('expected neighbours with one step may come in any order from a trace', () => {
    const parallel: Expectation = {
      tools: [
        { name: 'a', step: 1 },
        { name: 'b', step: 1 },
        { name: 'c', step: 2 },
      ],
    };

    expect(run(made('b', 'a', 'c'), parallel).passed).toBe(true);
    // c comes first, so only a and b are in order: 2 of 3
    expect(run(made('c', 'b', 'a'), parallel)).toMatchObject({ sequence: 2 / 3 });
  });

  test('calls of sub-agents count unless the policy says otherwise', () => {
    const nested = interaction([weather({ byRoot: false, owner: 'weather_expert' })]);

    expect(run(nested, once).outcome).toBe(1);
    expect(run(nested, once, { tools: { owners: 'root' } }).outcome).toBe(0);
  });

  test('a stated utilization counts; without one it does not apply', () => {
    expect(run(interaction([weather()]), { ...once, resultsUsed: false })).toMatchObject({
      outcome: 0.75,
      utilization: 0,
    });
    expect(run(interaction([weather()]), once)).toMatchObject({ outcome: 1, utilization: null });
  });
});

describe('utilization by rule, where the ground truth does not say', () => {
  const used = interaction([weather({ result: { temperature: 14 } })]);
  const wrongCity = interaction([
    weather({ arguments: { ...LINDHOLM, city: 'Sjoberg' }, result: { temperature: 14 } }),
  ]);

  test('a result whose value the answer states is used', () => {
    expect(run(used, once)).toMatchObject({ outcome: 1, passed: true, utilization: 1, result_uses: ['used'] });
    // selection 1, parameters 1/2, sequence 1, utilization 1
    expect(run(wrongCity, once)).toMatchObject({ outcome: 3.5 / 4, passed: false });
  });

  test('a result that the answer does not state is held against nobody', () => {
    const silent = interaction([weather({ result: { temperature: 14 } })], { answer: 'I do not know.' });

    expect(run(silent, once)).toMatchObject({
      outcome: 1,
      passed: true,
      utilization: null,
      result_uses: ['not_stated'],
    });
  });

  test('what the ground truth says goes before it', () => {
    const found = run(used, { ...once, resultsUsed: false });

    expect(found).toMatchObject({ outcome: 0.75, utilization: 0 });
    expect(found).not.toHaveProperty('result_uses');
  });

  test('it never lifts a value to the threshold, nor makes one', () => {
    // without it (1 + 1/2 + 1) / 3 = 0.833, with it 0.875
    expect(run(wrongCity, once, { tools: { threshold: 0.85 } })).toMatchObject({ passed: false, utilization: null });
    expect(run(wrongCity, once, { tools: { threshold: 0.8 } })).toMatchObject({ passed: true, outcome: 0.875 });
    const alone = { selection: 0, parameters: 0, sequence: 0, utilization: 1 };
    expect(run(used, once, { tools: { weights: alone } }).outcome).toBe('not_captured');
  });

  test('it can be switched off, and is where its part has no weight', () => {
    const unweighted = { selection: 1, parameters: 1, sequence: 1, utilization: 0 };

    expect(run(used, once, { tools: { utilizationByRule: false } })).toMatchObject({ outcome: 1, utilization: null });
    expect(run(used, once, { tools: { weights: unweighted } })).not.toHaveProperty('result_uses');
  });
});
