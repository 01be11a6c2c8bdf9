import { describe, expect, test } from 'vitest';
import type { ScoringOptions } from '../../../src/score/policy.js';
import { policyHash, policySettings, resolvePolicy } from '../../../src/score/policy.js';

const hash = (options: ScoringOptions = {}) => policyHash(resolvePolicy(options));

describe('the hash of a policy', () => {
  const changes: ScoringOptions[] = [
    { enabled: { completion: true } },
    { enabled: { policy: false } },
    { required: ['tools'] },
    { tools: { threshold: 0.75 } },
    { tools: { weights: { selection: 1, parameters: 1, sequence: 1, utilization: 0 } } },
    { tools: { mode: 'any_order' } },
    { tools: { owners: 'root' } },
    { tools: { utilizationByRule: false } },
    { tools: { arguments: { match: 'subset' } } },
    { tools: { arguments: { coerce: true } } },
    { tools: { arguments: { overrides: { search: { match: 'ignore' } } } } },
    { tools: { arguments: { overrides: { search: { keys: { q: { caseFold: true } } } } } } },
    { arguments: { threshold: 0.5 } },
    { arguments: { acceptByRules: false } },
    { arguments: { owners: 'root' } },
    { arguments: { noCalls: 1 } },
    { answer: { threshold: 0.9 } },
    { answer: { labels: [['a', 'b']] } },
    { completion: { threshold: 0.9 } },
    { policy: { allow: [] } },
    { policy: { deny: ['rm'] } },
    { policy: { loopCalls: 0 } },
    { judge: { model: 'judge-1' }, arguments: { acceptByRules: true } },
  ];

  test('changes with every setting', () => {
    const hashes = [hash(), ...changes.map(hash)];

    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('does not change when the same settings are written otherwise', () => {
    expect(hash({ tools: { threshold: 1, mode: 'in_order' }, enabled: { tools: true } })).toBe(hash());
    expect(hash({ tools: { weights: { selection: 1, parameters: 1, sequence: 1, utilization: 1 } } })).toBe(hash());
    expect(hash({ policy: { deny: ['b', 'a', 'b'] } })).toBe(hash({ policy: { deny: ['a', 'b'] } }));
    expect(hash({ required: ['answer', 'tools'] })).toBe(hash({ required: ['tools', 'answer'] }));
    expect(hash({ required: null, judge: null, policy: { allow: undefined } })).toBe(hash());
  });

  test('is a short text that does not move', () => {
    expect(hash()).toMatch(/^[0-9a-f]{12}$/);
    expect(policySettings(resolvePolicy())).toMatchObject({ rulesVersion: 1, tools: { threshold: 1 } });
  });
});

describe('defaults and faults', () => {
  test('rules may accept while no judge is configured', () => {
    expect(resolvePolicy().arguments.acceptByRules).toBe(true);
    expect(resolvePolicy({ judge: { model: 'judge-1' } }).arguments.acceptByRules).toBe(false);
  });

  test('all faults are listed at once', () => {
    const options: ScoringOptions = {
      required: ['completion'],
      tools: {
        threshold: 1.5,
        weights: { selection: -1, parameters: 1, sequence: 1, utilization: NaN },
        arguments: { overrides: { search: { keys: { q: { regex: '^(a+)+$' }, n: { tolerance: -1 } } } } },
      },
      policy: { deny: [''], loopCalls: 1 },
    };

    const faults = (() => {
      try {
        resolvePolicy(options);
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    })();

    for (const place of [
      'tools.weights.selection must be a number >= 0, got -1',
      'tools.weights.utilization must be a number >= 0, got NaN',
      'tools.threshold must be 0..1, got 1.5',
      'required: completion is not enabled',
      'policy.loopCalls must be 0 (never) or an integer >= 2, got 1',
      'policy.deny must not hold an empty name',
      'tools.arguments.overrides.search.keys.q.regex',
      'tools.arguments.overrides.search.keys.n.tolerance must be >= 0, got -1',
    ]) {
      expect(faults).toContain(place);
    }
  });

  test('weights that are all 0 are refused', () => {
    const weights = { selection: 0, parameters: 0, sequence: 0, utilization: 0 };

    expect(() => resolvePolicy({ tools: { weights } })).toThrow('tools.weights must not all be 0');
  });
});
