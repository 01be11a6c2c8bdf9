import { describe, expect, test } from 'vitest';
import { decodeTraces } from '../../../src/receive/decode.js';
import {
  decodeJsonText,
  describeSpan,
  otlpRequest,
  otlpSpan,
  refuseBody,
  SPAN_ID,
  theSpan,
  TRACE_ID,
} from '../../support/decoding.js';
import { readFixture } from '../../support/fixture.js';

const spanText = (fields: string): string =>
  `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}","startTimeUnixNano":"1",${fields}}]}]}]}`;
const valueOf = (value: string): unknown =>
  theSpan(decodeJsonText(spanText(`"attributes":[{"key":"k","value":${value}}]`))).attributes.get('k');
const caseInput = (name: string): Buffer => readFixture(`cases/${name}/input.otlp.json`);

describe('values', () => {
  test.each([
    ['{"intValue":9007199254740993}', '9007199254740993'],
    ['{"intValue":"9007199254740993"}', '9007199254740993'],
    ['{"intValue":5}', 5],
    ['{"intValue":"-5"}', -5],
    ['{"intValue":1e3}', 1000],
    ['{"intValue":{"low":1,"high":0,"unsigned":false}}', 1],
    ['{"intValue":{"low":-1,"high":-1}}', -1],
    ['{"intValue":null}', null],
    ['{"doubleValue":null}', null],
    ['{"doubleValue":"NaN"}', 'NaN'],
    ['{"doubleValue":"-Infinity"}', '-Infinity'],
    ['{"doubleValue":"1.5"}', 1.5],
    ['{"doubleValue":1e999}', 'Infinity'],
    ['{"doubleValue":-0.5e-1}', -0.05],
    ['{"doubleValue":NaN}', 'NaN'],
    ['{"doubleValue":-Infinity}', '-Infinity'],
    ['{"arrayValue":null}', null],
    ['{"arrayValue":{"values":null}}', []],
    ['{"arrayValue":{"values":[null]}}', [null]],
    ['{"kvlistValue":{}}', {}],
    ['null', null],
    ['{"stringValue":"a\\u00e9\\n\\"\\\\\\/"}', 'aé\n"\\/'],
    ['{"stringValue":null,"intValue":1}', 1],
    ['{"unknownValue":{"a":[1,{"b":null}]},"boolValue":true}', true],
  ])('reads %s', (text, expected) => {
    expect(valueOf(text)).toEqual(expected);
  });

  test.each([
    ['{"stringValue":5}', 5],
    ['{"stringValue":true}', true],
    ['{"boolValue":"true"}', 'true'],
    ['{"intValue":1.5}', 1.5],
    ['{"intValue":"many"}', 'many'],
    ['"bare"', 'bare'],
    ['[1]', null],
    ['{"arrayValue":[1]}', null],
    ['{"stringValue":{"a":1}}', null],
  ])('takes %s, which says another type, for what it is', (text, expected) => {
    expect(valueOf(text)).toEqual(expected);
  });

  test('counts values of another type than they say', () => {
    const batch = decodeJsonText(spanText('"attributes":[{"key":"k","value":{"stringValue":5}}]'));

    expect(batch.leniencies).toEqual({ mistyped_values: 1 });
  });
});

describe('text', () => {
  test('replaces half surrogate pairs hidden in escapes, and keeps whole ones', () => {
    const span = theSpan(
      decodeJsonText(
        spanText('"name":"a\\ud800","attributes":[{"key":"\\udc00","value":{"stringValue":"\\ud83d\\ude00 \\ud83d"}}]'),
      ),
    );

    expect(span.name).toBe('a\ufffd');
    expect(span.attributes.get('\ufffd')).toBe('😀 \ufffd');
  });

  test('replaces bytes that are no UTF-8', () => {
    const [before, after] = spanText('"name":"x?y"').split('?') as [string, string];
    const body = Buffer.concat([Buffer.from(before), Buffer.from([0xff]), Buffer.from(after)]);

    expect(theSpan(decodeJsonText(body)).name).toBe('x\ufffdy');
  });

  test('reads keys written with escapes', () => {
    expect(theSpan(decodeJsonText(spanText('"n\\u0061me":"x"'))).name).toBe('x');
  });
});

