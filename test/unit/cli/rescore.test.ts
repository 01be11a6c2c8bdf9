import { expect, test } from 'vitest';
import { runCli } from '../../support/cli.js';

test.each(['2026-11-30T09:00:00', '2026-11-30 09:00:00Z', 'yesterday', '2026-13-01'])(
  'takes no time but with its offset, whatever the zone of this machine: %s',
  async (time) => {
    const { status, stderr } = await runCli(['rescore', '--policy', '--since', time]);

    expect(status).toBe(2);
    expect(stderr).toContain(`--since ${time}: a time as 2026-11-30T09:00:00Z, or back from now as 36h, expected`);
  },
);
