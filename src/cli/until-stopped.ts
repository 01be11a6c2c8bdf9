import type { Worker } from '../worker/worker.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';

/** Resolves at SIGTERM or SIGINT; rejects with a CommandError when the worker cannot go on. */
export async function untilStopped(worker: Pick<Worker, 'failed'>, io: Pick<Io, 'stop'>): Promise<void> {
  const stopped = new Promise<null>((resolve) => {
    if (io.stop.aborted) resolve(null);
    io.stop.addEventListener('abort', () => resolve(null), { once: true });
  });
  const fault = await Promise.race([stopped, worker.failed]);
  if (fault === null) return;
  throw new CommandError(fault instanceof Error ? fault.message : 'the worker failed', ExitStatus.usage);
}
