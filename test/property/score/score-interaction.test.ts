import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Expectation } from '../../../src/model/expectation.js';
import type { CoverageFlag, ToolCall, ToolOffer } from '../../../src/model/interaction.js';
import type { Json } from '../../../src/model/json.js';
import { resolvePolicy } from '../../../src/score/policy.js';
import { score } from '../../../src/score/score-interaction.js';
import { call, interaction } from '../../support/score-builders.js';

const name = fc.constantFrom('search', 'read', '', '__proto__', 'delete_user');
const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
const schema = fc.oneof(
  json,
  fc.record({
    type: fc.constantFrom('object', 'string', 'nonsense'),
    required: fc.array(fc.string(), { maxLength: 2 }),
  }),
  fc.record({ properties: fc.dictionary(fc.string(), fc.record({ type: fc.constantFrom('integer', 'string') })) }),
) as fc.Arbitrary<Json>;
const offer: fc.Arbitrary<ToolOffer> = fc.oneof(
  fc.constant<ToolOffer>({ kind: 'unknown' }),
  fc.constant<ToolOffer>({ kind: 'not_offered' }),
  fc.record({ kind: fc.constant('offered' as const), schema, freeText: fc.boolean() }),
);
const anyCall: fc.Arbitrary<ToolCall> = fc
  .record({
    name,
    arguments: json,
    argumentsStatus: fc.constantFrom('captured', 'not_captured', 'truncated', 'malformed'),
    result: json,
    resultStatus: fc.constantFrom('captured', 'not_captured', 'truncated'),
    error: fc.option(fc.string()),
    failed: fc.boolean(),
    pending: fc.boolean(),
    byRoot: fc.boolean(),
    offer,
    providerExecuted: fc.boolean(),
  })
  .map(({ name: called, ...changes }) => call(called, changes));

const expectation: fc.Arbitrary<Expectation | null> = fc.option(
  fc.record(
    {
      answer: fc.oneof(fc.string(), fc.constantFrom('8', 'yes', '{"a":1}', 'ORD-1')),
      tools: fc.array(fc.record({ name, arguments: fc.option(fc.dictionary(fc.string(), json)) }), { maxLength: 4 }),
      mode: fc.constantFrom('exact_order', 'in_order', 'any_order', 'subset', 'superset'),
      argumentsMatch: fc.constantFrom('exact', 'subset', 'superset', 'ignore'),
      forbiddenTools: fc.array(name, { maxLength: 2 }),
      allowedTools: fc.array(name, { maxLength: 2 }),
      resultsUsed: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
) as fc.Arbitrary<Expectation | null>;

const flags = fc.subarray<CoverageFlag>([
  'root_missing',
  'open_top',
  'tool_calls_not_captured',
  'answer_truncated',
  'query_truncated',
  'cut_at_bound',
]);

const policy = fc.constantFrom(
  resolvePolicy(),
  resolvePolicy({ policy: { deny: ['delete_*'] }, arguments: { acceptByRules: false } }),
  resolvePolicy({ enabled: { completion: true }, tools: { owners: 'root', arguments: { coerce: true } } }),
);

test('any interaction gets a verdict that follows from its scores, and the same one again', () => {
  fc.assert(
    fc.property(
      fc.array(anyCall, { maxLength: 8 }),
      expectation,
      flags,
      policy,
      fc.option(fc.string()),
      (calls, truth, coverage, how, answer) => {
        const of = interaction(calls, { coverage, answer });
        const found = score(of, truth, how);

        expect(score(of, truth, how)).toEqual(found);
        for (const one of found.scores) {
          if (one.kind === 'abstained') continue;
          expect(one.value).toBeGreaterThanOrEqual(0);
          expect(one.value).toBeLessThanOrEqual(1 + 1e-12);
        }
        const failed = found.scores.some((one) => one.kind === 'scored' && !one.passed);
        if (found.label === 'incorrect') expect(failed).toBe(true);
        if (found.neutral) expect(found.label).toBe('unscored');
        expect(JSON.parse(JSON.stringify(found.scores))).toEqual(found.scores);
      },
    ),
    { numRuns: 400 },
  );
});

test('nothing captured is never incorrect, whatever was expected', () => {
  const withoutLists = expectation.map((truth) => {
    if (truth === null) return null;
    const { forbiddenTools: _forbidden, allowedTools: _allowed, resultsUsed: _used, ...rest } = truth;
    return rest;
  });
  const unseen: CoverageFlag[] = [
    'query_not_captured',
    'answer_not_captured',
    'tool_calls_not_captured',
    'results_not_captured',
  ];
  fc.assert(
    fc.property(withoutLists, (truth) => {
      const of = interaction([], { query: null, answer: null, coverage: unseen });

      expect(score(of, truth, resolvePolicy()).label).not.toBe('incorrect');
    }),
  );
});

test('expected calls of which only the names were captured are never incorrect for their arguments', () => {
  const calls = fc.array(
    fc.record({ name: fc.constantFrom('search', 'read'), arguments: fc.dictionary(fc.string(), json) }),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(calls, (wanted) => {
      const blind = wanted.map((one) =>
        call(one.name, {
          arguments: null,
          argumentsStatus: 'not_captured',
          result: null,
          resultStatus: 'not_captured',
        }),
      );

      expect(score(interaction(blind), { tools: wanted }, resolvePolicy()).label).not.toBe('incorrect');
    }),
  );
});
