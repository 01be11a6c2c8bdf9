import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Datasets } from './datasets.js';
import { joined, parseDatasetLine, parseDatasets } from './datasets.js';

/**
 * Reads a file of Gaussia datasets: `.jsonl` and `.ndjson` line by line, one dataset a line; anything else as one JSON
 * text. What cannot be read is a fault with its place; the rest is given. Never rejects.
 */
export async function readDatasetFile(path: string): Promise<Datasets> {
  try {
    if (!/\.(?:jsonl|ndjson)$/i.test(path)) return parseDatasets(await readFile(path, 'utf8'), path);
    const parts: Datasets[] = [];
    let lineNumber = 0;
    for await (const line of linesOf(path)) {
      lineNumber += 1;
      const part = parseDatasetLine(line, path, lineNumber);
      if (part.turns.length > 0 || part.faults.length > 0) parts.push(part);
    }
    return joined(parts);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { turns: [], faults: [{ place: path, problem: `cannot be read: ${code}` }] };
  }
}

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
