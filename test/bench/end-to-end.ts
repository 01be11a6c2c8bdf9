import { Agent, get, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';
import { workload } from './workload.js';

export interface EndToEnd {
  readonly name: string;
  readonly spans: number;
  /** From the first request to the last stored row, without the quiet time that every turn waits. */
  readonly seconds: number;
  /** Of the worker, all threads; those of the sender are not in it. */
  readonly cpuSeconds: number;
  /** Of the sender while it sends: what it takes from the worker where cores are few. */
  readonly senderCpuSeconds: number;
  /** The most that was seen, in bytes. */
  readonly peakRss: number;
}

/** Requests under way at once. Every agent's exporter has a connection of its own, and each waits for the spool's disk. */
export const SENDERS = 16;
/** A machine shared with others may be half as fast in one minute as in the next. */
const RUNS = 3;
const QUIET_MS = 1_000;
const DEADLINE_MS = 600_000;
/** A worker runs for days: its code is compiled for good only after some tens of thousands of spans. */
const WARM_UP_SPANS = 100_000;

/**
 * A worker in a process of its own, fed over real sockets: OTLP/HTTP, spool, interactions, verdicts, rows in the embedded
 * engine. The sender is this process, so on two cores the two compete.
 */
export async function benchEndToEnd(spans: number): Promise<EndToEnd[]> {
  const warmUp = workload(1, WARM_UP_SPANS);
  const rows: EndToEnd[] = [];
  for (const gzip of [false, true]) {
    const worker = await startWorkerProcess('all', [`assemble.quietMs=${QUIET_MS}`]);
    try {
      await ready(worker);
      const encode = (all: readonly Uint8Array[]) => (gzip ? all.map((body) => gzipSync(body)) : all);
      await run(worker, encode(warmUp), gzip);
      for (let at = 0; at < RUNS; at += 1) {
        const encoded = encode(workload(2 + at, spans));
        rows.push({ name: gzip ? 'protobuf, gzip' : 'protobuf', ...(await run(worker, encoded, gzip)) });
      }
    } finally {
      await worker.stop();
    }
  }
  return rows;
}

async function ready(worker: WorkerProcess): Promise<void> {
  const until = Date.now() + DEADLINE_MS;
  while ((await ask(`${worker.url}/readyz`)).status !== 200) {
    worker.check();
    if (Date.now() > until) throw new Error('a worker that gets ready expected');
    await sleep(100);
  }
}

/** Sends all bodies and waits until every span is decided and every row is stored. */
async function run(
  worker: WorkerProcess,
  bodies: readonly Uint8Array[],
  gzip: boolean,
): Promise<Omit<EndToEnd, 'name'>> {
  const before = await readings(worker.url);
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
  const cpu = process.cpuUsage();
  const from = performance.now();
  const next = bodies.values();
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      for (const body of next) await send(agent, worker.url, body, gzip);
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  agent.destroy();
  let peakRss = before.rss;
  let now = before;
  const until = Date.now() + DEADLINE_MS;
  do {
    await sleep(100);
    worker.check();
    now = await readings(worker.url);
    peakRss = Math.max(peakRss, now.rss);
    if (Date.now() > until) throw new Error('all spans to be decided and stored expected');
  } while (now.open > 0 || now.queued > 0);
  return {
    spans: now.assembled - before.assembled,
    seconds: (performance.now() - from - QUIET_MS) / 1_000,
    cpuSeconds: now.cpuSeconds - before.cpuSeconds,
    senderCpuSeconds: (user + system) / 1e6,
    peakRss,
  };
}

async function send(agent: Agent, url: string, body: Uint8Array, gzip: boolean): Promise<void> {
  for (;;) {
    const status = await post(agent, url, body, gzip);
    if (status === 200) return;
    if (status !== 503) throw new Error(`status 200 or 503 expected, got ${status}`);
    await sleep(100);
  }
}

/** By the plainest client there is, for it competes with the worker. */
function post(agent: Agent, url: string, body: Uint8Array, gzip: boolean): Promise<number> {
  const headers = {
    'content-type': 'application/x-protobuf',
    'content-length': body.length,
    ...(gzip ? { 'content-encoding': 'gzip' } : {}),
  };
  return new Promise((resolve, reject) => {
    request(`${url}/v1/traces`, { method: 'POST', agent, headers }, (response) => {
      response.on('end', () => resolve(response.statusCode ?? 0)).on('error', reject);
      response.resume();
    })
      .on('error', reject)
      .end(body);
  });
}

/** By a connection of its own: a kept one may have been closed while the bodies of the next run were made. */
function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part: string) => (text += part))
        .on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        .on('error', reject);
    }).on('error', reject);
  });
}

async function readings(url: string) {
  const { text } = await ask(`${url}/metrics`);
  const read = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? ([\\d.e+]+)$`, 'm').exec(text)?.[1] ?? 0);
  return {
    open: read('tracegrade_spans_open'),
    queued: read('tracegrade_store_queued_rows'),
    assembled: read('tracegrade_spans_assembled_total'),
    cpuSeconds: read('process_cpu_seconds_total'),
    rss: read('process_resident_memory_bytes'),
  };
}
