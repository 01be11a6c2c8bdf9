import { describe, expect, test } from 'vitest';
import { DEFAULT_DECODE_LIMITS } from '../../../src/receive/decode-limits.js';
import { decodeTraces } from '../../../src/receive/decode.js';
import {
  decodeBoth,
  decodeBody,
  decodeJsonText,
  describeSpan,
  entriesOf,
  otlpRequest,
  otlpSpan,
  SPAN_ID,
  theSpan,
  TRACE_ID,
} from '../../support/decoding.js';
import { readFixture } from '../../support/fixture.js';
import { encodeOtlpJson } from '../../support/otlp-proto.js';

/** An attribute of each kind, and what has to be read. */
const VALUES: [string, unknown, unknown][] = [
  ['text', { stringValue: 'x' }, 'x'],
  ['empty text', { stringValue: '' }, ''],
  ['long text', { stringValue: 'ü'.repeat(300) }, 'ü'.repeat(300)],
  ['yes', { boolValue: true }, true],
  ['no', { boolValue: false }, false],
  ['int', { intValue: '42' }, 42],
  ['negative int', { intValue: '-42' }, -42],
  ['largest safe int', { intValue: '9007199254740991' }, 9007199254740991],
  ['int beyond 2^53', { intValue: '9007199254740993' }, '9007199254740993'],
  ['least int64', { intValue: '-9223372036854775808' }, '-9223372036854775808'],
  ['greatest int64', { intValue: '9223372036854775807' }, '9223372036854775807'],
  ['double', { doubleValue: 0.5 }, 0.5],
  ['bytes', { bytesValue: '3q2+7w==' }, '3q2+7w=='],
  ['nothing', {}, null],
  ['list', { arrayValue: { values: [{ stringValue: 'a' }, {}, { intValue: '1' }] } }, ['a', null, 1]],
  ['empty list', { arrayValue: {} }, []],
  ['list in list', { arrayValue: { values: [{ arrayValue: { values: [{ boolValue: true }] } }] } }, [[true]]],
  [
    'map',
    { kvlistValue: { values: [{ key: 'k', value: { stringValue: 'v' } }, { key: 'none' }] } },
    { k: 'v', none: null },
  ],
  ['empty map', { kvlistValue: { values: [] } }, {}],
];

