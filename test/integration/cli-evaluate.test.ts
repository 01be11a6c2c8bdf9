import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgenticMetric, AgenticSummary } from '../../src/batch/agentic-metric.js';
import { runCli } from '../support/cli.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tracegrade-evaluate-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

const right = { qa_id: 'q1', query: '5 + 3?', assistant: 'The result is 8.', ground_truth_assistant: '8' };
const wrong = { ...right, qa_id: 'q2', assistant: '9' };
const freeText = { ...right, qa_id: 'q3', ground_truth_assistant: 'It is eight, of course.' };
const withTool = {
  ...right,
  agentic: { tools_used: [{ tool_name: 'calc', parameters: { a: 5, b: 3 } }] },
  ground_truth_agentic: { expected_tools: [{ tool_name: 'calc', parameters: { a: 5, b: 4 } }] },
};
const OPTIONAL = { tool_name: 'round', optional: true };
const dataset = (session_id: string, ...conversation: readonly object[]) => ({
  session_id,
  assistant_id: 'agent',
  conversation,
});

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  const lines = Array.isArray(content) ? content.map((item) => JSON.stringify(item)).join('\n') : '';
  await writeFile(path, typeof content === 'string' ? content : name.endsWith('l') ? lines : JSON.stringify(content));
  return path;
}

const run = (path: string, ...args: readonly string[]) => runCli(['evaluate', path, '--k', '3', ...args]);

describe('formats', () => {
  test('jsonl prints a metric a line', async () => {
    const path = await file('two.jsonl', [dataset('s1', right, wrong), dataset('s2', right)]);

    const { status, stdout } = await run(path, '--format', 'jsonl', '--mode', 'frequentist');

    const metrics = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AgenticMetric);
    expect(status).toBe(0);
    expect(metrics.map(({ session_id, is_fully_correct }) => [session_id, is_fully_correct])).toEqual([
      ['s1', false],
      ['s2', true],
    ]);
    // p = 1/2: 1 - (1/2)^3 and (1/2)^3
    expect(metrics[0]).toMatchObject({ k: 3, pass_at_k: 0.875, pass_pow_k: 0.125, pass_at_k_ci_low: null });
  });

  test('json is one object, also of no conversation', async () => {
    const path = await file('two.json', [dataset('s1', right, wrong), dataset('s2', right)]);

    const { stdout } = await run(path, '--format', 'json');
    const none = await run(await file('none.json', []), '--format', 'json');

    const { conversations, summary } = JSON.parse(stdout) as { conversations: unknown[]; summary: AgenticSummary };
    expect(conversations).toHaveLength(2);
    // Beta(2, 2): 1 - 2*3*4 / (4*5*6) = 0.8, 2*3*4 / (4*5*6) = 0.2
    expect(summary.conversations_as_trials).toMatchObject({ trial: 'conversation', n: 2, c: 1 });
    expect(summary.conversations_as_trials.pass_at_k).toBeCloseTo(0.8, 12);
    expect(summary.conversations_as_trials.pass_pow_k).toBeCloseTo(0.2, 12);
    expect(JSON.parse(none.stdout)).toMatchObject({ conversations: [] });
  });

  test('the table shows conversations and what the whole says, and notes what nobody could decide', async () => {
    const path = await file('table.json', [dataset('s1', right, wrong), dataset('s2', freeText)]);

    const { status, stdout, stderr } = await run(path);

    expect(status).toBe(0);
    expect(stdout).toMatch(/^s1 .*INCORRECT.*the expected number is not the answer *$/m);
    expect(stdout).toMatch(/^s2 .*unscored/m);
    expect(stdout).toContain('conversations  2: 0 fully correct, 1 incorrect, 1 unscored');
    expect(stdout).toContain('a conversation as the trial (bayesian, 0 of 1 correct, 1 outstanding)');
    expect(stderr).toBe(
      'note: 1 of 3 answers is free text, which only a judge can compare: unscored, and so is what follows from it\n',
    );
  });

  test('the table of many shows those that are not correct', async () => {
    const many = Array.from({ length: 250 }, (_, i) => dataset(`s${i}`, i % 100 === 0 ? wrong : right));

    const { stdout } = await run(await file('many.jsonl', many));

    expect(stdout.match(/INCORRECT/g)).toHaveLength(3);
    expect(stdout).not.toMatch(/^s1 /m);
    expect(stdout).toContain('3 of 3 conversations that are not correct, of 250.');
  });

  test('junit goes to a file, with the summary on stderr', async () => {
    const path = await file('junit.json', dataset('s1', right, wrong));
    const output = join(folder, 'report.xml');

    const { status, stdout, stderr } = await run(path, '--format', 'junit', '--output', output, '--fail-under', '0.9');

    const xml = await readFile(output, 'utf8');
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(xml).toContain('<testsuite name="agent s1" tests="2" failures="1" errors="0" skipped="0">');
    expect(xml).toContain('<testcase classname="gates" name="correct &gt;= 0.9">');
    expect(xml.endsWith('</testsuites>\n')).toBe(true);
    expect(stderr).toContain('conversations  1: 0 fully correct, 1 incorrect, 0 unscored');
    expect(stderr).toContain('gate missed: the share of correct interactions is 0.5000, below 0.9\n');
  });

  test('a report that cannot be written is named', async () => {
    const path = await file('ok.json', dataset('s1', right));

    const { status, stderr } = await run(path, '--output', join(folder, 'no', 'such', 'folder'));

    expect(status).toBe(2);
    expect(stderr).toContain('cannot write ');
    expect(stderr).toContain(': ENOENT');
  });
});

