import { Option, type Command } from 'commander';
import type { ExitStatus } from './exit-status.js';
import type { Io } from './io.js';

/** Registers a command on the program; `done` takes its exit status. */
export type RegisterCommand = (program: Command, io: Io, done: (status: ExitStatus) => void) => void;

/** The options that every command takes. */
export function withCommonOptions(command: Command): Command {
  return command
    .option('--config <file>', 'YAML configuration file (default: ./tracegrade.yaml if there is one)')
    .addOption(repeatable('--set <key.path=value>', 'set one configuration key; may be repeated'));
}

/** An option that may be repeated: a list, empty without it. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, description)
    .argParser((value, before: readonly string[]) => [...before, value])
    .default([], 'none');
}
