import type { Command } from 'commander';
import type { ExitStatus } from './exit-status.js';
import type { Io } from './io.js';

/** Registers a command on the program; `done` takes its exit status. */
export type RegisterCommand = (program: Command, io: Io, done: (status: ExitStatus) => void) => void;

/** The options that every command takes. */
export function withCommonOptions(command: Command): Command {
  return command
    .option('--config <file>', 'YAML configuration file (default: ./tracegrade.yaml if there is one)')
    .option('--set <key.path=value>', 'set one configuration key; may be repeated', collect, []);
}

/** Gathers an option that may be repeated. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