describe('settings', () => {
  test('weights and thresholds decide', async () => {
    const path = await file('tool.json', dataset('s1', withTool));
    const weights = 'selection=1,parameters=1,sequence=0,utilization=0';
    const score = async (...args: readonly string[]) => {
      const { stdout } = await run(path, '--format', 'jsonl', ...args);
      return JSON.parse(stdout) as AgenticMetric;
    };

    // selection 1, parameters 1/2
    expect((await score('--tool-weights', weights)).tool_correctness_scores[0]).toMatchObject({
      overall_correctness: 0.75,
      is_correct: false,
    });
    const lenient = await score('--tool-weights', weights, '--tool-threshold', '0.75', '--threshold', '1');
    expect(lenient).toMatchObject({ is_fully_correct: true, threshold: 1 });
  });

  test('compat gaussia lets the answer alone decide', async () => {
    const path = await file('compat.json', dataset('s1', withTool));

    const { stdout } = await run(path, '--format', 'jsonl', '--compat', 'gaussia');

    const metric = JSON.parse(stdout) as AgenticMetric;
    expect(metric).toMatchObject({ is_fully_correct: true, pass_at_k: 1, pass_at_k_ci_low: null });
    // No utilization stated is 0; no steps on either side are equal steps: (1 + 1/2 + 1 + 0) / 4
    expect(metric.tool_correctness_scores[0]?.overall_correctness).toBe(0.625);
  });

  test('the level of the interval is that of --ci-level', async () => {
    const path = await file('level.json', dataset('s1', right));

    const { stdout } = await run(path, '--format', 'jsonl', '--ci-level', '0.5');

    // Beta(2, 1) has the distribution x^2.
    expect((JSON.parse(stdout) as AgenticMetric).pass_pow_k_ci_low).toBeCloseTo(Math.sqrt(0.25) ** 3, 9);
  });

  test.each([
    // One of one correct: the posterior is Beta(a + 1, b), whose mean is (a + 1) / (a + 1 + b).
    ['uniform', 2 / 3],
    ['1,1', 2 / 3],
    ['Jeffreys', 0.75],
    [' 3 , 1 ', 0.8],
    ['0.5,2.5', 0.375],
  ])('--prior %s', async (prior, mean) => {
    const path = await file('prior.json', dataset('s1', right));

    const { stdout } = await run(path, '--k', '1', '--format', 'json', '--prior', prior);

    const { conversations, summary } = JSON.parse(stdout) as {
      readonly conversations: readonly AgenticMetric[];
      readonly summary: AgenticSummary;
    };
    expect(conversations[0]?.pass_pow_k).toBeCloseTo(mean, 12);
    expect(summary.conversations_as_trials.pass_pow_k).toBeCloseTo(mean, 12);
  });

  test('an optional call that was not made is no fault', async () => {
    const truth = { expected_tools: [{ tool_name: 'calc', parameters: { a: 5, b: 3 } }, OPTIONAL] };
    const path = await file('optional.json', dataset('s1', { ...withTool, ground_truth_agentic: truth }));

    const { stdout } = await run(path, '--format', 'jsonl');

    const metric = JSON.parse(stdout) as AgenticMetric;
    expect(metric.is_fully_correct).toBe(true);
    expect(metric.tool_correctness_scores[0]).toMatchObject({ is_correct: true, missing: [], extra: [] });
  });

  test.each([
    [['--k', '0'], 'k must be a whole number >= 1, got 0'],
    [['--k', 'three'], '--k: a number expected, got "three"'],
    [['--threshold', '2'], 'threshold must be 0..1, got 2'],
    [['--tool-weights', 'selection=1'], 'tool weights.parameters must be a number >= 0, got undefined'],
    [['--tool-weights', 'selection'], '--tool-weights: part=number expected, got "selection"'],
    [['--ci-level', '1'], '--ci-level must be > 0 and < 1, got 1'],
    [['--mode', 'frequentist', '--ci-level', '0.9'], '--ci-level needs --mode bayesian'],
    [['--prior', '1'], '--prior must be a,b with two numbers > 0 and <= 1e9, uniform or jeffreys, got "1"'],
    [['--prior', '1,0'], 'with two numbers > 0'],
    [['--prior', '1,,1'], 'with two numbers > 0'],
    [['--prior', 'Infinity,1'], 'with two numbers > 0'],
    [['--prior', '1e308,1e308'], 'with two numbers > 0 and <= 1e9'],
    [['--prior', 'constructor'], 'uniform or jeffreys'],
    [['--mode', 'frequentist', '--prior', '1,1'], '--prior needs --mode bayesian'],
    [['--compat', 'gaussia', '--prior', '1,1'], '--prior needs --mode bayesian'],
    [['--fail-under', 'arguments=1'], 'needs a judge, and none is configured'],
    [['--format', 'xml'], 'Allowed choices are table, json, jsonl, junit'],
  ])('%j is wrong use', async (args, message) => {
    const { status, stderr } = await run(await file('ok.json', dataset('s1', right)), ...args);

    expect(stderr).toContain(message);
    expect(status).toBe(2);
  });

  test('--k is required', async () => {
    const { status, stderr } = await runCli(['evaluate', await file('ok.json', dataset('s1', right))]);

    expect(status).toBe(2);
    expect(stderr).toContain("required option '--k <number>' not specified");
  });
});

