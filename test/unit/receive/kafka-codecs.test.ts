import { deflateSync, gzipSync } from 'node:zlib';
import { CompressionCodecs, CompressionTypes } from 'kafkajs';
import { describe, expect, test } from 'vitest';

import { batchCodecs, KafkaCodecError, missingCodecs, registerCodecs } from '../../../src/receive/kafka-codecs.js';

const codecs = batchCodecs(1_000_000);
const hex = (...parts: readonly string[]): Buffer => Buffer.from(parts.join('').replaceAll(' ', ''), 'hex');
const HELLO = '68 65 6c 6c 6f';

function le32(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes.toString('hex');
}

async function failure(work: Promise<unknown>): Promise<KafkaCodecError> {
  const error: unknown = await work.then(
    (value) => value,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KafkaCodecError);
  return error as KafkaCodecError;
}

describe('snappy', () => {
  // Length 5, then one literal: (5 - 1) << 2 = 0x10.
  const hello = `05 10 ${HELLO}`;

  test('reads a raw block', async () => {
    expect((await codecs.snappy.decompress(hex(hello))).toString()).toBe('hello');
  });

  test('reads a raw block with a copy: 8 times a = literal a, then 7 bytes from 1 back', async () => {
    expect((await codecs.snappy.decompress(hex('08 00 61 0d 01'))).toString()).toBe('aaaaaaaa');
  });

  test('reads the blocks of a frame of the Java client, one after the other', async () => {
    const header = '82 53 4e 41 50 50 59 00  00 00 00 01  00 00 00 01';
    const framed = hex(header, '00 00 00 07', hello, '00 00 00 05', '08 00 61 0d 01');

    expect((await codecs.snappy.decompress(framed)).toString()).toBe('helloaaaaaaaa');
    expect((await codecs.snappy.decompress(hex(header))).toString()).toBe('');
  });

  test('refuses a stated size beyond the bound, in one block or in all of them, before it decompresses', async () => {
    // 1 000 001 = 0b111101 0000100 1000001 -> c1 84 3d, little end first.
    const one = await failure(codecs.snappy.decompress(hex('c1 84 3d 00 61')));
    // 600 000 = 0b100100 1001111 1000000 -> c0 cf 24, twice.
    const block = '00 00 00 05 c0 cf 24 00 61';
    const all = await failure(
      codecs.snappy.decompress(hex('82 53 4e 41 50 50 59 00 00 00 00 01 00 00 00 01', block, block)),
    );

    expect(one.message).toBe('snappy record batch: at most 1000000 bytes decompressed expected, got 1000001');
    expect(all.message).toBe('snappy record batch: at most 1000000 bytes decompressed expected, got 1200000');
    expect([one.kind, all.kind]).toEqual(['too_large', 'too_large']);
  });

  test.each([
    ['a size without end', 'ff ff ff ff ff ff'],
    ['a size of more than 32 bits', 'ff ff ff ff 7f 00'],
    ['a literal that is cut', `05 10 68 65`],
    ['a frame whose block is cut', '82 53 4e 41 50 50 59 00 00 00 00 01 00 00 00 01 00 00 00 09 05'],
    ['nothing', ''],
  ])('refuses %s', async (_, bytes) => {
    expect((await failure(codecs.snappy.decompress(hex(bytes)))).kind).toBe('corrupt');
  });
});

describe('lz4', () => {
  // Version 1, independent blocks; blocks of at most 64 kB; 0x82 = second byte of XXH32(60 40).
  const header = '04 22 4d 18 60 40 82';

  test('reads a frame with a stored block', async () => {
    const frame = hex(header, '05 00 00 80', HELLO, '00 00 00 00');

    expect((await codecs.lz4.decompress(frame)).toString()).toBe('hello');
  });

  test('reads a frame with a compressed block: 15 times a, then the 5 literals that end a block', async () => {
    // Token 1a: 1 literal and a match of 10 + 4 bytes, offset 1; token 50: 5 literals.
    const block = '1a 61 01 00 50 62 62 62 62 62';

    expect((await codecs.lz4.decompress(hex(header, '0a 00 00 00', block, '00 00 00 00'))).toString()).toBe(
      `${'a'.repeat(15)}bbbbb`,
    );
  });

  test('refuses what may grow beyond the bound before it decompresses', async () => {
    // 16 compressed blocks of 1000 bytes, each at most the 65 536 of its kind = 1 048 576.
    const block = ['e8 03 00 00', '00'.repeat(1000)].join('');
    const error = await failure(codecs.lz4.decompress(hex(header, block.repeat(16), '00 00 00 00')));

    expect(error.message).toBe('lz4 record batch: at most 1000000 bytes decompressed expected, got 1048576');
  });

  test('refuses a stated size beyond the bound', async () => {
    const stated = hex('04 22 4d 18 68 40 ff ff ff 00 00 00 00 00 00 00 00 00 00');

    expect((await failure(codecs.lz4.decompress(stated))).kind).toBe('too_large');
  });

  test.each([
    ['another magic', `05 22 4d 18 60 40 82 00 00 00 00`],
    ['a frame without end', header],
    ['a block that is cut', `${header} 05 00 00 80 68`],
    ['bytes behind the frame', `${header} 00 00 00 00 ff`],
    ['nothing', ''],
  ])('refuses %s', async (_, bytes) => {
    expect((await failure(codecs.lz4.decompress(hex(bytes)))).kind).toBe('corrupt');
  });
});

