import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatasets } from '../../src/watched-datasets.js';
import { temporaryDir } from '../support/store.js';
import { telemetryProbe } from '../support/telemetry.js';
import { runningWorker } from '../support/worker.js';

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const message = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }], finish_reason: 'stop' }]);

const turn = (trace: number) =>
  JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [
              {
                traceId: trace.toString(16).padStart(32, '0'),
                spanId: '1'.padStart(16, '0'),
                name: 'invoke_agent',
                startTimeUnixNano: `${1_796_020_000_000 + trace}000000`,
                endTimeUnixNano: `${1_796_020_001_000 + trace}000000`,
                attributes: [
                  text('gen_ai.operation.name', 'invoke_agent'),
                  text('gen_ai.agent.name', 'counter'),
                  text('gen_ai.input.messages', message('user', 'How many?')),
                  text('gen_ai.output.messages', message('assistant', 'There are 6.')),
                ],
              },
            ],
          },
        ],
      },
    ],
  });

const truth = (...answers: readonly string[]) =>
  JSON.stringify({
    session_id: 's',
    conversation: answers.map((answer, i) => ({
      qa_id: `q${i}`,
      query: 'How many?',
      ground_truth_assistant: answer,
    })),
  });

test('a running worker grades by the edited file, and what it cannot use is in the rejections', async () => {
  const dataDir = temporaryDir();
  const path = join(dataDir, 'truth.json');
  await writeFile(path, truth('5'));
  const opened = await openDatasets([path], telemetryProbe().events);
  if (opened.status !== 'opened') throw new Error('datasets without faults expected');
  const { datasets } = opened;
  const running = await runningWorker(
    join(dataDir, 'worker'),
    {},
    {
      expectations: datasets,
      // The test polls itself.
      watchExpectations: (reject) => datasets.watch(2 ** 30, reject),
    },
  );
  const edit = async (content: string) => {
    await writeFile(path, content);
    await datasets.poll();
    await datasets.poll();
  };
  const grade = async (trace: number) => {
    await running.post(turn(trace));
    await running.worker.whenIdle();
  };

  await grade(1);
  await edit(truth('6.00'));
  await grade(2);
  await edit('{"session_id": ');
  await grade(3);
  await edit(truth('6.00', '7.000'));
  await grade(4);

  const verdicts = await running.worker.store.rows(
    'SELECT verdict, policy FROM {db}.verdicts_current ORDER BY trace_id',
  );
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(['incorrect', 'correct', 'correct', 'unscored']);
  expect(new Set(verdicts.map(({ policy }) => policy)).size).toBe(1);
  const rejections = () =>
    running.worker.store.rows('SELECT source, reason, detail FROM {db}.rejections ORDER BY at, detail');
  await expect.poll(async () => (await rejections()).length, { timeout: 30_000 }).toBe(2);
  const name = (i: number) => `${path} conversation[${i}] (session_id s, qa_id q${i})`;
  const interactionId = `${'4'.padStart(32, '0')}-${'1'.padStart(16, '0')}`;
  expect(await rejections()).toEqual([
    {
      source: 'datasets',
      reason: 'invalid_expectation',
      detail: expect.stringContaining(`${path}: not JSON`) as string,
    },
    {
      source: 'datasets',
      reason: 'invalid_expectation',
      detail: `interaction ${interactionId}: one turn of the datasets expected by query, got 2: ${name(0)}, ${name(1)}`,
    },
  ]);
  await running.worker.stop();
});

test('a worker that stops ends the watch', async () => {
  let ended = 0;
  const running = await runningWorker(temporaryDir(), {}, { watchExpectations: () => () => (ended += 1) });
  expect(ended).toBe(0);

  await running.worker.stop();

  expect(ended).toBe(1);
});
