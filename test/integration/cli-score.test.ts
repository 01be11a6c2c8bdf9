import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../support/cli.js';

let folder: string;
let traces: string;

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const message = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }], finish_reason: 'stop' }]);

/** One turn: what was asked, and what the agent said. */
const turn = (trace: number, query: string, answer: string) => ({
  traceId: trace.toString(16).padStart(32, '0'),
  spanId: '1'.padStart(16, '0'),
  name: 'invoke_agent',
  startTimeUnixNano: `${1_796_020_000_000 + trace}000000`,
  endTimeUnixNano: `${1_796_020_001_000 + trace}000000`,
  attributes: [
    text('gen_ai.operation.name', 'invoke_agent'),
    text('gen_ai.agent.name', 'counter'),
    text('gen_ai.conversation.id', `c${trace}`),
    text('gen_ai.input.messages', message('user', query)),
    text('gen_ai.output.messages', message('assistant', answer)),
  ],
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tracegrade-score-'));
  traces = join(folder, 'traces.json');
  const spans = [turn(1, 'How many?', 'There are 6.'), turn(2, 'How far?', 'It is 3.')];
  await writeFile(traces, JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function dataset(...turns: readonly (readonly [query: string, answer: string])[]): Promise<string> {
  const path = join(folder, 'truth.json');
  const conversation = turns.map(([query, answer], i) => ({ qa_id: `q${i}`, query, ground_truth_assistant: answer }));
  await writeFile(path, JSON.stringify({ session_id: 's', conversation }));
  return path;
}

test('a turn that no interaction fits, and an interaction that fits several, are named on standard error', async () => {
  const path = await dataset(['How many?', '6'], ['How far?', '3'], ['How far?', '4'], ['How often?', '2']);

  const { status, stderr } = await runCli(['score', traces, '--dataset', path]);

  expect(status).toBe(0);
  expect(stderr.split('\n')).toEqual([
    'note: 1 of 4 turns of the datasets matched an interaction',
    `note: no interaction fits ${path} conversation[3] (session_id s, qa_id q3)`,
    `note: interaction ${'2'.padStart(32, '0')}-${'1'.padStart(16, '0')} fits 2 turns of the datasets by query, none was ` +
      `guessed: ${path} conversation[1] (session_id s, qa_id q1), ${path} conversation[2] (session_id s, qa_id q2)`,
    '',
  ]);
});

test('the same is in the JSON', async () => {
  const path = await dataset(['How many?', '6'], ['How often?', '2']);

  const { stdout } = await runCli(['score', traces, '--dataset', path, '--format', 'json']);

  expect((JSON.parse(stdout) as { datasets: unknown }).datasets).toEqual({
    turns: 2,
    matched: 1,
    unmatched: [{ place: `${path} conversation[1]`, session_id: 's', qa_id: 'q1' }],
    ambiguous: [],
  });
  const without = await runCli(['score', traces, '--format', 'json']);
  expect(JSON.parse(without.stdout)).not.toHaveProperty('datasets');
});

test('a directory stands for the dataset files in it', async () => {
  const directory = join(folder, 'truth');
  await mkdir(directory);
  const path = await dataset(['How many?', '7'], ['How far?', '3']);
  await rename(path, join(directory, 'truth.json'));

  const { stdout } = await runCli(['score', traces, '--dataset', directory, '--format', 'jsonl']);

  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly verdict: string });
  expect(rows.map(({ verdict }) => verdict)).toEqual(['incorrect', 'correct']);
});