describe('gates', () => {
  test.each([
    ['0.5', 0],
    ['0.51', 1],
    ['answer=0.5', 0],
    ['tools=0.1', 1],
    ['policy=1', 1],
    // Of conversations: Beta(1, 2), E[p] = 1/3
    ['pass@1=0.3', 0],
    ['pass^1=0.4', 1],
  ])('%s gives the status %i', async (gate, expected) => {
    const path = await file('gate.json', dataset('s1', right, wrong));

    const { status } = await run(path, '--fail-under', gate);

    expect(status).toBe(expected);
  });
});

describe('data sets with faults', () => {
  test('are named with their place, the rest is evaluated, and the status is 3', async () => {
    const path = await file(
      'faults.jsonl',
      [
        JSON.stringify(dataset('s1', right)),
        '{"session_id": ',
        JSON.stringify(dataset('s3', { ...right, ground_truth_agentic: { expected: [] } })),
        JSON.stringify(dataset('s4', { ...right, assistant: 5 })),
        JSON.stringify(dataset('s1', right)),
        JSON.stringify({ ...dataset('s6', right), extra_field: 1 }),
      ].join('\n'),
    );

    const { status, stdout, stderr } = await run(path, '--format', 'jsonl');

    expect(status).toBe(3);
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(stderr.replaceAll(path, 'FILE').split('\n').slice(0, 4)).toEqual([
      'tracegrade: FILE:2: not JSON (cut off?)',
      'tracegrade: FILE:3 conversation[0].ground_truth_agentic.expected: unknown key',
      'tracegrade: FILE:4 conversation[0].assistant: expected string, received number',
      'tracegrade: FILE:5: session_id was given before, at FILE:1; a conversation counts once',
    ]);
    expect(stderr).toContain('note: 4 conversations were left out for the faults above');
  });

  test.each([
    ['empty.jsonl', '', 'holds no conversation'],
    ['empty-list.json', '[]', 'holds no conversation'],
    ['empty.json', '', 'not JSON (cut off?)'],
  ])('%s is named', async (name, content, problem) => {
    const path = await file(name, content);

    const { status, stderr } = await run(path);

    expect(stderr).toContain(`tracegrade: ${path}: ${problem}\n`);
    expect(status).toBe(3);
  });

  test('a file that is not there is named', async () => {
    const { status, stderr } = await run(join(folder, 'nowhere.json'));

    expect(status).toBe(3);
    expect(stderr).toContain('nowhere.json: cannot be read: ENOENT');
  });

  test('a conversation without turns is unscored, one of one turn is scored', async () => {
    const path = await file('small.jsonl', [dataset('s1'), dataset('s2', right)]);

    const { status, stdout } = await run(path, '--format', 'jsonl');

    const metrics = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AgenticMetric);
    expect(status).toBe(0);
    expect(metrics.map((metric) => [metric.is_fully_correct, metric.pass_at_k])).toEqual([
      [null, null],
      [true, 0.9],
    ]);
  });

  test('of many faults the first hundred are told', async () => {
    const lines = Array.from({ length: 150 }, () => '{').join('\n');

    const { stderr } = await run(await file('all-wrong.jsonl', lines));

    expect(stderr.match(/not JSON/g)).toHaveLength(100);
    expect(stderr).toContain('... and 50 more faults');
  });
});

test('says on a terminal how far long work is', async () => {
  let now = 0;
  let shown = '';
  const stderr = { write: (text: string) => (shown += text), isTTY: true, columns: 80 };
  const many = Array.from({ length: 20 }, (_, i) => dataset(`s${i}`, right));
  const path = await file('progress.jsonl', many);

  await runCli(['evaluate', path, '--k', '1', '--format', 'jsonl'], { stderr, nowMs: () => (now += 100) });

  expect(shown).toContain('conversations, ');
});

test('stops when it is interrupted', async () => {
  const path = await file('stopped.jsonl', [dataset('s1', right)]);

  const { status, stderr } = await runCli(['evaluate', path, '--k', '1'], { stop: AbortSignal.abort() });

  expect(status).toBe(2);
  expect(stderr).toBe('tracegrade: interrupted\n');
});
