import { expect, test } from 'vitest';
import { rescore, type RescoreRange } from '../../../src/rescore.js';
import type { Score } from '../../../src/model/score.js';
import { buildExpectationIndex } from '../../../src/score/expectations.js';
import { policyHash, resolvePolicy } from '../../../src/score/policy.js';
import { freshStore, graded, turn, WRITER_DEPS, writeInTurn } from '../../support/store.js';

const POLICY = resolvePolicy({});
const PENDING: Score = {
  kind: 'abstained',
  criterion: 'answer',
  abstained: 'pending',
  reason: 'the judge has not answered yet',
  details: {},
};
const WAITING: RescoreRange = {
  sinceMs: 0,
  untilMs: 4e12,
  assistantId: null,
  agentVersion: null,
  everything: false,
};

test('a fault of ours replaces no verdict that waits, nor one of another policy, and its neighbours are graded', async () => {
  const store = await freshStore();
  await store.recordPolicy({ policy: policyHash(POLICY), sinceMs: 0, settings: {} });
  const waits = { policy: policyHash(POLICY), label: 'unscored', outstanding: 1, scores: [PENDING] } as const;
  const rows = [1, 2, 3].map((trace) => turn({ trace, caseId: `case-${trace}` }));
  const [first, second, third] = rows as [(typeof rows)[0], (typeof rows)[0], (typeof rows)[0]];
  const writer = store.writer(WRITER_DEPS);
  await writeInTurn(writer, [graded(first, waits), graded(second, waits), graded(third, { policy: 'other' })]);
  await writer.close({ drainMs: 10_000 });
  const faults: string[] = [];
  const index = buildExpectationIndex([]);
  const deps = {
    store,
    atOnce: 1,
    judging: null,
    expectations: {
      ...index,
      match: (...of: Parameters<typeof index.match>) => {
        if (of[0].caseId !== 'case-1') throw new Error('a fault');
        return index.match(...of);
      },
    },
    events: {
      gradingFailed: ({ stage }: { stage: string }) => void faults.push(stage),
      expectationUnreadable: () => undefined,
      expectationAmbiguous: () => undefined,
    },
  };
  const outcomes = async (range: RescoreRange) => {
    const found: string[] = [];
    for await (const page of rescore(range, POLICY, deps)) found.push(...page.map(({ outcome }) => outcome));
    return found;
  };

  expect(await outcomes(WAITING)).toEqual(['changed', 'faulted']);
  expect(await outcomes({ ...WAITING, everything: true })).toEqual(['changed', 'faulted', 'faulted']);
  expect(new Set(faults)).toEqual(new Set(['scored']));
});
