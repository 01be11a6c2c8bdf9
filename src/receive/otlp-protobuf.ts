import type { Attributes, OtlpSpanKind, SpanEvent, SpanLink, StatusCode } from '../model/span.js';
import { AttributesBuilder } from './attributes.js';
import type { DecodeLimits } from './decode-limits.js';
import type { DecodeReport } from './decode-report.js';
import { deadLinksText, hexOf16, hexOf8, isZero } from './ids.js';
import { checkAndLocateKeyValue, checkKeyValue, locateKeyValue, readAnyValue } from './protobuf-value.js';
import type { KeyValuePlace, ValueBudget } from './protobuf-value.js';
import { WireReader } from './protobuf-wire.js';
import type { WireFault } from './protobuf-wire.js';
import { readText } from './short-strings.js';
import { GroupResource, GroupScope, ownBytes, SpanRecord } from './span-record.js';
import type { SpanEncoding } from './span-record.js';

// Tags with their wire type, from opentelemetry/proto/{trace,resource,common}/v1. A known field number with another
// wire type is an unknown field, as for every protobuf reader.
const REQUEST = { resourceSpans: 0x0a } as const;
const RESOURCE_SPANS = { resource: 0x0a, scopeSpans: 0x12, instrumentationLibrarySpans: 8002 } as const;
const RESOURCE = { attributes: 0x0a } as const;
const SCOPE_SPANS = { scope: 0x0a, spans: 0x12 } as const;
const SCOPE = { name: 0x0a, version: 0x12 } as const;
const SPAN = {
  traceId: 0x0a,
  spanId: 0x12,
  parentSpanId: 0x22,
  name: 0x2a,
  kind: 0x30,
  startTimeUnixNano: 0x39,
  endTimeUnixNano: 0x41,
  attributes: 0x4a,
  droppedAttributesCount: 0x50,
  events: 0x5a,
  links: 0x6a,
  status: 0x7a,
  flags: 0x85,
} as const;
const EVENT = { timeUnixNano: 0x09, name: 0x12, attributes: 0x1a } as const;
const LINK = { traceId: 0x0a, spanId: 0x12 } as const;
const STATUS = { message: 0x12, code: 0x18 } as const;

/** Span flags (trace.proto, SpanFlags): is it known where the parent lives, and is it elsewhere? */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

/** What makes the whole body unreadable, and where. */
export interface BodyFault {
  readonly kind: WireFault['kind'];
  readonly detail: string;
}

/**
 * Reads an ExportTraceServiceRequest in one pass. Spans and what was refused of them go to `spans` and `report`.
 * Answers with a fault when what stands above the spans cannot be read: then the body as a whole is refused.
 */
export function decodeProtobuf(
  body: Buffer,
  limits: DecodeLimits,
  report: DecodeReport,
  spans: SpanRecord[],
): BodyFault | null {
  return new RequestDecoder(body, limits, report, spans).decode();
}

class RequestDecoder {
  private readonly reader: WireReader;
  private readonly budget: ValueBudget = { values: 0 };
  private readonly view: DataView;
  private readonly place: KeyValuePlace = { keyStart: 0, keyEnd: 0, valueStart: -1, valueEnd: -1 };
  private readonly attributes: AttributesBuilder;
  /** Spans of one request mostly share their trace, and siblings their parent: such ids are made once. */
  private lastTraceId = '';
  private lastTraceIdAt = -1;
  private lastParentId = '';
  private lastParentIdAt = -1;

  constructor(
    private readonly body: Buffer,
    private readonly limits: DecodeLimits,
    private readonly report: DecodeReport,
    private readonly spans: SpanRecord[],
  ) {
    this.reader = new WireReader(body, 0);
    this.attributes = AttributesBuilder.ofRequest(body);
    this.view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  }

