import { expect, test } from 'vitest';
import { truthJson, truthNotes } from '../../../src/cli/truth-report.js';
import { parseDatasets } from '../../../src/score/datasets.js';
import { buildExpectationIndex } from '../../../src/score/expectations.js';
import { trackExpectations } from '../../../src/score/tracked-expectations.js';
import { interaction } from '../../support/score-builders.js';

function expectationsOf(turns: number) {
  const conversation = Array.from({ length: turns }, (_, i) => ({ qa_id: `q${i}`, query: `Question ${i}?` }));
  const { turns: parsed } = parseDatasets(JSON.stringify({ session_id: 's', conversation }), 'truth.json');
  return trackExpectations(buildExpectationIndex(parsed));
}

test('turns that nothing fits are named, the first twenty of them', () => {
  const expectations = expectationsOf(24);
  expectations.match(interaction([], { query: 'question 0?' }));

  const notes = [...truthNotes({ expectations, ambiguous: [] })];

  expect(notes).toHaveLength(22);
  expect(notes[0]).toBe('1 of 24 turns of the datasets matched an interaction');
  expect(notes[1]).toBe('no interaction fits truth.json conversation[1] (session_id s, qa_id q1)');
  expect(notes.at(-1)).toBe('and 3 more turns that no interaction fits');
});

test('an interaction that fits several names them', () => {
  const expectations = expectationsOf(4);
  const ambiguous = [{ interactionId: 'aa-bb', by: 'query', turns: expectations.turns } as const];

  expect([...truthNotes({ expectations, ambiguous })].at(-1)).toBe(
    'interaction aa-bb fits 4 turns of the datasets by query, none was guessed: ' +
      'truth.json conversation[0] (session_id s, qa_id q0), truth.json conversation[1] (session_id s, qa_id q1), ' +
      'truth.json conversation[2] (session_id s, qa_id q2), and 1 more',
  );
  expect(truthJson({ expectations, ambiguous })).toMatchObject({
    turns: 4,
    matched: 0,
    ambiguous: [{ interaction_id: 'aa-bb', by: 'query', turns: expectations.turns.map(({ place }) => ({ place })) }],
  });
});

test('the JSON holds all of them', () => {
  const { unmatched } = truthJson({ expectations: expectationsOf(300), ambiguous: [] });

  expect(unmatched).toHaveLength(300);
  expect(unmatched[299]).toEqual({ place: 'truth.json conversation[299]', session_id: 's', qa_id: 'q299' });
});
