/**
 * Workers share a topic of a real broker and one store, while they are killed (kill -9) and started again, added and
 * removed, the broker is restarted, and the store goes away; then all that was written has to be in the store as one
 * worker that nobody disturbs makes it of the same records, and the group must have committed all of them.
 *
 * Workers decide by the time of the stream: a pause of the producer that is longer than they wait parts an interaction.
 * So no interaction is half written when the broker is restarted, workers wait the longer the longer a broker takes to
 * start here, and a run whose producer stood still for even longer says so.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import kafkajs from 'kafkajs';

import { ensureTopic } from '../../dist/receive/kafka-producer.js';
import { createClickHouse } from '../support/clickhouse-http.mjs';
import { createBroker } from '../support/kafka-broker.mjs';
import { findKafka } from '../support/kafka-runtime.mjs';
import { atEnd } from './cleanup.mjs';
import { compareRows, compareWithTruth, ROWS, throwFaults } from './invariants.mjs';
import { createCrew } from './kafka-crew.mjs';
import { createSender, plan } from './kafka-traffic.mjs';
import { createTroubles } from './kafka-troubles.mjs';
import { interactions, seeded } from './traffic.mjs';
import { rowsOf, settingsOf, startWorker, waitFor } from './worker-process.mjs';

const TOPIC = 'otlp_spans';
const PARTITIONS = 6;
const WORKERS = 3;
/** The least that a broker takes. */
const SESSION_MS = 6_000;
const DISTURBED = 'crash';
const UNDISTURBED = 'undisturbed';
/** What one fetch brings has to be unpacked within the session, also on a machine that is busy. */
const FETCH_BYTES = 64 * 1024;
/** A broker starts in about so much on a machine that has nothing else to do. */
const USUAL_START_MS = 5_000;

/**
 * @typedef {object} Options
 * @property {number} interactions
 * @property {number} perSecond So many interactions begin in a second.
 * @property {number} kills
 * @property {number} others So many times a worker is added and removed, the broker restarted, the store away, an answer cut.
 * @property {number} seed
 * @property {number} patience
 */