describe('leniency', () => {
  test('reads snake_case keys as well and counts them', () => {
    const batch = decodeJsonText(caseInput('09-snake-case-otlp-json'));

    expect(batch.spans.length).toBe(4);
    expect(batch.rejections).toEqual([]);
    expect(batch.leniencies['snake_case_keys']).toBeGreaterThan(0);
    expect(batch.spans.every(({ attributes }) => attributes.size > 0)).toBe(true);
  });

  test('reads enum names and counts them', () => {
    const batch = decodeJsonText(caseInput('11-enum-names-in-json'));

    expect(batch.leniencies['enum_names']).toBeGreaterThan(0);
    expect(batch.spans.map(({ statusCode }) => statusCode)).toContain(2);
    expect(batch.spans.every(({ kind }) => kind > 0)).toBe(true);
  });

  test('refuses a span whose status is no known name: accepted, it would pass for a good one', () => {
    const batch = decodeJsonText(spanText('"status":{"code":"STATUS_CODE_BAD"}'));

    expect(batch.spans).toEqual([]);
    expect(batch.rejections).toMatchObject([
      { reason: 'malformed_span', detail: expect.stringContaining('spans[0].status.code: ') },
    ]);
  });

  test.each([
    ['1796026580620000001', 1796026580620000001n],
    ['"1796026580620000001"', 1796026580620000001n],
    ['1.79602658062e18', 1796026580620000000n],
    // 418165680 * 2^32 + 4294967295, by Python
    ['{"low":-1,"high":418165680}', 1796007924204568575n],
    ['null', 0n],
  ])('reads the time %s exactly', (text, expected) => {
    expect(theSpan(decodeJsonText(spanText(`"endTimeUnixNano":${text}`))).endUnixNano).toBe(expected);
  });

  test.each(['"soon"', '-1', '18446744073709551616', '1.5', '[]', 'true', '{"seconds":1}'])(
    'refuses a span with the time %s',
    (text) => {
      const batch = decodeJsonText(spanText(`"endTimeUnixNano":${text}`));

      expect(batch.rejections).toMatchObject([
        { reason: 'invalid_time', spans: 1, detail: expect.stringContaining('spans[0].endTimeUnixNano: nanoseconds') },
      ]);
    },
  );

  test('reads uppercase hex ids as lowercase', () => {
    const links = [{ traceId: TRACE_ID.toUpperCase(), spanId: SPAN_ID.toUpperCase() }];
    const span = theSpan(
      decodeJsonText(JSON.stringify(otlpRequest(otlpSpan({ ...links[0], parentSpanId: 'ABCDEF0123456789', links })))),
    );

    expect(span).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID, parentSpanId: 'abcdef0123456789' });
    expect(span.links).toEqual([{ traceId: TRACE_ID, spanId: SPAN_ID }]);
  });

  test('tolerates a byte order mark', () => {
    const batch = decodeJsonText(`\ufeff${JSON.stringify(otlpRequest(otlpSpan()))}`);

    expect(batch.spans).toHaveLength(1);
    expect(batch.leniencies).toEqual({ byte_order_mark: 1 });
  });
});

