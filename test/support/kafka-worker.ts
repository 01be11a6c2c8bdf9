import { onTestFinished } from 'vitest';
import type { WorkerSettings } from '../../src/worker/worker.js';
import { createClickHouse, type ClickHouse } from './clickhouse-http.mjs';
import { theBroker } from './kafka.js';
import { connectionTo } from './kafka-reading.js';
import { temporaryDir } from './store.js';
import { agent, hex, tool } from './turn-traffic.js';
import { runningWorker, type RunningWorker } from './worker.js';

export const SESSION_TIMEOUT_MS = 6_000;

/** A ClickHouse behind HTTP for one test, started; removed after it. */
export async function ownClickHouse(): Promise<ClickHouse> {
  const clickhouse = await createClickHouse();
  onTestFinished(() => clickhouse.remove());
  await clickhouse.start();
  return clickhouse;
}

/** A worker that reads one topic as the group of the same name, over a ClickHouse; stopped when the test is over. */
export async function workerOver(
  clickhouse: Pick<ClickHouse, 'url'>,
  topic: string,
  { assemble, ...settings }: Partial<WorkerSettings> = {},
): Promise<RunningWorker> {
  const dataDir = temporaryDir();
  const running = await runningWorker(dataDir, assemble, {
    spool: null,
    store: { url: clickhouse.url, database: 'tracegrade', dataDir, requestTimeoutMs: 2_000 },
    writer: { batchMs: 20, stalledMs: 500, backoff: { firstMs: 20, maxMs: 200 } },
    kafka: {
      source: {
        connection: connectionTo(theBroker().brokers),
        groupId: topic,
        topics: [topic],
        startFrom: 'earliest',
        sessionTimeoutMs: SESSION_TIMEOUT_MS,
        maxBytesPerPartition: 1024 * 1024,
      },
      encoding: 'sniff',
      deadLetterTopic: null,
    },
    ...settings,
  });
  onTestFinished(() => running.worker.stop());
  return running;
}

/** The spans of one turn with its tool calls, children first. */
export const turn = (trace: number, calls: number) => [
  ...Array.from({ length: calls }, (_, at) => tool(trace, at + 2)),
  agent(trace),
];

/** A record keyed by its trace id. */
export const keyed = (trace: number, value: string | Buffer, partition = 0) => ({
  partition,
  key: hex(trace, 32),
  value,
});
