import { describe, expect, test } from 'vitest';
import type { Batch, Dataset } from '../../../src/batch/agentic-metric.js';
import type { AgenticOptions } from '../../../src/batch/agentic.js';
import { createAgentic, DatasetError } from '../../../src/batch/agentic.js';
import type { StatisticalMode } from '../../../src/estimate/statistical-mode.js';
import { FrequentistMode } from '../../../src/estimate/statistical-mode.js';
import type { Json } from '../../../src/model/json.js';
import type { DatasetFault, DatasetItem } from '../../../src/score/datasets.js';

const right: Batch = { query: '5 + 3?', assistant: '8', ground_truth_assistant: '8' };
const wrong: Batch = { ...right, assistant: '9' };
const freeText: Batch = { ...right, ground_truth_assistant: 'It is eight, of course.' };
const noTruth: Batch = { query: 'Hello', assistant: 'Hi' };
const call = (tool_name: string, parameters = {}) => ({ tool_name, parameters });

const dataset = (session_id: string, ...conversation: readonly Batch[]): Dataset => ({
  session_id,
  assistant_id: 'a',
  conversation,
});

async function evaluate(conversation: readonly Batch[], options: Partial<AgenticOptions> = {}) {
  const agentic = createAgentic({ k: 3, statisticalMode: new FrequentistMode(), ...options });
  const metric = await agentic.evaluate(dataset('s', ...conversation));
  if (metric === null) throw new Error('left out');
  return { metric, summary: agentic.summary() };
}

describe('an interaction', () => {
  test('is correct only when answer and tools are', async () => {
    const tools = { agentic: { tools_used: [call('b')] }, ground_truth_agentic: { expected_tools: [call('a')] } };

    const { metric } = await evaluate([right, { ...right, ...tools }, wrong]);

    expect(metric.interactions.map(({ verdict }) => verdict)).toEqual(['correct', 'incorrect', 'incorrect']);
    expect(metric.correctness_scores).toEqual([1, 1, 0]);
    expect(metric.correct_indices).toEqual([0]);
    expect(metric.interactions[1]?.reason).toContain("used {'b'}, expected {'a'}");
  });

  test('is incorrect when a tool was called outside the allowed ones, or a forbidden one', async () => {
    const using = (truth: NonNullable<Batch['ground_truth_agentic']>): Batch => ({
      ...right,
      agentic: { tools_used: [call('rm')] },
      ground_truth_agentic: truth,
    });

    const { metric } = await evaluate([
      using({ allowed_tools: ['ls'] }),
      using({ forbidden_tools: ['rm'] }),
      using({ allowed_tools: ['rm'], forbidden_tools: ['ls'] }),
    ]);

    expect(metric.interactions.map(({ verdict }) => verdict)).toEqual(['incorrect', 'incorrect', 'correct']);
    expect(metric.tool_correctness_scores[0]).toMatchObject({
      overall_correctness: null,
      is_correct: null,
      scope_violation: 1,
      out_of_scope_tools: ['rm'],
    });
  });

  test('takes part in nothing without ground truth', async () => {
    const { metric, summary } = await evaluate([right, noTruth]);

    // One trial, one success.
    expect(metric).toMatchObject({ is_fully_correct: true, correct_interactions: 1, pass_at_k: 1, pass_pow_k: 1 });
    expect(summary.interactions).toEqual({ total: 2, correct: 1, incorrect: 0, unscored: 0, neutral: 1 });
  });

  test('has argument correctness 1 without calls only under compat deepeval', async () => {
    const called: Batch = { ...right, agentic: { tools_used: [call('a')] } };

    const of = async (compat: 'deepeval' | null) =>
      (await evaluate([right, called], { compat })).metric.interactions.map((result) => result.argument_correctness);

    expect(await of(null)).toEqual([null, null]);
    expect(await of('deepeval')).toEqual([1, null]);
  });

  test('follows the modes that the ground truth states', async () => {
    const used = [call('b', { x: 1, y: 2 }), call('a')];
    const expected_tools = [call('a'), call('b', { x: 1 })];
    const of = async (truth: object) => {
      const turn = { agentic: { tools_used: used }, ground_truth_agentic: { expected_tools, ...truth } };
      return (await evaluate([turn])).metric.tool_correctness_scores[0];
    };

    // parameters (1 + 1/2) / 2, sequence 1/2, selection 1
    expect((await of({}))?.overall_correctness).toBeCloseTo((1 + 0.75 + 0.5) / 3, 12);
    expect((await of({ tool_sequence_matters: false }))?.overall_correctness).toBeCloseTo((1 + 0.75 + 1) / 3, 12);
    expect(await of({ expected_tools_mode: 'any_order', expected_arguments_match: 'superset' })).toMatchObject({
      overall_correctness: 1,
      is_correct: true,
    });
  });
});

