import { WireReader } from './protobuf-wire.js';
import { NO_BYTES, Stretches } from './trace-sorter.js';
import type { FrameOfTrace, TraceSorter } from './trace-sorter.js';

const RESOURCE_SPANS: Tag = [0x0a, Uint8Array.of(0x0a)];
const SCOPE_SPANS: Tag = [0x12, Uint8Array.of(0x12)];
const INSTRUMENTATION_LIBRARY_SPANS: Tag = [8002, Uint8Array.of(0xc2, 0x3e)];
const SPANS: Tag = [0x12, Uint8Array.of(0x12)];

/** A tag as a number and as it is written. */
type Tag = readonly [number, Uint8Array];

/** Which fields are frames of their own: in the request, in ResourceSpans, in ScopeSpans. */
const FRAMES: ReadonlyMap<number, Uint8Array>[] = [
  new Map([RESOURCE_SPANS]),
  new Map([SCOPE_SPANS, INSTRUMENTATION_LIBRARY_SPANS]),
  new Map([SPANS]),
];
const SPAN_LEVEL = FRAMES.length;

/** Sorts the spans of a request that the decoder has read. All other fields are taken as they are, known or not. */
export function sortProtobuf(body: Buffer, sorter: TraceSorter): void {
  const reader = new WireReader(body, 0);
  message(0, NO_BYTES, body.length);

  function message(level: number, label: Uint8Array, end: number): void {
    const frame = sorter.enter(level, label);
    const labels = FRAMES[level] as ReadonlyMap<number, Uint8Array>;
    const own = new Stretches(body);
    while (reader.pos < end) {
      const at = reader.pos;
      const tag = reader.tag(end);
      const inner = labels.get(tag);
      if (inner === undefined) {
        reader.skip(tag, end);
        own.add(at, reader.pos);
        continue;
      }
      const stop = reader.lengthEnd(end);
      if (level + 1 < SPAN_LEVEL) message(level + 1, inner, stop);
      else sorter.span(reader.pos, inner);
      reader.pos = stop;
    }
    frame.own = own.bytes();
  }
}

/** Writes a message without its tag and length: adds its pieces to `pieces`. Answers with its length. */
export function writeProtobuf({ frame, frames }: FrameOfTrace, pieces: Uint8Array[]): number {
  pieces.push(frame.own);
  let bytes = frame.own.length;
  for (const inner of frames) {
    const { label } = inner.frame;
    // The length stands before what it is the length of.
    const lengthAt = pieces.push(label, NO_BYTES) - 1;
    const innerBytes = writeProtobuf(inner, pieces);
    const length = varint(innerBytes);
    pieces[lengthAt] = length;
    bytes += label.length + length.length + innerBytes;
  }
  return bytes;
}

function varint(value: number): Uint8Array {
  let length = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) length++;
  const bytes = Buffer.allocUnsafe(length);
  let rest = value;
  for (let at = 0; at < length; at++, rest >>>= 7) bytes[at] = at < length - 1 ? (rest & 0x7f) | 0x80 : rest;
  return bytes;
}
