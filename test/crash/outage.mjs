// Takes the store away from a worker for minutes while traffic goes on, and looks whether its memory stays where it is,
// and whether every interaction is in the store once when the store is back and the backlog is worked off.
//
//   npm run build && node test/crash/outage.mjs [--minutes 10] [--how kill|hang|refuse] [--rate 100] [--growth 64]
//
// Worker, broker and store are processes of their own: the broker is a real one, the store the embedded engine behind
// ClickHouse's HTTP protocol. `--rate`: interactions a second. Fails when the worker's memory grows by more than
// `--growth` MB after the first minute of the outage, when it is not unready within that minute, when an offset is
// committed meanwhile, or when a row is missing or doubled afterwards.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

import kafkajs from 'kafkajs';

import { createClickHouse } from '../support/clickhouse-http.mjs';
import { createBroker } from '../support/kafka-broker.mjs';
import { findKafka } from '../support/kafka-runtime.mjs';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    how: { type: 'string', default: 'kill' },
    rate: { type: 'string', default: '100' },
    growth: { type: 'string', default: '64' },
  },
});
const OUTAGE_MS = Number(options.minutes) * 60_000;
const RATE = Number(options.rate);
const GROWTH_MB = Number(options.growth);
const WARM_UP_MS = 60_000;
const SETTLE_MS = 60_000;
const SAMPLE_MS = 10_000;
const CALLS = 2;
const PARTITIONS = 6;
const TOPIC = 'otlp_spans';
const GROUP = 'outage';

const begin = { kill: (store) => store.kill(), hang: (store) => store.fault('hang'), refuse: (store) => store.fault('refuse') }; // prettier-ignore
const end = { kill: (store) => store.start(), hang: (store) => store.fault('none'), refuse: (store) => store.fault('none') }; // prettier-ignore
if (!(options.how in begin)) throw new Error(`--how: kill, hang or refuse expected, got ${options.how}`);

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'tracegrade-outage-'));
const startedMs = Date.now();
let worker;
let store;
let broker;
let admin;

function say(text) {
  process.stdout.write(`${((Date.now() - startedMs) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);
}

async function run() {
  broker = await createBroker(await findKafka());
  await broker.start();
  store = await createClickHouse();
  await store.start();
  const kafka = new kafkajs.Kafka({ brokers: [...broker.brokers], logLevel: kafkajs.logLevel.NOTHING });
  admin = kafka.admin();
  await admin.connect();
  const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
  await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: PARTITIONS, configEntries }], waitForLeaders: true }); // prettier-ignore
  worker = await startWorker();
  const traffic = startTraffic(kafka);
  say(`${RATE} interactions a second go into ${PARTITIONS} partitions`);

  await sampleFor(WARM_UP_MS);
  const committedBefore = await committed();
  await begin[options.how](store);
  say(`the store is away (${options.how})`);
  const settling = await sampleFor(Math.min(SETTLE_MS, OUTAGE_MS));
  const faults = [];
  if (!settling.some(({ ready }) => ready === 503)) faults.push('/readyz: 503 within a minute expected, got 200');
  const committedInside = await committed();
  const after = await sampleFor(OUTAGE_MS - SETTLE_MS);
  if ((await committed()).join() !== committedInside.join()) faults.push('offsets were committed without the store');
  const baseMb = Math.max(...settling.map(({ rssMb }) => rssMb));
  const peakMb = Math.max(baseMb, ...after.map(({ rssMb }) => rssMb));
  if (peakMb - baseMb > GROWTH_MB) {
    faults.push(`memory: growth by at most ${GROWTH_MB} MB expected, got ${peakMb - baseMb} (${baseMb} to ${peakMb})`);
  }

  await end[options.how](store);
  const backMs = Date.now();
  const sent = await traffic.stop();
  say(`the store is back, and traffic ends: ${sent} interactions, committed ${committedBefore.join()} before`);
  const working = sampleUntil(async () => (await committed()).every((offset, at) => offset === traffic.ends[at]));
  const worked = await working;
  const workedMb = Math.max(...worked.map(({ rssMb }) => rssMb));
  say(`the backlog is worked off in ${((Date.now() - backMs) / 1000).toFixed(0)} s, at ${workedMb} MB at most`);

  const [row] = await query(`SELECT count() AS rows, uniqExact(interaction_id) AS ids,
    countIf(length(tool_calls.name) != ${CALLS} OR open_top) AS incomplete FROM tracegrade.interactions_current`);
  // Without FINAL: what was sent again under its token is not there twice.
  const [raw] = await query('SELECT count() AS n FROM tracegrade.interactions');
  const [verdicts] = await query('SELECT count() AS n FROM tracegrade.verdicts_current');
  const found = [row.rows, row.ids, row.incomplete, raw.n, verdicts.n].map(Number);
  const expected = [sent, sent, 0, sent, sent];
  if (found.join() !== expected.join()) {
    faults.push(
      `rows, ids, incomplete, rows with repetitions, verdicts: ${expected.join()} expected, got ${found.join()}`,
    );
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  say(
    `each of ${sent} interactions is in the store once; memory ${baseMb} MB in the first minute, then ${peakMb} at most`,
  );
}

/** Samples the worker for a time; prints what it sees. */
async function sampleFor(ms) {
  const untilMs = Date.now() + ms;
  return sampleUntil(() => Date.now() >= untilMs);
}

async function sampleUntil(done) {
  const samples = [];
  while (!(await done())) {
    await pause(SAMPLE_MS);
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(worker.child.pid)]);
    const metrics = await (await fetch(`http://127.0.0.1:${worker.port}/metrics`)).text();
    const sum = (name) =>
      [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce((all, [, n]) => all + Number(n), 0); // prettier-ignore
    const ready = (await fetch(`http://127.0.0.1:${worker.port}/readyz`)).status;
    const rssMb = Math.round(Number(stdout) / 1024);
    samples.push({ rssMb, ready });
    const [lag, queued, open, joins] = ['kafka_lag_records', 'store_queued_rows', 'spans_open', 'kafka_joins_total'].map((name) => sum(`tracegrade_${name}`)); // prettier-ignore
    say(`RSS ${rssMb} MB, readyz ${ready}, lag ${lag}, queued rows ${queued}, open spans ${open}, joins ${joins}`);
  }
  return samples;
}

async function committed() {
  const [found] = await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC] });
  return found.partitions.sort((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset));
}