describe('an answer that no rule can decide', () => {
  test('abstains, and what follows from it is null', async () => {
    const { metric, summary } = await evaluate([right, freeText]);

    expect(metric).toMatchObject({
      correctness_scores: [1, null],
      correct_indices: [0],
      correct_interactions: null,
      is_fully_correct: null,
      pass_at_k: null,
      pass_pow_k: null,
      unscored_interactions: 1,
    });
    expect(metric.interactions[1]).toMatchObject({ verdict: 'unscored', abstained: 'no_judge', decided_by: null });
    expect(summary.answers).toEqual({ scored: 1, mean: 1, abstained: { no_judge: 1 } });
    expect(summary.conversations_as_trials).toMatchObject({ n: 0, c: 0, outstanding: 1, pass_at_k: null });
  });

  test('is decided by the judge, which is asked for nothing else', async () => {
    const asked: unknown[] = [];
    const judge: AgenticOptions['judge'] = (question) => {
      asked.push(question);
      return Promise.resolve(0.7);
    };

    const { metric } = await evaluate([right, freeText], { judge });

    expect(asked).toEqual([{ query: '5 + 3?', answer: '8', expected: 'It is eight, of course.' }]);
    expect(metric).toMatchObject({ correctness_scores: [1, 0.7], is_fully_correct: true });
    expect(metric.interactions.map((result) => result.decided_by)).toEqual(['rule', 'judge']);
  });

  test('does not count its conversation, though its tools already failed', async () => {
    const failed: Batch = {
      ...freeText,
      agentic: { tools_used: [] },
      ground_truth_agentic: { expected_tools: [call('a')] },
    };

    const { metric, summary } = await evaluate([failed]);

    expect(metric).toMatchObject({ is_fully_correct: false, correct_interactions: null, pass_at_k: null });
    // Outstanding, and incorrect whatever comes: the share will be 0 of 1.
    expect(summary.conversations_as_trials).toMatchObject({ n: 0, outstanding: 1, pass_at_k_bounds: [0, 0] });
  });

  test('was perhaps not given: an empty answer is one, none is a fault', async () => {
    const { metric } = await evaluate([{ ...right, assistant: '' }]);

    expect(metric.correctness_scores).toEqual([0]);
    await expect(evaluate([{ query: 'q', ground_truth_assistant: '8' }])).rejects.toThrow(
      'conversation[0].assistant: expected string: the answer to compare',
    );
  });
});

describe('the whole data set', () => {
  test('counts a conversation as one trial', async () => {
    const agentic = createAgentic({ k: 2, statisticalMode: new FrequentistMode() });
    for (const [id, turns] of [right, wrong, right, freeText].map((turn, i) => [`s${i}`, [right, turn]] as const)) {
      await agentic.evaluate(dataset(id, ...turns));
    }

    // n = 3, c = 2, p = 2/3: 1 - (1/3)^2 = 8/9, (2/3)^2 = 4/9; of 4 at worst 2/4, at best 3/4.
    const trials = agentic.summary().conversations_as_trials;
    expect(trials).toMatchObject({ trial: 'conversation', k: 2, statistical_mode: 'frequentist' });
    expect(trials).toMatchObject({ n: 3, c: 2, outstanding: 1, assessment: 'not_enough_evidence' });
    expect(trials.pass_at_k).toBeCloseTo(8 / 9, 12);
    expect(trials.pass_pow_k).toBeCloseTo(4 / 9, 12);
    expect(trials.pass_at_k_bounds).toEqual([0.75, 0.9375]);
    expect(trials.pass_pow_k_bounds).toEqual([0.25, 0.5625]);
    expect(agentic.conversationsAsTrials(1).pass_at_k).toBeCloseTo(2 / 3, 12);
  });

  test('names its assistant when it is one', async () => {
    const agentic = createAgentic({ k: 1 });

    await agentic.evaluate({ session_id: 's1', assistant_id: 'a', conversation: [right] });
    expect(agentic.summary().assistant_id).toBe('a');

    await agentic.evaluate({ session_id: 's1', assistant_id: 'b', conversation: [right] });
    expect(agentic.summary().assistant_id).toBeNull();
  });

  test('is empty without an error', () => {
    const { conversations, conversations_as_trials } = createAgentic({ k: 3 }).summary();

    expect(conversations.total).toBe(0);
    expect(conversations_as_trials).toMatchObject({ n: 0, pass_at_k: null, pass_at_k_bounds: null });
  });
});

