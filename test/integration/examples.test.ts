import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

async function output(...args: readonly string[]): Promise<string> {
  return (await run(process.execPath, args)).stdout;
}

test('the example of the batch metric runs against the package and prints what the docs say', async () => {
  // Beta(3, 1): 1 - 1*2*3 / (4*5*6) = 0.95 and 3*4*5 / (4*5*6) = 0.5; Beta(2, 1): 0.9 and 0.4; Beta(8, 4): 86/91, 30/91.
  expect(await output('docs/examples/batch-metric.mjs')).toBe(
    `conversation_001: 2 of 2 turns correct
  tools: ✓ Tool selection: correct; ✓ Parameters: correct; ✓ Sequence: not required; ✓ Utilization: tools used in answer
  pass@3 of its turns: 0.950 [0.646, 1.000]
  pass^3 of its turns: 0.500 [0.025, 0.975]
  pass@3 of conversations: 0.900 [0.403, 1.000]
  pass^3 of conversations: 0.400 [0.004, 0.963]
7 of 10, frequentist: pass@3 0.973, pass^3 0.343
7 of 10, bayesian: pass@3 0.945 [0.773, 0.999], pass^3 0.330 [0.059, 0.707]
cautious: pass@3 0.748
`,
  );
});

test('the example of argument correctness runs against the package and prints what the docs say', async () => {
  expect(await output('docs/examples/argument-correctness.mjs')).toBe(
    `0.6667 (refund: /amount must be number)
no_tool_calls (no tool calls)
1 (as DeepEval)
`,
  );
});

test('the tables of docs/gaussia.md are what the package computes', async () => {
  await expect(output('scripts/gaussia-page.mjs', '--check')).resolves.toBe('');
});

test('the trace of the README is graded as one correct turn', async () => {
  const [line, ...rest] = (
    await output('dist/main.js', 'score', 'docs/examples/trace.json', '--format', 'jsonl')
  ).split('\n');

  expect(JSON.parse(line as string)).toMatchObject({ assistant_id: 'order-desk', verdict: 'correct' });
  expect(rest).toEqual(['']);
});
