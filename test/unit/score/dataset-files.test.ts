import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { datasetFilesIn, readDatasetFile, readDatasetPaths } from '../../../src/score/dataset-files.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tracegrade-datasets-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

const dataset = (id: string) => ({
  session_id: id,
  conversation: [{ qa_id: id, query: 'x'.repeat(100), ground_truth_assistant: '1' }],
});

async function read(name: string, content: string) {
  const path = join(folder, name);
  await writeFile(path, content);
  const { turns, faults } = await readDatasetFile(path);
  const shorten = (place: string) => place.replace(folder, '');
  return {
    ids: turns.map(({ caseId }) => caseId),
    faults: faults.map(({ place, problem }) => ({ place: shorten(place), problem })),
  };
}

test('reads one JSON text', async () => {
  expect(await read('one.json', JSON.stringify([dataset('a'), dataset('b')], null, 2))).toEqual({
    ids: ['a', 'b'],
    faults: [],
  });
});

test('reads JSONL over many chunks, names the line of a fault and goes on', async () => {
  const lines = Array.from({ length: 2000 }, (_, i) => JSON.stringify(dataset(`d${i}`)));
  lines[1499] = '{"session_id": ';

  const { ids, faults } = await read('many.jsonl', `${lines.join('\n')}\n\n`);

  expect(ids).toHaveLength(1999);
  expect(ids.at(-1)).toBe('d1999');
  expect(faults).toEqual([{ place: '/many.jsonl:1500', problem: 'not JSON (cut off?)' }]);
});

test('a line end of Windows, and no line end at the end', async () => {
  expect(await read('dos.ndjson', `${JSON.stringify(dataset('a'))}\r\n${JSON.stringify(dataset('b'))}`)).toEqual({
    ids: ['a', 'b'],
    faults: [],
  });
});

test('a file that cannot be read is a fault with the code of the system', async () => {
  expect((await readDatasetFile(join(folder, 'none.jsonl'))).faults).toEqual([
    { place: join(folder, 'none.jsonl'), problem: 'cannot be read: ENOENT', code: 'ENOENT' },
  ]);
  expect((await readDatasetFile(folder)).faults).toEqual([
    { place: folder, problem: 'cannot be read: EISDIR', code: 'EISDIR' },
  ]);
});

test('a directory stands for the dataset files in it, in order of name', async () => {
  const directory = join(folder, 'truth');
  await mkdir(directory);
  for (const name of ['b.jsonl', 'a.json', 'c.NDJSON', '.hidden.json', 'notes.txt', 'a.json.bak']) {
    await writeFile(join(directory, name), JSON.stringify(dataset(name)));
  }

  expect((await datasetFilesIn(directory))?.map((path) => basename(path))).toEqual(['a.json', 'b.jsonl', 'c.NDJSON']);
  expect(await datasetFilesIn(join(directory, 'a.json'))).toBeNull();
  expect(await datasetFilesIn(join(directory, 'none'))).toBeNull();
  const { turns, faults } = await readDatasetPaths([directory, join(directory, 'a.json')]);
  expect(faults).toEqual([]);
  expect(turns.map(({ caseId }) => caseId)).toEqual(['a.json', 'b.jsonl', 'c.NDJSON']);
});

test('a directory or a socket with the name of a dataset file is none, a link to one is', async () => {
  const directory = join(folder, 'mixed');
  await mkdir(join(directory, 'folder.json'), { recursive: true });
  await writeFile(join(directory, 'a.json'), JSON.stringify(dataset('a')));
  await symlink('a.json', join(directory, 'link.json'));
  const server = createServer().listen(join(directory, 's.json'));
  await once(server, 'listening');

  expect((await datasetFilesIn(directory))?.map((path) => basename(path))).toEqual(['a.json', 'link.json']);
  server.close();
});
