#!/usr/bin/env node
import { runCommand } from './cli/program.js';

const stop = new AbortController();
// SIGHUP: the terminal was closed.
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(name, () => {
    // A second one, of whatever kind, means: now.
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new Error(name));
  });
}
// A reader that left (`tracegrade score ... | head`) is no error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

// They make LangChain print, or send to LangSmith, what the judge is told; that is nobody's who has not asked us for it.
for (const name of [
  'LANGCHAIN_VERBOSE',
  'LANGCHAIN_TRACING',
  'LANGCHAIN_TRACING_V2',
  'LANGSMITH_TRACING',
  'LANGSMITH_TRACING_V2',
]) {
  delete process.env[name];
}

const sink = (stream: NodeJS.WriteStream) => ({
  write: (text: string) => stream.write(text),
  isTTY: stream.isTTY === true,
  columns: stream.columns as number | undefined,
});

const status = await runCommand(process.argv.slice(2), {
  stdout: sink(process.stdout),
  stderr: sink(process.stderr),
  stdin: process.stdin,
  env: process.env,
  pid: process.pid,
  nodeVersion: process.version,
  isAlive,
  nowMs: () => Date.now(),
  random: () => Math.random(),
  stop: stop.signal,
});
// Output to a pipe is written asynchronously; exit only when it has left.
process.stdout.write('', () => process.stderr.write('', () => process.exit(status)));

/** Signal 0 only asks; EPERM means that it is there and somebody else's. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
