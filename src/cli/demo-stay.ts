import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from '../worker/worker.js';
import { demoConversation } from './demo-agents.js';
import type { DemoSender } from './demo-sender.js';
import type { Io } from './io.js';
import { dataDirSetting, ownCommand, queryLine } from './own-command.js';
import { untilStopped } from './until-stopped.js';

// Often enough to see a panel move; bounded, since somebody will forget it.
const TRICKLE_MS = 3_000;
const MOST_TRICKLED = 28_800; // a day of them
/** The longest script: what the trickle sends has just ended. */
const LONGEST_MS = 12_000;

interface Staying {
  readonly dataDir: string;
  readonly sender: DemoSender;
  /** The conversation to go on with. */
  readonly from: number;
  readonly worseFrom: number;
}

/** Says what can be done with the demo's worker, and lets conversations go on arriving until SIGINT or SIGTERM. */
export async function stay(worker: Worker, { dataDir, sender, from, worseFrom }: Staying, io: Io): Promise<void> {
  io.stdout.write(invitation(`http://127.0.0.1:${worker.port}`, dataDir, io));
  await Promise.all([untilStopped(worker, io), trickle({ from, worseFrom }, sender, io)]);
}

function invitation(url: string, dataDir: string, io: Io): string {
  const sql = 'SELECT assistant_id, verdict, count() FROM verdicts_current GROUP BY ALL ORDER BY ALL';
  return `
The worker stays at ${url}, and a conversation arrives every ${TRICKLE_MS / 1000} s. Ctrl-C ends it. In another shell:

  ${queryLine(dataDir, sql, io)}
  ${ownCommand(io)} alert explain --latest --set ${dataDirSetting(dataDir)}
  curl ${url}/metrics

For an agent of your own that sends OTLP over HTTP:

  export OTEL_EXPORTER_OTLP_ENDPOINT=${url}
`;
}

/** Goes on with the conversations from the n-th on, one at a time as they happen, until it is stopped. */
async function trickle(
  { from, worseFrom }: Pick<Staying, 'from' | 'worseFrom'>,
  sender: DemoSender,
  io: Io,
): Promise<void> {
  try {
    for (let n = from; n < from + MOST_TRICKLED; n += 1) {
      await delay(TRICKLE_MS, undefined, { signal: io.stop });
      await sender.send(demoConversation(n, worseFrom), io.nowMs() - LONGEST_MS);
    }
  } catch (error) {
    if (!io.stop.aborted) throw error;
  }
}
