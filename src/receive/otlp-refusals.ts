import type { Outcome } from '../model/outcome.js';
import type { Rejection, RejectionReason } from '../model/rejection.js';
import type { ContentCoding } from './http-body.js';
import { RPC_CODE, type RpcCode } from './otlp-answer.js';

/** Why a request was refused. A small fixed set: it is a metric label. */
export type RefusalReason =
  | 'unauthorized'
  | 'not_found'
  | 'logs_not_read'
  | 'metrics_not_read'
  | 'profiles_not_read'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'unsupported_coding'
  | 'too_large'
  | 'malformed_body'
  | 'not_accepting'
  | 'no_room'
  | 'draining'
  | 'not_stored'
  | 'failed';

/** An answer with an error, before it is put into an encoding. */
export interface Refusal {
  readonly status: number;
  readonly reason: RefusalReason;
  readonly code: RpcCode;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Given when the refusal is for good, so that it shows on our side as well. */
  readonly rejections?: readonly Rejection[];
}

/** Exporters give up after about ten seconds in all; a long pause would cost them the batch. */
const DEFAULT_RETRY_AFTER_MS = 1000;

const SUPPORTED_TYPES = 'application/x-protobuf and application/json are supported';

/** What is not read here, said to its exporter in a way that it does not retry. */
const OTHER_SIGNALS: readonly (readonly [suffix: string, signal: string, reason: RefusalReason])[] = [
  ['/v1/logs', 'logs', 'logs_not_read'],
  ['/v1/metrics', 'metrics', 'metrics_not_read'],
  ['/v1development/profiles', 'profiles', 'profiles_not_read'],
];

function rejection(reason: RejectionReason, detail: string): Rejection {
  return { reason, detail, spans: 0 };
}

export const UNAUTHORIZED: Refusal = {
  status: 401,
  reason: 'unauthorized',
  code: RPC_CODE.unauthenticated,
  message: 'a valid bearer token is expected in the Authorization header',
  headers: { 'WWW-Authenticate': 'Bearer realm="tracegrade"' },
  rejections: [rejection('unauthorized', 'Authorization: a known bearer token expected')],
};

/** Source of the header: RFC 9110 12.5.3 (Accept-Encoding in an answer) and 15.5.16. */
export const UNSUPPORTED_CODING: Refusal = {
  status: 415,
  reason: 'unsupported_coding',
  code: RPC_CODE.invalidArgument,
  message: 'Content-Encoding: one of gzip, deflate and identity expected',
  headers: { 'Accept-Encoding': 'gzip, deflate' },
  rejections: [rejection('unsupported_media_type', 'Content-Encoding: one of gzip, deflate and identity expected')],
};

export function unsupportedMediaType(mediaType: string): Refusal {
  const got = mediaType === '' ? 'none' : JSON.stringify(mediaType.slice(0, 100));
  const message = `Content-Type: ${SUPPORTED_TYPES}, got ${got}`;
  return {
    status: 415,
    reason: 'unsupported_media_type',
    code: RPC_CODE.invalidArgument,
    message,
    headers: { Accept: 'application/x-protobuf, application/json' },
    rejections: [rejection('unsupported_media_type', message)],
  };
}

/**
 * Logs and metrics are not read. 404 rather than a 200 that would be untrue, and rather than 503: exporters drop on it
 * at once and report it, so nothing is retried for ever and the operator sees it on both sides.
 */
export function notFound(path: string): Refusal {
  for (const [suffix, signal, reason] of OTHER_SIGNALS) {
    if (path.endsWith(suffix)) {
      const message = `${signal} are not read here, only traces at /v1/traces; switch this exporter off or point it elsewhere`;
      return { status: 404, reason, code: RPC_CODE.unimplemented, message };
    }
  }
  return { status: 404, reason: 'not_found', code: RPC_CODE.notFound, message: 'traces are read at /v1/traces' };
}

/** This process takes no traces at its port; `elsewhere` says who does. */
export function tracesNotRead(elsewhere: string): Refusal {
  return { status: 404, reason: 'not_found', code: RPC_CODE.unimplemented, message: elsewhere };
}

export function methodNotAllowed(method: string | undefined, allowed: string): Refusal {
  return {
    status: 405,
    reason: 'method_not_allowed',
    code: RPC_CODE.unimplemented,
    message: `method: ${allowed} expected, got ${method ?? 'none'}`,
    headers: { Allow: allowed },
  };
}

export function malformed(cause: Rejection): Refusal {
  return {
    status: 400,
    reason: 'malformed_body',
    code: RPC_CODE.invalidArgument,
    message: cause.detail,
    rejections: [cause],
  };
}

function tooLarge(message: string): Refusal {
  return {
    status: 413,
    reason: 'too_large',
    code: RPC_CODE.invalidArgument,
    message,
    rejections: [rejection('too_large', message)],
  };
}

/** A body that could not be read to its end. */
export function bodyRefused(
  kind: 'too_large' | 'undecodable' | 'no_room',
  coding: ContentCoding,
  maxBytes: number,
): Refusal {
  switch (kind) {
    case 'too_large':
      return tooLarge(`body: at most ${maxBytes} bytes expected, also decompressed`);
    case 'undecodable':
      return malformed(rejection('malformed_body', `body: ${coding} data expected, got something else or half of it`));
    case 'no_room':
      return unavailable('no_room', 'too many bytes in flight');
  }
}

export function notAccepting(outcome: Exclude<Outcome, { status: 'ok' }>): Refusal {
  return unavailable('not_accepting', 'nothing can be accepted now', outcome);
}

/** The cause stays with us: it may name files and hosts. */
export function notStored(outcome: Exclude<Outcome, { status: 'ok' }>): Refusal {
  if (outcome.status === 'rejected') return tooLarge('body: too large to be stored');
  return unavailable('not_stored', 'the spans cannot be stored now', outcome);
}

export function unavailable(
  reason: RefusalReason,
  message: string,
  outcome?: Exclude<Outcome, { status: 'ok' }>,
): Refusal {
  const afterMs = (outcome?.status === 'retryable' ? outcome.afterMs : undefined) ?? DEFAULT_RETRY_AFTER_MS;
  return {
    status: 503,
    reason,
    code: RPC_CODE.unavailable,
    message,
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(afterMs / 1000))) },
  };
}