describe('zstd', () => {
  test('reads a frame that states its size, with a stored block', async () => {
    // Descriptor 20: single segment, size in one byte; block header (5 << 3) | stored << 1 | last.
    const frame = hex('28 b5 2f fd 20 05', '29 00 00', HELLO);

    expect((await codecs.zstd.decompress(frame)).toString()).toBe('hello');
  });

  test('reads a frame that states none, with a repeated byte', async () => {
    // Window descriptor 58: 2^(10 + 11) = 2 MB; block header (8 << 3) | repeated << 1 | last = 43.
    expect((await codecs.zstd.decompress(hex('28 b5 2f fd 00 58', '43 00 00', '61'))).toString()).toBe('aaaaaaaa');
  });

  test('refuses a stated size beyond the bound', async () => {
    // Descriptor a0: single segment, size in four bytes.
    const error = await failure(codecs.zstd.decompress(hex('28 b5 2f fd a0', le32(1_000_001), '01 00 00')));

    expect(error.message).toBe('zstd record batch: at most 1000000 bytes decompressed expected, got 1000001');
  });

  test('refuses blocks that grow beyond the bound, 16 of 131 072 bytes out of 4 each', async () => {
    const block = '02 00 10 61';
    const error = await failure(codecs.zstd.decompress(hex('28 b5 2f fd 00 58', block.repeat(15), '03 00 10 61')));

    expect(error.message).toBe('zstd record batch: at most 1000000 bytes decompressed expected, got 2097152');
  });

  test('refuses a window beyond 8 MB, that a reader would have to set aside', async () => {
    // Exponent 14, mantissa 0: 2^24.
    const error = await failure(codecs.zstd.decompress(hex('28 b5 2f fd 00 70', '43 00 00', '61')));

    expect(error.message).toBe('zstd record batch: a window of at most 8388608 bytes expected, got 16777216');
  });

  test('refuses to write', async () => {
    expect((await failure(codecs.zstd.compress({ buffer: hex('') }))).kind).toBe('unsupported');
  });

  test.each([
    ['another magic', `29 b5 2f fd 20 05 29 00 00 ${HELLO}`],
    ['a block that is cut', '28 b5 2f fd 20 05 29 00 00 68'],
    ['a reserved type of block', `28 b5 2f fd 20 05 2f 00 00 ${HELLO}`],
    ['a compressed block that is none', `28 b5 2f fd 20 05 2d 00 00 ff ff ff ff ff`],
    ['bytes behind the frame', `28 b5 2f fd 20 05 29 00 00 ${HELLO} 00`],
    ['nothing', ''],
  ])('refuses %s', async (_, bytes) => {
    expect((await failure(codecs.zstd.decompress(hex(bytes)))).kind).toBe('corrupt');
  });
});

describe('gzip', () => {
  test('is read within the bound', async () => {
    const error = await failure(codecs.gzip.decompress(gzipSync(Buffer.alloc(1_000_001))));

    expect((await codecs.gzip.decompress(gzipSync('hello'))).toString()).toBe('hello');
    expect(error.kind).toBe('too_large');
    expect((await failure(codecs.gzip.decompress(deflateSync('hello')))).kind).toBe('corrupt');
  });
});

test.each(['gzip', 'snappy', 'lz4'] as const)('%s writes what it reads', async (name) => {
  const text = Buffer.from('a conversation, '.repeat(5_000));

  const written = await codecs[name].compress({ buffer: text });

  expect(written.length).toBeLessThan(text.length / 5);
  expect((await codecs[name].decompress(written)).equals(text)).toBe(true);
});

test('a module that cannot be loaded is named when a batch needs it, and hinders no other codec', async () => {
  const without = (missing: string) => (name: string) => {
    if (name === missing) throw new Error('no build for this platform');
    return {};
  };

  const error = await failure(batchCodecs(100, without('lz4-napi')).lz4.decompress(hex('04224d18604082 00000000')));

  expect(error.message).toBe('lz4 record batch: its module lz4-napi cannot be loaded: no build for this platform');
  expect(error).toMatchObject({ kind: 'unavailable', retriable: false });
  expect(missingCodecs(without('snappy')).map(({ codec }) => codec)).toEqual(['snappy']);
  expect(missingCodecs()).toEqual([]);
});

test('registered, kafkajs finds each codec', async () => {
  registerCodecs();

  const codec = CompressionCodecs[CompressionTypes.Snappy]() as typeof codecs.snappy;

  expect((await codec.decompress(hex(`05 10 ${HELLO}`))).toString()).toBe('hello');
});
