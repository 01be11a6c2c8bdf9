import { setTimeout as delay } from 'node:timers/promises';

import { atEnd } from './cleanup.mjs';
import { startWorker } from './worker-process.mjs';

const READ_METRICS_MS = 500;

/**
 * The workers of a group: how many live changes all the time.
 *
 * @param {readonly string[]} args
 * @param {(text: string) => void} note
 */
export function createCrew(args, note) {
  const live = new Set();
  const leaving = [];
  /** What each process said last. */
  const accepted = new Map();
  const crew = {
    joins: 0,
    get size() {
      return live.size;
    },
    accepted: () => [...accepted.values()].reduce((sum, spans) => sum + spans, 0),

    async add() {
      const worker = await startWorker(args, ({ event, trouble, error }) => {
        if (event === 'kafkaJoined') crew.joins += 1;
        if (event === 'kafkaLost') note(`a worker begins again, ${trouble}: ${JSON.stringify(error)}`);
      });
      live.add(worker);
      atEnd(() => worker.kill());
      void watch(worker);
      return worker;
    },

    /** Takes one out of the crew. */
    take(random) {
      const worker = [...live][Math.floor(random() * live.size)];
      live.delete(worker);
      return worker;
    },

    leave: (worker) => leaving.push(worker.stop()),

    /** Each span that a worker took is accounted for, and none is open. */
    async balanceFaults() {
      const faults = [];
      for (const worker of live) {
        const metrics = await worker.metrics();
        const spans = (name) => metrics?.(`tracegrade_spans_${name}`) ?? NaN;
        const ends = spans('assembled_total') + spans('rejected_total') + spans('dropped_total');
        if (spans('accepted_total') !== ends) faults.push(`worker: ${spans('accepted_total')} spans accounted for expected, got ${ends}`); // prettier-ignore
        for (const name of ['spans_open', 'kafka_lag_records', 'kafka_unkeyed_records_total', 'spans_rejected_total']) {
          const value = metrics?.(`tracegrade_${name}`);
          if (value !== 0) faults.push(`worker: ${name} 0 expected, got ${value}`);
        }
      }
      return faults;
    },

    async stopAll() {
      const codes = await Promise.all([...leaving, ...[...live].map((worker) => worker.stop())]);
      const wrong = codes.filter((code) => code !== 0);
      return wrong.map((code) => `a worker that is told to stop: exit status 0 expected, got ${code}`);
    },

    async report() {
      const states = [...live].map(async (worker) => {
        const [{ text }, metrics] = await Promise.all([worker.readiness(), worker.metrics()]);
        const open = metrics?.('tracegrade_spans_open');
        const lag = metrics?.('tracegrade_kafka_lag_records');
        return `worker: ${text.trim()}, spans open ${open}, lag ${lag}, alive ${worker.isAlive()}\n  ${worker.lastLines().slice(-5).join('\n  ')}`;
      });
      return (await Promise.all(states)).join('\n');
    },
  };

  async function watch(worker) {
    while (worker.isAlive()) {
      const metrics = await worker.metrics();
      if (metrics !== null) accepted.set(worker, metrics('tracegrade_spans_accepted_total'));
      await delay(READ_METRICS_MS);
    }
  }

  return crew;
}