async function startWorker() {
  const settings = {
    dataDir: dir,
    'receive.http.port': 0,
    'receive.kafka.brokers': broker.brokers,
    'receive.kafka.topics': [TOPIC],
    'receive.kafka.groupId': GROUP,
    'store.url': store.url,
    'telemetry.logFormat': 'json',
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${JSON.stringify(value)}`]);
  const child = spawn(process.execPath, [main, 'start', '--role', 'worker', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const port = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      const { event, level, ...rest } = line.startsWith('{') ? JSON.parse(line) : { event: line };
      if (event === 'workerStarted') resolve(rest.port);
      else if (/^(store|kafka)/.test(event)) say(`  the worker says ${event} ${rest.error?.message ?? ''}`);
    });
  });
  return { child, port };
}

/** Two records for each interaction: its tool spans, and a second later model answer and root. */
function startTraffic(kafka) {
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  let running = true;
  let next = 1;
  const ends = Array(PARTITIONS).fill(0);
  const send = async (messages) => {
    if (messages.length === 0) return;
    for (const { partition, baseOffset } of await producer.send({ topic: TOPIC, acks: -1, messages })) {
      ends[partition] = Math.max(ends[partition], Number(baseOffset));
    }
  };
  const done = (async () => {
    await producer.connect();
    let begun = [];
    while (running || begun.length > 0) {
      const tickMs = Date.now();
      const fresh = running ? Array.from({ length: RATE }, () => next++) : [];
      await send([
        ...begun.map((i) => ({ key: hex(i, 32), value: rootRecord(i) })),
        ...fresh.map((i) => ({ key: hex(i, 32), value: toolRecord(i) })),
      ]);
      begun = fresh;
      await pause(Math.max(0, 1_000 - (Date.now() - tickMs)));
    }
    await producer.disconnect();
    for (const { partition, offset } of await admin.fetchTopicOffsets(TOPIC)) ends[partition] = Number(offset);
  })();
  return {
    /** Of each partition; whole once it has stopped. */
    ends,
    async stop() {
      running = false;
      await done;
      return next - 1;
    },
  };
}

const hex = (n, digits) => n.toString(16).padStart(digits, '0');
const text = (key, value) => ({ key, value: { stringValue: value } });
const body = (spans) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const WORDS = 'the order was sent on Monday and will arrive within three days '.repeat(16);

function span(i, id, parent, attributes) {
  const atMs = Date.now();
  return {
    traceId: hex(i, 32),
    spanId: hex(id, 16),
    ...(parent === null ? {} : { parentSpanId: hex(parent, 16) }),
    name: `span ${id}`,
    kind: 1,
    startTimeUnixNano: `${atMs}000000`,
    endTimeUnixNano: `${atMs + 900}000000`,
    attributes,
  };
}

function toolRecord(i) {
  return body(
    Array.from({ length: CALLS }, (_, k) =>
      span(i, k + 2, 1, [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.tool.name', 'look'),
        text('gen_ai.tool.call.id', `call_${k}`),
        text('gen_ai.tool.call.arguments', JSON.stringify({ at: k })),
        text('gen_ai.tool.call.result', WORDS),
      ]),
    ),
  );
}

function rootRecord(i) {
  const message = (role, content) => JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
  return body([
    span(i, 1, null, [
      text('gen_ai.operation.name', 'invoke_agent'),
      text('gen_ai.agent.name', 'outage'),
      text('gen_ai.conversation.id', `c${i}`),
      text('gen_ai.input.messages', message('user', `Question ${i}?`)),
      text('gen_ai.output.messages', message('assistant', `${i}: ${WORDS}`)),
    ]),
  ]);
}

async function query(sql) {
  const answer = await fetch(`${store.url}/?query=${encodeURIComponent(`${sql} FORMAT JSONEachRow`)}`);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.text()).trim().split('\n').map((line) => JSON.parse(line)); // prettier-ignore
}

let failed = false;
try {
  await run();
} catch (error) {
  failed = true;
  process.stderr.write(`${error.stack}\n`);
}
worker?.child.removeAllListeners('exit');
worker?.child.kill('SIGKILL');
await admin?.disconnect();
await store?.remove();
await broker?.remove();
rmSync(dir, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
