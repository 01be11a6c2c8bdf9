import { expect, test } from 'vitest';
import { DatasetError, gradeTraces, type DatasetItem } from '../../src/index.js';
import { readFixture } from '../support/fixture.js';

const json = readFixture('corpus/genai-semconv/a_single_tool.otlp.json');
const protobuf = readFixture('corpus/genai-semconv/a_single_tool.pb');

function toolsScore(datasets: readonly DatasetItem[], threshold = 1) {
  const [graded] = gradeTraces([json], { datasets, scoring: { tools: { threshold } } }).interactions;
  return graded?.verdict.scores.find(({ criterion }) => criterion === 'tools');
}

test('grades JSON text, JSON bytes and protobuf alike', () => {
  const [text, bytes, proto] = [json.toString('utf8'), json, protobuf].map((body) => gradeTraces([body]));

  expect(text?.interactions).toHaveLength(1);
  expect(bytes).toEqual(text);
  expect(proto?.interactions[0]?.verdict.scores).toEqual(text?.interactions[0]?.verdict.scores);
  expect(text).toMatchObject({ rejections: [], ambiguous: [], errors: [] });
});

test('compares with the ground truth of datasets, under the options given', () => {
  const [graded] = gradeTraces([json]).interactions;
  const calls = graded?.interaction.toolCalls ?? [];
  const expected = calls.map(({ name }) => ({ tool_name: name }));
  const dataset = (tools: readonly { tool_name: string }[]): DatasetItem => ({
    place: 'truth',
    dataset: {
      session_id: 's',
      conversation: [{ query: graded?.interaction.query ?? '', ground_truth_agentic: { expected_tools: [...tools] } }],
    },
  });

  expect(expected).toHaveLength(1);
  expect(toolsScore([dataset(expected)])).toMatchObject({ kind: 'scored', value: 1, passed: true });
  // selection 1/2, parameters 1/2, sequence 1/2, and the answer states the result: (3 x 1/2 + 1) / 4
  const two = dataset([...expected, { tool_name: 'another' }]);
  expect(toolsScore([two])).toMatchObject({ value: 0.625, passed: false });
  expect(toolsScore([two], 0.5)).toMatchObject({ value: 0.625, passed: true });
});

test('names the turns of datasets that no interaction fits', () => {
  const dataset = { session_id: 's', conversation: [{ qa_id: 'q', query: 'Nobody asked this?' }] };

  expect(gradeTraces([json], { datasets: [{ place: 'truth', dataset }] }).unmatched).toEqual([
    { place: 'truth conversation[0]', conversationId: 's', caseId: 'q' },
  ]);
});

test('says what it cannot read, and grades the rest', () => {
  const { interactions, rejections } = gradeTraces(['{"resourceSpans": [', Buffer.from('nonsense'), json]);

  expect(interactions).toHaveLength(1);
  expect(rejections.map(({ reason }) => reason)).toEqual(['malformed_body', 'malformed_body']);
});

test('refuses datasets and options that cannot be used', () => {
  const bad: DatasetItem = { place: 'truth', dataset: { session_id: 's', conversation: [5] } };

  expect(() => gradeTraces([], { datasets: [bad] })).toThrow(DatasetError);
  expect(() => gradeTraces([], { datasets: [bad] })).toThrow('truth conversation[0]: expected object, received number');
  expect(() => gradeTraces([], { scoring: { tools: { threshold: 2 } } })).toThrow(RangeError);
});
