import { describe, expect, test } from 'vitest';
import { parseDatasetLine, parseDatasets } from '../../../src/score/datasets.js';

const tool = (changes = {}) => ({ tool_name: 'calculator', parameters: { a: 5, b: 3 }, step: 1, ...changes });

const dataset = (truth: object | null | undefined, batch: object = {}, outer: object = {}) => ({
  session_id: 'conversation_001',
  assistant_id: 'agent_v1',
  language: 'english',
  context: 'Math calculator conversation',
  conversation: [
    {
      qa_id: 'q1',
      query: 'What is 5 + 3?',
      assistant: 'The result is 8.',
      ground_truth_assistant: '8',
      agentic: { tools_used: [{ ...tool(), result: 8 }], final_answer_uses_tools: true },
      ...(truth === undefined ? {} : { ground_truth_agentic: truth }),
      ...batch,
    },
    { qa_id: 'q2', query: 'What is 100 / 4?', assistant: '25', ground_truth_assistant: '25' },
  ],
  ...outer,
});

const parse = (value: unknown) => parseDatasets(JSON.stringify(value), 'data.json');

describe('a dataset in the shape of the public docs', () => {
  test('becomes turns with their ground truth', () => {
    const { turns, faults } = parse(dataset({ expected_tools: [tool()], tool_sequence_matters: false }));

    expect(faults).toEqual([]);
    expect(turns).toEqual([
      {
        place: 'data.json conversation[0]',
        caseId: 'q1',
        conversationId: 'conversation_001',
        assistantId: 'agent_v1',
        turn: 0,
        query: 'What is 5 + 3?',
        expectation: {
          answer: '8',
          tools: [{ name: 'calculator', arguments: { a: 5, b: 3 }, step: 1 }],
          mode: 'any_order',
        },
        recorded: {
          answer: 'The result is 8.',
          calls: [{ name: 'calculator', arguments: { a: 5, b: 3 }, step: 1 }],
          resultsUsed: true,
        },
      },
      {
        place: 'data.json conversation[1]',
        caseId: 'q2',
        conversationId: 'conversation_001',
        assistantId: 'agent_v1',
        turn: 1,
        query: 'What is 100 / 4?',
        expectation: { answer: '25' },
        recorded: { answer: '25', calls: [] },
      },
    ]);
  });

  test('null says nothing, an empty list says none', () => {
    const said = (truth: object | null) =>
      parse(dataset(truth, { ground_truth_assistant: null })).turns[0]?.expectation;

    expect(said(null)).toEqual({});
    expect(said({})).toEqual({});
    expect(said({ expected_tools: null, allowed_tools: null })).toEqual({});
    expect(said({ expected_tools: [], allowed_tools: [] })).toEqual({ tools: [], allowedTools: [] });
    expect(said({ expected_tools: [{ tool_name: 'a', parameters: null, step: null }] })).toEqual({
      tools: [{ name: 'a' }],
    });
  });

  test('our additions are read', () => {
    const truth = {
      expected_tools: [],
      forbidden_tools: ['rm'],
      expected_tools_mode: 'subset',
      expected_arguments_match: 'ignore',
    };

    expect(parse(dataset(truth)).turns[0]?.expectation).toMatchObject({
      forbiddenTools: ['rm'],
      mode: 'subset',
      argumentsMatch: 'ignore',
    });
  });

  test('a call may be optional', () => {
    const tools = [tool({ optional: true }), tool({ optional: false }), tool({ optional: null })];
    const { turns, faults } = parse(dataset({ expected_tools: tools }));

    expect(faults).toEqual([]);
    expect(turns[0]?.expectation.tools?.map(({ optional }) => optional)).toEqual([true, undefined, undefined]);
  });

  test('a list of datasets, a number as session id, and a key __proto__ are read', () => {
    const text = `\uFEFF[${JSON.stringify(dataset(null, {}, { session_id: 7 }))}, ${JSON.stringify(
      dataset({ expected_tools: [tool({ parameters: { X: 1 } })] }),
    ).replace('"X"', '"__proto__"')}]`;

    const { turns, faults } = parseDatasets(text, 'data.json');

    expect(faults).toEqual([]);
    expect(turns.map(({ place, conversationId }) => [place, conversationId])).toEqual([
      ['data.json [0].conversation[0]', '7'],
      ['data.json [0].conversation[1]', '7'],
      ['data.json [1].conversation[0]', 'conversation_001'],
      ['data.json [1].conversation[1]', 'conversation_001'],
    ]);
    expect(Object.keys(turns[2]?.expectation.tools?.[0]?.arguments ?? {})).toEqual(['__proto__']);
  });

  test('lone surrogates that hide in escapes are replaced', () => {
    const { turns } = parseDatasets(JSON.stringify(dataset(null)).replace('What is 5', '\\ud83d is 5'), 'data.json');

    expect(turns[0]?.query).toBe('\uFFFD is 5 + 3?');
  });
});

