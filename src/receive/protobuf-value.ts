import type { Json } from '../model/json.js';
import type { DecodeLimits } from './decode-limits.js';
import { doubleOrName } from './numbers.js';
import { WireReader } from './protobuf-wire.js';
import { readKey, readText } from './short-strings.js';
import { newMap } from '../model/null-map.js';

// Tags of AnyValue's members, wire type included (opentelemetry/proto/common/v1/common.proto). Newer members, which
// point into a dictionary that traces do not have, are passed over like every unknown field.
const STRING = 0x0a;
const BOOL = 0x10;
const INT = 0x18;
const DOUBLE = 0x21;
const ARRAY = 0x2a;
const MAP = 0x32;
const BYTES = 0x3a;
/** ArrayValue.values, KeyValueList.values and KeyValue.key. */
const FIRST = 0x0a;
/** KeyValue.value. */
const KEY_VALUE_VALUE = 0x12;

/** Counts the values of one span while they are checked. */
export interface ValueBudget {
  values: number;
}

/** Checks that an AnyValue can be read, without reading it: well-framed, not too deep, not too many values. */
function checkAnyValue(
  reader: WireReader,
  end: number,
  depth: number,
  budget: ValueBudget,
  limits: DecodeLimits,
): void {
  if (++budget.values > limits.maxValuesPerSpan) {
    reader.fail('too_large', `at most ${limits.maxValuesPerSpan} values expected, got more`);
    return;
  }
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === STRING || tag === BYTES) {
      reader.skipBytes(end);
    } else if (tag === ARRAY || tag === MAP) {
      const stop = reader.lengthEnd(end);
      if (depth >= limits.maxDepth && stop > reader.pos) {
        reader.fail('too_deep', `values nested at most ${limits.maxDepth} deep expected, got more`);
        return;
      }
      while (reader.pos < stop) {
        const inner = reader.tag(stop);
        if (inner !== FIRST) reader.skip(inner, stop);
        else if (tag === ARRAY) checkAnyValue(reader, reader.lengthEnd(stop), depth + 1, budget, limits);
        else checkKeyValue(reader, reader.lengthEnd(stop), depth + 1, budget, limits);
      }
    } else {
      reader.skip(tag, end);
    }
  }
}

/**
 * Where the key ends of a KeyValue that is a key and then a text, both shorter than 126 bytes, as nearly every one is; -1
 * for any other. Such a one needs no check beyond this.
 */
function endOfKeyBeforeText(bytes: Uint8Array, pos: number, end: number): number {
  if (bytes[pos] !== FIRST || end >= pos + 250) return -1;
  const keyEnd = pos + 2 + (bytes[pos + 1] as number);
  return keyEnd + 4 <= end &&
    keyEnd < pos + 130 &&
    bytes[keyEnd] === KEY_VALUE_VALUE &&
    end < keyEnd + 130 &&
    keyEnd + 2 + (bytes[keyEnd + 1] as number) === end &&
    bytes[keyEnd + 2] === STRING &&
    keyEnd + 4 + (bytes[keyEnd + 3] as number) === end
    ? keyEnd
    : -1;
}

/** The same for a KeyValue, which an attribute is. */
export function checkKeyValue(
  reader: WireReader,
  end: number,
  depth: number,
  budget: ValueBudget,
  limits: DecodeLimits,
): void {
  if (++budget.values > limits.maxValuesPerSpan) {
    reader.fail('too_large', `at most ${limits.maxValuesPerSpan} values expected, got more`);
    return;
  }
  if (endOfKeyBeforeText(reader.bytes, reader.pos, end) >= 0) {
    budget.values++;
    reader.pos = end;
    return;
  }
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === KEY_VALUE_VALUE) checkAnyValue(reader, reader.lengthEnd(end), depth, budget, limits);
    else if (tag === FIRST) reader.skipBytes(end);
    else reader.skip(tag, end);
  }
}

/** Where key and value of a KeyValue stand. */
export interface KeyValuePlace {
  keyStart: number;
  keyEnd: number;
  /** -1 when the value is missing. */
  valueStart: number;
  valueEnd: number;
}

