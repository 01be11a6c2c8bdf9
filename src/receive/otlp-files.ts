import { createReadStream } from 'node:fs';
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { DecodedBatch, Rejection } from '../model/rejection.js';
import { DEFAULT_DECODE_LIMITS } from './decode-limits.js';
import type { DecodeLimits } from './decode-limits.js';
import { decodeTraces } from './decode.js';
import { JsonReader, JsonSyntaxError } from './json-reader.js';

/** One thing found in the files, in order. `place` is where in its file: `line 3`, `[2]`, or empty. */
export type FileItem =
  | { readonly kind: 'batch'; readonly file: string; readonly place: string; readonly batch: DecodedBatch }
  /** This file, or this part of it, cannot be read; what comes after it is. */
  | { readonly kind: 'unreadable'; readonly file: string; readonly place: string; readonly rejection: Rejection }
  /** Readable, and no traces: another signal of OTLP, or (below a directory) other JSON. */
  | { readonly kind: 'skipped'; readonly file: string; readonly documents: number };

export interface FileSources {
  /** What `-` stands for. */
  readonly stdin: Readable;
}

export interface FileLimits {
  /** Bytes, unpacked, of one request: a line, or a file that is no list of lines. A longer one is not read. */
  readonly maxRequestBytes: number;
  readonly decode: DecodeLimits;
}

export const DEFAULT_FILE_LIMITS: FileLimits = {
  maxRequestBytes: 256 * 1024 * 1024, // a position in a body is a small integer, a text at most half a gigabyte
  decode: DEFAULT_DECODE_LIMITS,
};

const NAMES = /\.(json|jsonl|ndjson|pb)(\.gz)?$/i;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE = 0x0a;
const LEFT_BRACE = 0x7b;
const LEFT_BRACKET = 0x5b;
/** How much of an unnamed stream decides whether it is JSON. */
const SNIFFED_BYTES = 1024;

/**
 * Reads ExportTraceServiceRequests (or TracesData, which looks the same) from files, one batch a request.
 *
 * - `.json`: one request, several one after the other, or an array of them; or one a line, as the OpenTelemetry
 *   Collector's file exporter writes them. `.jsonl`, `.ndjson`: one a line; lines are read in bounded memory.
 * - `.pb`: one request in protobuf. Each may be gzipped, whatever its name.
 * - A directory: all such files below it, sorted by name; other files are ignored.
 * - `-`, or a file of another name: JSON when it begins like JSON, else protobuf.
 *
 * What cannot be read is an item of its own, never a throw.
 */
export async function* readOtlpFiles(
  paths: readonly string[],
  sources: FileSources,
  limits: FileLimits = DEFAULT_FILE_LIMITS,
): AsyncGenerator<FileItem> {
  for (const path of paths) {
    if (path === '-') yield* readSource({ file: '-', named: true, stream: () => sources.stdin }, limits);
    else yield* readPath(path, limits);
  }
}

/** `named`: the user asked for this very file, so it ought to hold traces. */
interface Source {
  readonly file: string;
  readonly named: boolean;
  readonly stream: () => Readable;
}

async function* readPath(path: string, limits: FileLimits): AsyncGenerator<FileItem> {
  let isDirectory: boolean;
  try {
    isDirectory = (await stat(path)).isDirectory();
  } catch (error) {
    yield unreadable(path, '', cannotBeRead(error));
    return;
  }
  if (isDirectory) yield* readDirectory(path, limits);
  else yield* readSource({ file: path, named: true, stream: () => createReadStream(path) }, limits);
}

/** Links to directories are not followed: they may lead in a circle. */
async function* readDirectory(path: string, limits: FileLimits): AsyncGenerator<FileItem> {
  let entries: Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    yield unreadable(path, '', cannotBeRead(error));
    return;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = join(path, entry.name);
    if (entry.isDirectory()) yield* readDirectory(file, limits);
    else if (NAMES.test(file)) yield* readSource({ file, named: false, stream: () => createReadStream(file) }, limits);
  }
}

