import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Outcome } from '../model/outcome.js';
import type { DecodedBatch, Rejection } from '../model/rejection.js';
import { tokenCheck } from './bearer-token.js';
import type { DecodeResult, OtlpEncoding } from './decode.js';
import { encodingOf, mediaTypeOf } from './encoding.js';
import { byteBudget, contentCodingOf, readBody } from './http-body.js';
import { isLoopbackHost, withoutBrackets } from '../model/loopback.js';
import { encodeStatus, encodeSuccess, partialSuccessOf } from './otlp-answer.js';
import {
  bodyRefused,
  malformed,
  methodNotAllowed,
  notAccepting,
  notFound,
  notStored,
  tracesNotRead,
  unavailable,
  UNAUTHORIZED,
  UNSUPPORTED_CODING,
  unsupportedMediaType,
  type Refusal,
  type RefusalReason,
} from './otlp-refusals.js';

export interface OtlpHttpConfig {
  /** Name or address to listen on. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Bearer tokens, one of which every request but the open ones must carry; none: nothing is asked. */
  readonly tokens: readonly string[];
  /** Listen beyond loopback without tokens; false unless stated. */
  readonly allowUnauthenticated?: boolean;
  /** Bound of one body, on the wire and again decompressed; 64 MiB (OTLP's recommendation) unless stated. */
  readonly maxBodyBytes?: number;
  /** Bound of all bodies being received or stored at one time; 256 MiB unless stated. */
  readonly maxInFlightBytes?: number;
}

/** One request's worth of spans, to be made durable. */
export interface OtlpEntry {
  /** The decompressed body. Must not be changed: the spans read from it. */
  readonly body: Uint8Array;
  readonly encoding: OtlpEncoding;
  readonly receivedAtMs: number;
  /** The same, decoded; holds at least one span. */
  readonly batch: DecodedBatch;
}

/** What happens at the server, one function an event. None may throw. */
export interface OtlpHttpEvents {
  /** The spans are durable. `rejectedSpans` were in the same body and are lost. */
  requestAccepted(event: {
    readonly spans: number;
    readonly rejectedSpans: number;
    readonly bytes: number;
    readonly encoding: OtlpEncoding;
    readonly leniencies: DecodedBatch['leniencies'];
  }): void;
  /** Answered with an error. `bytes`: how much of its body was held, decompressed. */
  requestRefused(event: { readonly status: number; readonly reason: RefusalReason; readonly bytes: number }): void;
  /** The sender went away before its body was complete; nothing was answered. */
  requestCut(event: { readonly bytes: number }): void;
  /** Something was refused for good; told once, when its request is answered. */
  spanRejected(rejection: Rejection): void;
  /** A fault of ours; answered with 503 when it met a request. */
  requestFailed(event: { readonly cause: unknown }): void;
}

export interface PostRequest {
  readonly body: Uint8Array;
  /** Without parameters, in lower case; empty when it was not stated. */
  readonly mediaType: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

/** Answers a POST whose body has been read; guarded by the tokens and limits like the rest. */
export type PostRoute = (request: PostRequest) => Promise<HttpAnswer>;

export interface OtlpHttpDeps {
  decode(body: Uint8Array, encoding: OtlpEncoding): DecodeResult;
  /** Ok once the entry would survive the loss of power. */
  append(entry: OtlpEntry): Promise<Outcome>;
  /** Said to those who send traces here though they are not taken at this port; absent: they are. */
  readonly tracesElsewhere?: string;
  /** Asked before a body is read: is there any use in reading it? */
  accepting(): Outcome;
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] };
  /** In Prometheus' text format 0.0.4. */
  metricsText(): string | Promise<string>;
  /** More POST routes by path (`/query`). */
  readonly routes?: ReadonlyMap<string, PostRoute>;
  readonly events: OtlpHttpEvents;
  /** The wall clock. */
  nowMs(): number;
}

export interface OtlpHttpServer {
  /** The port that it listens on. */
  readonly port: number;
  /**
   * Takes no more connections, finishes the requests in hand, and ends those that are left after `deadlineMs`.
   * Requests that come meanwhile over open connections get 503.
   */
  close(deadlineMs: number): Promise<void>;
}

export type OtlpHttpStart =
  { readonly status: 'started'; readonly server: OtlpHttpServer } | Exclude<Outcome, { status: 'ok' }>;

const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_MAX_IN_FLIGHT_BYTES = 256 * 1024 * 1024;

const HEADERS_TIMEOUT_MS = 20_000; // a header comes in one packet; slower is no exporter
const REQUEST_TIMEOUT_MS = 120_000; // 64 MiB at 0.5 MiB/s
const KEEP_ALIVE_TIMEOUT_MS = 75_000; // exporters send every 5 to 60 s; the client should be the one that closes

