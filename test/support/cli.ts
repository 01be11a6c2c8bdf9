import { Readable } from 'node:stream';
import { runCommand } from '../../src/cli/program.js';
import type { Io } from '../../src/cli/io.js';

/** An Io that records what a command writes, with a clock that stands still. */
export function recordingIo(changes: Partial<Io> = {}) {
  const written = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof written) => ({
    write(text: string) {
      written[name] += text;
    },
    isTTY: false,
    columns: 200,
  });
  const io: Io = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    stdin: Readable.from([]),
    env: {},
    pid: 1,
    nodeVersion: 'v20.19.0',
    isAlive: () => false,
    nowMs: () => 1_796_000_000_000,
    random: () => 0.5,
    stop: new AbortController().signal,
    ...changes,
  };
  return { io, written };
}

/** Runs one command line as `tracegrade ARGS` would. */
export async function runCli(args: readonly string[], changes: Partial<Io> = {}) {
  const { io, written } = recordingIo(changes);
  const status = await runCommand(args, io);
  return { status, stdout: written.stdout, stderr: written.stderr };
}
