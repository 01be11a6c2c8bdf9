/**
 * Kills a worker (kill -9; the embedded engine dies with it) again and again while interactions are sent to it over
 * HTTP, and then looks whether each interaction whose spans were acknowledged is in the store once, with all its calls.
 *
 * The sender behaves as an OTLP exporter does: what was not answered with 200 is sent again. The spans of an
 * interaction go out in two requests, the tool spans before the root, so that kills part them.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { atEnd } from './cleanup.mjs';
import { compareWithTruth, ROWS, throwFaults } from './invariants.mjs';
import { interactions, jsonRequest, seeded } from './traffic.mjs';
import { query, settingsOf, startWorker, waitFor } from './worker-process.mjs';

const PER_REQUEST = 20;
const SENDERS = 4;
const PATIENCE_MS = 600_000;

/** @param {{ readonly kills: number, readonly interactions: number, readonly seed: number }} options */
export async function crashOnSpool(options) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tracegrade-crash-'));
  atEnd(() => rm(dataDir, { recursive: true, force: true }));
  const settings = settingsOf({ dataDir, 'assemble.quietMs': 300, 'assemble.lateMs': 600 });
  const random = seeded(options.seed);
  const sent = interactions(String(options.seed), options.interactions);
  const queue = requests(sent);
  const total = queue.length;
  let worker = null;
  let attempts = 0;
  let acknowledged = 0;

  async function sendAll() {
    for (let request = queue.pop(); request !== undefined; request = queue.pop()) {
      for (;;) {
        attempts += 1;
        const answer = await fetch(`http://127.0.0.1:${worker.port}/v1/traces`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: request,
        }).catch(() => null);
        if (answer?.status === 200) break;
        if (answer !== null && answer.status !== 503) throw new Error(`200 or 503 expected, got ${answer.status}`);
        await delay(20);
      }
      acknowledged += 1;
    }
  }

  worker = await startWorker(settings);
  atEnd(() => worker.kill());
  let sending = true;
  const allSent = Promise.all(Array.from({ length: SENDERS }, sendAll)).then(() => (sending = false));

  for (let kills = 0; kills < options.kills; kills += 1) {
    // Spread over the run: wait for a random number of acknowledgements, then for a random moment within it.
    const share = Math.ceil((total - acknowledged) / (options.kills - kills + 1));
    const until = acknowledged + Math.floor(random() * 2 * share);
    await waitFor('acknowledgements', () => acknowledged >= until || !sending, PATIENCE_MS, 10);
    await delay(random() * 120);
    await worker.kill();
    worker = await startWorker(settings);
  }
  await allSent;
  const isIdle = async () => {
    const [metrics, { ready }] = await Promise.all([worker.metrics(), worker.readiness()]);
    return ready && metrics?.('tracegrade_spans_open') === 0 && metrics('tracegrade_spool_entries') === 0;
  };
  await waitFor('an idle worker', isIdle, PATIENCE_MS);
  const code = await worker.stop();
  if (code !== 0) throw new Error(`the worker drained with exit status 0 expected, got ${code}`);
  throwFaults(compareWithTruth(sent, await query(settings, ROWS)), `after ${options.kills} kills`);
  process.stdout.write(
    `spool: ${sent.length} interactions, ${options.kills} kills, ${attempts - acknowledged} requests sent again: each is in the store once, with all its calls\n`,
  );
}

/** Two requests for every group of interactions: tool spans first, then model and agent spans. */
function requests(sent) {
  const list = [];
  for (let first = 0; first < sent.length; first += PER_REQUEST) {
    const group = sent.slice(first, first + PER_REQUEST);
    for (const part of ['toolSpans', 'otherSpans']) list.push(jsonRequest(group.flatMap((each) => each[part])));
  }
  return list.reverse(); // senders take from the end
}
