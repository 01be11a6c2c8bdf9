/** Bounds of what one request may make of memory, besides the size of its body. */
export interface DecodeLimits {
  /** Spans that are taken from one body; the rest is refused as `too_large`. */
  readonly maxSpans: number;
  /** How deep arrays and maps may be nested in an attribute's value; deeper spans are refused as `too_deep`. */
  readonly maxDepth: number;
  /** Attribute values (nested ones too), events and links of one span; spans with more are refused as `too_large`. */
  readonly maxValuesPerSpan: number;
  /** Rejections of one reason that are told one by one; the rest is told as a sum. */
  readonly maxDetails: number;
}

export const DEFAULT_DECODE_LIMITS: DecodeLimits = {
  maxSpans: 250_000, // a trace of 100 000 spans in one request is legal
  maxDepth: 100, // as deep as protobuf's own readers go
  maxValuesPerSpan: 1_000_000, // a value of two bytes becomes an object of about a hundred
  maxDetails: 50,
};
