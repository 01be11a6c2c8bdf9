import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';

import { openStore } from '../../src/store/clickhouse.js';
import { drawn, expectTimeSeries, openBoard, show } from '../support/grafana-board.js';
import { ENGINE_DEPS } from '../support/store.js';

const run = promisify(execFile);

let end: (() => void) | undefined;

afterEach(() => end?.());

/** `tracegrade demo --stay ARGS` as a process of its own, once it has said what can be done with it. */
async function stayingDemo(...args: readonly string[]) {
  const child = spawn(process.execPath, ['dist/main.js', 'demo', '--stay', '--conversations', '1', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  end = () => child.kill('SIGKILL');
  const exited = once(child, 'exit').then(([code, signal]) => ({ code: code as number, signal: signal as string }));
  let said = '';
  child.stdout.setEncoding('utf8');
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    said += chunk as string;
    if (/OTEL_EXPORTER_OTLP_ENDPOINT=\S+\n/.test(said)) break;
  }
  child.stdout.resume();
  const line = (pattern: RegExp) => pattern.exec(said)?.[1] ?? '';
  return {
    said,
    url: line(/OTEL_EXPORTER_OTLP_ENDPOINT=(\S+)/),
    query: line(/^ {2}(.* query .*)$/m),
    curl: line(/^ {2}(curl .*)$/m),
    dataDir: line(/dataDir=(\S+)/),
    async stop(signal: 'SIGINT' | 'SIGTERM') {
      child.kill(signal);
      return await exited;
    },
  };
}

test('a demo says which of its agents became worse, and that an alert is open', async () => {
  const { stdout } = await run(process.execPath, ['dist/main.js', 'demo']);

  // 42 of 48 kinds of conversation go well before the drop, 27 of 48 after it, and the alert opens behind two thirds of 450.
  expect(stdout).toMatch(/^order-desk 2\.0\.1 has become worse about .*; an alert is open \(page\)\.$/m);
  expect(stdout).toMatch(/^ {2}before {2}263 of 301 right \(87\.4 %\)/m);
  expect(stdout.match(/has become worse/g)).toHaveLength(1);
});

test('demo --stay answers the commands that it prints, goes on by itself, and leaves nothing behind', async () => {
  const demo = await stayingDemo();
  const interactions = async (): Promise<number> => {
    const { stdout } = await run('sh', ['-c', demo.query], { cwd: tmpdir() });
    const rows = stdout.trim().split('\n');
    return rows.map((row) => Number((JSON.parse(row) as Record<string, unknown>)['count()'])).reduce((a, b) => a + b);
  };

  // One conversation each: two of one turn, one of two.
  expect(demo.said).toContain('4 interactions were received over OTLP, graded and stored');
  expect(await interactions()).toBeGreaterThanOrEqual(4);
  expect((await run('sh', ['-c', `${demo.curl} -sS`])).stdout).toContain('tracegrade_');
  await expect.poll(interactions, { timeout: 60_000 }).toBeGreaterThan(4);

  expect(await demo.stop('SIGINT')).toEqual({ code: 0, signal: null });
  expect(existsSync(demo.dataDir)).toBe(false);
});

test('demo --stay --keep leaves its data where they can be asked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tracegrade kept-'));
  try {
    const demo = await stayingDemo('--keep', folder);

    expect(await demo.stop('SIGTERM')).toEqual({ code: 0, signal: null });
    expect((await run('sh', ['-c', demo.query], { cwd: tmpdir() })).stdout).toContain('"assistant_id":"order-desk"');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('boards have something to show of what demo --keep leaves behind, in every panel but those of a trace or an alert', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tracegrade-kept-'));
  try {
    await run(process.execPath, ['dist/main.js', 'demo', '--conversations', '70', '--keep', folder]);
    const store = await openStore({ url: 'embedded', database: 'tracegrade', dataDir: folder }, ENGINE_DEPS);
    try {
      const toMs = Date.now();
      const context = { fromMs: toMs - 86_400_000, toMs, intervalMs: 1_000 };
      const chosen = await openBoard(store, context);

      expect(chosen['assistant']).toEqual(['order-desk', 'travel-planner', 'weather-helper']);
      for (const query of drawn(chosen)) {
        // In a day there is no day before; of 70 conversations the last 50 have some before them.
        const windowed = /^panel \d+, Newest version/.test(query.name) ? { window: 'last_50' } : {};
        const frame = await show(store, query.target, { ...query.chosen, ...windowed }, context);
        if (query.target.format === 0) expectTimeSeries(frame);
        const empty = /alerts|of trace|rule tracegrade-drop/.test(query.name);
        expect(frame.rows.length > 0, query.name).toBe(!empty);
      }
    } finally {
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
