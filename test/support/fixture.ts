import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const FIXTURES = new URL('../fixtures/', import.meta.url);

/** A file below test/fixtures; large ones are kept gzipped. */
export function readFixture(path: string): Buffer {
  const plain = new URL(path, FIXTURES);
  if (existsSync(plain)) return readFileSync(plain);
  return gunzipSync(readFileSync(new URL(`${path}.gz`, FIXTURES)));
}
