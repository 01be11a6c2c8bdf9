import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { DatasetItem, Datasets } from './datasets.js';
import { joined, splitDatasetLine, splitDatasets, turnsOf } from './datasets.js';

/**
 * Reads the turns of a file of Gaussia datasets. What cannot be read is a fault with its place; the rest is given. Never
 * rejects.
 */
export async function readDatasetFile(path: string): Promise<Datasets> {
  const parts: Datasets[] = [];
  for await (const item of streamDatasetFile(path)) parts.push(turnsOf(item));
  return joined(parts);
}

/**
 * The dataset files in a directory, in order of name: `.json`, `.jsonl` and `.ndjson`, and links of such names, but for
 * hidden ones. Whatever else has such a name (a directory, or a pipe, which might be read for ever) is left out. null when
 * it is no directory, or cannot be listed.
 */
export async function datasetFilesIn(path: string): Promise<readonly string[] | null> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .filter((name) => /^[^.].*\.(?:json|jsonl|ndjson)$/i.test(name))
      .sort()
      .map((name) => join(path, name));
  } catch {
    return null;
  }
}

/** The turns of files, and of the dataset files in directories. Never rejects. */
export async function readDatasetPaths(paths: readonly string[]): Promise<Datasets> {
  const listed = await Promise.all(paths.map(async (path) => (await datasetFilesIn(path)) ?? [path]));
  const parts: Datasets[] = [];
  for (const file of new Set(listed.flat())) parts.push(await readDatasetFile(file));
  return joined(parts);
}

/**
 * The datasets of a file, one by one: `.jsonl` and `.ndjson` line by line, one dataset a line, in memory for the longest
 * line; anything else as one JSON text, which is held whole. Never throws.
 */
export async function* streamDatasetFile(path: string): AsyncGenerator<DatasetItem> {
  try {
    if (!/\.(?:jsonl|ndjson)$/i.test(path)) {
      for (const [i, item] of splitDatasets(await readFile(path, 'utf8'), path).entries()) {
        // Nothing here waits for the disk any more: a worker that reads it has requests to answer meanwhile.
        if (i % 100 === 99) await setImmediate();
        yield item;
      }
      return;
    }
    let lineNumber = 0;
    for await (const line of linesOf(path)) {
      lineNumber += 1;
      yield* splitDatasetLine(line, path, lineNumber);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const problem = `cannot be read: ${code}`;
    const hint = '; too large for one JSON text: write one dataset a line, as .jsonl';
    yield {
      fault: TOO_LARGE.has(code) ? { place: path, problem: `${problem}${hint}` } : { place: path, problem, code },
    };
  }
}

const TOO_LARGE: ReadonlySet<string> = new Set(['ERR_STRING_TOO_LONG', 'ERR_FS_FILE_TOO_LARGE']);

/** `node:readline` does not hand on the stream's errors. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const pending: string[] = [];
  for await (const chunk of createReadStream(path, 'utf8') as AsyncIterable<string>) {
    const lines = chunk.split('\n');
    pending.push(lines[0] as string);
    if (lines.length === 1) continue;
    yield pending.join('');
    yield* lines.slice(1, -1);
    pending.length = 0;
    pending.push(lines.at(-1) as string);
  }
  yield pending.join('');
}
