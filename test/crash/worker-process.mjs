/** Workers as processes of their own, that can be killed. All that still live are killed when this process ends. */
import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const LAST_LINES = 30;
const alive = new Set();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** `{ key: value }` as the command takes it. */
export const settingsOf = (values) =>
  Object.entries(values).flatMap(([key, value]) => ['--set', `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`]); // prettier-ignore

/**
 * @typedef {object} WorkerProcess
 * @property {number} port
 * @property {() => Promise<unknown>} kill -9; resolves when it is gone.
 * @property {() => Promise<number | null>} stop SIGTERM; gives its exit status.
 * @property {() => boolean} isAlive
 * @property {() => readonly string[]} lastLines The end of what it logged at level warn and above.
 * @property {() => Promise<Metrics | null>} metrics Null when it does not answer.
 * @property {() => Promise<{ ready: boolean, text: string }>} readiness
 *
 * @typedef {(name: string) => number} Metrics Sum over the labels; 0 when there is none.
 */

/**
 * Starts `tracegrade start`; resolves when its port answers.
 *
 * @param {readonly string[]} args
 * @param {(line: { readonly event?: string }) => void} [onLine] Gets each line of its log.
 * @returns {Promise<WorkerProcess>}
 */
export async function startWorker(args, onLine = () => undefined) {
  const logged = settingsOf({ 'telemetry.logFormat': 'json', 'telemetry.logLevel': 'info', 'receive.http.port': 0 });
  const child = spawn(process.execPath, [main, 'start', ...args, ...logged], { stdio: ['ignore', 'ignore', 'pipe'] });
  alive.add(child);
  const exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  void exited.then(() => alive.delete(child));
  const last = [];
  const port = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (text) => {
      const line = text.startsWith('{') ? JSON.parse(text) : { level: 'error' };
      if (line.level !== 'info') last.push(text);
      if (last.length > LAST_LINES) last.shift();
      onLine(line);
      if (line.event === 'workerStarted') resolve(line.port);
    });
    void exited.then((code) => reject(new Error(`a worker ended with ${code} while it started:\n${last.join('\n')}`)));
  });

  const end = (signal) => {
    child.kill(signal);
    return exited;
  };
  const url = `http://127.0.0.1:${port}`;
  return {
    port,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    isAlive: () => alive.has(child),
    lastLines: () => last,
    metrics: () => readMetrics(url).catch(() => null),
    async readiness() {
      const response = await fetch(`${url}/readyz`).catch(() => null);
      return { ready: response?.ok === true, text: (await response?.text()) ?? 'no answer' };
    },
  };
}

async function readMetrics(url) {
  const values = new Map();
  for (const line of (await (await fetch(`${url}/metrics`)).text()).split('\n')) {
    const [, name, value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? [];
    if (name !== undefined) values.set(name, (values.get(name) ?? 0) + Number(value));
  }
  return (name) => values.get(name) ?? 0;
}

/** @returns {Promise<readonly object[]>} */
export async function query(args, sql) {
  const call = [main, 'query', ...args, '--format', 'JSONEachRow', sql];
  const { stdout } = await promisify(execFile)(process.execPath, call, { maxBuffer: 2 ** 30 });
  return rowsOf(stdout);
}

export const rowsOf = (lines) => lines.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line)); // prettier-ignore

/** Throws when `holds` does not come true in time; `what` is what was waited for. */
export async function waitFor(what, holds, timeoutMs, everyMs = 20) {
  const end = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}, in vain`);
    await delay(everyMs);
  }
}
