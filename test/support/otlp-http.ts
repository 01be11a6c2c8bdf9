import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import protobuf from 'protobufjs';
import { expect } from 'vitest';
import type { Outcome } from '../../src/model/outcome.js';
import { decodeTraces } from '../../src/receive/decode.js';
import {
  startOtlpHttp,
  type OtlpEntry,
  type OtlpHttpConfig,
  type OtlpHttpDeps,
  type OtlpHttpServer,
} from '../../src/receive/otlp-http.js';

/** The parts of OTLP's messages that the tests of the server read and write, field numbers as in the .proto files. */
export const otlp = protobuf.parse(`
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string name = 5;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  }
  message ExportTraceServiceResponse { ExportTracePartialSuccess partial_success = 1; }
  message ExportTracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message Status { int32 code = 1; string message = 2; }
`).root;

/** A request with this many spans; `without` more lack their ids. Ids are in hex, as JSON has them. */
function traces(
  spans: number,
  without: number,
): { resourceSpans: { scopeSpans: { spans: Record<string, string>[] }[] }[] } {
  const times = { startTimeUnixNano: '1796020000000000000', endTimeUnixNano: '1796020001000000000' };
  const good = Array.from({ length: spans }, (_, i) => ({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: (i + 1).toString(16).padStart(16, '0'),
    name: 'chat',
    ...times,
  }));
  const bad = Array.from({ length: without }, () => ({ name: 'no ids', ...times }));
  return { resourceSpans: [{ scopeSpans: [{ spans: [...good, ...bad] }] }] };
}

export function jsonBody(spans: number, without = 0): Buffer {
  return Buffer.from(JSON.stringify(traces(spans, without)));
}

export function protobufBody(spans: number, without = 0): Uint8Array {
  const type = otlp.lookupType('ExportTraceServiceRequest');
  const request = traces(spans, without);
  for (const span of request.resourceSpans[0]!.scopeSpans[0]!.spans) {
    for (const key of ['traceId', 'spanId']) {
      if (span[key] !== undefined) span[key] = Buffer.from(span[key], 'hex').toString('base64');
    }
  }
  return type.encode(type.fromObject(request)).finish();
}

/** What the events carry, all of them together. */
export interface EventDetail {
  readonly status?: number;
  readonly reason?: string;
  readonly bytes?: number;
  readonly spans?: number;
  readonly cause?: unknown;
}

export interface Running {
  readonly server: OtlpHttpServer;
  readonly url: string;
  /** What `append` was given, in order. */
  readonly appended: OtlpEntry[];
  /** Event names with what they carried, in order. */
  readonly events: (readonly [name: string, detail: EventDetail])[];
  /** Resolves with the detail of the next event of this name, also one that has happened already. */
  event(name: string): Promise<EventDetail>;
}

/** A server on a free port of the loopback interface, with an append that keeps entries in a list. */
export async function startServer(
  config: Partial<OtlpHttpConfig> = {},
  deps: Partial<OtlpHttpDeps> = {},
): Promise<Running> {
  const appended: OtlpEntry[] = [];
  const events: [string, EventDetail][] = [];
  const waiting: { name: string; resolve: (detail: EventDetail) => void }[] = [];
  const record = (name: string) => (detail: EventDetail) => {
    events.push([name, detail]);
    for (const each of waiting.filter((w) => w.name === name)) each.resolve(detail);
  };
  const start = await startOtlpHttp(
    { host: '127.0.0.1', port: 0, tokens: [], ...config },
    {
      decode: (body, encoding) => decodeTraces(body, encoding),
      append: (entry) => {
        appended.push(entry);
        return Promise.resolve({ status: 'ok' });
      },
      accepting: (): Outcome => ({ status: 'ok' }),
      readiness: () => ({ ready: true, reasons: [] }),
      metricsText: () => 'spans_total 1\n',
      events: {
        requestAccepted: record('requestAccepted'),
        requestRefused: record('requestRefused'),
        requestCut: record('requestCut'),
        spanRejected: record('spanRejected'),
        requestFailed: record('requestFailed'),
      },
      nowMs: () => 1_796_020_000_000,
      ...deps,
    },
  );
  if (start.status !== 'started') return expect.fail(start.cause.message);
  return {
    server: start.server,
    url: `http://127.0.0.1:${start.server.port}`,
    appended,
    events,
    event: (name) =>
      new Promise((resolve) => {
        const past = events.find(([each]) => each === name);
        if (past) resolve(past[1]);
        else waiting.push({ name, resolve });
      }),
  };
}

/** A port that nothing listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
