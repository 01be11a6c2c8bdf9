import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSpool, type Spool, type SpoolConfig, type SpoolEntry } from '../../../src/receive/spool-lmdb.js';

const META = { encoding: 'protobuf', receivedAtMs: 1_796_020_000_000 } as const;

let path: string;
const opened: Spool[] = [];

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'spool-'));
});

afterEach(async () => {
  for (const spool of opened.splice(0)) await spool.close();
  rmSync(path, { recursive: true, force: true });
});

function open(config: Partial<SpoolConfig> = {}): Spool {
  const opening = openSpool({ path, ...config });
  if (opening.status !== 'opened') return expect.fail(opening.cause.message);
  opened.push(opening.spool);
  return opening.spool;
}

async function append(spool: Spool, bytes: Uint8Array, meta: Parameters<Spool['append']>[1] = META): Promise<number> {
  const appended = await spool.append(bytes, meta);
  return appended.status === 'ok' ? appended.offset : expect.fail(appended.cause.message);
}

async function all(spool: Spool, from?: number): Promise<SpoolEntry[]> {
  const entries: SpoolEntry[] = [];
  for await (const entry of spool.entries(from)) entries.push(entry);
  return entries;
}

test('gives back what was appended, byte for byte, in order', async () => {
  const spool = open();
  const bodies = [1, 100, 4096, 4097, 150_000, 3_000_000].map((size, i) => Buffer.alloc(size, i + 1));

  const offsets = await Promise.all(
    bodies.map((body, i) => append(spool, body, { encoding: i % 2 ? 'json' : 'protobuf', receivedAtMs: 1000 + i })),
  );
  const entries = await all(spool);

  expect(offsets).toEqual([0, 1, 2, 3, 4, 5]);
  expect(entries.map((entry) => entry.offset)).toEqual(offsets);
  entries.forEach((entry, i) => {
    expect(Buffer.from(entry.bytes).equals(bodies[i]!)).toBe(true);
    expect(entry.encoding).toBe(i % 2 ? 'json' : 'protobuf');
    expect(entry.receivedAtMs).toBe(1000 + i);
  });
  expect(spool.read(4)!.bytes).toHaveLength(150_000);
  expect(spool.read(6)).toBeUndefined();
  expect((await all(spool, 4)).map((entry) => entry.offset)).toEqual([4, 5]);
});

test('a part of a larger buffer is stored as that part', async () => {
  const spool = open();
  const whole = Buffer.from('before-the part-after');

  await append(spool, whole.subarray(7, 15));

  expect(Buffer.from(spool.read(0)!.bytes).toString()).toBe('the part');
});

test('what was read stays as it was when more is written and released', async () => {
  const spool = open();
  await append(spool, Buffer.alloc(150_000, 1));
  const { bytes } = spool.read(0)!;

  await spool.release([0]);
  for (let i = 0; i < 20; i++) await append(spool, Buffer.alloc(150_000, 2));

  expect(Buffer.from(bytes).equals(Buffer.alloc(150_000, 1))).toBe(true);
});

test('is the same after closing and opening', async () => {
  const first = open();
  for (let i = 0; i < 5; i++) await append(first, Buffer.from(`entry ${i}`), { encoding: 'json', receivedAtMs: i });
  await first.release([1, 3]);
  const before = first.stats();
  await first.close();

  const second = open();

  expect(second.stats()).toEqual(before);
  expect(
    (await all(second)).map((entry) => [entry.offset, Buffer.from(entry.bytes).toString(), entry.receivedAtMs]),
  ).toEqual([
    [0, 'entry 0', 0],
    [2, 'entry 2', 2],
    [4, 'entry 4', 4],
  ]);
});

test('offsets go on after a restart, also of an emptied spool', async () => {
  const first = open();
  for (let i = 0; i < 3; i++) await append(first, Buffer.from('x'));
  await first.release([0, 1, 2]);
  expect(first.stats()).toMatchObject({ entries: 0, bytes: 0, oldestOffset: null });
  await first.close();

  const second = open();
  expect(await append(second, Buffer.from('x'))).toBe(3);
  await second.close();

  expect(await append(open(), Buffer.from('x'))).toBe(4);
});

test('releases one by one, in any order, more than once, and what was never there', async () => {
  const spool = open();
  for (let i = 0; i < 6; i++) await append(spool, Buffer.from(`${i}`));

  expect(await spool.release([4, 2, 2])).toEqual({ status: 'ok' });
  expect(await spool.release([2, 99, -1])).toEqual({ status: 'ok' });
  await Promise.all([spool.release([0]), spool.release([0])]);

  expect((await all(spool)).map((entry) => entry.offset)).toEqual([1, 3, 5]);
  expect(spool.stats()).toMatchObject({ entries: 3, oldestOffset: 1 });
});

