import type { Span, TraceId } from '../model/span.js';
import { ownBytes } from './span-record.js';

/** A message of the request, as it stands in the body: the request, a resource or a scope with its spans, or a span. */
export interface Frame {
  /** What announces it in the message around it: its tag in protobuf, in JSON the name of its list up to the `[`. */
  readonly label: Uint8Array;
  /** What is in it besides other frames. Empty until it has been read to its end. */
  own: Uint8Array;
}

/** A frame with those of its frames that belong to one trace, in their order. A span has none. */
export interface FrameOfTrace {
  readonly frame: Frame;
  readonly frames: FrameOfTrace[];
}

/** All that the body holds of one trace. */
export interface TracePart {
  readonly request: FrameOfTrace;
  spans: number;
}

export const NO_BYTES = new Uint8Array(0);

/**
 * Sorts the spans of a body by trace while a reader walks over it and says what it enters. Frames are shared by the
 * traces, so its memory is in proportion to the number of spans, however large the resources are.
 */
export class TraceSorter {
  /** In order of their first span. */
  readonly parts = new Map<TraceId, TracePart>();
  private readonly request: Frame = { label: NO_BYTES, own: NO_BYTES };
  /** The resource, and the scope in it, that are being read. */
  private readonly open: Frame[] = [];
  private readonly base: number;
  private placed = 0;
  private next: Uint8Array | undefined;

  constructor(
    body: Uint8Array,
    /** Those that were decoded from `body`, in its order. Whatever else stands among them is left out. */
    private readonly spans: readonly Span[],
  ) {
    this.base = body.byteOffset;
    this.next = spans[0]?.encoded();
  }

  /** Enters the request (level 0), a resource with its spans (1) or a scope with its spans (2). */
  enter(level: number, label: Uint8Array): Frame {
    if (level === 0) return this.request;
    const frame = { label, own: NO_BYTES };
    this.open.length = level - 1;
    this.open.push(frame);
    return frame;
  }

  /** Sorts the span that begins at this byte of the body. Its length; 0 when the decoder refused what stands there. */
  span(at: number, label: Uint8Array): number {
    const { next } = this;
    const span = this.spans[this.placed];
    if (next === undefined || span === undefined || next.byteOffset !== this.base + at) return 0;
    this.next = this.spans[++this.placed]?.encoded();

    const part = this.partOf(span.traceId);
    part.spans++;
    let around = part.request;
    for (const frame of this.open) {
      let last = around.frames[around.frames.length - 1];
      if (last?.frame !== frame) around.frames.push((last = { frame, frames: [] }));
      around = last;
    }
    around.frames.push({ frame: { label, own: next }, frames: [] });
    return next.length;
  }

  /** A span that was acknowledged and is in no part would be lost. */
  assertAllPlaced(): void {
    const { placed, spans } = this;
    if (placed < spans.length) throw new Error(`${spans.length} decoded spans expected in the body, found ${placed}`);
  }

  private partOf(traceId: TraceId): TracePart {
    let part = this.parts.get(traceId);
    if (part === undefined) {
      part = { request: { frame: this.request, frames: [] }, spans: 0 };
      this.parts.set(traceId, part);
    }
    return part;
  }
}

/** Stretches of a body, joined where they touch. */
export class Stretches {
  private readonly places: number[] = [];

  constructor(private readonly body: Buffer) {}

  get isEmpty(): boolean {
    return this.places.length === 0;
  }

  add(start: number, end: number): void {
    const last = this.places.length - 1;
    if (this.places[last] === start) this.places[last] = end;
    else this.places.push(start, end);
  }

  /** All of them in one piece. */
  bytes(): Uint8Array {
    const { body, places } = this;
    return places.length === 2 ? body.subarray(places[0], places[1]) : ownBytes(body, places);
  }
}
