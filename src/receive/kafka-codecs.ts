/**
 * Compression of Kafka's record batches: gzip, snappy (raw and as Java clients frame it), lz4 and zstd, read within a
 * bound; gzip, snappy and lz4 are written too.
 *
 * A codec's module is loaded when a batch needs it, so that a machine where one cannot be loaded does all the rest.
 */
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gunzip as gunzipCallback, gzip as gzipCallback } from 'node:zlib';

import type * as fzstd from 'fzstd';
import kafkajs from 'kafkajs';
import type * as lz4 from 'lz4-napi';
import type * as snappy from 'snappy';

import { isXerial, lz4Size, snappySize, xerialBlocks, zstdSize } from './decompressed-size.js';

// Node.js does not find these names in a CommonJS module.
const { CompressionCodecs, CompressionTypes } = kafkajs;

const gzip = promisify(gzipCallback);
const gunzip = promisify(gunzipCallback);

type Codec = 'gzip' | 'snappy' | 'lz4' | 'zstd';

/** A record batch that cannot be read, or written. Trying again would not help, which is what kafkajs reads off it. */
export class KafkaCodecError extends Error {
  override readonly name = 'KafkaCodecError';
  readonly retriable = false;

  constructor(
    readonly codec: Codec,
    /** `unavailable`: its module cannot be loaded here; `unsupported`: it cannot be written. */
    readonly kind: 'too_large' | 'corrupt' | 'unavailable' | 'unsupported',
    text: string,
  ) {
    super(`${codec} record batch: ${text}`);
  }
}

/** As kafkajs calls them. */
export interface BatchCodec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
  /** @throws KafkaCodecError */
  decompress(data: Buffer): Promise<Buffer>;
}

/** Brokers take batches of 1 MB unless told otherwise; telemetry compresses some 10 to 20 times. */
export const MAX_BATCH_BYTES = 64 * 1024 * 1024;

/** The memory that a zstd frame of unstated size may ask for; RFC 8878, section 3.1.1.1.2, wants 8 MB supported. */
const MAX_ZSTD_WINDOW_BYTES = 8 * 1024 * 1024;

const MODULES = { snappy: 'snappy', lz4: 'lz4-napi', zstd: 'fzstd' } as const;

export type LoadModule = (name: string) => unknown;

/**
 * The four codecs. What a batch holds may take `maxBytes` at most.
 *
 * Sizes are read before anything is decompressed, so a batch that is too large costs nothing.
 */
export function batchCodecs(maxBytes = MAX_BATCH_BYTES, loadModule: LoadModule = createRequire(import.meta.url)) {
  function load<M>(codec: keyof typeof MODULES): M {
    try {
      return loadModule(MODULES[codec]) as M;
    } catch (error) {
      const text = `its module ${MODULES[codec]} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
      throw new KafkaCodecError(codec, 'unavailable', text);
    }
  }

  function checkSize(codec: Codec, size: number | null): void {
    if (size === null) throw new KafkaCodecError(codec, 'corrupt', `${codec} data expected, got something else`);
    if (size <= maxBytes) return;
    throw new KafkaCodecError(codec, 'too_large', `at most ${maxBytes} bytes decompressed expected, got ${size}`);
  }

  const codecs: Record<Codec, BatchCodec> = {
    gzip: {
      compress: ({ buffer }) => gzip(buffer),
      decompress: (data) =>
        gunzip(data, { maxOutputLength: maxBytes }).catch((error: unknown) => {
          if (!hasCode(error, 'ERR_BUFFER_TOO_LARGE')) throw corrupt('gzip', error);
          const text = `at most ${maxBytes} bytes decompressed expected, got more`;
          throw new KafkaCodecError('gzip', 'too_large', text);
        }),
    },
    snappy: {
      compress: async ({ buffer }) => load<Snappy>('snappy').compress(buffer),
      async decompress(data) {
        const blocks = isXerial(data) ? xerialBlocks(data) : [data];
        checkSize('snappy', blocks && total(blocks.map(snappySize)));
        const { uncompress } = load<Snappy>('snappy');
        const parts = await Promise.all((blocks ?? []).map((block) => uncompress(block, { asBuffer: true }))).catch(
          (error: unknown) => {
            throw corrupt('snappy', error);
          },
        );
        return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts as Buffer[]);
      },
    },
    lz4: {
      compress: async ({ buffer }) => load<Lz4>('lz4').compressFrame(buffer),
      async decompress(data) {
        checkSize('lz4', lz4Size(data));
        return load<Lz4>('lz4')
          .decompressFrame(data)
          .catch((error: unknown) => {
            throw corrupt('lz4', error);
          });
      },
    },
    zstd: {
      compress: () =>
        Promise.reject(new KafkaCodecError('zstd', 'unsupported', 'gzip, snappy or lz4 expected for writing')),
      // Not made an async function: the decoder is synchronous, and awaiting nothing would hide that.
      decompress: (data) =>
        new Promise((resolve) => {
          const bound = zstdSize(data);
          checkSize('zstd', bound && bound.size);
          checkWindow(bound?.window ?? 0);
          const { decompress } = load<Zstd>('zstd');
          resolve(asBuffer(decodeZstd(decompress, data)));
        }),
    },
  };

  return codecs;
}

/** Registers the codecs with kafkajs, which has one set of them for the whole process. */
export function registerCodecs(maxBytes = MAX_BATCH_BYTES): void {
  const codecs = batchCodecs(maxBytes);
  CompressionCodecs[CompressionTypes.GZIP] = () => codecs.gzip;
  CompressionCodecs[CompressionTypes.Snappy] = () => codecs.snappy;
  CompressionCodecs[CompressionTypes.LZ4] = () => codecs.lz4;
  CompressionCodecs[CompressionTypes.ZSTD] = () => codecs.zstd;
}

/** Codecs whose module cannot be loaded on this machine. */
export function missingCodecs(
  loadModule: LoadModule = createRequire(import.meta.url),
): readonly { readonly codec: string; readonly error: unknown }[] {
  return Object.entries(MODULES).flatMap(([codec, name]) => {
    try {
      loadModule(name);
      return [];
    } catch (error) {
      return [{ codec, error }];
    }
  });
}

type Snappy = typeof snappy;
type Lz4 = typeof lz4;
type Zstd = typeof fzstd;

function checkWindow(window: number): void {
  if (window <= MAX_ZSTD_WINDOW_BYTES) return;
  const text = `a window of at most ${MAX_ZSTD_WINDOW_BYTES} bytes expected, got ${window}`;
  throw new KafkaCodecError('zstd', 'too_large', text);
}

function decodeZstd(decompress: Zstd['decompress'], data: Buffer): Uint8Array {
  try {
    return decompress(data);
  } catch (error) {
    throw corrupt('zstd', error);
  }
}

/** The decoders' own words are about the format, never about what the batch holds. */
function corrupt(codec: Codec, error: unknown): KafkaCodecError {
  return new KafkaCodecError(codec, 'corrupt', error instanceof Error ? error.message : String(error));
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function total(sizes: readonly (number | null)[]): number | null {
  return sizes.reduce((sum, size) => (sum === null || size === null ? null : sum + size), 0);
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
