import { expect, test } from 'vitest';
import { parseDatasets } from '../../../src/score/datasets.js';
import { buildExpectationIndex } from '../../../src/score/expectations.js';
import { trackExpectations } from '../../../src/score/tracked-expectations.js';
import { interaction } from '../../support/score-builders.js';

function turns(...items: readonly (readonly [id: string, query: string, answer: string])[]) {
  const conversation = items.map(([qa_id, query, answer]) => ({ qa_id, query, ground_truth_assistant: answer }));
  const { turns, faults } = parseDatasets(JSON.stringify({ session_id: 's', conversation }), 'truth.json');
  expect(faults).toEqual([]);
  return turns;
}

const idsOf = (found: Iterable<{ readonly caseId: string | null }>) => [...found].map(({ caseId }) => caseId);

test('remembers which turns were used; turns that say the same are used together', () => {
  const index = trackExpectations(
    buildExpectationIndex(turns(['a', 'One?', '1'], ['b', 'Two?', '2'], ['c', 'one?', '1'])),
  );

  index.match(interaction([], { query: 'One?' }));
  index.match(interaction([], { query: 'Three?' }));

  expect(idsOf(index.matched)).toEqual(['a', 'c']);
  expect(idsOf(index.unmatched())).toEqual(['b']);
});

test('a turn that fits only beside others is neither', () => {
  const index = trackExpectations(buildExpectationIndex(turns(['a', 'One?', '1'], ['b', 'One?', '2'])));

  expect(index.match(interaction([], { query: 'One?' })).kind).toBe('ambiguous');

  expect(index.matched.size).toBe(0);
  expect(index.unmatched()).toEqual([]);
});

test('what was matched before stays matched as far as it is still there', () => {
  const [a, b, c] = turns(['a', 'One?', '1'], ['b', 'Two?', '2'], ['c', 'Three?', '3']);
  if (a === undefined || b === undefined || c === undefined) throw new Error('three turns expected');

  const index = trackExpectations(buildExpectationIndex([b, c]), new Set([a, b]));

  expect(idsOf(index.matched)).toEqual(['b']);
});