test('a re-read passes over what is released meanwhile and meets what is appended', async () => {
  const spool = open();
  for (let i = 0; i < 3; i++) await append(spool, Buffer.from(`${i}`));

  const seen: number[] = [];
  for await (const { offset } of spool.entries()) {
    seen.push(offset);
    if (offset === 0) {
      await spool.release([0, 1]);
      await append(spool, Buffer.from('3'));
    }
  }

  expect(seen).toEqual([0, 2, 3]);
});

test('is bounded in whole pages: full is retryable, and a release makes room', async () => {
  const spool = open({ maxBytes: 3 * 4096 });
  await append(spool, Buffer.alloc(1));
  await append(spool, Buffer.alloc(4097)); // two pages

  const full = await spool.append(Buffer.alloc(1), META);

  expect(full).toMatchObject({ status: 'retryable', cause: { message: expect.stringContaining('12288 of 12288') } });
  expect(spool.stats()).toMatchObject({ entries: 2, bytes: 3 * 4096, maxBytes: 3 * 4096, trouble: null });
  await spool.release([0]);
  expect(await append(spool, Buffer.alloc(1))).toBe(2);
});

test('the bound holds among appends that are under way together', async () => {
  const spool = open({ maxBytes: 5 * 4096 });

  const outcomes = await Promise.all(Array.from({ length: 8 }, () => spool.append(Buffer.alloc(4096), META)));

  expect(outcomes.filter((outcome) => outcome.status === 'ok')).toHaveLength(5);
  expect(spool.stats()).toMatchObject({ entries: 5, bytes: 5 * 4096 });
});

test('an entry greater than the whole spool is rejected, since later will not work either', async () => {
  const spool = open({ maxBytes: 3 * 4096 });

  expect(await spool.append(Buffer.alloc(3 * 4096 + 1), META)).toMatchObject({ status: 'rejected' });
});

test('the file does not grow while as much is released as appended', async () => {
  const spool = open({ maxBytes: 64 * 1024 * 1024 });
  // Sizes from 1 to 1000 kB that repeat in no pattern; 20 entries are live at any time, about 10 MB.
  for (let i = 0; i < 150; i++) {
    await append(spool, Buffer.alloc(1 + ((i * 7919) % 1000) * 1000, 7));
    if (i >= 20) await spool.release([i - 20]);
  }

  expect(spool.stats().entries).toBe(20);
  expect(statSync(join(path, 'data.mdb')).size).toBeLessThan(64 * 1024 * 1024);
});

test('a directory that is open in this process is refused until it is closed', async () => {
  const first = open();

  expect(openSpool({ path })).toMatchObject({
    status: 'rejected',
    cause: { message: expect.stringContaining('in use by another worker') },
  });
  await append(first, Buffer.from('x'));
  await first.close();
  expect(open({ path: `${path}/` }).stats().entries).toBe(1);
});

test('a directory is made when it is missing', () => {
  expect(open({ path: join(path, 'a/b.c/spool') }).stats().entries).toBe(0);
});

test('a directory that cannot be made is an outcome, not an exception', () => {
  writeFileSync(join(path, 'file'), 'x');

  expect(openSpool({ path: join(path, 'file') })).toMatchObject({ status: 'retryable' });
});

test.each([
  ['something else', Buffer.alloc(8192, 0xab)],
  ['zeros', Buffer.alloc(8192)],
  ['a cut file', Buffer.alloc(100)],
])('files that are no spool are an outcome, not the end of the process: %s', (_, bytes) => {
  writeFileSync(join(path, 'data.mdb'), bytes);

  expect(openSpool({ path })).toMatchObject({
    status: 'retryable',
    cause: { message: expect.stringContaining('data.mdb') },
  });
});

test('a file of a later LMDB is refused with both versions', async () => {
  await open().close();
  const file = join(path, 'data.mdb');
  const bytes = readFileSync(file);
  bytes.writeUInt16LE(3, 28);
  writeFileSync(file, bytes);

  expect(openSpool({ path })).toMatchObject({
    status: 'retryable',
    cause: { message: expect.stringContaining('LMDB format 2 expected, got 3') },
  });
});

test('a directory in place of a file is an outcome', () => {
  mkdirSync(join(path, 'lock.mdb'));

  expect(openSpool({ path })).toMatchObject({ status: 'retryable' });
});

test('closed, it takes nothing, and says so', async () => {
  const spool = open();
  await append(spool, Buffer.from('x'));
  await spool.close();
  await spool.close();

  expect(await spool.append(Buffer.from('y'), META)).toMatchObject({ status: 'retryable' });
  expect(await spool.release([0])).toMatchObject({ status: 'retryable' });
  expect(spool.read(0)).toBeUndefined();
});

test('closing waits for the appends in hand', async () => {
  const spool = open();
  const appending = Promise.all(Array.from({ length: 20 }, () => append(spool, Buffer.alloc(100_000, 3))));

  await spool.close();

  expect(await appending).toHaveLength(20);
  expect(open().stats().entries).toBe(20);
});