/** All faults of a configuration; empty when it can be started. Pure. */
export function otlpHttpFaults(config: OtlpHttpConfig): readonly string[] {
  const faults: string[] = [];
  if (!isLoopbackHost(config.host) && config.tokens.length === 0 && config.allowUnauthenticated !== true) {
    faults.push(
      `receive.http.host must be a loopback address when receive.http.tokens is empty, got ${JSON.stringify(config.host)}; ` +
        'state a token, or set receive.http.allowUnauthenticated to true',
    );
  }
  // A token with other characters could never be sent; RFC 6750 2.1.
  config.tokens.forEach((token, i) => {
    if (!/^[\w.~+/-]+=*$/.test(token)) {
      faults.push(
        `receive.http.tokens[${i}] must be letters, digits and -._~+/ (then =), got ${token.length} characters`,
      );
    }
  });
  for (const name of ['maxBodyBytes', 'maxInFlightBytes'] as const) {
    const value = config[name];
    if (value !== undefined && !(value > 0)) faults.push(`receive.http.${name} must be > 0, got ${value}`);
  }
  return faults;
}

/**
 * Serves OTLP over HTTP: POST `/v1/traces`, under any prefix, in protobuf or JSON; beside it GET `/healthz`, `/readyz`
 * and `/metrics`, and the routes of `deps`. Source: OpenTelemetry Protocol specification, "OTLP/HTTP".
 *
 * A request passes: token, route, media type and coding, `accepting`, body (limits on the wire, decompressed, and over
 * all requests), `decode`, `append`, answer. 200 means that `append` has made the spans durable; when the connection
 * is lost before the answer, the sender repeats and the copy is the store's to recognise. What the sender must mend
 * is 4xx with a google.rpc.Status in its own encoding; what is our trouble is 503 with Retry-After, never 500,
 * because a compliant exporter drops its batch on anything else.
 *
 * The tokens guard every path but `/healthz`, `/readyz` and `/metrics`, which hold no content and are asked by
 * probes and by Prometheus without one.
 *
 * Life: listening; draining after `close` (requests in hand are finished, new ones get 503); closed. Bodies are held
 * in memory from their first byte until their answer, within `maxInFlightBytes`.
 */
export async function startOtlpHttp(config: OtlpHttpConfig, deps: OtlpHttpDeps): Promise<OtlpHttpStart> {
  const faults = otlpHttpFaults(config);
  if (faults.length > 0) return { status: 'rejected', cause: new Error(faults.join('\n')) };

  let draining = false;
  const answer = requestHandler(config, deps, () => draining);
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
    (request, response) => void answer(request, response),
  );

  const failure = await listen(server, withoutBrackets(config.host), config.port);
  if (failure) {
    const where = `${config.host}:${config.port}`;
    return {
      status: 'retryable',
      cause: new Error(`cannot listen on ${where}: ${failure.message}`, { cause: failure }),
    };
  }

  server.on('error', (cause) => deps.events.requestFailed({ cause })); // unheard, it would end the process

  let closing: Promise<void> | undefined;
  return {
    status: 'started',
    server: {
      port: (server.address() as AddressInfo).port,
      close(deadlineMs) {
        draining = true;
        closing ??= new Promise((resolve) => {
          const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
          server.close(() => {
            clearTimeout(deadline);
            resolve();
          });
        });
        return closing;
      },
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen({ host, port }, () => {
      server.off('error', resolve);
      resolve(undefined);
    });
  });
}

