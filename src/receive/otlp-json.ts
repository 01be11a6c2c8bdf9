import type { Attributes, OtlpSpanKind, SpanEvent, SpanLink, StatusCode } from '../model/span.js';
import { AttributesBuilder, NO_ATTRIBUTES } from './attributes.js';
import type { DecodeLimits } from './decode-limits.js';
import type { DecodeReport } from './decode-report.js';
import { deadLinksText, faultOfHexId } from './ids.js';
import {
  EVENT_FIELDS,
  KEY_VALUE_FIELDS,
  LINK_FIELDS,
  REQUEST_FIELDS,
  RESOURCE_FIELDS,
  RESOURCE_SPANS_FIELDS,
  SCOPE_FIELDS,
  SCOPE_SPANS_FIELDS,
  SPAN_FIELDS,
  STATUS_FIELDS,
} from './json-fields.js';
import type { FieldTable } from './json-fields.js';
import { JsonReader, JsonSyntaxError } from './json-reader.js';
import { checkKeyValue, JsonCheck, nameOf, readAnyValue, readLong, readNumberText } from './json-value.js';
import { exactInteger, isUint64 } from './numbers.js';
import { GroupResource, GroupScope, ownBytes, SpanRecord } from './span-record.js';
import type { SpanEncoding } from './span-record.js';

/** trace.proto, SpanFlags: is it known where the parent lives, and is it elsewhere? */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

const KIND_NAMES: ReadonlyMap<string, number> = new Map(
  ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map((name, number) => [name, number]),
);
const STATUS_NAMES: ReadonlyMap<string, number> = new Map(
  ['UNSET', 'OK', 'ERROR'].map((name, number) => [name, number]),
);

/** What a JSON body turned out to be. */
export type JsonBody =
  | { readonly kind: 'request' }
  /** A JSON object without `resourceSpans`; `signal` names another signal of OTLP that it holds. */
  | { readonly kind: 'foreign'; readonly signal: string | null }
  | { readonly kind: 'unreadable'; readonly reason: 'malformed' | 'too_deep'; readonly detail: string };

/**
 * Reads an ExportTraceServiceRequest (or TracesData) in OTLP/JSON in one pass over the bytes. Spans and what was
 * refused of them go to `spans` and `report`. Text that is no JSON, or that has something else in the place of
 * resources or lists of spans, is refused as a whole.
 */
export function decodeJson(body: Buffer, limits: DecodeLimits, report: DecodeReport, spans: SpanRecord[]): JsonBody {
  try {
    return new RequestDecoder(body, limits, report, spans).decode();
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return { kind: 'unreadable', reason: error.kind, detail: error.message };
  }
}

class RequestDecoder {
  private readonly reader: JsonReader;
  private readonly check: JsonCheck;

  constructor(
    private readonly body: Buffer,
    private readonly limits: DecodeLimits,
    private readonly report: DecodeReport,
    private readonly spans: SpanRecord[],
  ) {
    this.reader = new JsonReader(body, 0);
    this.check = new JsonCheck(limits, report);
  }

  decode(): JsonBody {
    const { reader, report } = this;
    if (this.body[0] === 0xef && this.body[1] === 0xbb && this.body[2] === 0xbf) {
      reader.pos = 3;
      report.allow('byte_order_mark');
    }
    let members = 0;
    let known = false;
    let signal: string | null = null;
    this.object('', (key) => {
      members++;
      const field = this.check.field(REQUEST_FIELDS, key);
      if (field === 1) {
        known = true;
        this.array('resourceSpans', (at) => this.resourceSpans(at));
      } else {
        if (field > 1) signal = key;
        reader.skipValue();
      }
    });
    if (reader.peek() >= 0) reader.fail('the end');
    if (reader.nonFiniteWords > 0) report.allow('bare_non_finite_numbers', reader.nonFiniteWords);
    return known || members === 0 ? { kind: 'request' } : { kind: 'foreign', signal };
  }