  decode(): BodyFault | null {
    const { reader } = this;
    const end = this.body.length;
    let count = 0;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === REQUEST.resourceSpans) {
        const fault = this.resourceSpans(reader.lengthEnd(end), count);
        if (fault !== null) return fault;
        count++;
      } else {
        reader.skip(tag, end);
      }
    }
    return this.bodyFault(`resourceSpans[${count}]`);
  }

  private bodyFault(where: string): BodyFault | null {
    const fault = this.reader.fault;
    return fault === null ? null : { kind: fault.kind, detail: `${where}: ${fault.what}` };
  }

  private resourceSpans(end: number, group: number): BodyFault | null {
    const { reader } = this;
    const where = `resourceSpans[${group}]`;
    const resource = new GroupResource();
    const resourceParts: number[] = [];
    let scopes = 0;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === RESOURCE_SPANS.resource) {
        const stop = reader.lengthEnd(end);
        const start = reader.pos;
        this.checkResource(stop);
        if (reader.fault !== null) return this.bodyFault(`${where}.resource`);
        if (stop > start) resourceParts.push(start, stop);
      } else if (tag === RESOURCE_SPANS.scopeSpans || tag === RESOURCE_SPANS.instrumentationLibrarySpans) {
        const old = tag === RESOURCE_SPANS.instrumentationLibrarySpans;
        if (old) this.report.allow('instrumentation_library_spans');
        const path = `${where}.${old ? 'instrumentationLibrarySpans' : 'scopeSpans'}[${scopes++}]`;
        const fault = this.scopeSpans(reader.lengthEnd(end), resource, path);
        if (fault !== null) return fault;
      } else {
        reader.skip(tag, end);
      }
    }
    if (reader.fault !== null) return this.bodyFault(where);
    const bytes = ownBytes(this.body, resourceParts);
    resource.attributes = readAttributes(bytes, 0, bytes.length, RESOURCE.attributes);
    return null;
  }

  private checkResource(end: number): void {
    const { reader } = this;
    this.budget.values = 0;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === RESOURCE.attributes) this.checkKeyValue(reader.lengthEnd(end));
      else reader.skip(tag, end);
    }
  }

  private scopeSpans(end: number, resource: GroupResource, where: string): BodyFault | null {
    const { reader } = this;
    const scope = new GroupScope();
    let count = 0;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SCOPE_SPANS.spans) {
        const stop = reader.lengthEnd(end);
        if (reader.fault !== null) return this.bodyFault(`${where}.spans[${count}]`);
        this.span(stop, resource, scope, where, count++);
      } else if (tag === SCOPE_SPANS.scope) {
        this.scope(reader.lengthEnd(end), scope);
      } else {
        reader.skip(tag, end);
      }
    }
    return this.bodyFault(where);
  }

  private scope(end: number, scope: GroupScope): void {
    const { reader } = this;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SCOPE.name) scope.name = this.text(end);
      else if (tag === SCOPE.version) scope.version = this.text(end);
      else reader.skip(tag, end);
    }
  }

  private span(end: number, resource: GroupResource, scope: GroupScope, where: string, position: number): void {
    const { reader, limits, report } = this;
    const start = reader.pos;
    const path = (): string => `${where}.spans[${position}]`;
    if (this.spans.length >= limits.maxSpans) {
      reader.pos = end;
      report.reject('too_large', 1, () => `${path()}: at most ${limits.maxSpans} spans in one request expected`);
      return;
    }

    const span = new SpanRecord(PROTOBUF, this.body, start, end, resource, scope);
    this.attributes.begin();
    // Where ids stand, and how long they are: -1 when they are absent.
    let traceIdAt = 0;
    let traceIdLength = -1;
    let spanIdAt = 0;
    let spanIdLength = -1;
    let parentIdAt = 0;
    let parentIdLength = 0;
    let deadLinks = 0;
    this.budget.values = 0;
    while (reader.pos < end) {
      const at = reader.pos;
      const tag = reader.tag(end);
      switch (tag) {
        case SPAN.traceId: {
          const stop = reader.lengthEnd(end);
          traceIdAt = reader.pos;
          traceIdLength = stop - traceIdAt;
          reader.pos = reader.fault === null ? stop : reader.pos;
          break;
        }
        case SPAN.spanId: {
          const stop = reader.lengthEnd(end);
          spanIdAt = reader.pos;
          spanIdLength = stop - spanIdAt;
          reader.pos = reader.fault === null ? stop : reader.pos;
          break;
        }
        case SPAN.parentSpanId: {
          const stop = reader.lengthEnd(end);
          parentIdAt = reader.pos;
          parentIdLength = stop - parentIdAt;
          reader.pos = reader.fault === null ? stop : reader.pos;
          break;
        }
        case SPAN.name:
          span.name = this.text(end);
          break;
        case SPAN.kind: {
          const kind = reader.varint(end);
          span.kind = kind <= 5 ? (kind as OtlpSpanKind) : 0;
          break;
        }
        case SPAN.startTimeUnixNano:
          span.startUnixNano = this.fixed64(end);
          break;
        case SPAN.endTimeUnixNano:
          span.endUnixNano = this.fixed64(end);
          break;
        case SPAN.attributes:
          if (span.attributesAt < 0) span.attributesAt = at - start;
          this.attribute(reader.lengthEnd(end));
          break;
        case SPAN.droppedAttributesCount:
          span.droppedAttributes = reader.varint(end);
          break;
        case SPAN.events:
          if (span.eventsAt < 0) span.eventsAt = at - start;
          this.checkEvent(reader.lengthEnd(end));
          break;
        case SPAN.links:
          if (span.linksAt < 0) span.linksAt = at - start;
          if (!this.checkLink(reader.lengthEnd(end))) deadLinks++;
          break;
        case SPAN.status:
          this.status(reader.lengthEnd(end), span);
          break;
        case SPAN.flags: {
          const flagsAt = reader.pos;
          reader.advance(4, end);
          if (reader.fault === null) {
            const flags = this.view.getUint32(flagsAt, true);
            span.parentIsRemote = (flags & HAS_IS_REMOTE) === 0 ? undefined : (flags & IS_REMOTE) !== 0;
          }
          break;
        }
        default:
          reader.skip(tag, end);
      }
    }

    const fault = reader.recover(end);
    if (fault !== null) {
      const reason = fault.kind === 'malformed' ? 'malformed_span' : fault.kind;
      report.reject(reason, 1, () => `${path()}: ${fault.what}`);
    } else if (traceIdLength !== 16 || isZero(this.body, traceIdAt, traceIdAt + 16)) {
      report.reject('invalid_trace_id', 1, () => `${path()}.traceId: ${faultOfId(16, traceIdLength)}`);
    } else if (spanIdLength !== 8 || isZero(this.body, spanIdAt, spanIdAt + 8)) {
      report.reject('invalid_span_id', 1, () => `${path()}.spanId: ${faultOfId(8, spanIdLength)}`);
    } else if (parentIdLength !== 0 && parentIdLength !== 8) {
      // Taken for a root it would be graded as a turn of its own.
      report.reject('invalid_span_id', 1, () => `${path()}.parentSpanId: ${faultOfId(8, parentIdLength)}`);
    } else if (span.startUnixNano === 0n && span.endUnixNano === 0n) {
      report.reject('invalid_time', 1, () => `${path()}.startTimeUnixNano: a time after 1970 expected, got 0`);
    } else {
      span.traceId = this.traceId(traceIdAt);
      span.spanId = hexOf8(this.body, spanIdAt);
      if (parentIdLength === 8 && !isZero(this.body, parentIdAt, parentIdAt + 8)) {
        span.parentSpanId = this.parentId(parentIdAt);
      }
      if (span.startUnixNano === 0n) {
        span.startUnixNano = span.endUnixNano;
        report.allow('missing_start_times');
      }
      if (deadLinks > 0) report.reject('invalid_span_id', 0, () => `${path()}.links: ${deadLinksText(deadLinks)}`);
      span.setAttributes(this.attributes.build(readAnyValue, 'protobuf'));
      this.spans.push(span);
    }
  }

  private checkKeyValue(end: number): void {
    checkKeyValue(this.reader, end, 0, this.budget, this.limits);
  }

  private attribute(end: number): void {
    const { reader, place } = this;
    if (!checkAndLocateKeyValue(reader, end, this.budget, this.limits, place)) return;
    this.attributes.addBytes(place.keyStart, place.keyEnd, place.valueStart, place.valueEnd);
  }

  private checkEvent(end: number): void {
    const { reader } = this;
    this.countPart();
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === EVENT.attributes) this.checkKeyValue(reader.lengthEnd(end));
      else if (tag === EVENT.timeUnixNano) reader.advance(8, end);
      else reader.skip(tag, end);
    }
  }

  /** false when its ids lead nowhere. */
  private checkLink(end: number): boolean {
    const { reader } = this;
    this.countPart();
    if (reader.fault !== null) return true;
    const start = reader.pos;
    while (reader.pos < end) reader.skip(reader.tag(end), end);
    return reader.fault !== null || readLink(new WireReader(this.body, start), end) !== null;
  }

  private countPart(): void {
    if (++this.budget.values > this.limits.maxValuesPerSpan) {
      this.reader.fail('too_large', `at most ${this.limits.maxValuesPerSpan} values expected, got more`);
    }
  }

  private status(end: number, span: SpanRecord): void {
    const { reader } = this;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === STATUS.message) {
        span.statusMessage = this.text(end);
      } else if (tag === STATUS.code) {
        const code = reader.varint(end);
        span.statusCode = code <= 2 ? (code as StatusCode) : 0;
      } else {
        reader.skip(tag, end);
      }
    }
  }

  private text(end: number): string {
    const { reader } = this;
    const stop = reader.lengthEnd(end);
    if (reader.fault !== null) return '';
    const text = readText(this.body, reader.pos, stop);
    reader.pos = stop;
    return text;
  }

  private fixed64(end: number): bigint {
    const { reader } = this;
    const at = reader.pos;
    reader.advance(8, end);
    return reader.fault === null ? this.view.getBigUint64(at, true) : 0n;
  }

  private traceId(at: number): string {
    if (this.lastTraceIdAt < 0 || !this.same(at, this.lastTraceIdAt, 16)) {
      this.lastTraceId = hexOf16(this.body, at);
      this.lastTraceIdAt = at;
    }
    return this.lastTraceId;
  }

  private parentId(at: number): string {
    if (this.lastParentIdAt < 0 || !this.same(at, this.lastParentIdAt, 8)) {
      this.lastParentId = hexOf8(this.body, at);
      this.lastParentIdAt = at;
    }
    return this.lastParentId;
  }

  private same(a: number, b: number, length: number): boolean {
    for (let i = 0; i < length; i++) if (this.body[a + i] !== this.body[b + i]) return false;
    return true;
  }
}