async function* readSource(source: Source, limits: FileLimits): AsyncGenerator<FileItem> {
  let skipped = 0;
  try {
    for await (const item of readRequests(source, limits)) {
      if (item.kind === 'skipped') skipped += item.documents;
      else yield item;
    }
  } catch (error) {
    yield unreadable(source.file, '', cannotBeRead(error));
  }
  if (skipped > 0) yield { kind: 'skipped', file: source.file, documents: skipped };
}

async function* readRequests(source: Source, limits: FileLimits): AsyncGenerator<FileItem> {
  const { file } = source;
  const { head, chunks } = await begin(unpacked(source.stream()), SNIFFED_BYTES);
  const name = NAMES.exec(file)?.[1]?.toLowerCase();
  const json = name === undefined ? looksLikeJson(head) : name !== 'pb';
  if (!json) {
    const body = await collect(chunks, limits.maxRequestBytes);
    if (body === null) yield unreadable(file, '', tooLarge(limits));
    else yield* decoded(source, '', body, 'protobuf', limits);
    return;
  }

  let byLine = name === 'jsonl' || name === 'ndjson';
  const rest: Buffer[] = [];
  let restBytes = 0;
  let number = 0;
  for await (const line of lines(chunks, limits.maxRequestBytes)) {
    number++;
    if (line !== null && !byLine && restBytes === 0) {
      if (isBlank(line)) continue;
      byLine = isWholeDocument(line);
    }
    if (byLine) {
      if (line === null) yield unreadable(file, `line ${number}`, tooLarge(limits));
      else if (!isBlank(line)) yield* decodeLine(source, line, `line ${number}`, limits);
      continue;
    }
    restBytes += line === null ? Infinity : line.length;
    if (restBytes > limits.maxRequestBytes) {
      yield unreadable(file, '', tooLarge(limits));
      return;
    }
    rest.push(line as Buffer);
  }
  if (!byLine) yield* decodeDocuments(source, Buffer.concat(rest), '', limits);
}

function* decodeLine(source: Source, line: Buffer, place: string, limits: FileLimits): Generator<FileItem> {
  const first = new JsonReader(line, startsWithMark(line) ? BYTE_ORDER_MARK.length : 0).peek();
  if (first === LEFT_BRACE) yield* decoded(source, place, line, 'json', limits);
  else yield* decodeDocuments(source, line, place, limits);
}

/** The JSON documents in `bytes`, one after the other; an array stands for its elements. */
function* decodeDocuments(source: Source, bytes: Buffer, place: string, limits: FileLimits): Generator<FileItem> {
  const reader = new JsonReader(bytes, startsWithMark(bytes) ? BYTE_ORDER_MARK.length : 0);
  const at = (part: string): string => (place === '' ? part : `${place} ${part}`).trim();
  try {
    if (reader.peek() < 0) yield unreadable(source.file, place, malformed('a request expected, got nothing'));
    for (let document = 1; reader.peek() >= 0; document++) {
      const part = document === 1 ? '' : `document ${document}`;
      if (reader.kind() !== 'array') {
        yield* decodeDocument(source, reader, at(part), limits);
      } else if (reader.openArray()) {
        let position = 0;
        do yield* decodeDocument(source, reader, at(`${part}[${position++}]`), limits);
        while (reader.nextElement());
      }
    }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    yield unreadable(source.file, place, malformed(error.message));
  }
}

function* decodeDocument(source: Source, reader: JsonReader, place: string, limits: FileLimits): Generator<FileItem> {
  const kind = reader.kind();
  const start = reader.pos;
  reader.skipValue();
  if (kind === 'object') yield* decoded(source, place, reader.bytes.subarray(start, reader.pos), 'json', limits);
  else yield foreign(source, place, malformed(`an object expected, got another JSON value`));
}