  private resourceSpans(where: string): void {
    const { reader } = this;
    const resource = new GroupResource();
    this.object(where, (key) => {
      switch (this.check.field(RESOURCE_SPANS_FIELDS, key)) {
        case 1:
          this.resource(`${where}.resource`, resource);
          break;
        case 2:
          this.array(`${where}.scopeSpans`, (at) => this.scopeSpans(at, resource));
          break;
        case 1000:
          this.report.allow('instrumentation_library_spans');
          this.array(`${where}.instrumentationLibrarySpans`, (at) => this.scopeSpans(at, resource));
          break;
        default:
          reader.skipValue();
      }
    });
  }

  private resource(where: string, resource: GroupResource): void {
    const { reader, check } = this;
    reader.peek();
    const start = reader.pos;
    let attributesAt = -1;
    check.begin();
    this.object(where, (key) => {
      if (check.field(RESOURCE_FIELDS, key) === 1) attributesAt = this.attributes(start);
      else reader.skipValue();
    });
    this.refuseOnFault(where);
    // The resource gets memory of its own, so that a compacted span does not keep the request alive through it.
    const bytes = ownBytes(this.body, [start, reader.pos]);
    resource.attributes = attributesAt < 0 ? NO_ATTRIBUTES : readAttributes(bytes, attributesAt, bytes.length);
  }

  private refuseOnFault(where: string): void {
    const { fault } = this.check;
    if (fault === null) return;
    const kind = fault.reason === 'too_deep' ? 'too_deep' : 'malformed';
    throw new JsonSyntaxError(kind, `${where}.${fault.what}`, this.reader.pos);
  }

  private scopeSpans(where: string, resource: GroupResource): void {
    const { reader } = this;
    const scope = new GroupScope();
    this.object(where, (key) => {
      const field = this.check.field(SCOPE_SPANS_FIELDS, key);
      if (field === 1 || field === 1000) this.scope(`${where}.scope`, scope);
      else if (field === 2) this.array(`${where}.spans`, (_, position) => this.span(resource, scope, where, position));
      else reader.skipValue();
    });
  }

  private scope(where: string, scope: GroupScope): void {
    const { reader, check } = this;
    check.begin();
    this.object(where, (key) => {
      const field = check.field(SCOPE_FIELDS, key);
      if (field === 1) scope.name = this.text('name');
      else if (field === 2) scope.version = this.text('version');
      else reader.skipValue();
    });
    this.refuseOnFault(where);
  }

