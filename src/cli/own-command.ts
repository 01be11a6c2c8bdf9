import { existsSync } from 'node:fs';
import { delimiter, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Io } from './io.js';

// npm puts these into PATH for what it runs; the next shell has them not.
const OF_NPM = join('node_modules', '.bin');

/** How a person calls this program from a shell: by its name where PATH has it, else through Node.js. */
export function ownCommand(io: Pick<Io, 'env'>): string {
  const folders = (io.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '' && !isOfNpm(folder));
  if (folders.some((folder) => existsSync(join(folder, 'tracegrade')))) return 'tracegrade';
  return `node ${shellWord(fileURLToPath(new URL('../main.js', import.meta.url)))}`;
}

function isOfNpm(folder: string): boolean {
  return folder.split(sep).slice(-2).join(sep) === OF_NPM;
}

/** A word of a POSIX shell's command line. */
export function shellWord(text: string): string {
  return /^[\w./=:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A command line that asks a data directory in SQL (without quotation marks), whatever directory the shell is in. */
export function queryLine(dataDir: string, sql: string, io: Pick<Io, 'env'>): string {
  return `${ownCommand(io)} query --set ${dataDirSetting(dataDir)} "${sql}"`;
}

/** What follows `--set` on a shell's command line to name a data directory, whatever directory the shell is in. */
export function dataDirSetting(dataDir: string): string {
  const path = resolve(dataDir);
  // Read as YAML, so only a plain path may stand without quotation marks.
  const value = /^[\w./-]+$/.test(path) ? path : JSON.stringify(path);
  return shellWord(`dataDir=${value}`);
}