describe.each(['json', 'protobuf'] as const)('in %s', (encoding) => {
  const decode = (request: object) =>
    encoding === 'json' ? decodeJsonText(JSON.stringify(request)) : decodeBody(encodeOtlpJson(request), 'protobuf');

  test.each(VALUES)('reads a value: %s', (key, value, expected) => {
    const span = theSpan(decode(otlpRequest(otlpSpan({ attributes: [{ key, value }] }))));

    expect(span.attributes.get(key)).toEqual(expected);
  });

  test('reads every field of a span', () => {
    const batch = decode({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
          scopeSpans: [
            {
              scope: { name: 'lib', version: '1.2' },
              spans: [
                otlpSpan({
                  parentSpanId: '00f067aa0ba902b7',
                  name: 'chat',
                  kind: 3,
                  startTimeUnixNano: '1796026580620000001',
                  endTimeUnixNano: '18446744073709551615',
                  attributes: [{ key: 'a', value: { intValue: '1' } }],
                  droppedAttributesCount: 7,
                  events: [{ timeUnixNano: '5', name: 'e', attributes: [{ key: 'b', value: { stringValue: 'c' } }] }],
                  links: [{ traceId: TRACE_ID, spanId: SPAN_ID }],
                  status: { code: 2, message: 'broken' },
                  flags: 0x300,
                }),
              ],
            },
          ],
        },
      ],
    });

    expect(describeSpan(theSpan(batch))).toEqual({
      traceId: TRACE_ID,
      spanId: SPAN_ID,
      parentSpanId: '00f067aa0ba902b7',
      parentIsRemote: true,
      name: 'chat',
      kind: 3,
      start: 1796026580620000001n,
      end: 18446744073709551615n,
      statusCode: 2,
      statusMessage: 'broken',
      attributes: [['a', 1]],
      events: [['e', 5n, [['b', 'c']]]],
      links: [{ traceId: TRACE_ID, spanId: SPAN_ID }],
      droppedAttributes: 7,
      resource: [['service.name', 'shop']],
      scope: ['lib', '1.2'],
    });
    expect(batch.rejections).toEqual([]);
    expect(batch.leniencies).toEqual({});
  });

  test('gives a span without anything its defaults', () => {
    const span = theSpan(decode(otlpRequest(otlpSpan())));

    expect(describeSpan(span)).toMatchObject({
      parentSpanId: undefined,
      parentIsRemote: undefined,
      name: '',
      kind: 0,
      statusCode: 0,
      statusMessage: '',
      attributes: [],
      events: [],
      links: [],
      droppedAttributes: 0,
      resource: [],
      scope: ['', ''],
    });
  });

  test.each([
    [0, undefined],
    [1, undefined],
    [0x100, false],
    [0x300, true],
    [0x200, undefined],
  ])('reads from flags %d that the parent is remote: %s', (flags, expected) => {
    expect(theSpan(decode(otlpRequest(otlpSpan({ flags })))).parentIsRemote).toBe(expected);
  });

  test('keeps a key that was sent twice once, with its last value', () => {
    const attributes = ['pending', 'other', 'done'].map((stringValue, i) => ({
      key: i === 1 ? 'b' : 'a',
      value: { stringValue },
    }));
    const span = theSpan(decode(otlpRequest(otlpSpan({ attributes }))));

    expect(entriesOf(span.attributes)).toEqual([
      ['a', 'done'],
      ['b', 'other'],
    ]);
    expect(span.attributes.size).toBe(2);
    expect(span.attributes.has('a')).toBe(true);
    expect(span.attributes.has('c')).toBe(false);
    expect(span.attributes.get('c')).toBeUndefined();
  });

  test('takes __proto__, constructor and toString for keys like others', () => {
    const values = ['__proto__', 'constructor', 'toString', '7'].map((key) => ({ key, value: { stringValue: key } }));
    const span = theSpan(
      decode(otlpRequest(otlpSpan({ attributes: [{ key: '__proto__', value: { kvlistValue: { values } } }] }))),
    );
    const map = span.attributes.get('__proto__') as Record<string, unknown>;

    expect(Object.keys(map).sort()).toEqual(['7', '__proto__', 'constructor', 'toString']);
    expect(map['__proto__']).toBe('__proto__');
    expect('hasOwnProperty' in map).toBe(false);
    expect(({} as Record<string, unknown>)['7']).toBeUndefined();
  });

  test('keeps the last value of a key that a map repeats', () => {
    const values = ['first', 'last'].map((stringValue) => ({ key: 'k', value: { stringValue } }));
    const span = theSpan(
      decode(otlpRequest(otlpSpan({ attributes: [{ key: 'm', value: { kvlistValue: { values } } }] }))),
    );

    expect(span.attributes.get('m')).toEqual({ k: 'last' });
  });

  test('keeps a span that has not ended', () => {
    const span = theSpan(decode(otlpRequest(otlpSpan({ endTimeUnixNano: '0' }))));

    expect(span.endUnixNano).toBe(0n);
  });

  test('takes a missing start from the end and counts it', () => {
    const batch = decode(otlpRequest(otlpSpan({ startTimeUnixNano: '0', endTimeUnixNano: '9' })));

    expect(theSpan(batch).startUnixNano).toBe(9n);
    expect(batch.leniencies).toEqual({ missing_start_times: 1 });
  });

  test('refuses a span without any time', () => {
    const batch = decode(otlpRequest(otlpSpan({ startTimeUnixNano: '0', endTimeUnixNano: '0' })));

    expect(batch.spans).toEqual([]);
    expect(batch.rejections).toEqual([
      {
        reason: 'invalid_time',
        spans: 1,
        detail: 'resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano: a time after 1970 expected, got 0',
      },
    ]);
  });

  test.each(['', '0000000000000000'])('takes the parent id "%s" for none', (parentSpanId) => {
    expect(theSpan(decode(otlpRequest(otlpSpan({ parentSpanId })))).parentSpanId).toBeUndefined();
  });

  test('refuses spans with ids of wrong length or zero, says where, and keeps the others', () => {
    const batch = decode(
      otlpRequest(
        otlpSpan({ traceId: 'ab' }),
        otlpSpan({ traceId: '0'.repeat(32) }),
        otlpSpan({ spanId: 'abcd' }),
        otlpSpan({ spanId: '0'.repeat(16) }),
        otlpSpan({ parentSpanId: 'abcd' }),
        otlpSpan({ name: 'good' }),
      ),
    );

    expect(batch.spans.map(({ name }) => name)).toEqual(['good']);
    const where = 'resourceSpans[0].scopeSpans[0]';
    expect(batch.rejections.map(({ reason, detail }) => [reason, detail])).toEqual(
      encoding === 'json'
        ? [
            ['invalid_trace_id', `${where}.spans[0].traceId: 32 hex digits expected, got 2 characters`],
            ['invalid_trace_id', `${where}.spans[1].traceId: an id that is not zero expected, got 32 zeros`],
            ['invalid_span_id', `${where}.spans[2].spanId: 16 hex digits expected, got 4 characters`],
            ['invalid_span_id', `${where}.spans[3].spanId: an id that is not zero expected, got 16 zeros`],
            ['invalid_span_id', `${where}.spans[4].parentSpanId: 16 hex digits expected, got 4 characters`],
          ]
        : [
            ['invalid_trace_id', `${where}.spans[0].traceId: 16 bytes expected, got 1`],
            ['invalid_trace_id', `${where}.spans[1].traceId: an id that is not zero expected, got 16 zero bytes`],
            ['invalid_span_id', `${where}.spans[2].spanId: 8 bytes expected, got 2`],
            ['invalid_span_id', `${where}.spans[3].spanId: an id that is not zero expected, got 8 zero bytes`],
            ['invalid_span_id', `${where}.spans[4].parentSpanId: 8 bytes expected, got 2`],
          ],
    );
  });

  test('leaves out links that lead nowhere, keeps their span and says so', () => {
    const links = [
      { traceId: TRACE_ID, spanId: SPAN_ID },
      { traceId: 'ab', spanId: SPAN_ID },
    ];
    const batch = decode(otlpRequest(otlpSpan({ links })));

    expect(theSpan(batch).links).toEqual([{ traceId: TRACE_ID, spanId: SPAN_ID }]);
    expect(batch.rejections).toMatchObject([{ reason: 'invalid_span_id', spans: 0 }]);
  });

  test('reads values as deep as the limit and refuses the span of a deeper one', () => {
    const nested = (depth: number): object =>
      depth === 0 ? { stringValue: 'core' } : { arrayValue: { values: [nested(depth - 1)] } };
    const spanOf = (depth: number) => otlpSpan({ attributes: [{ key: 'deep', value: nested(depth) }] });
    const request = otlpRequest(spanOf(20), spanOf(21), otlpSpan({ name: 'next' }));
    const body = encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeOtlpJson(request);
    const batch = decodeBody(body, encoding, { ...DEFAULT_DECODE_LIMITS, maxDepth: 20 });

    expect(batch.spans).toHaveLength(2);
    expect(JSON.stringify(theSpan(batch).attributes.get('deep'))).toBe(`${'['.repeat(20)}"core"${']'.repeat(20)}`);
    expect(batch.rejections).toMatchObject([{ reason: 'too_deep', spans: 1 }]);
  });

  test('refuses a span with more values than the limit', () => {
    const value = { arrayValue: { values: Array.from({ length: 20 }, () => ({})) } };
    const request = otlpRequest(otlpSpan({ attributes: [{ key: 'many', value }] }), otlpSpan());
    const body = encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeOtlpJson(request);
    const batch = decodeBody(body, encoding, { ...DEFAULT_DECODE_LIMITS, maxValuesPerSpan: 10 });

    expect(batch.spans).toHaveLength(1);
    expect(batch.rejections).toMatchObject([{ reason: 'too_large', spans: 1 }]);
  });

  test('refuses spans beyond the limit of one request', () => {
    const request = otlpRequest(otlpSpan(), otlpSpan(), otlpSpan());
    const body = encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeOtlpJson(request);
    const batch = decodeBody(body, encoding, { ...DEFAULT_DECODE_LIMITS, maxSpans: 1 });

    expect(batch.spans).toHaveLength(1);
    expect(batch.rejections.map(({ reason, spans }) => [reason, spans])).toEqual([
      ['too_large', 1],
      ['too_large', 1],
    ]);
  });

  test('tells as many rejections as the limit and sums up the rest', () => {
    const request = otlpRequest(...Array.from({ length: 60 }, () => otlpSpan({ traceId: 'ab' })));
    const batch = decode(request);

    expect(batch.rejections).toHaveLength(51);
    expect(batch.rejections[50]).toEqual({
      reason: 'invalid_trace_id',
      spans: 10,
      detail: '10 more like the 50 told before',
    });
    expect(batch.rejections.reduce((sum, { spans }) => sum + spans, 0)).toBe(60);
  });

  test('never puts content of spans into its messages', () => {
    const secret = 'sk-secret-value';
    const batch = decode(
      otlpRequest(
        otlpSpan({ traceId: 'ab', name: secret, attributes: [{ key: secret, value: { stringValue: secret } }] }),
      ),
    );

    expect(JSON.stringify(batch.rejections)).not.toContain(secret);
  });

  test('gives a compacted span bytes of its own and the same content', () => {
    const request = {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
          scopeSpans: [
            {
              spans: [
                otlpSpan({ name: 'one' }),
                otlpSpan({
                  name: 'two',
                  attributes: [{ key: 'k', value: { stringValue: 'v' } }],
                  events: [{ name: 'e', timeUnixNano: '1' }],
                  links: [{ traceId: TRACE_ID, spanId: SPAN_ID }],
                }),
              ],
            },
          ],
        },
      ],
    };
    const body = new Uint8Array(encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeOtlpJson(request));
    const span = decodeBody(body, encoding).spans[1];
    const compacted = span?.compact();
    const before = describeSpan(decodeBody(body.slice(), encoding).spans[1] as never);
    const encoded = Buffer.from(span?.encoded() ?? []);
    body.fill(0);

    expect(describeSpan(compacted as never)).toEqual(before);
    expect(Buffer.from(compacted?.encoded() ?? [])).toEqual(encoded);
    expect(compacted?.bytes).toBe(encoded.length);
    expect(compacted?.encoded().buffer.byteLength).toBe(encoded.length);
    expect(compacted?.compact()).toBe(compacted);
  });

  test('gives a span the bytes that it was sent as', () => {
    const request = otlpRequest(otlpSpan({ name: 'n' }));
    const span = theSpan(decode(request));

    expect(span.bytes).toBe(span.encoded().length);
    const again =
      encoding === 'json'
        ? Buffer.concat([
            Buffer.from('{"resourceSpans":[{"scopeSpans":[{"spans":['),
            span.encoded(),
            Buffer.from(']}]}]}'),
          ])
        : encodeOtlpJson(request);
    expect(describeSpan(theSpan(decodeBody(again, encoding)))).toEqual(describeSpan(span));
  });

  test('gives the same attributes however many keys there are', () => {
    const attributes = Array.from({ length: 500 }, (_, i) => ({
      key: `key.${i % 400}`,
      value: { intValue: String(i) },
    }));
    const span = theSpan(decode(otlpRequest(otlpSpan({ attributes }))));

    // The last 100 keys repeat the first 100.
    const expected = Array.from({ length: 400 }, (_, i) => [`key.${i}`, i < 100 ? i + 400 : i]);
    expect(entriesOf(span.attributes)).toEqual(expected);
    expect([...span.attributes.keys()].reverse().map((key) => span.attributes.get(key))).toEqual(
      expected.map(([, value]) => value).reverse(),
    );
  });

  test('tells keys apart that differ only in a byte beyond ASCII or in length', () => {
    const keys = ['é', 'Ã©', 'e', 'ee', '', 'k'.repeat(200), 'k'.repeat(201)];
    const attributes = keys.map((key, i) => ({ key, value: { intValue: String(i) } }));
    for (const order of [attributes, [...attributes].reverse(), attributes]) {
      const span = theSpan(decode(otlpRequest(otlpSpan({ attributes: order }))));
      expect(keys.map((key) => span.attributes.get(key))).toEqual([0, 1, 2, 3, 4, 5, 6]);
    }
  });

  test('holds a value of 10 MB', () => {
    const stringValue = 'ab"\\é'.repeat(1_700_000);
    const span = theSpan(decode(otlpRequest(otlpSpan({ attributes: [{ key: 'big', value: { stringValue } }] }))));

    expect(span.attributes.get('big') === stringValue).toBe(true);
  });

  test('reads legacy instrumentationLibrarySpans and counts them', () => {
    const batch = decode({
      resourceSpans: [
        { instrumentationLibrarySpans: [{ instrumentationLibrary: { name: 'old' }, spans: [otlpSpan()] }] },
      ],
    });

    expect(theSpan(batch).scope.name).toBe('old');
    expect(batch.leniencies).toEqual({ instrumentation_library_spans: 1 });
  });

  test('takes an empty request, and groups without spans, for no spans', () => {
    for (const request of [
      {},
      { resourceSpans: [] },
      { resourceSpans: [{}] },
      { resourceSpans: [{ scopeSpans: [{}] }] },
    ]) {
      expect(decode(request)).toEqual({ spans: [], rejections: [], leniencies: {} });
    }
  });
});

