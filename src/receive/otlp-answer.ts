import type { Rejection } from '../model/rejection.js';
import type { OtlpEncoding } from './decode.js';

/** The codes of google.rpc.Code that we answer with. */
export const RPC_CODE = {
  invalidArgument: 3,
  notFound: 5,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type RpcCode = (typeof RPC_CODE)[keyof typeof RPC_CODE];

/** ExportTracePartialSuccess; `rejectedSpans` 0 with a message is a warning. */
export interface PartialSuccess {
  readonly rejectedSpans: number;
  readonly errorMessage: string;
}

const MAX_DETAILS = 5; // a sender mends one fault at a time; all of them are in our own rejections
const MAX_DETAIL_LENGTH = 300; // keeps the answer far below the 4 MiB that clients may refuse

/** What to tell the sender about refused parts; `undefined` when there are none. */
export function partialSuccessOf(rejections: readonly Rejection[]): PartialSuccess | undefined {
  if (rejections.length === 0) return undefined;
  const told = rejections.slice(0, MAX_DETAILS).map((rejection) => rejection.detail.slice(0, MAX_DETAIL_LENGTH));
  if (rejections.length > MAX_DETAILS) told.push(`and ${rejections.length - MAX_DETAILS} more`);
  return {
    rejectedSpans: rejections.reduce((sum, rejection) => sum + rejection.spans, 0),
    errorMessage: told.join('; ').toWellFormed(),
  };
}

/** An encoded google.rpc.Status: `{ int32 code = 1; string message = 2 }`. */
export function encodeStatus(encoding: OtlpEncoding, code: RpcCode, message: string): Uint8Array {
  if (encoding === 'json') return Buffer.from(JSON.stringify({ code, message }));
  return Buffer.concat([varintField(1, code), bytesField(2, Buffer.from(message))]);
}

/**
 * An encoded ExportTraceServiceResponse: `{ ExportTracePartialSuccess partial_success = 1 }`, which is
 * `{ int64 rejected_spans = 1; string error_message = 2 }`. Whole success is the empty message.
 */
export function encodeSuccess(encoding: OtlpEncoding, partial: PartialSuccess | undefined): Uint8Array {
  if (encoding === 'json') {
    // ProtoJSON writes an int64 as a string.
    const partialSuccess = partial && {
      rejectedSpans: String(partial.rejectedSpans),
      errorMessage: partial.errorMessage,
    };
    return Buffer.from(JSON.stringify({ partialSuccess }));
  }
  if (partial === undefined) return new Uint8Array(0);
  const message = Buffer.concat([
    varintField(1, partial.rejectedSpans),
    bytesField(2, Buffer.from(partial.errorMessage)),
  ]);
  return bytesField(1, message);
}

function varintField(field: number, value: number): Uint8Array {
  return value === 0 ? new Uint8Array(0) : Buffer.from([field << 3, ...varint(value)]);
}

function bytesField(field: number, bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) return new Uint8Array(0);
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), bytes]);
}

/** Base 128, least significant group first; 0 <= value <= 2^53. */
function varint(value: number): number[] {
  const groups: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) groups.push((rest % 0x80) | 0x80);
  groups.push(rest);
  return groups;
}
