import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Span } from '../../../src/model/span.js';
import { decodeRecord, isKeyedByTrace, type KafkaEncoding } from '../../../src/receive/kafka-record.js';
import { describeSpan, otlpRequest, otlpSpan, TRACE_ID } from '../../support/decoding.js';
import { readFixture } from '../../support/fixture.js';
import { encodeOtlpJson } from '../../support/otlp-proto.js';

/** A record that a real Collector (contrib 0.165.1) wrote, made by test/e2e/capture.mjs. */
interface Captured {
  readonly encoding: 'otlp_proto' | 'otlp_json';
  readonly compression: string;
  readonly keyed: boolean;
  readonly key: string | null;
  readonly value: string;
}

const captured = readFixture('kafka/collector-records.jsonl')
  .toString('utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Captured);

const bytes = (base64: string) => Buffer.from(base64, 'base64');

function spansOf(value: Buffer, encoding: KafkaEncoding) {
  const result = decodeRecord({ value }, encoding);
  if (result.kind !== 'decoded') throw new Error(`a decoded record expected, got ${result.kind}`);
  expect(result.batch.rejections).toEqual([]);
  return result.batch.spans;
}

function encodingOf(value: Buffer): string {
  const result = decodeRecord({ value }, 'sniff');
  return result.kind === 'empty' ? 'empty' : `${result.kind} ${result.encoding}`;
}

describe('records of the Collector', () => {
  test('are there for each compression and encoding', () => {
    const variants = new Set(captured.map(({ encoding, compression }) => `${encoding} ${compression}`));

    expect([...variants].sort()).toEqual([
      'otlp_json lz4',
      'otlp_proto gzip',
      'otlp_proto lz4',
      'otlp_proto none',
      'otlp_proto snappy',
      'otlp_proto zstd',
    ]);
  });

  test('are read with their encoding sniffed as with it configured', () => {
    for (const { encoding, value } of captured) {
      const sniffed = spansOf(bytes(value), 'sniff').map(describeSpan);

      expect(sniffed.length).toBeGreaterThan(0);
      expect(sniffed).toEqual(spansOf(bytes(value), encoding).map(describeSpan));
    }
  });

  test('are keyed by the one trace that they hold, where the exporter partitions traces', () => {
    for (const { key, keyed, value } of captured) {
      const traceIds = spansOf(bytes(value), 'sniff').map(({ traceId }) => traceId);

      expect(isKeyedByTrace(key === null ? null : bytes(key), traceIds)).toBe(keyed);
      expect(new Set(traceIds).size === 1).toBe(keyed);
    }
  });

  test('hold the same spans whatever the encoding, though in protobuf fields come in descending order', () => {
    // Ids are drawn by the SDK anew for each variant; all else is the same.
    const spans = (of: (record: Captured) => boolean) =>
      captured
        .filter((record) => record.keyed && of(record))
        .flatMap(({ value }) => spansOf(bytes(value), 'sniff').map(withoutIds))
        .sort();

    const json = spans(({ encoding }) => encoding === 'otlp_json');
    // Conversation 0 has one turn with one call, conversation 1 two of them: an agent, a tool and two model calls each.
    expect(json).toHaveLength(3 * 4);
    for (const compression of ['none', 'gzip', 'snappy', 'zstd']) {
      expect(spans((record) => record.compression === compression)).toEqual(json);
    }
    // ResourceSpans.scope_spans (2) before its resource (1).
    const [{ value }] = captured as [Captured];
    expect(bytes(value).toString('hex')).toMatch(/^0a[8-f].[0-7].12/);
  });
});

function withoutIds(span: Span): string {
  const said = { ...describeSpan(span), traceId: '', spanId: '', parentSpanId: span.parentSpanId !== undefined };
  return JSON.stringify(said, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

describe('sniffing', () => {
  /** A request whose only ResourceSpans has 123 bytes: its length is the byte of an opening brace. */
  const braced = encodeOtlpJson(otlpRequest(otlpSpan({ name: 'x'.repeat(71) })));

  test('takes protobuf that begins with a line feed and an opening brace for protobuf', () => {
    expect(braced.toString('latin1', 0, 2)).toBe('\n{');
    expect(braced).toHaveLength(2 + 123);

    expect(encodingOf(braced)).toBe('decoded protobuf');
    expect(spansOf(braced, 'sniff').map(describeSpan)).toEqual(spansOf(braced, 'otlp_proto').map(describeSpan));
  });

  test('takes JSON after white space for JSON, a line feed before its brace included', () => {
    const json = JSON.stringify(otlpRequest(otlpSpan()));

    for (const space of ['', ' ', '\n', '\r\n\t ', '\n\n\n']) {
      expect(encodingOf(Buffer.from(space + json))).toBe('decoded json');
    }
  });

  test('tells any request in either encoding', () => {
    const request = fc
      .array(fc.string({ maxLength: 200 }), { minLength: 1, maxLength: 3 })
      .map((names) => ({ resourceSpans: names.flatMap((name) => otlpRequest(otlpSpan({ name })).resourceSpans) }));

    fc.assert(
      fc.property(request, fc.stringMatching(/^[ \t\r\n]{0,5}$/), (sent, space) => {
        expect(encodingOf(encodeOtlpJson(sent))).toBe('decoded protobuf');
        expect(encodingOf(Buffer.from(space + JSON.stringify(sent)))).toBe('decoded json');
      }),
    );
  });

  test('says what is wrong with broken JSON as JSON', () => {
    expect(encodingOf(Buffer.from('{"resourceSpans": ['))).toBe('malformed json');
    expect(encodingOf(Buffer.from('\n{"resourceSpans": ['))).toBe('malformed json');
    expect(encodingOf(braced.subarray(0, 100))).toMatch(/^malformed/);
  });
});

describe('a record', () => {
  const encodings: readonly KafkaEncoding[] = ['sniff', 'otlp_proto', 'otlp_json'];

  test('that is a tombstone or empty is nothing, in any encoding', () => {
    for (const encoding of encodings) {
      expect(decodeRecord({ value: null }, encoding)).toEqual({ kind: 'empty' });
      expect(decodeRecord({ value: Buffer.alloc(0) }, encoding)).toEqual({ kind: 'empty' });
    }
  });

  test('that is no OTLP is refused without its content in the reason', () => {
    for (const encoding of encodings) {
      const result = decodeRecord({ value: Buffer.from('hello, secret world') }, encoding);

      if (result.kind !== 'malformed') throw new Error(`a refusal expected, got ${result.kind}`);
      expect(result.rejection).toMatchObject({ reason: 'malformed_body', spans: 0 });
      expect(result.rejection.detail).not.toContain('secret');
    }
  });

  test('of any bytes gives a value', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...encodings), (value, encoding) => {
        expect(['empty', 'decoded', 'malformed']).toContain(decodeRecord({ value: Buffer.from(value) }, encoding).kind);
      }),
    );
  });

  test('is read as it is configured, whatever its first byte says', () => {
    const json = Buffer.from(JSON.stringify(otlpRequest(otlpSpan())));

    expect(decodeRecord({ value: json }, 'otlp_proto').kind).toBe('malformed');
    expect(decodeRecord({ value: encodeOtlpJson(otlpRequest(otlpSpan())) }, 'otlp_json').kind).toBe('malformed');
  });
});

describe('a key', () => {
  const other = TRACE_ID.replace(/^./, '6');

  test('is the trace id as hex text in either case, or as its 16 bytes', () => {
    for (const key of [Buffer.from(TRACE_ID), Buffer.from(TRACE_ID.toUpperCase()), Buffer.from(TRACE_ID, 'hex')]) {
      expect(isKeyedByTrace(key, [TRACE_ID, TRACE_ID])).toBe(true);
      expect(isKeyedByTrace(key, [other])).toBe(false);
      expect(isKeyedByTrace(key, [TRACE_ID, other])).toBe(false);
    }
  });

  test('that is missing or something else is not the trace id', () => {
    for (const key of [null, Buffer.alloc(0), Buffer.from('order-7'), Buffer.from(TRACE_ID.slice(1))]) {
      expect(isKeyedByTrace(key, [TRACE_ID])).toBe(false);
    }
  });
});
