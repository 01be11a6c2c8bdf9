import { decodeTraces } from '../../src/receive/decode.js';
import type { Attributes, Span } from '../../src/model/span.js';
import { TraceRequestType } from '../support/otlp-proto.js';
import { workload } from './workload.js';

export interface DecodeRow {
  readonly name: string;
  /** Megabytes (10^6 bytes) of protobuf per second of CPU. */
  readonly MBps: number;
  readonly spansPerSecond: number;
  readonly cpuSecondsPerMillionSpans: number;
  /** How many times as fast as protobufjs, in the same run. */
  readonly ratio: number;
}

export interface DecodeBench {
  readonly spans: number;
  readonly bytesPerSpan: number;
  readonly rows: readonly DecodeRow[];
}

/**
 * Decodes the same bytes in turn with protobufjs (reflection) and with ours, lazily and with every value read.
 * A figure is the median over the rounds of the CPU time of the process, user and system.
 */
export function benchDecode({ seed = 1, spans = 20_000, rounds = 7 } = {}): DecodeBench {
  const bodies = workload(seed, spans);
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
  const count = bodies.reduce((sum, body) => sum + decodeAll(body).length, 0);

  const contenders: [string, (body: Uint8Array) => unknown][] = [
    ['protobufjs reflection', (body) => TraceRequestType.decode(body)],
    ['tracegrade, values left', decodeAll],
    ['tracegrade, every value read', (body) => decodeAll(body).reduce((sum, span) => sum + readAll(span), 0)],
  ];
  const seconds = contenders.map((): number[] => []);
  for (let round = -2; round < rounds; round++) {
    contenders.forEach(([, decode], contender) => {
      const before = process.cpuUsage();
      for (const body of bodies) decode(body);
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) (seconds[contender] as number[]).push((user + system) / 1e6); // the first rounds warm up
    });
  }

  const medians = seconds.map((times) => times.sort((a, b) => a - b)[times.length >> 1] as number);
  const rows = contenders.map(([name], contender) => {
    const cpu = medians[contender] as number;
    return {
      name,
      MBps: bytes / 1e6 / cpu,
      spansPerSecond: count / cpu,
      cpuSecondsPerMillionSpans: (cpu / count) * 1e6,
      ratio: (medians[0] as number) / cpu,
    };
  });
  return { spans: count, bytesPerSpan: bytes / count, rows };
}

function decodeAll(body: Uint8Array): readonly Span[] {
  const result = decodeTraces(body, 'protobuf');
  if (result.kind !== 'decoded') throw new Error(`the workload must be readable, got ${result.rejection.detail}`);
  return result.batch.spans;
}

/** Asks for everything a span has. */
function readAll(span: Span): number {
  let read = readValues(span.attributes) + span.links.length;
  for (const event of span.events) read += readValues(event.attributes);
  return read;
}

function readValues(attributes: Attributes): number {
  let read = 0;
  for (const key of attributes.keys()) if (attributes.get(key) !== undefined) read++;
  return read;
}
