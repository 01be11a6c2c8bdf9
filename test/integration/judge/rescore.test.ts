import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../support/cli.js';
import { judgeAt, judgedWorker } from '../../support/judged-worker.js';
import { answerTo, startOpenAiServer, type Script } from '../../support/openai-server.js';
import { temporaryDir } from '../../support/store.js';
import { agent, request, tool } from '../../support/turn-traffic.js';

async function standIn(script: Script) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** A store with so many conversations that no judge has answered for, and `rescore` on it with one that answers. */
async function afterOutage(conversations: number) {
  const dataDir = temporaryDir();
  const away = await standIn(() => ({ kind: 'status', status: 503 }));
  const running = await judgedWorker(dataDir, await judgeAt(away, { attempts: 1, breakerFailures: 1_000 }));
  for (let i = 1; i <= conversations; i += 1) await running.post(request(agent(i), tool(i, 10 + i)));
  await running.worker.whenIdle();
  await running.worker.stop();
  const server = await standIn((given) => answerTo(given));
  const set = (key: string, value: string | number) => ['--set', `${key}=${value}`];
  const always = [...set('dataDir', dataDir), ...set('judge.model', 'judge-1'), ...set('judge.baseUrl', server.url)];
  const range = ['--since', '2020-01-01', '--until', '2099-01-01'];
  const rescore = async (...more: string[]) =>
    (await runCli(['rescore', ...range, ...always, ...more], { nowMs: () => Date.now(), isAlive: () => true })).stdout;
  return { rescore, set };
}

test('a page of interactions never asks more of the judge than it takes at once', async () => {
  const { rescore, set } = await afterOutage(6);
  const narrow = [...set('judge.concurrency', 1), ...set('judge.maxWaiting', 1)];

  await rescore('--policy', ...narrow);

  expect(await rescore(...narrow)).toContain('0 interactions graded again');
});

test('what was judged is not left out by a rescoring under the same policy', async () => {
  const { rescore, set } = await afterOutage(2);
  expect(await rescore('--policy')).toContain('2 verdicts changed');

  const sampled = await rescore('--policy', ...set('judge.sampling.rate', 0));
  expect(sampled).toContain('2 interactions graded again: 0 verdicts changed, 2 as before');
});
