import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_FILE_LIMITS, readOtlpFiles } from '../../../src/receive/otlp-files.js';
import type { FileItem } from '../../../src/receive/otlp-files.js';
import { otlpRequest, otlpSpan } from '../../support/decoding.js';
import { encodeOtlpJson } from '../../support/otlp-proto.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'otlp-files-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const request = (name: string) => otlpRequest(otlpSpan({ name }));
const json = (name: string): string => JSON.stringify(request(name));

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, content);
  return path;
}

async function read(
  paths: string[],
  stdin: Readable = Readable.from([]),
  limits = DEFAULT_FILE_LIMITS,
): Promise<FileItem[]> {
  const items: FileItem[] = [];
  for await (const item of readOtlpFiles(paths, { stdin }, limits)) items.push(item);
  return items;
}

/** `place:span names` of batches, `kind place` of the rest. */
function summary(items: FileItem[]): string[] {
  return items.map((item) => {
    if (item.kind === 'batch') return `${item.place}:${item.batch.spans.map(({ name }) => name).join(',')}`;
    return item.kind === 'skipped' ? `skipped ${item.documents}` : `unreadable ${item.place}`.trim();
  });
}

test('reads one request from .json, also when it is pretty-printed or has a byte order mark', async () => {
  const plain = await write('a.json', json('a'));
  const pretty = await write('b.json', JSON.stringify(request('b'), null, 2));
  const marked = await write('c.json', `\ufeff\n${JSON.stringify(request('c'), null, 2)}\n`);

  expect(summary(await read([plain, pretty, marked]))).toEqual(
    [':a', ':b', ':c'].map((text, i) => (i === 0 ? `line 1${text}` : text)),
  );
});

test('reads .json that holds a request a line, an array of them, or several one after the other', async () => {
  const byLine = await write('lines.json', `${json('a')}\n\n${json('b')}\n`);
  const array = await write('array.json', `[${json('c')},\n${json('d')}]`);
  const several = await write(
    'several.json',
    `${JSON.stringify(request('e'), null, 1)}\n${JSON.stringify(request('f'), null, 1)}`,
  );

  expect(summary(await read([byLine, array, several]))).toEqual([
    'line 1:a',
    'line 3:b',
    '[0]:c',
    '[1]:d',
    ':e',
    'document 2:f',
  ]);
});

test.each(['jsonl', 'ndjson'])('reads .%s line by line and goes on after a broken line', async (extension) => {
  const path = await write(`a.${extension}`, `${json('a')}\r\n{"resourceSpans":[\n${json('b')}`);
  const items = await read([path]);

  expect(summary(items)).toEqual(['line 1:a', 'unreadable line 2', 'line 3:b']);
  expect(items[1]).toMatchObject({
    file: path,
    rejection: { reason: 'malformed_body', detail: 'a value expected at byte 19, got the end' },
  });
});

test('reads .pb, and gzipped files whatever they are called', async () => {
  const pb = await write('a.pb', encodeOtlpJson(request('a')));
  const pbGz = await write('b.pb.gz', gzipSync(encodeOtlpJson(request('b'))));
  const jsonlGz = await write('c.jsonl.gz', gzipSync(`${json('c')}\n${json('d')}\n`));
  const hidden = await write('e.json', gzipSync(json('e')));
  const members = await write('f.jsonl.gz', Buffer.concat([gzipSync(`${json('f')}\n`), gzipSync(`${json('g')}\n`)]));

  expect(summary(await read([pb, pbGz, jsonlGz, hidden, members]))).toEqual([
    ':a',
    ':b',
    'line 1:c',
    'line 2:d',
    'line 1:e',
    'line 1:f',
    'line 2:g',
  ]);
});

test('reads a directory recursively in order of names, and leaves out what holds no traces', async () => {
  await write('b/2.pb', encodeOtlpJson(request('b2')));
  await write('b/1.json', json('b1'));
  await write('a.jsonl', json('a'));
  await write('c.json.gz', gzipSync(json('c')));
  await write('notes.md', 'no traces');
  await write('a_single_tool.expect.json', '{"conversation_id":"s","interactions":[]}');
  await write('x.logs.otlp.json', '{"resourceLogs":[{}]}');
  await write('list.json', '[1,2]');

  expect(summary(await read([folder]))).toEqual([
    'line 1:a',
    'skipped 1',
    'line 1:b1',
    ':b2',
    'line 1:c',
    'skipped 2',
    'skipped 1',
  ]);
});