describe('a statistical mode of the user', () => {
  test('makes the figures of conversations and of the whole', async () => {
    const asked: unknown[] = [];
    const mode: StatisticalMode = {
      name: 'cautious',
      figures(...counts) {
        asked.push(counts);
        const half = { mean: 0.5, low: 0.25, high: 0.75 };
        return { pass_at_k: half, pass_pow_k: half };
      },
    };

    const { metric, summary } = await evaluate([right, wrong], { statisticalMode: mode });

    expect(asked).toEqual([
      [2, 1, 3],
      [1, 0, 3],
    ]);
    expect(metric).toMatchObject({ pass_at_k: 0.5, pass_at_k_ci_low: 0.25, pass_pow_k_ci_high: 0.75 });
    expect(summary.conversations_as_trials).toMatchObject({ statistical_mode: 'cautious', pass_pow_k: 0.5 });
  });
});

describe('options', () => {
  test('are refused with every fault at once', () => {
    const toolWeights = { selection: 1, parameters: -1, sequence: 0, utilization: 0 };

    expect(() => createAgentic({ k: 0, threshold: 2, toolThreshold: NaN, toolWeights })).toThrow(
      'k must be a whole number >= 1, got 0; threshold must be 0..1, got 2; toolThreshold must be 0..1, got NaN; ' +
        'tool weights.parameters must be a number >= 0, got -1',
    );
  });
});

describe('faults', () => {
  const faultsOf = async (...datasets: readonly unknown[]) => {
    const faults: DatasetFault[] = [];
    const agentic = createAgentic({ k: 3, onFaults: (found) => faults.push(...found) });
    const items = datasets.map((value, i): DatasetItem => ({ place: `d.json [${i}]`, dataset: value as Json }));
    const sessions: string[] = [];
    for await (const metric of agentic.run(items)) sessions.push(metric.session_id);
    return { faults, sessions, leftOut: agentic.summary().conversations.left_out };
  };

  test('leave out the whole conversation, are all named, and the others go on', async () => {
    const misspelt = { ...right, ground_truth_agentic: { expected_tool: [] } };

    const { faults, sessions, leftOut } = await faultsOf(
      { session_id: 'bad', conversation: [right, misspelt, { ...right, query: 5 }] },
      dataset('good', right),
    );

    expect(sessions).toEqual(['good']);
    expect(leftOut).toBe(1);
    expect(faults).toEqual([
      { place: 'd.json [0].conversation[1].ground_truth_agentic.expected_tool', problem: 'unknown key' },
      { place: 'd.json [0].conversation[2].query', problem: 'expected string, received number' },
    ]);
  });

  test('a session that comes twice is named with both places and counts once', async () => {
    const { faults, sessions } = await faultsOf(dataset('s', right), dataset('t', right), dataset('s', wrong));

    expect(sessions).toEqual(['s', 't']);
    expect(faults).toEqual([
      { place: 'd.json [2]', problem: 'session_id was given before, at d.json [0]; a conversation counts once' },
    ]);
  });

  test('a dataset without an id, one that is none, unknown fields', async () => {
    const { faults, sessions } = await faultsOf({ conversation: [right] }, 5, {
      ...dataset('s', { ...right, weight: 1 }),
      reviewer: 'me',
    });

    expect(sessions).toEqual(['s']);
    expect(faults).toEqual([
      { place: 'd.json [0].session_id', problem: 'expected string: the metric is reported under it' },
      { place: 'd.json [1]', problem: 'expected object, received number' },
    ]);
  });

  test('throw where nobody listens', async () => {
    const agentic = createAgentic({ k: 3 });

    await expect(agentic.evaluate({ session_id: '', conversation: [] }, 'here')).rejects.toThrow(DatasetError);
    await expect(agentic.evaluate({ session_id: '', conversation: [] }, 'here')).rejects.toThrow('here session_id: ');
  });
});

describe('a stream', () => {
  test('of 100 000 conversations is held one conversation at a time', async () => {
    const size = 100_000;
    let made = 0;
    let seen = 0;
    let mostAhead = 0;
    function* conversations(): Generator<DatasetItem> {
      for (; made < size; made += 1) {
        mostAhead = Math.max(mostAhead, made - seen);
        yield { place: `${made}`, dataset: dataset(`s${made}`, made % 10 === 0 ? wrong : right) as unknown as Json };
      }
    }
    const agentic = createAgentic({ k: 3, statisticalMode: new FrequentistMode() });
    const sizeBefore = JSON.stringify(agentic.summary()).length;

    for await (const _metric of agentic.run(conversations())) seen += 1;

    expect(seen).toBe(size);
    expect(mostAhead).toBeLessThanOrEqual(1);
    const summary = agentic.summary();
    expect(summary.conversations_as_trials).toMatchObject({ n: size, c: 90_000, pass_at_k: 1 - 0.1 ** 3 });
    // What is kept are counts: their text grows by digits, not with the data.
    expect(JSON.stringify(summary).length - sizeBefore).toBeLessThan(400);
  });
});
