import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';

import { batchCodecs, KafkaCodecError, type BatchCodec } from '../../../src/receive/kafka-codecs.js';

const MAX = 200_000;
const codecs = batchCodecs(MAX);
const TEXT = Buffer.from('{"name":"chat","value":"what is the weather"}'.repeat(200));
const whole: Record<string, Buffer> = {
  gzip: gzipSync(TEXT),
  // The head of a frame of unstated size with a stored block of 21 bytes, and one with a repeated byte.
  zstd: Buffer.from('28b52ffd0058a800007b226e616d65223a2263686174222c2276616c7565430000610000', 'hex'),
};

beforeAll(async () => {
  whole['snappy'] = await codecs.snappy.compress({ buffer: TEXT });
  whole['lz4'] = await codecs.lz4.compress({ buffer: TEXT });
});

async function decompresses(codec: BatchCodec, data: Buffer): Promise<void> {
  const result: unknown = await codec.decompress(data).catch((error: unknown) => error);
  if (Buffer.isBuffer(result)) expect(result.length).toBeLessThanOrEqual(MAX);
  else expect(result).toBeInstanceOf(KafkaCodecError);
}

test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'any bytes give at most the bound from %s, or an error of ours',
  async (name) => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    await fc.assert(fc.asyncProperty(bytes, (data) => decompresses(codecs[name], Buffer.from(data))));
  },
);

test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'a spoilt batch gives at most the bound from %s, or an error of ours',
  async (name) => {
    const edits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(edits, fc.nat(), fc.boolean(), async (changes, end, cut) => {
        const original = whole[name] as Buffer;
        const data = Buffer.from(cut ? original.subarray(0, end % original.length) : original);
        for (const [at, value] of changes) if (data.length > 0) data[at % Math.min(data.length, 60)] = value;
        await decompresses(codecs[name], data);
      }),
      { numRuns: 500 },
    );
  },
);