test('does not follow links to directories in a circle', async () => {
  await write('a.json', json('a'));
  await symlink(folder, join(folder, 'loop'));

  expect(summary(await read([folder]))).toEqual(['line 1:a']);
});

test('names a file that was asked for and holds no OTLP, but only counts other signals', async () => {
  const other = await write('dataset.json', '{"interactions":[]}');
  const logs = await write('x.logs.otlp.json', '{"resourceLogs":[{}]}');

  expect(await read([other, logs])).toMatchObject([
    { kind: 'unreadable', file: other, rejection: { detail: 'resourceSpans expected, got other members only' } },
    { kind: 'skipped', file: logs, documents: 1 },
  ]);
});

test('names what cannot be read and goes on with the rest', async () => {
  const missing = join(folder, 'missing.json');
  const empty = await write('empty.json', '');
  const cut = await write('cut.pb', encodeOtlpJson(request('a')).subarray(0, 20));
  const cutGzip = await write('cut.json.gz', gzipSync(json('a')).subarray(0, 40));
  const good = await write('good.json', json('good'));
  const items = await read([missing, empty, cut, cutGzip, good]);

  expect(items.slice(0, 4).map((item) => item.kind === 'unreadable' && [item.file, item.rejection.detail])).toEqual([
    [missing, 'cannot be read: no such file or directory'],
    [empty, 'a request expected, got nothing'],
    [cut, expect.stringContaining('resourceSpans[0]: a field of ')],
    [cutGzip, 'cannot be read: Z_BUF_ERROR'],
  ]);
  expect(summary(items.slice(4))).toEqual(['line 1:good']);
});

test('tells the encoding of standard input from its first bytes', async () => {
  const feeds: [string | Buffer, string[]][] = [
    [`\n ${json('a')}\n${json('b')}`, ['line 2:a', 'line 3:b']],
    [JSON.stringify(request('c'), null, 2), [':c']],
    [encodeOtlpJson(request('d')), [':d']],
    [gzipSync(encodeOtlpJson(request('e'))), [':e']],
    [gzipSync(json('f')), ['line 1:f']],
    ['', [':']],
  ];
  for (const [feed, expected] of feeds) {
    expect(summary(await read(['-'], Readable.from([Buffer.from(feed as Buffer)])))).toEqual(expected);
  }
});

test('reads protobuf that begins like a line feed and a brace', async () => {
  // A ResourceSpans of 123 bytes: its tag is 0x0a and its length 0x7b.
  const name = 'n'.repeat(123 - encodeOtlpJson(request('')).length);
  const body = [0, 1, 2, 3, 4]
    .map((more) => encodeOtlpJson(request(name + 'n'.repeat(more))))
    .find((bytes) => bytes[1] === 0x7b);

  expect([...(body ?? []).slice(0, 2)]).toEqual([0x0a, 0x7b]);
  expect(summary(await read(['-'], Readable.from([body])))).toEqual([expect.stringMatching(/^:n+$/)]);
});

test('reads input that arrives byte by byte', async () => {
  const bytes = Buffer.from(`${json('ä')}\n${json('b')}\n`);
  const stdin = Readable.from(Array.from(bytes, (byte) => Buffer.from([byte])));

  expect(summary(await read(['-'], stdin))).toEqual(['line 1:ä', 'line 2:b']);
});

test('passes over a line that is longer than the limit, and goes on', async () => {
  const path = await write('a.jsonl', `${json('a')}\n${' '.repeat(5000)}${json('long')}\n${json('b')}\n`);
  const limits = { ...DEFAULT_FILE_LIMITS, maxRequestBytes: 1000 };

  expect(summary(await read([path], undefined, limits))).toEqual(['line 1:a', 'unreadable line 2', 'line 3:b']);
});

test('refuses a file that unpacks to more than the limit', async () => {
  const bomb = await write('bomb.pb.gz', gzipSync(Buffer.alloc(1_000_000)));
  const json = await write('bomb.json.gz', gzipSync(`{\n${' '.repeat(1_000_000)}}`));
  const limits = { ...DEFAULT_FILE_LIMITS, maxRequestBytes: 1000 };

  expect(await read([bomb, json], undefined, limits)).toMatchObject([
    { kind: 'unreadable', rejection: { reason: 'too_large' } },
    { kind: 'unreadable', rejection: { reason: 'too_large' } },
  ]);
});
