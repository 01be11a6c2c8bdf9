import { expect, test } from 'vitest';
import { runCli } from '../../support/cli.js';

test.each([
  [['--from', 'yesterday'], 'a time such as 2026-11-30T09:00:00Z expected.'],
  [['--from', '2026-11-31'], 'a time such as 2026-11-30T09:00:00Z expected.'],
  [['--from', '2026-11-30', '--to', '2026-11-30T00:00:00Z'], '--from: a time before --to expected'],
  [['--set', 'estimate.windows=[1w]'], 'estimate.windows[0]: a time such as 30m, 24h or 7d'],
])('rollup %j is wrong use: %s', async (args, message) => {
  const { status, stderr } = await runCli(['rollup', ...args]);

  expect({ status, said: stderr.includes(message) ? message : stderr }).toEqual({ status: 2, said: message });
});
