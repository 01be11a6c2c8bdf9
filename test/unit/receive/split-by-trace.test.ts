import { expect, test } from 'vitest';
import { DEFAULT_SPLIT_LIMITS, splitByTrace, type Split } from '../../../src/receive/split-by-trace.js';
import type { OtlpEncoding } from '../../../src/receive/decode.js';
import { decodeBody, otlpRequest, otlpSpan, refuseBody } from '../../support/decoding.js';
import { encodeOtlpJson } from '../../support/otlp-proto.js';

const A = 'a'.repeat(32);
const B = 'b'.repeat(32);

function split(body: Uint8Array, encoding: OtlpEncoding, limits = DEFAULT_SPLIT_LIMITS): Split {
  const result = splitByTrace(body, encoding, limits);
  if (result.kind === 'malformed') throw new Error(`a readable body expected, got ${result.rejection.detail}`);
  return result;
}

function texts({ parts }: Split): Record<string, string> {
  return Object.fromEntries([...parts].map(([traceId, part]) => [traceId, part.toString('utf8')]));
}

const span = (traceId: string, rest = '"intValue":9223372036854775807'): string =>
  `{"traceId": "${traceId}","spanId":"eee19b7ec3c1b174", "startTimeUnixNano":1796020000000000001,"attributes":[{"key":"k","value":{${rest}}}]}`;

test('copies the text of JSON: numbers that a double cannot hold, and members that nobody knows', () => {
  const [a1, a2, b] = [span(A), span(A, '"doubleValue":1.10'), span(B.toUpperCase())];
  const body = `{ "x" : [1, {"spans":[]}],
    "resourceSpans": [
      {"resource": { "n" : 1e400 }, "scopeSpans": [
        {"spans": [ ${a1} , ${b}], "scope": {"name":"s\\u0031"} , "schemaUrl":"u" },
        {"scope":{},"spans":[ ${a2} ]}
      ], "schemaUrl": "v"},
      {"resource":{}, "scopeSpans":[{"spans":[]}]}
    ]
  }`;

  expect(texts(split(Buffer.from(body), 'json'))).toEqual({
    [A]: `{"x" : [1, {"spans":[]}],"resourceSpans": [{"resource": { "n" : 1e400 }, "schemaUrl": "v","scopeSpans": [{"scope": {"name":"s\\u0031"}, "schemaUrl":"u","spans": [${a1}]},{"scope":{},"spans":[${a2}]}]}]}`,
    [B]: `{"x" : [1, {"spans":[]}],"resourceSpans": [{"resource": { "n" : 1e400 }, "schemaUrl": "v","scopeSpans": [{"scope": {"name":"s\\u0031"}, "schemaUrl":"u","spans": [${b}]}]}]}`,
  });
});

test('keeps the names under which lists were sent, also when one is sent twice', () => {
  const [a, b] = [span(A), span(B)];
  const body = `{"resource_spans":[{"scope_spans":[{"spans":[${a}],"spans":[${b},${a}]}],"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"l"},"spans":[${a}]}]}],"resourceSpans":null}`;

  expect(texts(split(Buffer.from(body), 'json'))).toEqual({
    [A]: `{"resourceSpans":null,"resource_spans":[{"scope_spans":[{"spans":[${a}],"spans":[${a}]}],"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"l"},"spans":[${a}]}]}]}`,
    [B]: `{"resourceSpans":null,"resource_spans":[{"scope_spans":[{"spans":[${b}]}]}]}`,
  });
});

// A field is its tag, number * 8 + 2, a length below 128 and as many bytes.
const field = (tag: number, ...content: number[]): number[] => [tag, content.length, ...content];
const wireSpan = (id: number, last: number): number[] =>
  field(
    0x12,
    ...field(0x0a, ...Array<number>(16).fill(id)),
    ...field(0x12, 0, 0, 0, 0, 0, 0, 0, last),
    0x39,
    1,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
  );

test('copies the bytes of protobuf: messages in parts, unknown fields, the field of old libraries', () => {
  const [a1, a2, b] = [wireSpan(0xaa, 1), wireSpan(0xaa, 2), wireSpan(0xbb, 3)];
  const unknown = [0x98, 0x06, 0xff, 0x01]; // field 99, a varint
  const resource = field(0x0a, ...field(0x0a, ...field(0x0a, 0x6b)));
  const more = field(0x0a, 0x10, 1); // the same resource goes on: dropped_attributes_count
  const scope = field(0x0a, ...field(0x0a, 0x73));
  const schemaUrl = field(0x1a, 0x75);
  const body = [
    ...unknown,
    ...field(0x0a, ...resource, ...field(0x12, ...scope, ...a1, ...unknown, ...b), ...more, ...schemaUrl),
    ...field(0x0a, ...field(0x12, ...scope)),
    ...[0x0a, a2.length + 3, 0xc2, 0x3e, a2.length, ...a2], // field 1000
  ];

  const { parts, rejections } = split(Uint8Array.from(body), 'protobuf');

  expect(rejections).toEqual([]);
  expect([...parts.keys()]).toEqual([A, B]);
  const above = [...resource, ...more, ...schemaUrl];
  expect([...(parts.get(A) ?? [])]).toEqual([
    ...unknown,
    ...field(0x0a, ...above, ...field(0x12, ...scope, ...unknown, ...a1)),
    ...[0x0a, a2.length + 3, 0xc2, 0x3e, a2.length, ...a2],
  ]);
  expect([...(parts.get(B) ?? [])]).toEqual([
    ...unknown,
    ...field(0x0a, ...above, ...field(0x12, ...scope, ...unknown, ...b)),
  ]);
});