describe('faults name the place and what was meant; the other turns are kept', () => {
  const HERE = 'data.json conversation[0].ground_truth_agentic';

  test.each<[string, object, object]>([
    [
      'a misspelt name',
      { expected_tools: [{ name: 'calculator' }] },
      { place: `${HERE}.expected_tools[0].name`, problem: 'unknown key; tool_name was meant?' },
    ],
    [
      'misspelt parameters',
      { expected_tools: [{ tool_name: 'a', arguments: {} }] },
      { place: `${HERE}.expected_tools[0].arguments`, problem: 'unknown key; parameters was meant?' },
    ],
    ['an unknown key', { expected_tool: [] }, { place: `${HERE}.expected_tool`, problem: 'unknown key' }],
    [
      'a name that is no text',
      { expected_tools: [{ tool_name: 5 }] },
      { place: `${HERE}.expected_tools[0].tool_name`, problem: 'expected string, received number' },
    ],
    [
      'parameters that are no object',
      { expected_tools: [{ tool_name: 'a', parameters: [1] }] },
      { place: `${HERE}.expected_tools[0].parameters`, problem: 'an object expected' },
    ],
    [
      'text for whether a call is optional',
      { expected_tools: [{ tool_name: 'a', optional: 'yes' }] },
      { place: `${HERE}.expected_tools[0].optional`, problem: 'expected boolean, received string' },
    ],
    [
      'text for a boolean',
      { tool_sequence_matters: 'false' },
      { place: `${HERE}.tool_sequence_matters`, problem: 'expected boolean, received string' },
    ],
    [
      'a contradiction',
      { tool_sequence_matters: false, expected_tools_mode: 'exact_order' },
      { place: `${HERE}.expected_tools_mode`, problem: 'exact_order contradicts tool_sequence_matters: false' },
    ],
  ])('%s', (_name, truth, fault) => {
    const { turns, faults } = parse(dataset(truth));

    expect(faults).toContainEqual(fault);
    expect(turns.map(({ caseId, turn }) => [caseId, turn])).toEqual([['q2', 1]]);
  });

  test('a key that looks like ground truth is not passed over at the outer levels either', () => {
    const { faults } = parse(dataset(null, { ground_truth_agentc: {}, reviewer: 'me' }, { expected_tools: [] }));

    expect(faults.map(({ place }) => place)).toEqual([
      'data.json expected_tools',
      'data.json conversation[0].ground_truth_agentc',
    ]);
  });

  test('a dataset without a conversation, and one that is none', () => {
    expect(parse([{ session_id: 's' }, 5]).faults).toEqual([
      { place: 'data.json [0].conversation', problem: 'expected array, received undefined' },
      { place: 'data.json [1]', problem: 'expected object, received number' },
    ]);
  });

  test('a turn that nothing can be matched by', () => {
    const { faults } = parse({ conversation: [{ ground_truth_assistant: '8' }] });

    expect(faults).toEqual([
      { place: 'data.json conversation[0]', problem: 'nothing to match it by: qa_id, session_id or query expected' },
    ]);
  });

  test('arguments nested deeper than any that are read from spans', () => {
    const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as object;
    const expecting = (levels: number) => dataset({ expected_tools: [tool({ parameters: nested(levels) })] });

    expect(parse(expecting(100)).faults).toEqual([]);
    expect(parse(expecting(1_000)).faults).toEqual([
      {
        place: 'data.json conversation[0].ground_truth_agentic.expected_tools[0].parameters',
        problem: 'nested at most 100 deep expected',
      },
    ]);
  });

  test('text that is no JSON, without quoting it', () => {
    expect(parseDatasets('{"session_id": secret}', 'data.json').faults).toEqual([
      { place: 'data.json', problem: 'not JSON at line 1, column 16' },
    ]);
    expect(parseDatasets('[\n{"session_id": [1, ]}]', 'data.json').faults[0]?.problem).toBe(
      'not JSON at line 2, column 18',
    );
    expect(parseDatasets('', 'data.json').faults).toEqual([{ place: 'data.json', problem: 'not JSON (cut off?)' }]);
  });

  test('a line of a JSONL file', () => {
    expect(parseDatasetLine('  ', 'data.jsonl', 1)).toEqual({ turns: [], faults: [] });
    expect(parseDatasetLine('{', 'data.jsonl', 12).faults[0]?.place).toBe('data.jsonl:12');
    expect(parseDatasetLine(JSON.stringify(dataset(null)), 'data.jsonl', 12).turns[0]?.place).toBe(
      'data.jsonl:12 conversation[0]',
    );
  });
});