  private span(resource: GroupResource, scope: GroupScope, where: string, position: number): void {
    const { reader, report, check } = this;
    const path = (): string => `${where}.spans[${position}]`;
    if (this.spans.length >= this.limits.maxSpans) {
      reader.skipValue();
      report.reject('too_large', 1, () => `${path()}: at most ${this.limits.maxSpans} spans in one request expected`);
      return;
    }
    const kind = reader.kind();
    if (kind !== 'object') {
      reader.skipValue();
      report.reject('malformed_span', 1, () => `${path()}: an object expected, got ${nameOf(kind)}`);
      return;
    }

    const start = reader.pos;
    const span = new SpanRecord(JSON_ENCODING, this.body, start, start, resource, scope);
    let traceId = '';
    let spanId = '';
    let parentId = '';
    let deadLinks = 0;
    check.begin();
    if (reader.openObject()) {
      do {
        const field = check.field(SPAN_FIELDS, reader.key());
        switch (field) {
          case 1:
            traceId = this.text('traceId');
            break;
          case 2:
            spanId = this.text('spanId');
            break;
          case 4:
            parentId = this.text('parentSpanId');
            break;
          case 5:
            span.name = this.text('name');
            break;
          case 6:
            span.kind = this.enumeration('kind', KIND_NAMES, 'SPAN_KIND_') as OtlpSpanKind;
            break;
          case 7:
            span.startUnixNano = this.time('startTimeUnixNano');
            break;
          case 8:
            span.endUnixNano = this.time('endTimeUnixNano');
            break;
          case 9:
            span.attributesAt = this.attributes(start);
            break;
          case 10:
            span.droppedAttributes = this.uint32('droppedAttributesCount');
            break;
          case 11:
            span.eventsAt = this.parts('events', start, EVENT_FIELDS);
            break;
          case 13:
            reader.peek();
            span.linksAt = this.parts('links', start, LINK_FIELDS);
            deadLinks = span.linksAt < 0 ? 0 : countDeadLinks(this.body, start + span.linksAt, reader.pos);
            break;
          case 15:
            this.status(span);
            break;
          case 16: {
            const flags = this.uint32('flags');
            span.parentIsRemote = (flags & HAS_IS_REMOTE) === 0 ? undefined : (flags & IS_REMOTE) !== 0;
            break;
          }
          default:
            reader.skipValue();
        }
      } while (reader.nextMember());
    }
    span.end = reader.pos;

    const traceIdFault = faultOfHexId(traceId, 32);
    const spanIdFault = faultOfHexId(spanId, 16);
    const isRoot = parentId === '' || parentId === '0000000000000000';
    const parentIdFault = isRoot ? null : faultOfHexId(parentId, 16);
    const { fault } = check;
    if (fault !== null) {
      report.reject(fault.reason, 1, () => `${path()}.${fault.what}`);
    } else if (traceIdFault !== null) {
      report.reject('invalid_trace_id', 1, () => `${path()}.traceId: ${traceIdFault}`);
    } else if (spanIdFault !== null) {
      report.reject('invalid_span_id', 1, () => `${path()}.spanId: ${spanIdFault}`);
    } else if (parentIdFault !== null) {
      // Taken for a root it would be graded as a turn of its own.
      report.reject('invalid_span_id', 1, () => `${path()}.parentSpanId: ${parentIdFault}`);
    } else if (span.startUnixNano === 0n && span.endUnixNano === 0n) {
      report.reject('invalid_time', 1, () => `${path()}.startTimeUnixNano: a time after 1970 expected, got 0`);
    } else {
      span.traceId = traceId.toLowerCase();
      span.spanId = spanId.toLowerCase();
      if (!isRoot) span.parentSpanId = parentId.toLowerCase();
      if (span.startUnixNano === 0n) {
        span.startUnixNano = span.endUnixNano;
        report.allow('missing_start_times');
      }
      if (deadLinks > 0) report.reject('invalid_span_id', 0, () => `${path()}.links: ${deadLinksText(deadLinks)}`);
      this.spans.push(span);
    }
  }

  private status(span: SpanRecord): void {
    const { reader, check } = this;
    check.at = 'status';
    const kind = reader.kind();
    if (kind !== 'object') {
      if (kind !== 'null') check.fail('malformed_span', `an object expected, got ${nameOf(kind)}`);
      reader.skipValue();
      return;
    }
    if (!reader.openObject()) return;
    do {
      const field = check.field(STATUS_FIELDS, reader.key());
      if (field === 2) span.statusMessage = this.text('status.message');
      else if (field === 3)
        span.statusCode = this.enumeration('status.code', STATUS_NAMES, 'STATUS_CODE_') as StatusCode;
      else reader.skipValue();
    } while (reader.nextMember());
  }

  /** Checks a list of attributes; its place, counted from `origin`, or -1 when there is none. */
  private attributes(origin: number): number {
    const { reader, check } = this;
    check.at = 'attributes';
    const kind = reader.kind();
    const at = reader.pos - origin;
    if (kind !== 'array') {
      if (kind !== 'null') check.fail('malformed_span', `an array expected, got ${nameOf(kind)}`);
      reader.skipValue();
      return -1;
    }
    if (!reader.openArray()) return -1;
    do checkKeyValue(reader, 0, check);
    while (reader.nextElement());
    return at;
  }

  /** Checks events or links, which are read when asked for; their place, or -1 when there are none. */
  private parts(name: 'events' | 'links', origin: number, table: FieldTable): number {
    const { reader, check } = this;
    check.at = name;
    const kind = reader.kind();
    const at = reader.pos - origin;
    if (kind !== 'array') {
      if (kind !== 'null') check.fail('malformed_span', `an array expected, got ${nameOf(kind)}`);
      reader.skipValue();
      return -1;
    }
    if (!reader.openArray()) return -1;
    do {
      check.at = name;
      const part = reader.kind();
      if (!check.count() || part !== 'object') {
        if (part !== 'object') check.fail('malformed_span', `an object expected, got ${nameOf(part)}`);
        reader.skipValue();
      } else if (reader.openObject()) {
        do {
          const field = check.field(table, reader.key());
          if (table === LINK_FIELDS || field === 0) reader.skipValue();
          else if (field === 1) this.time('events.timeUnixNano');
          else if (field === 2) this.text('events.name');
          else this.attributes(origin);
        } while (reader.nextMember());
      }
    } while (reader.nextElement());
    return at;
  }

