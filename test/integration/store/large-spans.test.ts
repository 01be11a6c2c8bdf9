import { expect, onTestFinished, test } from 'vitest';
import { temporaryDir } from '../../support/store.js';
import { agent, request, textAttribute, tool } from '../../support/turn-traffic.js';
import { expectBalance, runningWorker } from '../../support/worker.js';

const LARGE = 10_000_000;

test('a value of 10 MB, or 20 000 span events, is stored with its turn and harms none of its batch', async () => {
  const running = await runningWorker(temporaryDir());
  onTestFinished(() => running.worker.stop());
  const large = tool(2, 2);
  (large['attributes'] as unknown[]).splice(-1, 1, textAttribute('gen_ai.tool.call.result', 'x'.repeat(LARGE)));
  const events = Array.from({ length: 20_000 }, (_, at) => ({
    name: 'token',
    timeUnixNano: '1796020000000000000',
    attributes: [textAttribute('text', `${at}`.padEnd(200, '.'))],
  }));
  const eventful = { ...tool(3, 2), events };

  const answer = await running.post(
    request(tool(1, 2), agent(1), large, agent(2), eventful, agent(3), tool(4, 2), agent(4)),
  );
  expect(answer.status).toBe(200);
  await running.worker.whenIdle();

  const rows = await running.worker.store.rows(
    `SELECT conversation_id, length(tool_calls.result[1]) AS chars FROM {db}.interactions_current ORDER BY conversation_id`,
  );
  // Results are JSON texts: quoted.
  expect(rows.map((row) => [row['conversation_id'], Number(row['chars'])])).toEqual([
    ['c1', '"seen"'.length],
    ['c2', LARGE + 2],
    ['c3', '"seen"'.length],
    ['c4', '"seen"'.length],
  ]);
  await expectBalance(running);
});
