// From the OpenTelemetry SDK to verdicts, through what production has in between: SDK -> Collector -> Kafka -> worker.
//
//   npm run build && npm run test:e2e [-- --conversations 300]
//
// The demo's agents send their traces through the OpenTelemetry SDK to a real Collector with deploy/otel-collector/config.yaml,
// which writes them to a real broker, into a topic made by the command in docker-compose.yml. Half way the broker goes
// away; when the SDK has all of its answers the Collector is killed (-9); then both come back. What was acknowledged has
// to be in the topic. Then a worker reads the topic, and each turn has to be in the store once, with the verdict that
// grading the same bytes from files gives.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

import kafkajs from 'kafkajs';
import { parse } from 'yaml';

import { demoConversation } from '../../dist/cli/demo-agents.js';
import { startDemoSender } from '../../dist/cli/demo-sender.js';
import { decodeRecord, isKeyedByTrace } from '../../dist/receive/kafka-record.js';
import { createBroker } from '../support/kafka-broker.mjs';
import { findKafka } from '../support/kafka-runtime.mjs';
import { CONFIG, findCollector, startCollector } from './collector.mjs';
import { kafkaClient, untilSpans } from './topic.mjs';

const { values: options } = parseArgs({ options: { conversations: { type: 'string', default: '300' } } });
const CONVERSATIONS = Number(options.conversations);
const TOPIC = 'otlp_spans';
const GRADED_MS = 300_000;

