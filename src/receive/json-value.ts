import type { Json } from '../model/json.js';
import type { RejectionReason } from '../model/rejection.js';
import type { DecodeLimits } from './decode-limits.js';
import type { DecodeReport } from './decode-report.js';
import { ANY_VALUE_FIELDS, KEY_VALUE_FIELDS, LIST_FIELDS, LONG_FIELDS } from './json-fields.js';
import type { FieldTable } from './json-fields.js';
import type { JsonKind, JsonReader } from './json-reader.js';
import { newMap } from '../model/null-map.js';
import { doubleOrName, exactInteger, integerOrText, numberOfText } from './numbers.js';

/** What the check of one span, or of one resource, has found so far. */
export class JsonCheck {
  /** The first fault; null while all is well. */
  fault: { readonly reason: RejectionReason; readonly what: string } | null = null;
  /** The field that is being checked. */
  at = '';
  private values = 0;

  constructor(
    private readonly limits: DecodeLimits,
    readonly report: DecodeReport,
  ) {}

  begin(): void {
    this.fault = null;
    this.at = '';
    this.values = 0;
  }

  fail(reason: RejectionReason, what: string): void {
    this.fault ??= { reason, what: this.at === '' ? what : `${this.at}: ${what}` };
  }

  /** Counts a value, an event or a link; false when there are too many. */
  count(): boolean {
    if (++this.values <= this.limits.maxValuesPerSpan) return true;
    this.fail('too_large', `at most ${this.limits.maxValuesPerSpan} values expected, got more`);
    return false;
  }

  deepEnough(depth: number): boolean {
    if (depth < this.limits.maxDepth) return false;
    this.fail('too_deep', `values nested at most ${this.limits.maxDepth} deep expected, got more`);
    return true;
  }

  /** The number of a field in the proto; 0 when it is unknown. */
  field(table: FieldTable, key: string): number {
    const number = table.get(key) ?? 0;
    if (number >= 0) return number;
    this.report.allow('snake_case_keys');
    return -number;
  }
}

/** Checks an AnyValue without building it. A value of another type than its key says is taken as what it is. */
function checkAnyValue(reader: JsonReader, depth: number, check: JsonCheck): void {
  const kind = reader.kind();
  if (!check.count() || kind !== 'object') {
    if (kind !== 'object' && kind !== 'null') check.report.allow('mistyped_values');
    reader.skipValue();
    return;
  }
  if (!reader.openObject()) return;
  do {
    const field = check.field(ANY_VALUE_FIELDS, reader.key());
    const member = reader.kind();
    if (field === 5 || field === 6) {
      checkList(reader, member, field === 6, depth, check);
      continue;
    }
    reader.skipValue();
    if (field === 3 && member === 'object') check.report.allow('long_object_integers');
    else if (field !== 0 && !isTypeOf(field, member)) check.report.allow('mistyped_values');
  } while (reader.nextMember());
}

function isTypeOf(field: number, kind: JsonKind): boolean {
  if (kind === 'null') return true;
  if (field === 2) return kind === 'boolean';
  return kind === 'string' || (kind === 'number' && (field === 3 || field === 4));
}

function checkList(reader: JsonReader, kind: JsonKind, isMap: boolean, depth: number, check: JsonCheck): void {
  if (kind !== 'object') {
    if (kind !== 'null') check.report.allow('mistyped_values');
    reader.skipValue();
    return;
  }
  if (!reader.openObject()) return;
  do {
    const field = check.field(LIST_FIELDS, reader.key());
    const values = reader.kind();
    if (field !== 1 || values !== 'array') {
      if (field === 1 && values !== 'null') check.report.allow('mistyped_values');
      reader.skipValue();
      continue;
    }
    if (!reader.openArray()) continue;
    do {
      if (check.deepEnough(depth)) reader.skipValue();
      else if (isMap) checkKeyValue(reader, depth + 1, check);
      else checkAnyValue(reader, depth + 1, check);
    } while (reader.nextElement());
  } while (reader.nextMember());
}

/** The same for a KeyValue, which an attribute is. */
export function checkKeyValue(reader: JsonReader, depth: number, check: JsonCheck): void {
  const kind = reader.kind();
  if (!check.count() || kind !== 'object') {
    if (kind !== 'object') check.fail('malformed_span', `a key with a value expected, got ${nameOf(kind)}`);
    reader.skipValue();
    return;
  }
  if (!reader.openObject()) return;
  do {
    const field = check.field(KEY_VALUE_FIELDS, reader.key());
    if (field === 2) {
      checkAnyValue(reader, depth, check);
      continue;
    }
    const member = reader.kind();
    if (field === 1 && member !== 'string')
      check.fail('malformed_span', `a text as key expected, got ${nameOf(member)}`);
    reader.skipValue();
  } while (reader.nextMember());
}

