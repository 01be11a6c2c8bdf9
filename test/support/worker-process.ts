import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** What came of a process: its exit status, or the signal that ended it. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** `tracegrade start` as a process of its own. */
export interface WorkerProcess {
  /** How often an event of this name is in its log. */
  told(event: string): number;
  /** The metric's values, one for each of its sets of labels. */
  samples(name: string): Promise<number[]>;
  /** The status of `/readyz`. */
  ready(): Promise<number>;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

/** Starts one with these settings, once its port answers; killed when the test is over. */
export async function workerProcess(
  role: 'worker' | 'relay',
  settings: Readonly<Record<string, string | number | boolean | readonly string[]>>,
): Promise<WorkerProcess> {
  const all = { 'receive.http.port': 0, 'telemetry.logFormat': 'json', 'telemetry.logLevel': 'info', ...settings };
  const args = Object.entries(all).flatMap(([key, value]) => ['--set', `${key}=${JSON.stringify(value)}`]);
  const child = spawn(process.execPath, ['dist/main.js', 'start', '--role', role, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit').then(([code, signal]): Ended => ({
    code: code as number,
    signal: signal as null,
  }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });

  const records: Record<string, unknown>[] = [];
  const strays: string[] = [];
  const started = new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (!line.startsWith('{')) {
        strays.push(line);
        return;
      }
      const record = JSON.parse(line) as Record<string, unknown>;
      records.push(record);
      if (record['event'] === 'workerStarted') resolve(Number(record['port']));
    });
    void exited.then(({ code }) => reject(new Error(`exit status ${code} as it started: ${strays.join('\n')}`)));
  });
  const port = await started;
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);

  return {
    told: (event) => records.filter((record) => record['event'] === event).length,
    async samples(name) {
      const lines = (await (await get('/metrics')).text()).split('\n');
      const found = lines.filter((line) => new RegExp(`^${name}(\\{[^}]*\\})? `).test(line));
      return found.map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
    },
    ready: async () => (await get('/readyz')).status,
    async end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}