const execute = promisify(execFile);
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const compose = parse(readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8'));
const dir = mkdtempSync(join(tmpdir(), 'tracegrade-e2e-'));
const startedMs = Date.now();

function say(text) {
  process.stdout.write(`${((Date.now() - startedMs) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
}

function expectEqual(what, actual, expected) {
  if (actual !== expected) throw new Error(`${what}: ${expected} expected, got ${actual}`);
}

async function run() {
  const collectorProgram = await findCollector();
  say('the Collector is built');
  const runtime = await findKafka();
  const logs = join(dir, 'kafka');
  // With Docker the broker's files are in its container.
  const readsLogs = runtime.kind === 'java';
  const broker = await createBroker(runtime, readsLogs ? { properties: { 'log.dirs': logs } } : {});
  try {
    await broker.start();
    const [, ...makeTopic] = compose.services.topic.command.map((word) =>
      word === 'kafka:9092' ? broker.brokers[0] : word,
    );
    await broker.tool('org.apache.kafka.tools.TopicCommand', makeTopic);
    say('the broker has the topic of docker-compose.yml');

    const collector = { brokers: broker.brokers, directory: join(dir, 'otelcol') };
    const sent = await send(collectorProgram, collector, broker);
    const records = await deliver(collectorProgram, collector, sent);
    const roots = checkRecords(records, sent);
    if (readsLogs) checkBatches(logs);
    await checkVerdicts(broker, records, roots);
  } finally {
    await broker.remove();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Sends all conversations, the second half while there is no broker. Gives how many spans and turns went out. */
async function send(program, options, broker) {
  const collector = await startCollector(program, options);
  try {
    await checkHealthCommand(program, collector.healthUrl);
    const sender = await startDemoSender(collector.tracesUrl);
    let spans = 0;
    let turns = 0;
    for (let n = 0; n < CONVERSATIONS; n += 1) {
      if (n === CONVERSATIONS >> 1) {
        await sender.flush();
        await broker.stop();
        say('the broker is stopped');
      }
      const conversation = demoConversation(n);
      await sender.send(conversation, Date.now());
      turns += conversation.turns.length;
      // Of a turn: the agent, each tool, and a model call before each tool and for the answer.
      for (const { calls } of conversation.turns) spans += 2 + 2 * calls.length;
      // As agents do: not all at once, and in many requests.
      if (n % 10 === 9) await sender.flush();
    }
    await sender.flush();
    await collector.kill();
    say(`${spans} spans of ${turns} turns are acknowledged, and the Collector is killed`);
    await broker.start();
    return { spans, turns };
  } finally {
    await collector.kill();
  }
}

/** The next Collector on the same disk brings what the first had acknowledged. Gives the records of the topic. */
async function deliver(program, options, { spans }) {
  const collector = await startCollector(program, options);
  say('the broker and the Collector are back');
  try {
    return await untilSpans(options.brokers, TOPIC, spans);
  } finally {
    await collector.kill();
  }
}

/** The health check of docker-compose.yml tells a Collector that is there from one that is not. */
async function checkHealthCommand(program, healthUrl) {
  const [, , ...words] = compose.services.collector.healthcheck.test;
  const command = (url) =>
    words.map((word) =>
      word.replace('/etc/otelcol-contrib/config.yaml', CONFIG).replace('http://127.0.0.1:13133/', url),
    );
  await execute(program, command(healthUrl));
  const wrong = await execute(program, command('http://127.0.0.1:9/')).catch((error) => error);
  expectEqual('exit status of the health check of a Collector that is away', wrong.code, 1);
}

/** Each record holds one trace, is keyed by it, stands where Java would put it, and all spans are there. Gives the roots. */
function checkRecords(records, sent) {
  const partitionOf = kafkajs.Partitioners.DefaultPartitioner();
  const partitions = compose.services.topic.command.at(compose.services.topic.command.indexOf('--partitions') + 1);
  const partitionMetadata = Array.from({ length: Number(partitions) }, (_, partitionId) => ({
    partitionId,
    leader: 1,
  }));
  const spanIds = new Set();
  const roots = new Set();
  for (const record of records) {
    const place = `record ${record.partition}/${record.offset}`;
    const result = decodeRecord(record, 'sniff');
    expectEqual(`${place}: result`, result.kind, 'decoded');
    expectEqual(`${place}: encoding`, result.encoding, 'protobuf');
    expectEqual(`${place}: rejections`, result.batch.rejections.length, 0);
    const traceIds = new Set(result.batch.spans.map(({ traceId }) => traceId));
    expectEqual(`${place}: traces`, traceIds.size, 1);
    expectEqual(`${place}: key`, record.key?.toString(), [...traceIds][0]);
    expectEqual(`${place}: keyed by its trace`, isKeyedByTrace(record.key, traceIds), true);
    const message = { key: record.key, value: record.value };
    expectEqual(`${place}: partition`, record.partition, partitionOf({ topic: TOPIC, partitionMetadata, message }));
    for (const { traceId, spanId, parentSpanId, resource } of result.batch.spans) {
      expectEqual(`${place}: service.name`, resource.attributes.get('service.name'), 'tracegrade-demo');
      spanIds.add(`${traceId}-${spanId}`);
      if (parentSpanId === undefined) roots.add(`${traceId}-${spanId}`);
    }
  }
  expectEqual('spans in the topic', spanIds.size, sent.spans);
  expectEqual('roots in the topic', roots.size, sent.turns);
  const bytes = records.reduce((sum, { value }) => sum + value.length, 0);
  say(`${records.length} records (${bytes} bytes) hold all spans, each of one trace and keyed by it`);
  return roots;
}

const LZ4 = 3;
const LOG_APPEND_TIME = 8;

/** The batches on disk are compressed and have the broker's time. Layout: Kafka's record batch, version 2. */
function checkBatches(logs) {
  let batches = 0;
  let bytes = 0;
  for (const partition of readdirSync(logs).filter((name) => name.startsWith(`${TOPIC}-`))) {
    for (const file of readdirSync(join(logs, partition)).filter((name) => name.endsWith('.log'))) {
      const segment = readFileSync(join(logs, partition, file));
      for (let at = 0; at + 61 <= segment.length && segment.readInt32BE(at + 8) > 0;) {
        const length = 12 + segment.readInt32BE(at + 8);
        expectEqual('version of a record batch', segment.readInt8(at + 16), 2);
        expectEqual('attributes of a record batch', segment.readInt16BE(at + 21), LZ4 | LOG_APPEND_TIME);
        batches += 1;
        bytes += length;
        at += length;
      }
    }
  }
  say(`${batches} record batches (${bytes} bytes on disk) are lz4 and have the broker's time`);
}

/** A worker reads the topic; the store then has each turn once, with the verdict of the same bytes in files. */
async function checkVerdicts(broker, records, roots) {
  const expected = await gradeFiles(records);
  expectEqual('interactions in the files', expected.size, roots.size);

  const dataDir = join(dir, 'data');
  const set = (key, value) => ['--set', `${key}=${value}`];
  const settings = [
    ...set('dataDir', JSON.stringify(dataDir)),
    ...set('receive.http.port', 0),
    ...set('receive.kafka.brokers', JSON.stringify(broker.brokers)),
    ...set('assemble.quietMs', 500),
    ...set('assemble.lateMs', 1_000),
  ];
  const readFromMs = Date.now();
  const worker = spawn(process.execPath, [main, 'start', ...settings], { stdio: ['ignore', 'inherit', 'pipe'] });
  const ended = once(worker, 'exit');
  const killAtExit = () => worker.kill('SIGKILL');
  process.once('exit', killAtExit);
  let said = '';
  worker.stderr.on('data', (chunk) => (said = `${said}${chunk}`.slice(-20_000)));
  try {
    await graded(roots.size, dataDir, worker, () => said);
    say(`${roots.size} interactions are in the store, ${Date.now() - readFromMs} ms after the worker was started`);
    const sql = 'SELECT interaction_id, verdict, count() AS n FROM verdicts_current GROUP BY ALL';
    const rows = await query(sql, dataDir);
    expectEqual('interactions in verdicts_current', rows.length, roots.size);
    for (const { interaction_id: id, verdict, n } of rows) {
      expectEqual(`interaction ${id}: rows`, Number(n), 1);
      expectEqual(`interaction ${id}: is a root`, roots.has(id), true);
      expectEqual(`interaction ${id}: verdict`, verdict, expected.get(id));
    }
    const [{ facts }] = await query('SELECT count() AS facts FROM interactions_current', dataDir);
    expectEqual('interactions in interactions_current', Number(facts), roots.size);
  } finally {
    worker.kill('SIGTERM');
    await ended;
    process.off('exit', killAtExit);
  }
  expectEqual('exit status of the worker', worker.exitCode, 0);
  await checkCommitted(broker);
  const counts = new Map();
  for (const verdict of expected.values()) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  say(`each once, as from files: ${[...counts].map(([verdict, n]) => `${n} ${verdict}`).join(', ')}`);
}

/** Verdict by interaction, from `tracegrade score` of the records' bytes. */
async function gradeFiles(records) {
  const files = join(dir, 'files');
  mkdirSync(files);
  for (const { partition, offset, value } of records) writeFileSync(join(files, `${partition}-${offset}.pb`), value);
  const args = [main, 'score', files, '--format', 'jsonl'];
  const { stdout } = await execute(process.execPath, args, { maxBuffer: 256 * 1024 * 1024 });
  const interactions = stdout.trimEnd().split('\n').map((line) => JSON.parse(line)); // prettier-ignore
  return new Map(interactions.map(({ interaction_id: id, verdict }) => [id, verdict]));
}

async function graded(count, dataDir, worker, said) {
  const deadline = Date.now() + GRADED_MS;
  let last = 'no answer';
  for (;;) {
    if (worker.exitCode !== null) throw new Error(`the worker ended with ${worker.exitCode}: ${said()}`);
    if (Date.now() > deadline) throw new Error(`${count} interactions expected, got ${last}: ${said()}`);
    const rows = await query('SELECT count() AS n FROM verdicts_current', dataDir).catch(() => []);
    if (rows.length > 0) last = Number(rows[0].n);
    if (last === count) return;
    await delay(500);
  }
}

async function query(sql, dataDir) {
  const args = [main, 'query', sql, '--format', 'JSONEachRow', '--set', `dataDir=${JSON.stringify(dataDir)}`];
  const { stdout } = await execute(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)); // prettier-ignore
}

/** The group has committed the end of every partition that holds something. */
async function checkCommitted(broker) {
  const admin = kafkaClient(broker.brokers).admin();
  await admin.connect();
  try {
    const ends = await admin.fetchTopicOffsets(TOPIC);
    const [{ partitions }] = await admin.fetchOffsets({ groupId: 'tracegrade', topics: [TOPIC] });
    const committed = new Map(partitions.map(({ partition, offset }) => [partition, offset]));
    for (const { partition, high } of ends) {
      if (high !== '0') expectEqual(`committed offset of partition ${partition}`, committed.get(partition), high);
    }
  } finally {
    await admin.disconnect();
  }
}

await run();
say('SDK -> Collector -> Kafka -> tracegrade: nothing lost, nothing twice');