test('reads the same from both encodings of a recorded payload', () => {
  for (const scenario of ['a_single_tool', 'd_tool_error_retry', 'f_multi_turn', 'h_unicode_large']) {
    const json = decodeJsonText(readFixture(`corpus/genai-semconv/${scenario}.otlp.json`));
    const protobuf = decodeBody(readFixture(`corpus/genai-semconv/${scenario}.pb`), 'protobuf');

    expect(json.spans.length).toBeGreaterThan(0);
    expect(json.spans.map(describeSpan)).toEqual(protobuf.spans.map(describeSpan));
  }
});

test('gives JSON and protobuf of one request the same rejections in number', () => {
  const [json, protobuf] = decodeBoth(otlpRequest(otlpSpan({ spanId: 'ab' }), otlpSpan()));

  expect(json?.rejections.map(({ reason, spans }) => [reason, spans])).toEqual(
    protobuf?.rejections.map(({ reason, spans }) => [reason, spans]),
  );
});

test('reads a body that is a part of a larger buffer', () => {
  const body = encodeOtlpJson(otlpRequest(otlpSpan({ name: 'inner' })));
  const padded = new Uint8Array(body.length + 20).fill(0xff);
  padded.set(body, 7);

  const result = decodeTraces(padded.subarray(7, 7 + body.length), 'protobuf');

  expect(result.kind === 'decoded' && result.batch.spans.map(({ name }) => name)).toEqual(['inner']);
});
