import { REQUEST_FIELDS, RESOURCE_SPANS_FIELDS, SCOPE_SPANS_FIELDS } from './json-fields.js';
import type { FieldTable } from './json-fields.js';
import { JsonReader } from './json-reader.js';
import { NO_BYTES, Stretches } from './trace-sorter.js';
import type { FrameOfTrace, TraceSorter } from './trace-sorter.js';

/** Which members are lists of frames: in the request, in ResourceSpans, in ScopeSpans. */
const LISTS: readonly { readonly table: FieldTable; readonly fields: readonly number[] }[] = [
  { table: REQUEST_FIELDS, fields: [1] },
  { table: RESOURCE_SPANS_FIELDS, fields: [2, 1000] },
  { table: SCOPE_SPANS_FIELDS, fields: [2] },
];
const SPAN_LEVEL = LISTS.length;

const QUOTE = 0x22;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
const LEFT_BRACKET = 0x5b;
const RIGHT_BRACKET = 0x5d;

const OPEN = Buffer.from('{');
const COMMA = Buffer.from(',');
const END_OF_LIST = Buffer.from(']');
const CLOSE = Buffer.from('}');

/** Sorts the spans of a request that the decoder has read. All other members are taken as they are, known or not. */
export function sortJson(body: Buffer, sorter: TraceSorter): void {
  const reader = new JsonReader(body, body.indexOf(LEFT_BRACE)); // a byte order mark may stand before it
  object(0, NO_BYTES);

  function object(level: number, label: Uint8Array): void {
    const frame = sorter.enter(level, label);
    const { table, fields } = LISTS[level] as (typeof LISTS)[number];
    const own = new Stretches(body);
    if (!reader.openObject()) return;
    do {
      // The comma before a member parts it from the member that it will follow.
      const comma = reader.pos - 1;
      reader.peek();
      const at = reader.pos;
      const field = Math.abs(table.get(reader.key()) ?? 0);
      if (fields.includes(field) && reader.kind() === 'array') {
        list(level + 1, body.subarray(at, reader.pos + 1));
      } else {
        skipChecked(reader);
        own.add(own.isEmpty ? at : comma, reader.pos);
      }
    } while (reader.nextMember());
    frame.own = own.bytes();
  }

  function list(level: number, label: Uint8Array): void {
    if (!reader.openArray()) return;
    do {
      const isObject = reader.kind() === 'object';
      if (isObject && level < SPAN_LEVEL) {
        object(level, label);
        continue;
      }
      const length = level === SPAN_LEVEL ? sorter.span(reader.pos, label) : 0;
      if (length > 0) reader.pos += length;
      else skipChecked(reader);
    } while (reader.nextElement());
  }
}

/**
 * Passes over a value that the decoder has passed over before. It has checked what is in it, piece by piece; seen as
 * one value it may be nested deeper than `skipValue` goes.
 */
function skipChecked(reader: JsonReader): void {
  const kind = reader.kind();
  if (kind !== 'object' && kind !== 'array') {
    reader.skipValue();
    return;
  }
  let depth = 0;
  do {
    const byte = reader.bytes[reader.pos];
    if (byte === QUOTE) {
      reader.skipString();
      continue;
    }
    if (byte === LEFT_BRACE || byte === LEFT_BRACKET) depth++;
    else if (byte === RIGHT_BRACE || byte === RIGHT_BRACKET) depth--;
    reader.pos++;
  } while (depth > 0);
}

/** Writes an object: adds its pieces to `pieces`. Answers with its length. */
export function writeJson({ frame, frames }: FrameOfTrace, pieces: Uint8Array[]): number {
  let bytes = 0;
  const add = (piece: Uint8Array): void => {
    pieces.push(piece);
    bytes += piece.length;
  };
  if (frames.length === 0) {
    add(frame.own); // a span, braces included
    return bytes;
  }

  add(OPEN);
  add(frame.own);
  let list: Uint8Array | null = null;
  for (const inner of frames) {
    const { label } = inner.frame;
    if (label !== list) {
      if (list !== null) add(END_OF_LIST);
      if (list !== null || frame.own.length > 0) add(COMMA);
      add(label);
      list = label;
    } else {
      add(COMMA);
    }
    bytes += writeJson(inner, pieces);
  }
  add(END_OF_LIST);
  add(CLOSE);
  return bytes;
}
