import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createGunzip, createInflate, createInflateRaw } from 'node:zlib';

/** Content codings that are read. `deflate` is either flavour: zlib (RFC 1950) or raw (RFC 1951). */
export type ContentCoding = 'identity' | 'gzip' | 'deflate';

/** `undefined` for a coding, or a chain of codings, that is not read. */
export function contentCodingOf(header: string | undefined): ContentCoding | undefined {
  switch ((header ?? '').trim().toLowerCase()) {
    case '':
    case 'identity':
      return 'identity';
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'deflate':
      return 'deflate';
    default:
      return undefined;
  }
}

/** A number of bytes that all requests together may hold. */
export interface ByteBudget {
  /** False when it is spent; nothing is taken then. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

export function byteBudget(total: number): ByteBudget {
  let held = 0;
  return {
    take(bytes) {
      if (held + bytes > total) return false;
      held += bytes;
      return true;
    },
    give(bytes) {
      held -= bytes;
    },
  };
}

/** `bytes` is what was held of the body, decompressed; it stays taken from the budget until the caller gives it back. */
export type Body = { readonly bytes: number } & (
  | { readonly kind: 'whole'; readonly body: Uint8Array }
  /** Over the limit, on the wire or decompressed. */
  | { readonly kind: 'too_large' }
  | { readonly kind: 'undecodable' }
  /** The budget is spent. */
  | { readonly kind: 'no_room' }
  /** The sender went away. */
  | { readonly kind: 'cut' }
);

const FIRST_BYTES = 64 * 1024;
const INFLATED_CHUNK_BYTES = 64 * 1024; // zlib works this far ahead of the limit, and no further

/**
 * Reads a request's body, decompressing as it arrives, and stops at the first byte that is too many; what follows of
 * it is discarded unread. The request stays open, so that it can be answered. Never rejects.
 */
export function readBody(
  request: IncomingMessage,
  coding: ContentCoding,
  maxBytes: number,
  budget: ByteBudget,
): Promise<Body> {
  return new Promise((resolve) => {
    const sink = growingBuffer(Number(request.headers['content-length'] ?? FIRST_BYTES));
    let inflater: Transform | undefined;
    let wireBytes = 0;
    let done = false;

    function finish(kind: Body['kind']): void {
      if (done) return;
      done = true;
      inflater?.destroy();
      request.off('data', receive).off('end', end).off('close', cut).off('error', cut);
      request.on('error', () => undefined); // a sender that goes away while its rest is discarded
      request.resume();
      resolve(kind === 'whole' ? { kind, bytes: sink.length, body: sink.take() } : { kind, bytes: sink.length });
    }

    function keep(chunk: Uint8Array): void {
      if (done) return;
      if (sink.length + chunk.length > maxBytes) finish('too_large');
      else if (!budget.take(chunk.length)) finish('no_room');
      else sink.push(chunk);
    }

    function receive(chunk: Buffer): void {
      wireBytes += chunk.length;
      if (wireBytes > maxBytes) return finish('too_large');
      if (coding === 'identity') return keep(chunk);
      inflater ??= openInflater(coding, chunk[0]!)
        .on('data', keep)
        .on('end', () => finish('whole'))
        .on('error', () => finish('undecodable'));
      if (!inflater.write(chunk)) {
        request.pause();
        inflater.once('drain', () => request.resume());
      }
    }

    function end(): void {
      if (inflater) inflater.end();
      else finish('whole');
    }

    function cut(): void {
      if (!request.complete) finish('cut');
    }

    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return finish('too_large');
    request.on('data', receive).on('end', end).on('close', cut).on('error', cut);
  });
}

/**
 * zlib data begins with a byte whose low half is 8. Raw deflate never does in practice: it would be a stored block
 * whose padding bits are set.
 */
function openInflater(coding: 'gzip' | 'deflate', firstByte: number): Transform {
  const options = { chunkSize: INFLATED_CHUNK_BYTES };
  if (coding === 'gzip') return createGunzip(options);
  return (firstByte & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
}

/** Chunks are copied, not kept: a body sent in chunks of one byte would otherwise cost a hundred times its size. */
function growingBuffer(expectedBytes: number): {
  readonly length: number;
  push(chunk: Uint8Array): void;
  take(): Uint8Array;
} {
  // What is promised is not yet there: beyond 1 MiB the buffer grows with what has arrived.
  let buffer = Buffer.allocUnsafeSlow(Math.min(Math.max(expectedBytes, 0), 1024 * 1024));
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(chunk) {
      if (length + chunk.length > buffer.length) {
        const grown = Buffer.allocUnsafeSlow(Math.max(length + chunk.length, buffer.length * 2));
        buffer.copy(grown, 0, 0, length);
        buffer = grown;
      }
      buffer.set(chunk, length);
      length += chunk.length;
    },
    take() {
      if (length === buffer.length) return buffer;
      // Spans keep their buffer alive: no unused tail.
      const exact = Buffer.allocUnsafeSlow(length);
      buffer.copy(exact, 0, 0, length);
      return exact;
    },
  };
}
