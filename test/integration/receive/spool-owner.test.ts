import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSpool, type Spool } from '../../../src/receive/spool-lmdb.js';
import { childScript } from '../../support/compiled-spool.js';

let path: string;
let script: ReturnType<typeof childScript>;
const children: ChildProcess[] = [];

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'spool-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(path, { recursive: true, force: true });
  script.remove();
});

/** Runs a script against the spool in a process of its own; `next` gives its lines, parsed, then `undefined`. */
function run<T>(
  source: string,
  command: readonly string[] = [],
): { child: ChildProcess; next: () => Promise<T | undefined> } {
  script = childScript(`import { openSpool } from './spool-lmdb.js';
    const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
    const path = ${JSON.stringify(path)};
    ${source}`);
  const [program, ...rest] = [...command, process.execPath, script.path];
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'ignore'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async next() {
      const { done, value } = await lines.next();
      return done ? undefined : (JSON.parse(value) as T);
    },
  };
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

function open(): Spool {
  const opening = openSpool({ path });
  return opening.status === 'opened' ? opening.spool : expect.fail(opening.cause.message);
}

/** Entry i is this many bytes of the value i modulo 251: length and content tell whether it is whole. */
const BODY = 'const size = (i) => 1 + ((i * 7919) % 200) * 1000; const body = (i) => Buffer.alloc(size(i), i % 251);';
const size = (i: number) => 1 + ((i * 7919) % 200) * 1000;

test.each([1, 2, 3, 4])('what was acknowledged is there after kill -9 (run %d)', async (turn) => {
  const { child, next: nextLine } = run<{ offset: number; mine: number } | { releasing: number }>(`${BODY}
    const { spool } = openSpool({ path });
    let i = 0;
    async function writer() {
      for (;;) {
        const mine = i++;
        const { status, offset } = await spool.append(body(mine), { encoding: 'json', receivedAtMs: mine });
        if (status === 'ok') say({ offset, mine });
        if (mine % 3 === 0) { say({ releasing: offset }); await spool.release([offset]); }
      }
    }
    for (let n = 0; n < 8; n++) void writer();
  `);
  const acknowledged = new Map<number, number>();
  const releasing = new Set<number>();
  // Killed as soon as this many lines were read, wherever it is by then.
  const killAfter = Math.floor(Math.random() * 400) + turn * 20;
  for (let n = 0; ; n++) {
    const line = await nextLine();
    if (!line) break;
    if ('offset' in line) acknowledged.set(line.offset, line.mine);
    else releasing.add(line.releasing);
    if (n === killAfter) child.kill('SIGKILL');
  }
  await exited(child);

  const spool = open();
  const found = new Map<number, number>();
  for await (const entry of spool.entries()) {
    const i = entry.receivedAtMs;
    found.set(entry.offset, i);
    expect(entry.bytes).toHaveLength(size(i));
    expect(Buffer.from(entry.bytes).equals(Buffer.alloc(size(i), i % 251))).toBe(true);
  }
  const next = await spool.append(Buffer.from('next'), { encoding: 'json', receivedAtMs: 0 });
  await spool.close();

  const kept = [...acknowledged].filter(([offset]) => !releasing.has(offset));
  expect(kept.length).toBeGreaterThan(0);
  for (const [offset, i] of kept) expect(found.get(offset)).toBe(i);
  const greatest = Math.max(...acknowledged.keys(), ...found.keys());
  expect(next.status === 'ok' && next.offset).toBeGreaterThan(greatest);
});

test('a second process is refused while the first lives, and let in once that was killed', async () => {
  const { child, next } = run<unknown>(`
    const { status } = openSpool({ path });
    say(status);
    process.stdin.resume();
  `);
  expect(await next()).toBe('opened');

  expect(openSpool({ path })).toMatchObject({
    status: 'rejected',
    cause: { message: expect.stringContaining('in use by another worker') },
  });
  child.kill('SIGKILL');
  await exited(child);

  const spool = open();
  expect(spool.stats().entries).toBe(0);
  await spool.close();
});

test('a disk that takes no more is retryable and kills nobody; what is there can be read, and released for room', async () => {
  // A limit on the size of files stands for the full disk: writes beyond it fail in the same place.
  const { child, next } = run<unknown>(
    `
    process.on('unhandledRejection', () => say('unhandled'));
    const { spool } = openSpool({ path });
    const append = () => spool.append(Buffer.alloc(100_000, 1), { encoding: 'json', receivedAtMs: 0 });
    const kept = [];
    for (;;) {
      const outcomes = await Promise.all([append(), append(), append()]);
      for (const o of outcomes) if (o.status === 'ok') kept.push(o.offset);
      if (outcomes.some((o) => o.status !== 'ok')) { say(outcomes.map((o) => o.status)); break; }
    }
    const { entries, trouble } = spool.stats();
    say({ kept: kept.length, entries, trouble: String(trouble), readable: kept.every((o) => spool.read(o).bytes.length === 100_000) });
    say((await spool.release(kept)).status);
    const again = await append();
    say({ status: again.status, isLater: again.offset > Math.max(...kept), trouble: spool.stats().trouble });
    await spool.close();
    say('closed');
  `,
    ['/bin/sh', '-c', 'ulimit -f 4000; exec "$@"', 'sh'],
  );

  expect(await next()).toContain('retryable');
  const held = (await next()) as { kept: number; entries: number; trouble: string; readable: boolean };
  expect(held.kept).toBeGreaterThan(3);
  expect(held.entries).toBe(held.kept);
  expect(held.trouble).toContain('a write failed');
  expect(held.readable).toBe(true);
  expect(await next()).toBe('ok');
  expect(await next()).toEqual({ status: 'ok', isLater: true, trouble: null });
  expect(await next()).toBe('closed');
  await exited(child);
  expect(child.exitCode).toBe(0);
});
