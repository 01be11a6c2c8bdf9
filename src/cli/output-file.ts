import { open } from 'node:fs/promises';
import { CommandError, ExitStatus } from './exit-status.js';
import type { TextSink } from './io.js';

/** Where a report goes: a file, or a sink. */
export interface Output {
  write(text: string): Promise<void>;
  /** Everything is written. */
  close(): Promise<void>;
}

const BUFFERED_CHARACTERS = 1 << 16;

/** The file, which is emptied first; without a path the sink. Throws a CommandError when it cannot be written. */
export async function openOutput(path: string | undefined, sink: TextSink): Promise<Output> {
  if (path === undefined) {
    return {
      write(text) {
        if (text !== '') sink.write(text);
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    };
  }
  const failed = (error: unknown): never => {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new CommandError(`cannot write ${path}: ${code}`, ExitStatus.usage);
  };
  const file = await open(path, 'w').catch(failed);
  let pending = '';
  const flush = async () => {
    const text = pending;
    pending = '';
    if (text !== '') await file.appendFile(text).catch(failed);
  };
  return {
    async write(text) {
      pending += text;
      if (pending.length >= BUFFERED_CHARACTERS) await flush();
    },
    async close() {
      try {
        await flush();
      } finally {
        await file.close();
      }
    },
  };
}
