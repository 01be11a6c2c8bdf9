import type { Readable } from 'node:stream';

/** Where a command writes; `isTTY` says whether a person is looking. */
export interface TextSink {
  write(text: string): unknown;
  readonly isTTY: boolean;
  /** Width in characters, when it is a terminal. */
  readonly columns: number | undefined;
}

/** The world as main.ts hands it to the commands. */
export interface Io {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** `v20.19.0`. */
  readonly nodeVersion: string;
  /** Does a process with this id run on this machine? */
  readonly isAlive: (pid: number) => boolean;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: () => number;
  /** 0 <= x < 1. */
  readonly random: () => number;
  /** Aborted by SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
}
