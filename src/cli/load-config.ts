import { readFile } from 'node:fs/promises';
import { describeFaults, readConfig, type Config } from '../config.js';
import { counted } from './counted.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';

/** The options that every command takes. */
export interface CommonOptions {
  readonly config?: string;
  readonly set: readonly string[];
}

const DEFAULT_FILE = 'tracegrade.yaml';

/**
 * Reads the configuration: `--config FILE` (or TRACEGRADE_CONFIG), else `tracegrade.yaml` here if there is one.
 * Throws a CommandError that lists every fault.
 */
export async function loadConfig(options: CommonOptions, io: Io): Promise<Config> {
  const named = options.config ?? io.env['TRACEGRADE_CONFIG'];
  const name = named ?? DEFAULT_FILE;
  let text: string | undefined;
  try {
    text = await readFile(name, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    if (named !== undefined || code !== 'ENOENT') {
      throw new CommandError(`cannot read the configuration file ${name}: ${code}`, ExitStatus.usage);
    }
  }
  const result = readConfig({
    env: io.env,
    sets: options.set,
    ...(text === undefined ? {} : { file: { name, text } }),
  });
  if (!result.ok) {
    const many = counted(result.faults.length, 'fault');
    throw new CommandError(`the configuration has ${many}:\n${describeFaults(result.faults)}`, ExitStatus.usage);
  }
  for (const warning of result.warnings) io.stderr.write(`warning: ${warning.path} ${warning.message}\n`);
  return result.config;
}
