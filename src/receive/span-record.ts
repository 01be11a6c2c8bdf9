import type {
  Attributes,
  OtlpSpanKind,
  Resource,
  Scope,
  Span,
  SpanEvent,
  SpanId,
  SpanLink,
  StatusCode,
  TraceId,
} from '../model/span.js';
import { NO_ATTRIBUTES } from './attributes.js';

/** How the parts of a span are read that nobody may ever ask for. `at` is relative to nothing: a place in `bytes`. */
export interface SpanEncoding {
  attributes(bytes: Buffer, at: number, end: number): Attributes;
  events(bytes: Buffer, at: number, end: number): readonly SpanEvent[];
  links(bytes: Buffer, at: number, end: number): readonly SpanLink[];
}

const NOTHING: readonly never[] = [];

/** Resource and scope are shared by the spans of a group; they are filled in when the group has been read. */
export class GroupResource implements Resource {
  attributes: Attributes = NO_ATTRIBUTES;
}

export class GroupScope implements Scope {
  name = '';
  version = '';
}

/**
 * A span whose identity and times are decoded, while its attributes, events and links stay bytes until asked for.
 * The decoder fills one in and hands it out as a `Span`; from then on nothing changes it.
 */
export class SpanRecord implements Span {
  traceId: TraceId = '';
  spanId: SpanId = '';
  parentSpanId: SpanId | undefined = undefined;
  parentIsRemote: boolean | undefined = undefined;
  name = '';
  kind: OtlpSpanKind = 0;
  startUnixNano = 0n;
  endUnixNano = 0n;
  statusCode: StatusCode = 0;
  statusMessage = '';
  droppedAttributes = 0;
  /** Where the first attribute, event and link stand, counted from the span's start; -1 when there is none. */
  attributesAt = -1;
  eventsAt = -1;
  linksAt = -1;
  private readAttributes: Attributes | null = null;
  private readEvents: readonly SpanEvent[] | null = null;
  private readLinks: readonly SpanLink[] | null = null;

  constructor(
    private readonly encoding: SpanEncoding,
    private readonly buffer: Buffer,
    private readonly start: number,
    /** Set when the encoded span's end is known. */
    public end: number,
    readonly resource: Resource,
    readonly scope: Scope,
  ) {}

  get attributes(): Attributes {
    this.readAttributes ??=
      this.attributesAt < 0
        ? NO_ATTRIBUTES
        : this.encoding.attributes(this.buffer, this.start + this.attributesAt, this.end);
    return this.readAttributes;
  }

  /** For a decoder that has met them all on its way. */
  setAttributes(attributes: Attributes): void {
    this.readAttributes = attributes;
  }

  get events(): readonly SpanEvent[] {
    this.readEvents ??=
      this.eventsAt < 0 ? NOTHING : this.encoding.events(this.buffer, this.start + this.eventsAt, this.end);
    return this.readEvents;
  }

  get links(): readonly SpanLink[] {
    this.readLinks ??=
      this.linksAt < 0 ? NOTHING : this.encoding.links(this.buffer, this.start + this.linksAt, this.end);
    return this.readLinks;
  }

  get bytes(): number {
    return this.end - this.start;
  }

  encoded(): Uint8Array {
    return this.buffer.subarray(this.start, this.end);
  }

  compact(): Span {
    if (this.buffer.buffer.byteLength === this.bytes) return this;
    const copy = new SpanRecord(
      this.encoding,
      ownBytes(this.buffer, [this.start, this.end]),
      0,
      this.bytes,
      this.resource,
      this.scope,
    );
    copy.traceId = this.traceId;
    copy.spanId = this.spanId;
    copy.parentSpanId = this.parentSpanId;
    copy.parentIsRemote = this.parentIsRemote;
    copy.name = this.name;
    copy.kind = this.kind;
    copy.startUnixNano = this.startUnixNano;
    copy.endUnixNano = this.endUnixNano;
    copy.statusCode = this.statusCode;
    copy.statusMessage = this.statusMessage;
    copy.droppedAttributes = this.droppedAttributes;
    copy.attributesAt = this.attributesAt;
    copy.eventsAt = this.eventsAt;
    copy.linksAt = this.linksAt;
    return copy;
  }
}

/**
 * A copy, in memory of its own, of the stretches of `bytes` whose starts and ends are listed: a message sent in parts
 * is the concatenation of its parts. (Small Buffers come from a shared pool, which a copy would keep alive.)
 */
export function ownBytes(bytes: Buffer, stretches: readonly number[]): Buffer {
  let length = 0;
  for (let i = 0; i < stretches.length; i += 2) length += (stretches[i + 1] as number) - (stretches[i] as number);
  const copy = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (let i = 0; i < stretches.length; i += 2) at += bytes.copy(copy, at, stretches[i], stretches[i + 1]);
  return copy;
}