describe('refusals', () => {
  test('refuses base64 ids span by span and keeps the good trace', () => {
    const batch = decodeJsonText(caseInput('10-base64-ids-in-json'));

    expect(batch.spans).toHaveLength(4);
    expect(batch.rejections).toHaveLength(4);
    expect(batch.rejections[0]?.detail).toMatch(/traceId: 32 hex digits expected, got 24 characters$/);
  });

  test('keeps four of five spans when one has no ids, and a key without value is null', () => {
    const batch = decodeJsonText(caseInput('07-one-bad-span-in-a-batch'));

    expect(batch.spans).toHaveLength(4);
    expect(batch.rejections).toMatchObject([{ reason: 'invalid_trace_id', spans: 1 }]);
    expect(batch.spans.some(({ attributes }) => attributes.keys().some((key) => attributes.get(key) === null))).toBe(
      true,
    );
  });

  test.each([
    ['"name":5', 'name: a text expected, got a number'],
    ['"kind":[]', 'kind: a number expected, got an array'],
    ['"attributes":{"k":"v"}', 'attributes: an array expected, got an object'],
    ['"attributes":[5]', 'attributes: a key with a value expected, got a number'],
    ['"attributes":[{"key":5}]', 'attributes: a text as key expected, got a number'],
    ['"events":{}', 'events: an array expected, got an object'],
    ['"events":[null]', 'events: an object expected, got null'],
    ['"links":"x"', 'links: an array expected, got a string'],
    ['"status":"OK"', 'status: an object expected, got a string'],
    ['"flags":-1', 'flags: an integer from 0 to 2^32-1 expected, got another number'],
    ['"parentSpanId":7', 'parentSpanId: a text expected, got a number'],
  ])('refuses a span with %s and keeps its neighbour', (fields, what) => {
    const good = JSON.stringify(otlpSpan({ name: 'good' }));
    const batch = decodeJsonText(spanText(`${fields}},${good.slice(0, -1)}`));

    expect(batch.spans.map(({ name }) => name)).toEqual(['good']);
    expect(batch.rejections).toEqual([
      { reason: 'malformed_span', spans: 1, detail: `resourceSpans[0].scopeSpans[0].spans[0].${what}` },
    ]);
  });

  test('takes null for an absent field everywhere', () => {
    const nulls = Object.fromEntries(
      ['parentSpanId', 'name', 'kind', 'endTimeUnixNano', 'attributes', 'events', 'links', 'status', 'flags'].map(
        (key) => [key, null],
      ),
    );
    const batch = decodeJsonText(
      JSON.stringify({
        resourceSpans: [null, { resource: null, scopeSpans: [null, { scope: null, spans: [otlpSpan(nulls)] }] }],
      }),
    );

    expect(batch.rejections).toEqual([]);
    expect(theSpan(batch)).toMatchObject({ name: '', kind: 0, endUnixNano: 0n });
  });

  test.each([
    ['', 'a value expected at byte 0, got the end'],
    ['  ', 'a value expected at byte 2, got the end'],
    ['{"resourceSpans":[', 'a value expected at byte 18, got the end'],
    ['{"resourceSpans":[{]', 'a key expected at byte 19, got byte 0x5d'],
    ['{"resourceSpans":[]}x', 'the end expected at byte 20, got byte 0x78'],
    ['{"a":01}', '"," or "}" expected at byte 6, got byte 0x31'],
    ['{"a":1.}', 'a digit expected at byte 7, got byte 0x7d'],
    ['{"a":"\\x"}', 'an escape of JSON expected at byte 7, got byte 0x78'],
    ['{"a":"\\u12g4"}', 'an escape of JSON expected at byte 7, got byte 0x75'],
    ['{"a":tru}', 'a value expected at byte 5, got byte 0x74'],
    ['{"a" 1}', '":" expected at byte 5, got byte 0x31'],
    ['{"a":1,}', 'a key expected at byte 7, got byte 0x7d'],
    ["{'a':1}", 'a key expected at byte 1, got byte 0x27'],
    ['[]', 'an object expected, got an array'],
    ['null', 'an object expected, got null'],
    ['{"resourceSpans":{}}', 'resourceSpans: an array expected, got an object'],
    ['{"resourceSpans":[{"resource":5}]}', 'resourceSpans[0].resource: an object expected, got a number'],
    [
      '{"resourceSpans":[{"resource":{"attributes":5}}]}',
      'resourceSpans[0].resource.attributes: an array expected, got a number',
    ],
  ])('refuses the body %s as a whole', (text, detail) => {
    expect(refuseBody(Buffer.from(text), 'json')).toEqual({ reason: 'malformed_body', spans: 0, detail });
  });

  test('refuses every beginning of a body', () => {
    const body = Buffer.from(spanText('"attributes":[{"key":"k","value":{"intValue":-12.5e3}}],"flags":256'));
    for (let length = 0; length < body.length; length++) {
      expect(decodeTraces(body.subarray(0, length), 'json').kind).toBe('malformed');
    }
  });

  test('passes over unknown fields nested deeply, and refuses the body when they are nested without end', () => {
    const nested = (depth: number): string =>
      spanText(`"name":"n","other":${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`);

    expect(theSpan(decodeJsonText(nested(5_000))).name).toBe('n');
    expect(refuseBody(Buffer.from('{"a":' + '['.repeat(200_000)), 'json').reason).toBe('too_deep');
  });

  test('says so when a body holds another signal, or something else', () => {
    for (const [text, content, detail] of [
      ['{"resourceLogs":[{}]}', 'other_signal', 'resourceSpans expected, got resourceLogs'],
      ['{"interactions":[]}', 'not_otlp', 'resourceSpans expected, got other members only'],
    ] as const) {
      const result = decodeTraces(Buffer.from(text), 'json');

      expect(result).toMatchObject({
        kind: 'decoded',
        content,
        batch: { spans: [], rejections: [{ reason: 'malformed_body', spans: 0, detail }] },
      });
    }
  });
});

test('reads null from not-a-number token counts and keeps the rest', () => {
  const batch = decodeJsonText(caseInput('13-null-anyvalue-from-nan-tokens'));

  expect(batch.rejections).toEqual([]);
  expect(batch.spans).toHaveLength(4);
});

test('keeps non-finite numbers inside a structured value as their names', () => {
  const batch = decodeJsonText(caseInput('15-non-finite-doubles'));
  const results = batch.spans.map(({ attributes }) => attributes.get('gen_ai.tool.call.result'));

  expect(results).toContainEqual({ temperature: 14.5, humidity: 'NaN', ceiling: 'Infinity', floor: '-Infinity' });
});

test('keeps integers beyond 2^53 exact, written as text or as number', () => {
  const batch = decodeJsonText(caseInput('17-int64-as-string-and-number'));
  const all = batch.spans.map(({ attributes }) => attributes.get('gen_ai.tool.call.arguments'));

  expect(all).toContainEqual({ order_id: '9007199254740993', limit: 5 });
});

test('keeps NUL characters inside text', () => {
  const batch = decodeJsonText(caseInput('23-nul-bytes-in-tool-result'));
  const texts = batch.spans.map((span) =>
    JSON.stringify(describeSpan(span), (_, v) => (typeof v === 'bigint' ? `${v}` : v)),
  );

  expect(texts.join()).toContain('harvest\\u0000plan');
});
