import { mkdirSync, realpathSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { open, type RootDatabase } from 'lmdb';
import type { Outcome } from '../model/outcome.js';
import type { Offset } from '../model/received.js';
import type { OtlpEncoding } from './decode.js';
import { spoolFilesFault } from './spool-files.js';

export interface SpoolConfig {
  /** Directory; made when it is missing. On a local disk: LMDB maps and locks its files. */
  readonly path: string;
  /** Bound of all live entries, each counted in whole pages of 4 KiB; 1 GiB unless stated. */
  readonly maxBytes?: number;
}

export interface EntryMeta {
  readonly encoding: OtlpEncoding;
  /** Milliseconds since the Unix epoch. */
  readonly receivedAtMs: number;
}

export interface SpoolEntry extends EntryMeta {
  readonly offset: Offset;
  /** As appended. Whether they can be decoded is the reader's matter. */
  readonly bytes: Uint8Array;
}

export type NotOk = Exclude<Outcome, { status: 'ok' }>;

export type Appended = { readonly status: 'ok'; readonly offset: Offset } | NotOk;

export interface SpoolStats {
  /** Live entries: appended and not released. */
  readonly entries: number;
  /** What they take, in whole pages of 4 KiB. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** null when there is none. */
  readonly oldestOffset: Offset | null;
  /** Why the last write failed; null after a write that did not. */
  readonly trouble: Error | null;
}

/**
 * The durable log of what was received and may still be needed: a write-ahead log whose entries are deleted one by
 * one, so that one endless trace pins only its own.
 *
 * Life: open; closed. Open, it appends, reads and releases at will; each write waits for the commit that it shares
 * with its neighbours, and for that commit's flush to disk, which trades some milliseconds of latency for one flush
 * per group. Closing waits for the writes in hand; afterwards appending and releasing are retryable and reading finds
 * nothing. The process may be killed at any time: LMDB never overwrites live pages, so what was acknowledged is there
 * at the next opening and what was not is there whole or not at all. The file keeps the size that it once had; the
 * space of released entries is used again.
 */
export interface Spool {
  /**
   * Resolves once the entry would survive the loss of power. `bytes` must not change before that. Retryable when the
   * spool or the disk is full; rejected when the entry alone is greater than the spool.
   */
  append(bytes: Uint8Array, meta: EntryMeta): Promise<Appended>;
  /** `undefined` when there is no such entry, or no longer. */
  read(offset: Offset): SpoolEntry | undefined;
  /** Live entries in order of offset, those appended meanwhile included; one is in memory at a time. */
  entries(fromOffset?: Offset): AsyncIterable<SpoolEntry>;
  /** Deletes entries for good; those that are not there are passed over, so it can be repeated. */
  release(offsets: Iterable<Offset>): Promise<Outcome>;
  stats(): SpoolStats;
  close(): Promise<void>;
}

export type SpoolOpening = { readonly status: 'opened'; readonly spool: Spool } | NotOk;

const PAGE_BYTES = 4096;
const DEFAULT_MAX_BYTES = 1024 ** 3;
const FULL_RETRY_MS = 1000;

/** The only key that is no entry's. Its value: the least offset that was never given, in decimal. */
const NEXT_OFFSET = 'next';

/** All that is known of an entry beside its bytes, so that opening a full spool reads keys only. */
type EntryKey = [offset: number, size: number, receivedAtMs: number, encoding: number];

const ENCODINGS: readonly OtlpEncoding[] = ['protobuf', 'json'];

/** Directories that this process has open; LMDB would let it open one twice. */
const owned = new Set<string>();

/**
 * Opens the spool in a directory, or says why not: rejected when another process has it, retryable when the disk does
 * not let it.
 *
 * One owner: after taking a slot in LMDB's table of readers, this process must be alone in it. A slot is backed by a
 * lock of the operating system on a byte of `lock.mdb`, which the kernel drops with its process, however that ends;
 * so nothing stale is left to clean up, a reused process id does no harm, and it holds between containers that share
 * the directory. Two that open it at the same moment may both be refused, never both be let in.
 */
export function openSpool(config: SpoolConfig): SpoolOpening {
  const maxBytes = config.maxBytes ?? DEFAULT_MAX_BYTES;
  const inUse = { status: 'rejected', cause: new Error(`spool ${config.path}: in use by another worker`) } as const;
  let db: RootDatabase<Buffer, EntryKey | string> | undefined;
  try {
    mkdirSync(config.path, { recursive: true });
    const place = realpathSync(config.path);
    if (owned.has(place)) return inUse;
    const fault = spoolFilesFault(place);
    if (fault !== undefined) throw new Error(fault);

    db = open<Buffer, EntryKey | string>({
      path: place,
      noSubdir: false,
      encoding: 'binary',
      // A commit is flushed before it resolves, and a failed flush rejects it.
      overlappingSync: false,
      // The batching of one event turn makes promises that nobody can catch when their commit fails. Without it
      // writes still share commits: all that is enqueued while one is being flushed.
      eventTurnBatching: false,
      // Address space, not memory: twice the entries, for the gaps between them. LMDB enlarges it when it must.
      mapSize: Math.max(2 * maxBytes, 64 * 1024 * 1024),
    });
    db.get(NEXT_OFFSET); // takes the slot
    if (readers(db.readerList()).size > 1) {
      closeQuietly(db);
      return inUse;
    }
    const spool = createSpool(db, maxBytes, () => owned.delete(place));
    owned.add(place);
    return { status: 'opened', spool };
  } catch (cause) {
    if (db) closeQuietly(db);
    return { status: 'retryable', cause: new Error(`spool ${config.path}: ${textOf(cause)}`, { cause }) };
  }
}

function closeQuietly(db: RootDatabase<Buffer, EntryKey | string>): void {
  db.close().catch(() => undefined); // what matters has been said already
}

/** The process ids in LMDB's printed table: a line of titles, then `pid thread txnid` a line. */
function readers(table: string): Set<string> {
  return new Set(table.split('\n').flatMap((line) => /^\s*(\d+)\s/.exec(line)?.[1] ?? []));
}

interface Indexed {
  readonly key: EntryKey;
  durable: boolean;
}

function createSpool(db: RootDatabase<Buffer, EntryKey | string>, maxBytes: number, disown: () => void): Spool {
  // In order of offset. At most maxBytes / 4 KiB entries of about 150 bytes.
  const index = new Map<Offset, Indexed>();
  const inHand = new Set<Promise<unknown>>();
  let durable = 0;
  let bytes = 0;
  let trouble: Error | null = null;
  let closed = false;

  // An offset vanishes only with a release, and each release has written the counter first.
  let nextOffset = Number(db.get(NEXT_OFFSET)?.toString() ?? 0);
  for (const key of db.getKeys()) {
    if (typeof key === 'string') continue;
    index.set(key[0], { key, durable: true });
    durable += 1;
    bytes += pagesOf(key[1]);
    nextOffset = Math.max(nextOffset, key[0] + 1);
  }

  function forget(entry: Indexed): void {
    if (!index.delete(entry.key[0])) return;
    bytes -= pagesOf(entry.key[1]);
    if (entry.durable) durable -= 1;
  }

  /** Waits for the commits of writes that have been enqueued. */
  async function committed(writes: readonly Promise<unknown>[]): Promise<Outcome> {
    const all = Promise.allSettled(
      writes.map((write) => write.catch(async (cause) => Promise.reject(await commitFailure(cause)))),
    );
    inHand.add(all);
    const failed = (await all).find((result) => result.status === 'rejected');
    inHand.delete(all);
    if (!failed) {
      trouble = null;
      return { status: 'ok' };
    }
    trouble = failed.reason as Error;
    return { status: 'retryable', afterMs: FULL_RETRY_MS, cause: trouble };
  }

  function refusal(size: number): NotOk | undefined {
    if (closed) return { status: 'retryable', afterMs: FULL_RETRY_MS, cause: new Error('spool: closed') };
    const needed = pagesOf(size);
    if (needed > maxBytes) {
      return {
        status: 'rejected',
        cause: new Error(`spool: an entry of at most ${maxBytes} bytes expected, got ${size}`),
      };
    }
    if (bytes + needed > maxBytes) {
      const cause = new Error(`spool: full, ${bytes} of ${maxBytes} bytes are live and ${needed} are needed`);
      return { status: 'retryable', afterMs: FULL_RETRY_MS, cause };
    }
    return undefined;
  }

  function read(offset: Offset): SpoolEntry | undefined {
    const entry = index.get(offset);
    const stored = entry?.durable && !closed ? db.getBinary(entry.key) : undefined;
    if (!entry || !stored) return undefined;
    const [, , receivedAtMs, encoding] = entry.key;
    return { offset, bytes: stored, receivedAtMs, encoding: ENCODINGS[encoding] ?? 'protobuf' };
  }

  return {
    async append(body, { encoding, receivedAtMs }) {
      const refused = refusal(body.length);
      if (refused) return refused;

      const offset = nextOffset++;
      const key: EntryKey = [offset, body.length, receivedAtMs, ENCODINGS.indexOf(encoding)];
      const entry: Indexed = { key, durable: false };
      index.set(offset, entry); // now, so that the index stays in order and the room is taken
      bytes += pagesOf(body.length);

      const outcome = await committed([db.put(key, asBuffer(body))]);
      if (outcome.status !== 'ok') {
        forget(entry);
        return outcome;
      }
      entry.durable = true;
      durable += 1;
      return { status: 'ok', offset };
    },

    read,

    async *entries(fromOffset = 0) {
      for (const offset of index.keys()) {
        if (offset < fromOffset) continue;
        const entry = read(offset);
        if (entry) yield entry;
        await setImmediate(); // a long re-read must not keep the process from its other work
      }
    },

    async release(offsets) {
      if (closed) return { status: 'retryable', afterMs: FULL_RETRY_MS, cause: new Error('spool: closed') };
      const live = [...new Set(offsets)].flatMap((offset) => {
        const entry = index.get(offset);
        return entry?.durable ? [entry] : [];
      });
      if (live.length === 0) return { status: 'ok' };

      // Enqueued first, and writes are applied in order.
      const counter = db.put(NEXT_OFFSET, Buffer.from(String(nextOffset)));
      const outcome = await committed([counter, ...live.map(({ key }) => db.remove(key))]);
      if (outcome.status === 'ok') live.forEach(forget);
      return outcome;
    },

    stats() {
      let oldestOffset: Offset | null = null;
      for (const [offset, entry] of index) {
        if (!entry.durable) continue;
        oldestOffset = offset;
        break;
      }
      return { entries: durable, bytes, maxBytes, oldestOffset, trouble };
    },

    async close() {
      if (closed) return;
      closed = true;
      await Promise.allSettled(inHand);
      await db.close();
      disown();
    },
  };
}

function pagesOf(size: number): number {
  return Math.max(1, Math.ceil(size / PAGE_BYTES)) * PAGE_BYTES;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** lmdb rejects with a general error that carries a promise of the real one, which nobody else catches. */
async function commitFailure(cause: unknown): Promise<Error> {
  const detail = (cause as { commitError?: Promise<never> } | null)?.commitError;
  const reason = detail ? await detail.catch(textOf) : textOf(cause);
  return new Error(`spool: a write failed: ${reason}`, { cause });
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
