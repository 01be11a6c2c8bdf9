import { readFileSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../support/cli.js';
import { answerTo, askedIn, startOpenAiServer, type ChatRequest, type Script } from '../../support/openai-server.js';
import { temporaryDir } from '../../support/store.js';
import { agent, request, tool } from '../../support/turn-traffic.js';

async function standIn(script: Script) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  const judge = ['--set', 'judge.model=judge-1', '--set', `judge.baseUrl=${server.url}`, '--set', 'judge.attempts=1'];
  return { server, judge };
}

/** Earlier turns stand in the same request. */
const answerIn = ({ text }: ChatRequest) => text.slice(text.lastIndexOf('begin: final answer'));

function written(name: string, content: string): string {
  const path = `${temporaryDir()}/${name}`;
  writeFileSync(path, content);
  return path;
}

const turn = (answer: string, expected: string, more: object = {}) => ({
  qa_id: answer,
  query: `About ${answer}?`,
  assistant: answer,
  ground_truth_assistant: expected,
  ...more,
});
const dataset = (conversation: readonly object[], id = 's1') =>
  JSON.stringify({ session_id: id, assistant_id: 'a', context: '', conversation });

test('score waits for the judge and says what it cost', async () => {
  const { server, judge } = await standIn((given) =>
    answerTo(given, { verdict: () => (given.text.includes('"at":3') ? 'incorrect' : 'correct') }),
  );
  const path = written('trace.json', request(agent(1), tool(1, 2), agent(2), tool(2, 3)));

  const { status, stdout, stderr } = await runCli(['score', path, '--format', 'jsonl', ...judge], {
    nowMs: () => Date.now(),
  });

  expect(status).toBe(0);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { verdict: string; scores: { criterion: string; decided_by: string }[] });
  expect(rows.map(({ verdict }) => verdict)).toEqual(['correct', 'incorrect']);
  expect(rows[0]?.scores.find(({ criterion }) => criterion === 'arguments')?.decided_by).toBe('judge');
  expect(server.requests).toHaveLength(2);
  expect(stderr).toMatch(
    /the judge was asked 2 questions: 0 known already, 2 requests to the model, \d+ \+ \d+ tokens/,
  );
});

test('score names the key that is missing, before it reads anything', async () => {
  const { status, stderr } = await runCli(['score', 'nowhere', '--set', 'judge.model=gpt-4o-mini'], { env: {} });

  expect(status).toBe(2);
  expect(stderr).toContain('judge.model is set, and the environment has no OPENAI_API_KEY');
});

test('evaluate asks about answers that no rule decides and about arguments, in one question a turn', async () => {
  const { server, judge } = await standIn((given) =>
    answerTo(given, {
      answer: answerIn(given).includes('it drizzles') ? 0.9 : 0.2,
      verdict: (id) => (id === 'call_1' ? 'undecidable' : 'correct'),
    }),
  );
  const calls = {
    agentic: {
      tools_used: [
        { tool_name: 'look', parameters: { city: 'L' } },
        { tool_name: 'look', parameters: { city: 'M' } },
      ],
    },
  };
  const path = written(
    'data.json',
    dataset([turn('it drizzles', 'It rains.', calls), turn('14', '14'), turn('sunny', 'It rains.')]),
  );

  const ours = await runCli(['evaluate', path, '--k', '1', '--format', 'json', ...judge], { nowMs: () => Date.now() });
  const [metric] = (
    JSON.parse(ours.stdout) as { conversations: { interactions: object[]; correctness_scores: number[] }[] }
  ).conversations;

  expect(metric?.correctness_scores).toEqual([0.9, 1, 0.2]);
  expect(metric?.interactions).toMatchObject([
    { verdict: 'correct', decided_by: 'judge', argument_correctness: 1 },
    { verdict: 'correct', decided_by: 'rule', argument_correctness: null },
    { verdict: 'incorrect', decided_by: 'judge', argument_correctness: null },
  ]);
  expect(server.requests.map((each) => askedIn(each).parts)).toEqual([['arguments', 'answer'], ['answer']]);

  const deepEval = await runCli(
    ['evaluate', path, '--k', '1', '--compat', 'deepeval', '--fail-under', 'arguments=1', ...judge],
    { nowMs: () => Date.now() },
  );
  // The undecidable call counts as correct, and no call as 1.
  expect(deepEval.stdout).toContain('arguments      3 scored, mean 1.000');
  expect(deepEval.status).toBe(0);
});