test('a body of one trace is its own part and is not copied', () => {
  const request = otlpRequest(otlpSpan(), otlpSpan());
  const protobuf = encodeOtlpJson(request);
  const json = Buffer.from(JSON.stringify(request));
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(' \n'), json]);

  for (const [body, encoding, skipped] of [
    [protobuf, 'protobuf', 0],
    [json, 'json', 0],
    [marked, 'json', 5], // a reader that tells JSON by its first byte would not know it
  ] as const) {
    const [part] = split(body, encoding).parts.values();
    expect(part?.buffer).toBe(body.buffer);
    expect(part?.byteOffset).toBe(body.byteOffset + skipped);
    expect(part?.length).toBe(body.length - skipped);
  }
});

test('spans that cannot be used are in no part, and are told as the decoder tells them', () => {
  const request = otlpRequest(
    otlpSpan({ traceId: A }),
    otlpSpan({ traceId: '' }),
    otlpSpan({ traceId: '0'.repeat(32) }),
    otlpSpan({ traceId: A, spanId: 'ab' }),
  );
  for (const [body, encoding] of [
    [encodeOtlpJson(request), 'protobuf'],
    [Buffer.from(JSON.stringify(request)), 'json'],
  ] as const) {
    const { parts, rejections } = split(body, encoding);

    expect(rejections.map(({ reason }) => reason)).toEqual(['invalid_trace_id', 'invalid_trace_id', 'invalid_span_id']);
    expect(rejections).toEqual(decodeBody(body, encoding).rejections);
    expect([...parts.keys()]).toEqual([A]);
    expect(decodeBody(parts.get(A) ?? Buffer.alloc(0), encoding)).toMatchObject({
      spans: { length: 1 },
      rejections: [],
    });
  }
});

test('a body that the decoder refuses is refused for the same reason', () => {
  for (const [body, encoding] of [
    [Buffer.from('{"resourceSpans":[{"scopeSpans":{}}]}'), 'json'],
    [Buffer.from('{"resourceSpans":['), 'json'],
    [Buffer.from([0x0a, 5, 1]), 'protobuf'],
  ] as const) {
    expect(splitByTrace(body, encoding)).toEqual({ kind: 'malformed', rejection: refuseBody(body, encoding) });
  }
});

test('a body without spans has no parts, and another signal is told', () => {
  expect(split(Buffer.alloc(0), 'protobuf')).toEqual({ kind: 'split', parts: new Map(), rejections: [] });
  expect(split(Buffer.from('{}'), 'json')).toEqual({ kind: 'split', parts: new Map(), rejections: [] });
  expect(split(Buffer.from('{"resourceLogs":[]}'), 'json')).toMatchObject({
    parts: new Map(),
    rejections: [{ reason: 'malformed_body', spans: 0 }],
  });
});

test('takes whatever nesting the decoder takes above the spans', () => {
  const deep = '['.repeat(99_999) + ']'.repeat(99_999);
  const body = Buffer.from(
    `{"resourceSpans":[{"resource":{"attributes":[{"key":"k","value":{"x":${deep}}}]},"scopeSpans":[{"spans":[${span(A)},${span(B)}]}]}]}`,
  );

  const { parts } = split(body, 'json');

  expect([...parts.keys()]).toEqual([A, B]);
  expect(parts.get(B)?.includes(deep)).toBe(true);
});

test('a large resource above many traces takes no more memory than is allowed', () => {
  const ids = Array.from({ length: 100 }, (_, i) => (i + 1).toString(16).padStart(32, '0'));
  const request = otlpRequest(...ids.map((traceId) => otlpSpan({ traceId })));
  request.resourceSpans[0].resource = { attributes: [{ key: 'k', value: { stringValue: 'x'.repeat(10_000) } }] };
  const json = Buffer.from(JSON.stringify(request));

  for (const [body, encoding] of [
    [encodeOtlpJson(request), 'protobuf'],
    [json, 'json'],
  ] as const) {
    expect(split(body, encoding).parts.size).toBe(100);

    const bounded = split(body, encoding, { ...DEFAULT_SPLIT_LIMITS, maxRepeatedBytes: 100_000 });

    const bytes = [...bounded.parts.values()].reduce((sum, part) => sum + part.length, 0);
    expect(bytes).toBeLessThanOrEqual(body.length + 100_000);
    // A part is 10 000 bytes of resource and less than 500 of all else; the body gives room for one or two of them.
    expect(bounded.parts.size).toBeGreaterThanOrEqual(10);
    expect(bounded.rejections).toEqual([
      {
        reason: 'too_large',
        spans: 100 - bounded.parts.size,
        detail: `requests of one trace each with at most ${body.length + 100_000} bytes together expected, got more`,
      },
    ]);
  }
});
