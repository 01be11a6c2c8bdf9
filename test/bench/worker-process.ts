import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface WorkerProcess {
  readonly url: string;
  /** Throws with what it said last when it has ended by itself. */
  check(): void;
  stop(): Promise<void>;
}

const LAST_LINES = 5;

/** A worker in a process and a data directory of its own; resolves when its port answers. */
export async function startWorkerProcess(role: 'all' | 'worker', settings: readonly string[]): Promise<WorkerProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tracegrade-bench-'));
  const main = join(import.meta.dirname, '../../src/main.js');
  const sets = [`dataDir=${dataDir}`, 'receive.http.port=0', ...settings].flatMap((set) => ['--set', set]);
  const child = spawn(process.execPath, [main, 'start', '--role', role, ...sets], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const said: string[] = [];
  const port = new Promise<number>((resolve, reject) => {
    createInterface(child.stderr)
      .on('line', (line) => {
        said.push(line);
        if (said.length > LAST_LINES) said.shift();
        const started = /"event":"workerStarted".*"port":(\d+)/.exec(line)?.[1];
        if (started !== undefined) resolve(Number(started));
      })
      .on('close', () => reject(endedError()));
  });
  const endedError = () => new Error(`a worker that runs expected, got one that has ended:\n${said.join('\n')}`);
  return {
    url: `http://127.0.0.1:${await port}`,
    check() {
      if (child.exitCode !== null) throw endedError();
    },
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await ended;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