interface Answered {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

function requestHandler(
  config: OtlpHttpConfig,
  deps: OtlpHttpDeps,
  isDraining: () => boolean,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { events } = deps;
  const isAllowed = tokenCheck(config.tokens);
  const maxBodyBytes = config.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  const budget = byteBudget(config.maxInFlightBytes ?? DEFAULT_MAX_IN_FLIGHT_BYTES);

  /** Never rejects. */
  return async function handle(request, response) {
    const mediaType = mediaTypeOf(request.headers['content-type']);
    const path = (request.url ?? '/').split('?', 1)[0]!.replace(/(.)\/$/, '$1');
    try {
      send(response, await route(request, path, mediaType));
    } catch (cause) {
      events.requestFailed({ cause });
      const refusal = unavailable('failed', 'internal trouble, try again');
      if (!response.headersSent) send(response, refuse(refusal, mediaType, 0));
      else response.destroy();
    }
  };

  async function route(request: IncomingMessage, path: string, mediaType: string): Promise<Answered | undefined> {
    const open = openRoute(path);
    if (open) {
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        return refuse(methodNotAllowed(request.method, 'GET, HEAD'), mediaType, 0);
      }
      return open();
    }

    if (!isAllowed(request.headers.authorization)) return refuse(UNAUTHORIZED, mediaType, 0);

    const isTraces = path.endsWith('/v1/traces');
    const postRoute = deps.routes?.get(path);
    if (!isTraces && !postRoute) return refuse(notFound(path), mediaType, 0);
    if (request.method !== 'POST') return refuse(methodNotAllowed(request.method, 'POST'), mediaType, 0);
    if (isDraining()) return refuse(unavailable('draining', 'shutting down'), mediaType, 0);

    const coding = contentCodingOf(request.headers['content-encoding']);
    if (!coding) return refuse(UNSUPPORTED_CODING, mediaType, 0);
    const encoding = encodingOf(mediaType);
    if (isTraces) {
      if (deps.tracesElsewhere !== undefined) return refuse(tracesNotRead(deps.tracesElsewhere), mediaType, 0);
      if (!encoding) return refuse(unsupportedMediaType(mediaType), mediaType, 0);
      const accepting = deps.accepting();
      if (accepting.status !== 'ok') return refuse(notAccepting(accepting), mediaType, 0);
    }

    const received = await readBody(request, coding, maxBodyBytes, budget);
    try {
      if (received.kind === 'cut') {
        events.requestCut({ bytes: received.bytes });
        return undefined;
      }
      if (received.kind !== 'whole') {
        return refuse(bodyRefused(received.kind, coding, maxBodyBytes), mediaType, received.bytes);
      }
      if (postRoute) return await postRoute({ body: received.body, mediaType });
      return await traces(received.body, encoding!, mediaType);
    } finally {
      budget.give(received.bytes);
    }
  }

  async function traces(body: Uint8Array, encoding: OtlpEncoding, mediaType: string): Promise<Answered> {
    // Zero bytes are the empty protobuf message, but no JSON text (RFC 8259 2).
    const decoded = deps.decode(body, encoding);
    if (decoded.kind === 'malformed') return refuse(malformed(decoded.rejection), mediaType, body.length);

    const { batch } = decoded;
    if (batch.spans.length > 0) {
      const stored = await deps.append({ body, encoding, receivedAtMs: deps.nowMs(), batch });
      if (stored.status !== 'ok') return refuse(notStored(stored), mediaType, body.length);
    }

    const partial = partialSuccessOf(batch.rejections);
    for (const each of batch.rejections) events.spanRejected(each);
    events.requestAccepted({
      spans: batch.spans.length,
      rejectedSpans: partial?.rejectedSpans ?? 0,
      bytes: body.length,
      encoding,
      leniencies: batch.leniencies,
    });
    return { status: 200, contentType: mediaType, body: encodeSuccess(encoding, partial) };
  }

  function openRoute(path: string): (() => Answered | Promise<Answered>) | undefined {
    switch (path) {
      case '/healthz':
        return () => ({ status: 200, contentType: 'application/json', body: '{"status":"alive"}' });
      case '/readyz':
        return () => {
          const { ready, reasons } = deps.readiness();
          const isReady = ready && !isDraining();
          const told = isDraining() ? [...reasons, 'shutting down'] : reasons;
          const body = JSON.stringify({ ready: isReady, reasons: told });
          return { status: isReady ? 200 : 503, contentType: 'application/json', body };
        };
      case '/metrics':
        return async () => ({
          status: 200,
          contentType: 'text/plain; version=0.0.4; charset=utf-8',
          body: await deps.metricsText(),
        });
      default:
        return undefined;
    }
  }

  /** In the request's encoding when it is one that we speak, else in JSON. */
  function refuse(refusal: Refusal, mediaType: string, bytes: number): Answered {
    const { status, reason, code, message, headers = {} } = refusal;
    for (const each of refusal.rejections ?? []) events.spanRejected(each);
    events.requestRefused({ status, reason, bytes });
    const encoding = encodingOf(mediaType);
    return {
      status,
      contentType: encoding ? mediaType : 'application/json',
      body: encodeStatus(encoding ?? 'json', code, message),
      headers,
    };
  }

  function send(response: ServerResponse, answered: Answered | undefined): void {
    if (!answered || response.destroyed) return;
    const body = typeof answered.body === 'string' ? Buffer.from(answered.body) : answered.body;
    response.writeHead(answered.status, {
      'Content-Type': answered.contentType,
      'Content-Length': body.length,
      ...(isDraining() ? { Connection: 'close' } : {}),
      ...answered.headers,
    });
    response.end(body);
  }
}