/** @param {Options} options */
export async function crashOnKafka(options) {
  const runtime = await findKafka();
  if (runtime.kind === 'unavailable') {
    if (process.env['CI'] === 'true') throw new Error(`the crash test on Kafka cannot run: ${runtime.reason}`);
    process.stdout.write(`kafka: left out: ${runtime.reason}\n`);
    return;
  }
  const startedMs = Date.now();
  const note = (text) => process.stdout.write(`kafka ${((Date.now() - startedMs) / 1_000).toFixed(1)} s: ${text}\n`);
  const broker = await createBroker(runtime);
  atEnd(() => broker.remove());
  const clickHouse = await createClickHouse();
  atEnd(() => clickHouse.remove());
  const [startMs] = await Promise.all([timed(() => broker.start()), clickHouse.start()]);
  await makeTopic(broker.brokers);
  const times = waitingTimes(options.patience * Math.max(1, startMs / USUAL_START_MS));
  note(`a broker after ${startMs} ms; workers wait ${Object.entries(times).map(([name, ms]) => `${name} ${ms}`).join(', ')}`); // prettier-ignore

  const random = seeded(options.seed);
  const sent = interactions(`kafka ${options.seed}`, options.interactions);
  const records = plan(sent, options.perSecond, random);
  const sender = createSender(records, {
    brokers: broker.brokers,
    topic: TOPIC,
    random: seeded(options.seed + 1),
    patienceMs: Math.min(times.quietMs + times.lateMs, times.orphanMs),
  });
  atEnd(() => sender.stop());
  const argsOf = await workerArgs({ broker, clickHouse, times });
  const crew = createCrew(argsOf(DISTURBED), note);
  await Promise.all(Array.from({ length: WORKERS }, () => crew.add()));
  const sending = sender.run();
  const outageMs = 1.2 * times.lateMs;
  const troubles = createTroubles({ options, outageMs, broker, clickHouse, crew, sender, records, random, note });
  await Promise.all([sending, troubles.run()]);
  note(
    `${records.length} records written, ${sender.again} requests sent again, at most ${sender.longestPauseMs} ms apart`,
  );

  const admin = new kafkajs.Kafka({ brokers: [...broker.brokers], logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  atEnd(() => admin.disconnect());
  const waiting = { admin, timeoutMs: 60_000 + 6 * (times.orphanMs + times.lateMs), crew, note };
  const [faults, undisturbedCode] = await Promise.all([
    committedFaults({ ...waiting, groupId: DISTURBED }),
    gradeUndisturbed(argsOf(UNDISTURBED), records),
  ]);
  faults.push(...(await committedFaults({ ...waiting, groupId: UNDISTURBED })));
  faults.push(...(await crew.balanceFaults()));
  if (undisturbedCode !== 0) faults.push(`the undisturbed worker: exit status 0 expected, got ${undisturbedCode}`);
  faults.push(...(await crew.stopAll()));
  faults.push(...(await storeFaults(clickHouse.url, sent)));
  if ((await admin.listTopics()).some((topic) => !topic.startsWith('__') && topic !== TOPIC))
    faults.push('dead letters');
  if (faults.length > 0 && sender.torn.length > 0) {
    faults.unshift(
      `this machine stood still for too long: ${sender.torn.length} interactions were written with pauses of up to ` +
        `${sender.longestPauseMs} ms, longer than the workers wait; try --patience 3`,
    );
  }
  throwFaults(faults, 'on Kafka');

  const copies = records.filter(({ isCopy }) => isCopy).length;
  const [{ rows, tops }] = await ask(clickHouse.url, `SELECT count() AS rows, countIf(open_top) AS tops FROM ${DISTURBED}.interactions`); // prettier-ignore
  const spans = spansOf(records);
  process.stdout.write(
    `kafka: ${sent.length} interactions in ${records.length} records (${copies} of them copies), ${PARTITIONS} partitions, ` +
      `${troubles.summary()}, ${crew.joins} group joins, at least ${Math.max(0, crew.accepted() - spans)} of ${spans} spans read again, ` +
      `${rows} rows written (${tops} open-topped), ${Math.round((Date.now() - startedMs) / 1_000)} s: ` +
      'each interaction is in the store once, as one undisturbed worker grades it\n',
  );
}

/** One worker reads all of it, and is told to stop as soon as nothing is undecided. Gives its exit status. */
async function gradeUndisturbed(args, records) {
  const worker = await startWorker(args);
  atEnd(() => worker.kill());
  const allRead = async () => {
    const metrics = await worker.metrics();
    const read = metrics?.('tracegrade_spans_accepted_total') ?? 0;
    return read >= spansOf(records) && metrics('tracegrade_spans_open') === 0;
  };
  await waitFor('one undisturbed worker', allRead, 600_000, 200);
  return worker.stop();
}

const spansOf = (records) => records.reduce((sum, { spans }) => sum + spans, 0);

/** How long workers wait for spans, for a machine that is `slowness` times as slow as usual. */
function waitingTimes(slowness) {
  const ms = (seconds) => Math.round(1_000 * seconds * slowness);
  return { quietMs: ms(1), lateMs: ms(5), orphanMs: ms(6) };
}

async function makeTopic(brokers) {
  const connection = { brokers, clientId: 'crash-test', tls: null, sasl: null };
  const shape = { topic: TOPIC, partitions: PARTITIONS, replicationFactor: 1, maxMessageBytes: 8 * 1024 * 1024 };
  await ensureTopic(connection, shape, () => undefined);
}

/** By group, which is also the name of its database. */
async function workerArgs({ broker, clickHouse, times }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tracegrade-crash-'));
  atEnd(() => rm(dataDir, { recursive: true, force: true }));
  return (group) => [
    ...['--role', 'worker'],
    ...settingsOf({
      dataDir,
      'receive.kafka.brokers': broker.brokers,
      'receive.kafka.topics': [TOPIC],
      'receive.kafka.groupId': group,
      'receive.kafka.sessionTimeoutMs': SESSION_MS,
      'receive.kafka.maxBytesPerPartition': FETCH_BYTES,
      'store.url': clickHouse.url,
      'store.database': group,
      ...Object.fromEntries(Object.entries(times).map(([name, ms]) => [`assemble.${name}`, ms])),
    }),
  ];
}

/** Waits until a group has committed all of the topic. */
async function committedFaults({ admin, groupId, timeoutMs, crew, note }) {
  const missing = async () => {
    const ends = await admin.fetchTopicOffsets(TOPIC);
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [TOPIC] });
    return ends.flatMap(({ partition, high }) => {
      const offset = partitions.find((each) => each.partition === partition)?.offset;
      return offset === high
        ? []
        : [`group ${groupId}, partition ${partition}: ${high} committed expected, got ${offset}`];
    });
  };
  let left = ['nothing was asked yet'];
  try {
    await waitFor('commits', async () => (left = await missing()).length === 0, timeoutMs, 500);
    note(`group ${groupId}: all is committed`);
    return [];
  } catch {
    return [...left, await crew.report()];
  }
}

async function storeFaults(url, sent) {
  const faults = compareWithTruth(sent, await ask(url, ROWS, DISTURBED));
  for (const view of ['interactions_current', 'verdicts_current']) {
    const sql = `SELECT * EXCEPT written_at FROM ${view} ORDER BY interaction_id`;
    const [expected, got] = await Promise.all([ask(url, sql, UNDISTURBED), ask(url, sql, DISTURBED)]);
    faults.push(...compareRows(view, expected, got));
  }
  for (const { source, reason, detail } of await ask(url, 'SELECT source, reason, detail FROM rejections', DISTURBED)) {
    faults.push(`no rejection expected, got ${reason} of ${source}: ${detail}`);
  }
  return faults;
}

async function ask(url, sql, database = 'default') {
  const response = await fetch(`${url}/?database=${database}&default_format=JSONEachRow`, {
    method: 'POST',
    body: sql,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${sql}: ${text}`);
  return rowsOf(text);
}

async function timed(work) {
  const startMs = Date.now();
  await work();
  return Date.now() - startMs;
}
