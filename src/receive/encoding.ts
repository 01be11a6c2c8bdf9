/** How an OTLP message is written. */
export type OtlpEncoding = 'protobuf' | 'json';

const ENCODINGS: ReadonlyMap<string, OtlpEncoding> = new Map([
  ['application/x-protobuf', 'protobuf'],
  ['application/protobuf', 'protobuf'],
  ['application/json', 'json'],
]);

/** A Content-Type without its parameters, in lower case; empty when the header is missing. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** `undefined` for a media type that OTLP does not know. */
export function encodingOf(mediaType: string): OtlpEncoding | undefined {
  return ENCODINGS.get(mediaType);
}