  private text(at: string): string {
    const { reader, check } = this;
    const kind = reader.kind();
    if (kind === 'string') {
      reader.skipString();
      return reader.text();
    }
    check.at = at;
    if (kind !== 'null') check.fail('malformed_span', `a text expected, got ${nameOf(kind)}`);
    reader.skipValue();
    return '';
  }

  private time(at: string): bigint {
    const { reader, check } = this;
    check.at = at;
    const kind = reader.kind();
    if (kind === 'object') {
      this.report.allow('long_object_integers');
      const long = readLong(reader);
      if (long === undefined) check.fail('invalid_time', 'nanoseconds expected, got another object');
      return long ?? 0n;
    }
    const text = readNumberText(reader, kind);
    if (text === undefined) {
      reader.skipValue();
      if (kind !== 'null') check.fail('invalid_time', `nanoseconds expected, got ${nameOf(kind)}`);
      return 0n;
    }
    const nanos = text === '' ? 0n : exactInteger(text);
    if (nanos === undefined || !isUint64(nanos)) {
      check.fail('invalid_time', `nanoseconds from 0 to 2^64-1 expected, got another ${kind}`);
      return 0n;
    }
    if (/[.eE]/.test(text)) this.report.allow('exponent_integers');
    return nanos;
  }

  private uint32(at: string): number {
    const { reader, check } = this;
    check.at = at;
    const kind = reader.kind();
    const text = readNumberText(reader, kind);
    if (text === undefined) {
      reader.skipValue();
      if (kind !== 'null') check.fail('malformed_span', `a number expected, got ${nameOf(kind)}`);
      return 0;
    }
    const value = Number(text);
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
      check.fail('malformed_span', `an integer from 0 to 2^32-1 expected, got another ${kind}`);
      return 0;
    }
    return value;
  }

  /** An enum's number; unknown numbers are 0, as for an older reader of the proto. */
  private enumeration(at: string, names: ReadonlyMap<string, number>, prefix: string): number {
    const { reader, check } = this;
    check.at = at;
    const kind = reader.kind();
    const text = readNumberText(reader, kind);
    if (text === undefined) {
      reader.skipValue();
      if (kind !== 'null') check.fail('malformed_span', `a number expected, got ${nameOf(kind)}`);
      return 0;
    }
    if (kind === 'string' && !/^\d+$/.test(text)) {
      const name = text.toUpperCase();
      const number = names.get(name.startsWith(prefix) ? name.slice(prefix.length) : name);
      // Accepted with its status lost, a failed span would pass for a good one.
      if (number === undefined)
        check.fail('malformed_span', 'a number or a name of the enum expected, got another text');
      else this.report.allow('enum_names');
      return number ?? 0;
    }
    if (kind === 'string') this.report.allow('enum_names');
    const number = Number(text);
    return Number.isInteger(number) && number >= 0 && number < names.size ? number : 0;
  }

  /** Members of the object here; null is an empty one. Anything else in its place makes the body unreadable. */
  private object(where: string, member: (key: string) => void): void {
    const { reader } = this;
    const kind = this.container(where, 'object');
    if (kind === 'null') reader.skipValue();
    else if (reader.openObject()) {
      do member(reader.key());
      while (reader.nextMember());
    }
  }

  private array(where: string, element: (where: string, position: number) => void): void {
    const { reader } = this;
    const kind = this.container(where, 'array');
    if (kind === 'null') reader.skipValue();
    else if (reader.openArray()) {
      let position = 0;
      do {
        element(`${where}[${position}]`, position);
        position++;
      } while (reader.nextElement());
    }
  }

  private container(where: string, expected: 'object' | 'array'): 'object' | 'array' | 'null' {
    const kind = this.reader.kind();
    if (kind === expected || (kind === 'null' && where !== '')) return kind;
    const prefix = where === '' ? '' : `${where}: `;
    throw new JsonSyntaxError('malformed', `${prefix}an ${expected} expected, got ${nameOf(kind)}`, this.reader.pos);
  }
}

