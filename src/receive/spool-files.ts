import { accessSync, closeSync, constants, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DATA_FILE = 'data.mdb';
const LOCK_FILE = 'lock.mdb';

// The head of an LMDB file: a page header of 24 bytes, then MDB_meta: mm_magic, mm_version. Source: liblmdb, mdb.c.
const MAGIC = 0xbeefc0de;
const MAGIC_AT = 24;
const DATA_VERSION = 2;
const VERSION_AT = 28;
const LEAST_BYTES = 8192; // two meta pages

const PROBE_BYTES = 64 * 1024;

/**
 * Why LMDB could not open this directory; `undefined` when nothing speaks against it. Asked first, because the binding
 * (seen with lmdb 3.5.6) ends the whole process when it fails to open its files.
 */
export function spoolFilesFault(directory: string): string | undefined {
  try {
    const probe = join(directory, 'probe.tmp');
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES)); // read-only, full or without permission: it says which
    rmSync(probe);
    const files = [DATA_FILE, LOCK_FILE].map((name) => join(directory, name));
    for (const file of files) {
      const stat = statSync(file, { throwIfNoEntry: false });
      if (!stat) continue;
      if (!stat.isFile()) return `${file}: a file expected`;
      accessSync(file, constants.R_OK | constants.W_OK);
    }
    return dataFileFault(files[0]!);
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}

function dataFileFault(file: string): string | undefined {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return undefined; // not begun
  if (size < LEAST_BYTES) return `${file}: at least ${LEAST_BYTES} bytes expected, got ${size}`;

  const head = Buffer.alloc(VERSION_AT + 4);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (head.readUInt32LE(MAGIC_AT) !== MAGIC) return `${file}: an LMDB file expected, got something else`;
  const version = head.readUInt16LE(VERSION_AT);
  return version === DATA_VERSION ? undefined : `${file}: LMDB format ${DATA_VERSION} expected, got ${version}`;
}