function faultOfId(expected: number, length: number): string {
  if (length < 0) return `${expected} bytes expected, got none`;
  if (length !== expected) return `${expected} bytes expected, got ${length}`;
  return `an id that is not zero expected, got ${expected} zero bytes`;
}

/** Reads what was checked by the decoder, when it is asked for. */
const PROTOBUF: SpanEncoding = {
  attributes: (bytes, at, end) => readAttributes(bytes, at, end, SPAN.attributes),

  events(bytes, at, end) {
    const events: SpanEvent[] = [];
    const reader = new WireReader(bytes, at);
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SPAN.events) events.push(readEvent(reader, reader.lengthEnd(end)));
      else reader.skip(tag, end);
    }
    return events;
  },

  links(bytes, at, end) {
    const links: SpanLink[] = [];
    const reader = new WireReader(bytes, at);
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag !== SPAN.links) {
        reader.skip(tag, end);
        continue;
      }
      const link = readLink(reader, reader.lengthEnd(end));
      if (link !== null) links.push(link);
    }
    return links;
  },
};

/** The attributes that stand between `at` and `end`, each as a field with the tag `tag`. */
function readAttributes(bytes: Buffer, at: number, end: number, attributesTag: number): Attributes {
  const builder = new AttributesBuilder(bytes);
  const place: KeyValuePlace = { keyStart: 0, keyEnd: 0, valueStart: -1, valueEnd: -1 };
  const reader = new WireReader(bytes, at);
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === attributesTag) {
      locateKeyValue(reader, reader.lengthEnd(end), place);
      builder.addBytes(place.keyStart, place.keyEnd, place.valueStart, place.valueEnd);
    } else {
      reader.skip(tag, end);
    }
  }
  return builder.build(readAnyValue, 'protobuf');
}