/** Reads what was checked by the decoder, when it is asked for. */
const JSON_ENCODING: SpanEncoding = {
  attributes: readAttributes,

  events(bytes, at, end) {
    const events: SpanEvent[] = [];
    const reader = new JsonReader(bytes, at, end);
    if (!reader.openArray()) return events;
    do events.push(readEvent(reader));
    while (reader.nextElement());
    return events;
  },

  links(bytes, at, end) {
    const links: SpanLink[] = [];
    forEachLink(new JsonReader(bytes, at, end), (link) => {
      if (link !== null) links.push(link);
    });
    return links;
  },
};

function readAttributes(bytes: Buffer, at: number, end: number): Attributes {
  const builder = new AttributesBuilder(bytes);
  const reader = new JsonReader(bytes, at, end);
  if (!reader.openArray()) return NO_ATTRIBUTES;
  do readAttribute(reader, builder);
  while (reader.nextElement());
  return builder.build((buffer, start, stop) => readAnyValue(new JsonReader(buffer, start, stop)), 'json');
}

function readAttribute(reader: JsonReader, builder: AttributesBuilder): void {
  let key = '';
  let valueStart = -1;
  let valueEnd = -1;
  if (reader.openObject()) {
    do {
      const field = KEY_VALUE_FIELDS.get(reader.key());
      if (field === 2) {
        reader.peek();
        valueStart = reader.pos;
        reader.skipValue();
        valueEnd = reader.pos;
      } else if (field === 1) {
        reader.peek();
        reader.skipString();
        key = reader.text();
      } else {
        reader.skipValue();
      }
    } while (reader.nextMember());
  }
  builder.add(key, valueStart, valueEnd);
}

function readEvent(reader: JsonReader): SpanEvent {
  let timeUnixNano = 0n;
  let name = '';
  let attributes: Attributes = NO_ATTRIBUTES;
  if (reader.openObject()) {
    do {
      const field = Math.abs(EVENT_FIELDS.get(reader.key()) ?? 0);
      const kind = reader.kind();
      const start = reader.pos;
      if (field === 1 && kind === 'object') {
        timeUnixNano = readLong(reader) ?? 0n;
      } else if (field === 1 && kind !== 'null') {
        timeUnixNano = exactInteger(readNumberText(reader, kind) ?? '') ?? 0n;
      } else if (field === 2 && kind === 'string') {
        reader.skipString();
        name = reader.text();
      } else {
        reader.skipValue();
        if (field === 3)
          attributes = kind === 'array' ? readAttributes(reader.bytes, start, reader.pos) : NO_ATTRIBUTES;
      }
    } while (reader.nextMember());
  }
  return { name, timeUnixNano, attributes };
}

function forEachLink(reader: JsonReader, use: (link: SpanLink | null) => void): void {
  if (!reader.openArray()) return;
  do {
    let traceId = '';
    let spanId = '';
    if (reader.kind() !== 'object') {
      reader.skipValue();
    } else if (reader.openObject()) {
      do {
        const field = Math.abs(LINK_FIELDS.get(reader.key()) ?? 0);
        const isText = reader.kind() === 'string';
        reader.skipValue();
        if (field === 1) traceId = isText ? reader.text() : '';
        else if (field === 2) spanId = isText ? reader.text() : '';
      } while (reader.nextMember());
    }
    const dead = faultOfHexId(traceId, 32) !== null || faultOfHexId(spanId, 16) !== null;
    use(dead ? null : { traceId: traceId.toLowerCase(), spanId: spanId.toLowerCase() });
  } while (reader.nextElement());
}

function countDeadLinks(bytes: Buffer, at: number, end: number): number {
  let dead = 0;
  forEachLink(new JsonReader(bytes, at, end), (link) => {
    if (link === null) dead++;
  });
  return dead;
}
