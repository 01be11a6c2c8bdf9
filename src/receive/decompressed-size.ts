/**
 * How large compressed bytes can get, read off their framing before anything is decompressed: a record batch of some
 * kilobytes can claim, or hold, gigabytes.
 *
 * Each function gives an upper bound in bytes that honest senders stay close to, or null when the framing is broken or
 * something stands behind it: a batch is one frame.
 */

const XERIAL_MAGIC = Buffer.from('82534e4150505900', 'hex');
const XERIAL_HEADER_BYTES = 16;

/** Snappy as Java clients frame it: a header, then blocks of raw snappy, each behind its length. */
export function isXerial(data: Buffer): boolean {
  return data.length >= XERIAL_HEADER_BYTES && data.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC);
}

/** The raw snappy blocks of a xerial frame; null when a block reaches beyond the end. */
export function xerialBlocks(data: Buffer): Buffer[] | null {
  const blocks: Buffer[] = [];
  let at = XERIAL_HEADER_BYTES;
  while (at < data.length) {
    if (at + 4 > data.length) return null;
    const end = at + 4 + data.readUInt32BE(at);
    if (end > data.length) return null;
    blocks.push(data.subarray(at + 4, end));
    at = end;
  }
  return blocks;
}

/** Raw snappy states its exact size: a little-endian varint of at most 32 bits. Source: snappy's format_description. */
export function snappySize(block: Buffer): number | null {
  let size = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = block[index];
    if (byte === undefined) return null;
    size += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return size < 2 ** 32 ? size : null;
  }
  return null;
}

const LZ4_MAGIC = 0x184d2204;
/** A match of 255 bytes more costs one byte, so no block grows beyond this. */
const LZ4_MAX_RATIO = 255;

/** One LZ4 frame, as Kafka writes it. Source: the LZ4 frame format, sections "Frame Descriptor" and "Data Blocks". */
export function lz4Size(data: Buffer): number | null {
  if (data.length < 7 || data.readUInt32LE(0) !== LZ4_MAGIC) return null;
  const flags = data[4] as number;
  const hasContentSize = (flags & 0x08) !== 0;
  const blockChecksumBytes = (flags & 0x10) === 0 ? 0 : 4;
  const contentChecksumBytes = (flags & 0x04) === 0 ? 0 : 4;
  const sizeCode = ((data[5] as number) >> 4) & 0x07;
  if (flags >> 6 !== 1 || sizeCode < 4) return null;
  const blockBytes = 2 ** (8 + 2 * sizeCode);

  let at = 6 + (hasContentSize ? 8 : 0) + (flags & 0x01 ? 4 : 0) + 1;
  let total = 0;
  while (at + 4 <= data.length) {
    const word = data.readUInt32LE(at);
    at += 4;
    if (word === 0) {
      if (at + contentChecksumBytes !== data.length) return null;
      // The stated size is what a reader may set aside at once.
      return hasContentSize ? Math.max(total, Number(data.readBigUInt64LE(6))) : total;
    }
    const bytes = word & 0x7fffffff;
    const stored = word > 0x7fffffff;
    at += bytes + blockChecksumBytes;
    if (at > data.length) return null;
    total += stored ? bytes : Math.min(blockBytes, bytes * LZ4_MAX_RATIO);
  }
  return null;
}

const ZSTD_MAGIC = 0xfd2fb528;
const ZSTD_BLOCK_BYTES = 128 * 1024;

/** `size`: what it decompresses to, at most; `window`: what its reader has to keep beside that, 0 if the size is stated. */
export interface ZstdSize {
  readonly size: number;
  readonly window: number;
}

/** One Zstandard frame. Source: RFC 8878, sections 3.1.1 and 3.1.1.2. */
export function zstdSize(data: Buffer): ZstdSize | null {
  if (data.length < 9 || data.readUInt32LE(0) !== ZSTD_MAGIC) return null;
  const header = zstdHeader(data, 4);
  if (header === null) return null;
  const { contentSize, window, checksumBytes } = header;
  const blocks = zstdBlocks(data, header.end, Math.min(ZSTD_BLOCK_BYTES, window));
  if (blocks === null || blocks.end + checksumBytes !== data.length) return null;
  return contentSize === null ? { size: blocks.size, window } : { size: contentSize, window: 0 };
}

/** A frame header that begins with its descriptor at `at`. */
function zstdHeader(data: Buffer, at: number) {
  const descriptor = data[at] as number;
  const singleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 ? (singleSegment ? 1 : 0) : 2 ** sizeFlag;
  const sizeAt = at + 1 + (singleSegment ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] as number);
  const end = sizeAt + sizeBytes;
  if (end > data.length) return null;

  const stated = sizeBytes === 8 ? Number(data.readBigUInt64LE(sizeAt)) : data.readUIntLE(sizeAt, sizeBytes || 1);
  const contentSize = sizeBytes === 0 ? null : stated + (sizeBytes === 2 ? 256 : 0);
  const exponent = (data[at + 1] as number) >> 3;
  const mantissa = (data[at + 1] as number) & 7;
  const window = singleSegment ? (contentSize as number) : 2 ** (10 + exponent) * (1 + mantissa / 8);
  return { contentSize, window, checksumBytes: descriptor & 4, end };
}

function zstdBlocks(data: Buffer, from: number, blockBytes: number) {
  let size = 0;
  for (let at = from; at + 3 <= data.length;) {
    const head = data.readUIntLE(at, 3);
    const type = (head >> 1) & 3;
    const bytes = head >> 3;
    if (type === 3) return null;
    // A repeated byte states its count, stored bytes are as many as they are, a compressed block fills one at most.
    size += type === 2 ? blockBytes : bytes;
    at += 3 + (type === 1 ? 1 : bytes);
    if (at > data.length) return null;
    if (head & 1) return { size, end: at };
  }
  return null;
}