export function nameOf(kind: JsonKind): string {
  if (kind === 'null') return 'null';
  return `${kind === 'object' || kind === 'array' ? 'an' : 'a'} ${kind}`;
}

/** The AnyValue that stands here; it was checked before. */
export function readAnyValue(reader: JsonReader): Json {
  if (reader.kind() !== 'object') return readScalar(reader);
  let value: Json = null;
  if (!reader.openObject()) return value;
  do {
    const field = Math.abs(ANY_VALUE_FIELDS.get(reader.key()) ?? 0);
    // null is how ProtoJSON writes a member that is not set.
    if (field === 0 || reader.kind() === 'null') reader.skipValue();
    else if (field === 3) value = readInteger(reader);
    else if (field === 4) value = readDouble(reader);
    else if (field === 5) value = readArray(reader);
    else if (field === 6) value = readMap(reader);
    else value = readScalar(reader);
  } while (reader.nextMember());
  return value;
}

function readScalar(reader: JsonReader): Json {
  switch (reader.kind()) {
    case 'string':
      reader.skipString();
      return reader.text();
    case 'number':
      reader.skipNumber();
      return numberOfText(reader.numberText());
    case 'boolean': {
      const isTrue = reader.peek() === 0x74;
      reader.skipWord();
      return isTrue;
    }
    default:
      reader.skipValue();
      return null;
  }
}

function readInteger(reader: JsonReader): Json {
  const kind = reader.kind();
  if (kind === 'object') {
    const long = readLong(reader);
    return long === undefined ? null : integerOrText(BigInt.asIntN(64, long));
  }
  const scalar = readNumberText(reader, kind);
  if (scalar === undefined) return readScalar(reader);
  const integer = exactInteger(scalar);
  if (integer !== undefined) return integerOrText(integer);
  return kind === 'number' ? numberOfText(scalar) : scalar;
}

function readDouble(reader: JsonReader): Json {
  const kind = reader.kind();
  const scalar = readNumberText(reader, kind);
  if (scalar === undefined) return readScalar(reader);
  if (kind === 'string' && !/^-?[0-9.]+([eE][+-]?[0-9]+)?$/.test(scalar)) return scalar;
  return doubleOrName(Number(scalar));
}

/** The text of a number or of a string; undefined, and nothing read, for anything else. */
export function readNumberText(reader: JsonReader, kind: JsonKind): string | undefined {
  if (kind === 'number') {
    reader.skipNumber();
    return reader.numberText();
  }
  if (kind !== 'string') return undefined;
  reader.skipString();
  return reader.text();
}

/** A 64-bit integer as `{low, high}`, as a JavaScript library writes it; undefined for any other object. */
export function readLong(reader: JsonReader): bigint | undefined {
  let low: number | undefined;
  let high: number | undefined;
  if (!reader.openObject()) return undefined;
  do {
    const field = LONG_FIELDS.get(reader.key());
    if (field === undefined || reader.kind() !== 'number') {
      reader.skipValue();
      continue;
    }
    reader.skipNumber();
    const word = Number(reader.numberText()) | 0;
    if (field === 1) low = word;
    else high = word;
  } while (reader.nextMember());
  if (low === undefined || high === undefined) return undefined;
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

function readArray(reader: JsonReader): Json {
  const values: Json[] = [];
  return forEachValue(reader, () => values.push(readAnyValue(reader))) ? values : null;
}

function readMap(reader: JsonReader): Json {
  const map = newMap();
  const known = forEachValue(reader, () => {
    if (reader.kind() !== 'object') {
      reader.skipValue();
      return;
    }
    let key = '';
    let value: Json = null;
    if (reader.openObject()) {
      do {
        const field = KEY_VALUE_FIELDS.get(reader.key());
        if (field === 2) {
          value = readAnyValue(reader);
        } else if (field === 1 && reader.kind() === 'string') {
          reader.skipString();
          key = reader.text();
        } else {
          reader.skipValue();
        }
      } while (reader.nextMember());
    }
    map[key] = value;
  });
  return known ? map : null;
}

/** Calls `read` at each element of `{"values": [...]}`; false when something else stands here. */
function forEachValue(reader: JsonReader, read: () => void): boolean {
  if (reader.kind() !== 'object') {
    reader.skipValue();
    return false;
  }
  if (!reader.openObject()) return true;
  do {
    const field = LIST_FIELDS.get(reader.key());
    if (field !== 1 || reader.kind() !== 'array') {
      reader.skipValue();
    } else if (reader.openArray()) {
      do read();
      while (reader.nextElement());
    }
  } while (reader.nextMember());
  return true;
}