function readEvent(reader: WireReader, end: number): SpanEvent {
  const { bytes } = reader;
  const start = reader.pos;
  let timeUnixNano = 0n;
  let name = '';
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === EVENT.timeUnixNano) {
      timeUnixNano = bytes.readBigUInt64LE(reader.pos);
      reader.advance(8, end);
    } else if (tag === EVENT.name) {
      const stop = reader.lengthEnd(end);
      name = readText(bytes, reader.pos, stop);
      reader.pos = stop;
    } else {
      reader.skip(tag, end);
    }
  }
  return { name, timeUnixNano, attributes: readAttributes(bytes, start, end, EVENT.attributes) };
}

/** null when its ids lead nowhere. */
function readLink(reader: WireReader, end: number): SpanLink | null {
  const { bytes } = reader;
  let traceId = '';
  let spanId = '';
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === LINK.traceId || tag === LINK.spanId) {
      const stop = reader.lengthEnd(end);
      const length = stop - reader.pos;
      const usable = length === (tag === LINK.traceId ? 16 : 8) && !isZero(bytes, reader.pos, stop);
      if (tag === LINK.traceId) traceId = usable ? hexOf16(bytes, reader.pos) : '';
      else spanId = usable ? hexOf8(bytes, reader.pos) : '';
      reader.pos = stop;
    } else {
      reader.skip(tag, end);
    }
  }
  return traceId === '' || spanId === '' ? null : { traceId, spanId };
}