function* decoded(
  source: Source,
  place: string,
  body: Buffer,
  encoding: 'json' | 'protobuf',
  limits: FileLimits,
): Generator<FileItem> {
  const result = decodeTraces(body, encoding, limits.decode);
  if (result.kind === 'malformed') {
    yield unreadable(source.file, place, result.rejection);
  } else if (result.content === 'traces') {
    yield { kind: 'batch', file: source.file, place, batch: result.batch };
  } else if (result.content === 'other_signal') {
    yield { kind: 'skipped', file: source.file, documents: 1 };
  } else {
    yield foreign(source, place, malformed('resourceSpans expected, got other members only'));
  }
}

/** JSON that holds no OTLP: a fault in a file that was asked for, nothing of note below a directory. */
function foreign(source: Source, place: string, rejection: Rejection): FileItem {
  if (source.named) return unreadable(source.file, place, rejection);
  return { kind: 'skipped', file: source.file, documents: 1 };
}

function unreadable(file: string, place: string, rejection: Rejection): FileItem {
  return { kind: 'unreadable', file, place, rejection };
}

function malformed(detail: string): Rejection {
  return { reason: 'malformed_body', detail, spans: 0 };
}

function tooLarge(limits: FileLimits): Rejection {
  return { reason: 'too_large', detail: `a request of at most ${limits.maxRequestBytes} bytes expected`, spans: 0 };
}

/** The system's and zlib's errors have a code; anything else is a fault of ours and is thrown. */
function cannotBeRead(error: unknown): Rejection {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  return malformed(`cannot be read: ${error.code === 'ENOENT' ? 'no such file or directory' : String(error.code)}`);
}

function startsWithMark(bytes: Buffer): boolean {
  return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
}

function isBlank(line: Buffer): boolean {
  return new JsonReader(line, startsWithMark(line) ? BYTE_ORDER_MARK.length : 0).peek() < 0;
}

function isWholeDocument(line: Buffer): boolean {
  const reader = new JsonReader(line, startsWithMark(line) ? BYTE_ORDER_MARK.length : 0);
  try {
    reader.skipValue();
    return reader.peek() < 0;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}

/**
 * JSON begins with `{` or `[` and holds no control characters but white space. (A protobuf request may begin with the
 * bytes of a newline and a brace; the lengths and tags after them tell.)
 */
function looksLikeJson(head: Buffer): boolean {
  const first = new JsonReader(head, startsWithMark(head) ? BYTE_ORDER_MARK.length : 0).peek();
  if (first !== LEFT_BRACE && first !== LEFT_BRACKET) return false;
  return head.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}

async function* unpacked(stream: Readable): AsyncGenerator<Buffer> {
  const { head, chunks } = await begin(stream as AsyncIterable<Buffer>, 2);
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    yield* chunks;
    return;
  }
  const gunzip = createGunzip();
  // A fault of either stream reaches the reader below; here it would be told twice.
  const done = pipeline(Readable.from(chunks), gunzip).catch(() => undefined);
  yield* gunzip as AsyncIterable<Buffer>;
  await done;
}

/** Looks at the first bytes (`count` of them, if there are so many) and gives all chunks, those included. */
async function begin(
  stream: AsyncIterable<Buffer>,
  count: number,
): Promise<{ head: Buffer; chunks: AsyncIterable<Buffer> }> {
  const iterator = stream[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  let bytes = 0;
  while (bytes < count) {
    const next = await iterator.next();
    if (next.done === true) break;
    read.push(next.value);
    bytes += next.value.length;
  }
  async function* chunks(): AsyncGenerator<Buffer> {
    yield* read;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { head: Buffer.concat(read).subarray(0, count), chunks: chunks() };
}

/** null when there are more bytes than `maxBytes`. */
async function collect(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

/** Lines with their ends; null for one of more than `maxBytes`, which is passed over without being held. */
async function* lines(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer | null> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const add = (part: Buffer): void => {
    bytes += part.length;
    if (bytes > maxBytes) parts = [];
    else parts.push(part);
  };
  const take = (): Buffer | null => {
    const line = bytes > maxBytes ? null : Buffer.concat(parts);
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end + 1));
      yield take();
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (bytes > 0) yield take();
}
