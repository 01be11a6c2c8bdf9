import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { workload } from './workload.js';

export interface EndToEnd {
  readonly name: string;
  readonly spans: number;
  /** From the first request to the last stored row, without the quiet time that every turn waits. */
  readonly seconds: number;
  /** Of the worker, all threads; those of the sender are not in it. */
  readonly cpuSeconds: number;
  /** The most that was seen, in bytes. */
  readonly peakRss: number;
}

const SENDERS = 4;
const QUIET_MS = 1_000;
const DEADLINE_MS = 600_000;

/**
 * A worker in a process of its own, fed over real sockets: OTLP/HTTP, spool, interactions, verdicts, rows in the embedded
 * engine. The sender is this process, so on two cores the two compete.
 */
export async function benchEndToEnd(spans: number): Promise<EndToEnd[]> {
  const warmUp = workload(1, 30_000);
  const bodies = workload(2, spans);
  const rows: EndToEnd[] = [];
  for (const gzip of [false, true]) {
    const worker = await startWorker();
    try {
      const encode = (all: readonly Uint8Array[]) => (gzip ? all.map((body) => gzipSync(body)) : all);
      const encoded = encode(bodies);
      await run(worker, encode(warmUp), gzip);
      rows.push({ name: gzip ? 'protobuf, gzip' : 'protobuf', ...(await run(worker, encoded, gzip)) });
    } finally {
      await worker.stop();
    }
  }
  return rows;
}

interface Worker {
  readonly url: string;
  stop(): Promise<void>;
}

async function startWorker(): Promise<Worker> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tracegrade-bench-'));
  const port = await freePort();
  const settings = [`dataDir=${dataDir}`, `receive.http.port=${port}`, `assemble.quietMs=${QUIET_MS}`];
  const main = join(import.meta.dirname, '../../src/main.js');
  const child: ChildProcess = spawn(process.execPath, [main, 'start', ...settings.flatMap((set) => ['--set', set])], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const ended = once(child, 'exit');
  const worker: Worker = {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  const until = Date.now() + DEADLINE_MS;
  while (!(await isReady(worker.url))) {
    if (child.exitCode !== null || Date.now() > until) throw new Error('a worker that gets ready expected');
    await sleep(100);
  }
  return worker;
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Sends all bodies and waits until every span is decided and every row is stored. */
async function run(worker: Worker, bodies: readonly Uint8Array[], gzip: boolean): Promise<Omit<EndToEnd, 'name'>> {
  const before = await readings(worker.url);
  const from = performance.now();
  const next = bodies.values();
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      for (const body of next) await post(worker.url, body, gzip);
    }),
  );
  let peakRss = before.rss;
  let now = before;
  const until = Date.now() + DEADLINE_MS;
  do {
    await sleep(100);
    now = await readings(worker.url);
    peakRss = Math.max(peakRss, now.rss);
    if (Date.now() > until) throw new Error('all spans to be decided and stored expected');
  } while (now.open > 0 || now.queued > 0);
  return {
    spans: now.assembled - before.assembled,
    seconds: (performance.now() - from - QUIET_MS) / 1_000,
    cpuSeconds: now.cpuSeconds - before.cpuSeconds,
    peakRss,
  };
}

async function post(url: string, body: Uint8Array, gzip: boolean): Promise<void> {
  const headers = { 'content-type': 'application/x-protobuf', ...(gzip ? { 'content-encoding': 'gzip' } : {}) };
  for (;;) {
    const response = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body: Buffer.from(body) });
    await response.arrayBuffer();
    if (response.status === 200) return;
    if (response.status !== 503) throw new Error(`status 200 or 503 expected, got ${response.status}`);
    await sleep(100);
  }
}

async function readings(url: string) {
  const text = await fetch(`${url}/metrics`).then((response) => response.text());
  const read = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? ([\\d.e+]+)$`, 'm').exec(text)?.[1] ?? 0);
  return {
    open: read('tracegrade_spans_open'),
    queued: read('tracegrade_store_queued_rows'),
    assembled: read('tracegrade_spans_assembled_total'),
    cpuSeconds: read('process_cpu_seconds_total'),
    rss: read('process_resident_memory_bytes'),
  };
}