test('evaluate: a judge’s failure leaves the turn unscored with its own reason; under --compat gaussia it is a wrong answer', async () => {
  const { judge } = await standIn((given) =>
    answerIn(given).includes('one fails')
      ? { kind: 'status', status: 500 }
      : answerTo(given, { answer: answerIn(given).includes('one is odd') ? 7 : 0.9 }),
  );
  const path = written(
    'data.json',
    dataset([turn('one fails', 'It rains.'), turn('one is odd', 'It rains.'), turn('fine', 'It rains.')]),
  );
  const run = async (...more: string[]) => {
    const { stdout } = await runCli(['evaluate', path, '--k', '3', '--format', 'json', ...judge, ...more], {
      nowMs: () => Date.now(),
    });
    return (
      JSON.parse(stdout) as {
        conversations: {
          interactions: { abstained: string | null; verdict: string }[];
          correctness_scores: (number | null)[];
          pass_at_k: number | null;
        }[];
      }
    ).conversations[0];
  };

  const ours = await run();
  expect(ours?.interactions.map(({ abstained }) => abstained)).toEqual(['judge_failed', 'judge_rejected', null]);
  expect(ours).toMatchObject({ correctness_scores: [null, null, 0.9], pass_at_k: null });

  const gaussia = await run('--compat', 'gaussia');
  expect(gaussia).toMatchObject({ correctness_scores: [0, 0, 0.9] });
  // 1 - (1 - 1/3)^3
  expect(gaussia?.pass_at_k).toBeCloseTo(1 - (2 / 3) ** 3, 12);
});

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly input: { readonly conversations: readonly (readonly { readonly judge_result: unknown }[])[] };
  readonly options: { readonly threshold: number; readonly mode: string };
  readonly expected?: readonly { readonly correctness_scores: readonly number[]; readonly pass_at_k: number }[];
}

test('evaluate gives the scores that Gaussia recorded for judged answers', async () => {
  const { vectors } = JSON.parse(
    readFileSync(new URL('../../fixtures/vectors/gaussia.json', import.meta.url), 'utf8'),
  ) as { vectors: Vector[] };
  const judged = vectors.filter(({ id }) =>
    ['process-01-mixed', 'process-02-threshold-boundary', 'process-07-judge-none', 'process-08-judge-raises'].includes(
      id,
    ),
  );
  expect(judged).toHaveLength(4);
  for (const vector of judged) {
    const results = vector.input.conversations.flat().map(({ judge_result }) => judge_result);
    const { judge } = await standIn((given) => {
      const result = results[Number(/answer number (\d+)/.exec(answerIn(given))?.[1])];
      return typeof result === 'number'
        ? answerTo(given, { answer: result })
        : result === null
          ? { kind: 'text', text: '' }
          : { kind: 'status', status: 503 };
    });
    let at = 0;
    const lines = vector.input.conversations.map((turns, i) =>
      dataset(
        turns.map(() => turn(`answer number ${at++}`, 'free text')),
        `s${i}`,
      ),
    );
    const path = written('data.jsonl', lines.join('\n'));

    const { stdout } = await runCli(
      ['evaluate', path, '--k', '3', '--compat', 'gaussia', '--format', 'jsonl', ...judge],
      { nowMs: () => Date.now() },
    );

    const metrics = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { correctness_scores: number[]; pass_at_k: number });
    expect(metrics.map(({ correctness_scores }) => correctness_scores)).toEqual(
      vector.expected?.map(({ correctness_scores }) => correctness_scores),
    );
    metrics.forEach(({ pass_at_k }, i) => expect(pass_at_k).toBeCloseTo(vector.expected?.[i]?.pass_at_k as number, 10));
  }
});