/** Checks a KeyValue and finds its parts; false when the reader has failed. */
export function checkAndLocateKeyValue(
  reader: WireReader,
  end: number,
  budget: ValueBudget,
  limits: DecodeLimits,
  place: KeyValuePlace,
): boolean {
  const start = reader.pos;
  const keyEnd = endOfKeyBeforeText(reader.bytes, start, end);
  if (keyEnd >= 0 && budget.values < limits.maxValuesPerSpan) {
    budget.values += 2;
    place.keyStart = start + 2;
    place.keyEnd = keyEnd;
    place.valueStart = keyEnd + 2;
    place.valueEnd = end;
    reader.pos = end;
    return true;
  }
  checkKeyValue(reader, end, 0, budget, limits);
  if (reader.fault !== null) return false;
  reader.pos = start;
  locateKeyValue(reader, end, place);
  return true;
}

/** Finds the parts of a KeyValue that was checked before; the reader is then at its end. */
export function locateKeyValue(reader: WireReader, end: number, place: KeyValuePlace): void {
  // Nearly every KeyValue is a key and then a value, both shorter than 128 bytes.
  const { bytes, pos } = reader;
  const keyEnd = pos + 2 + (bytes[pos + 1] as number);
  const valueStart = keyEnd + 2;
  if (
    bytes[pos] === FIRST &&
    valueStart <= end &&
    keyEnd < pos + 130 &&
    bytes[keyEnd] === KEY_VALUE_VALUE &&
    valueStart + (bytes[keyEnd + 1] as number) === end &&
    end < valueStart + 128
  ) {
    place.keyStart = pos + 2;
    place.keyEnd = keyEnd;
    place.valueStart = valueStart;
    place.valueEnd = end;
    reader.pos = end;
    return;
  }

  place.keyStart = place.keyEnd = 0;
  place.valueStart = place.valueEnd = -1;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === FIRST) {
      place.keyEnd = reader.lengthEnd(end);
      place.keyStart = reader.pos;
      reader.pos = place.keyEnd;
    } else if (tag === KEY_VALUE_VALUE) {
      place.valueEnd = reader.lengthEnd(end);
      place.valueStart = reader.pos;
      reader.pos = place.valueEnd;
    } else {
      reader.skip(tag, end);
    }
  }
}

/** The value of an AnyValue that was checked before. */
export function readAnyValue(bytes: Buffer, start: number, end: number): Json {
  // Most values are a text alone, shorter than 128 bytes.
  if (bytes[start] === STRING && end < start + 130 && start + 2 + (bytes[start + 1] as number) === end) {
    return readText(bytes, start + 2, end);
  }
  return readValue(new WireReader(bytes, start), end);
}

function readValue(reader: WireReader, end: number): Json {
  const bytes = reader.bytes;
  let value: Json = null;
  while (reader.pos < end) {
    const tag = reader.tag(end);
    switch (tag) {
      case STRING: {
        const stop = reader.lengthEnd(end);
        value = readText(bytes, reader.pos, stop);
        reader.pos = stop;
        break;
      }
      case BOOL:
        value = reader.int64(end) !== 0;
        break;
      case INT:
        value = reader.int64(end);
        break;
      case DOUBLE:
        value = doubleOrName(bytes.readDoubleLE(reader.pos));
        reader.advance(8, end);
        break;
      case ARRAY:
        value = readArray(reader, reader.lengthEnd(end));
        break;
      case MAP:
        value = readMap(reader, reader.lengthEnd(end));
        break;
      case BYTES: {
        const stop = reader.lengthEnd(end);
        value = bytes.toString('base64', reader.pos, stop);
        reader.pos = stop;
        break;
      }
      default:
        reader.skip(tag, end);
    }
  }
  return value;
}

function readArray(reader: WireReader, end: number): Json {
  const values: Json[] = [];
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === FIRST) values.push(readValue(reader, reader.lengthEnd(end)));
    else reader.skip(tag, end);
  }
  return values;
}

function readMap(reader: WireReader, end: number): Json {
  const map = newMap();
  const place: KeyValuePlace = { keyStart: 0, keyEnd: 0, valueStart: -1, valueEnd: -1 };
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag !== FIRST) {
      reader.skip(tag, end);
      continue;
    }
    locateKeyValue(reader, reader.lengthEnd(end), place);
    const { keyStart, keyEnd, valueStart, valueEnd } = place;
    map[readKey(reader.bytes, keyStart, keyEnd)] =
      valueStart < 0 ? null : readAnyValue(reader.bytes, valueStart, valueEnd);
  }
  return map;
}
