import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKafkaProducer, ensureTopic } from '../../src/receive/kafka-producer.js';
import { splitByTrace } from '../../src/receive/split-by-trace.js';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';
import { workload } from './workload.js';

export interface KafkaThroughput {
  readonly workers: number;
  /** Of all workers together, between the first fifth and nine tenths of the topic: started, compiled, not yet idle. */
  readonly spansPerSecond: number;
  readonly cpuSecondsPerMillionSpans: number;
  /** The most that was seen of one worker, in bytes. */
  readonly peakRss: number;
}

/** What is needed of those of test/support, which are no TypeScript. */
interface Service {
  readonly brokers: readonly string[];
  readonly url: string;
  start(): Promise<void>;
  remove(): Promise<void>;
}

const PARTITIONS = 6;
const DEADLINE_MS = 900_000;

/**
 * Kafka -> graded -> ClickHouse: a real broker, workers in processes of their own, the embedded engine behind
 * ClickHouse's HTTP protocol in another one. Null: there is no broker here. On two cores they all compete for time, so
 * the CPU seconds say more than the rate.
 */
export async function benchKafka(spans: number): Promise<KafkaThroughput[] | null> {
  const support = join(import.meta.dirname, '../../../../test/support');
  const { findKafka } = await import(join(support, 'kafka-runtime.mjs'));
  const runtime = await findKafka();
  if (runtime.kind === 'unavailable') return null;
  const { createBroker } = await import(join(support, 'kafka-broker.mjs'));
  const { createClickHouse } = await import(join(support, 'clickhouse-http.mjs'));
  const broker: Service = await createBroker(runtime);
  const results: KafkaThroughput[] = [];
  try {
    await broker.start();
    await fill(broker.brokers, spans);
    for (const workers of [1, 2]) {
      const clickhouse: Service = await createClickHouse();
      try {
        await clickhouse.start();
        results.push({ workers, ...(await run(workers, broker.brokers, clickhouse.url)) });
      } finally {
        await clickhouse.remove();
      }
    }
  } finally {
    await broker.remove();
  }
  return results;
}

const TOPIC = 'otlp_spans';

async function fill(brokers: readonly string[], spans: number): Promise<void> {
  const connection = { brokers, clientId: 'bench', tls: null, sasl: null };
  const shape = { topic: TOPIC, partitions: PARTITIONS, replicationFactor: 1, maxMessageBytes: 8 * 1024 * 1024 };
  await ensureTopic(connection, shape, () => undefined);
  const producer = createKafkaProducer(connection, 'lz4', () => undefined);
  for (const body of workload(3, spans)) {
    const split = splitByTrace(body, 'protobuf');
    if (split.kind === 'malformed') throw new Error(split.rejection.detail);
    const outcome = await producer.send([...split.parts].map(([key, value]) => ({ topic: TOPIC, key, value })));
    if (outcome.status !== 'ok') throw outcome.cause;
  }
  await producer.close();
}

async function run(count: number, brokers: readonly string[], storeUrl: string) {
  const group = `bench-${count}`;
  const workers: WorkerProcess[] = [];
  try {
    for (let at = 0; at < count; at += 1) workers.push(await startWorker(group, brokers, storeUrl));
    const samples: Sample[] = [];
    let peakRss = 0;
    const until = Date.now() + DEADLINE_MS;
    do {
      await sleep(250);
      if (Date.now() > until) throw new Error('all of the topic to be graded expected');
      for (const worker of workers) worker.check();
      const each = await Promise.all(workers.map(({ url }) => readings(url)));
      const sum = (read: (one: Reading) => number) => each.reduce((total, one) => total + read(one), 0);
      peakRss = Math.max(peakRss, ...each.map(({ rss }) => rss));
      samples.push({
        atMs: performance.now(),
        assembled: sum(({ assembled }) => assembled),
        cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds),
        idle: sum(({ lag, open, queued }) => lag + open + queued) === 0 && each.every(({ joined }) => joined),
      });
    } while (!samples.at(-1)?.idle || samples.at(-1)?.assembled === 0);
    const total = (samples.at(-1) as Sample).assembled;
    const from = samples.find(({ assembled }) => assembled >= total / 5) as Sample;
    const to = samples.find(({ assembled }) => assembled >= 0.9 * total) as Sample;
    const graded = to.assembled - from.assembled;
    return {
      spansPerSecond: (graded / (to.atMs - from.atMs)) * 1_000,
      cpuSecondsPerMillionSpans: ((to.cpuSeconds - from.cpuSeconds) / graded) * 1e6,
      peakRss,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

interface Sample {
  readonly atMs: number;
  readonly assembled: number;
  readonly cpuSeconds: number;
  readonly idle: boolean;
}

function startWorker(group: string, brokers: readonly string[], storeUrl: string): Promise<WorkerProcess> {
  return startWorkerProcess('worker', [
    `receive.kafka.brokers=[${brokers.join(',')}]`,
    `receive.kafka.topics=[${TOPIC}]`,
    `receive.kafka.groupId=${group}`,
    `store.url=${storeUrl}`,
    'assemble.quietMs=1000',
    'assemble.lateMs=1000',
  ]);
}

type Reading = Awaited<ReturnType<typeof readings>>;

/** All zero while the worker does not answer yet. */
async function readings(url: string) {
  const text = await fetch(`${url}/metrics`).then(
    (response) => response.text(),
    () => '',
  );
  const read = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? ([\\d.e+]+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  return {
    joined: text.includes('tracegrade_kafka_lag_records{'),
    lag: read('tracegrade_kafka_lag_records'),
    open: read('tracegrade_spans_open'),
    queued: read('tracegrade_store_queued_rows'),
    assembled: read('tracegrade_spans_assembled_total'),
    cpuSeconds: read('process_cpu_seconds_total'),
    rss: read('process_resident_memory_bytes'),
  };
}
