import { expect, test } from 'vitest';
import { decodeBody, describeSpan, refuseBody, theSpan } from '../../support/decoding.js';
import { readFixture } from '../../support/fixture.js';

// Wire format by hand (protobuf.dev/programming-guides/encoding): a field is its tag, number * 8 + wire type, and
// then a varint (0), 8 bytes (1), a length with as many bytes (2), or 4 bytes (5).
const varint = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]);
const field = (number: number, payload: readonly number[]): number[] => [
  ...varint(number * 8 + 2),
  ...varint(payload.length),
  ...payload,
];
const text = (number: number, value: string): number[] => field(number, [...Buffer.from(value)]);
const fixed64 = (number: number, low: number): number[] => [number * 8 + 1, low, 0, 0, 0, 0, 0, 0, 0];
const IDS = [
  ...field(1, [...Buffer.from('5b8efff798038103d269b633813fc60c', 'hex')]),
  ...field(2, [1, 2, 3, 4, 5, 6, 7, 8]),
];
const SPAN = [...IDS, ...fixed64(7, 1), ...fixed64(8, 2)];
const bodyOf = (...spans: number[][]): Uint8Array =>
  Uint8Array.from(
    field(
      1,
      field(
        2,
        spans.flatMap((span) => field(2, span)),
      ),
    ),
  );
const attribute = (value: number[]): number[] => field(9, [...text(1, 'k'), ...field(2, value)]);

test('refuses spans whose bytes are broken and keeps their neighbours', () => {
  const broken: [number[], string][] = [
    [[...SPAN, 0x4a, 50, 1], 'a field of 50 bytes expected, got 1'],
    [[...SPAN, 0x07], 'a field number > 0 expected, got 0'],
    [[...SPAN, 0x0f], 'wire type 0, 1, 2, 3 or 5 expected, got 7'],
    [[...SPAN, 0x0c], 'wire type 0, 1, 2, 3 or 5 expected, got 4'],
    [[...SPAN, 0x30], 'a varint is cut off'],
    [[...SPAN, 0x30, ...Array<number>(11).fill(0xff)], 'a varint of at most 10 bytes expected, got more'],
    [[...SPAN, 0x39, 1, 2], '8 bytes expected, got 2'],
    [[...SPAN, 0x85, 0x01, 1], '4 bytes expected, got 1'],
    [[...SPAN, ...attribute([0x0a, 9, 0x61])], 'a field of 9 bytes expected, got 1'],
    [[...SPAN, ...attribute([0x2a, 3, 0x0a, 5, 0])], 'a field of 5 bytes expected, got 1'],
    [[...SPAN, ...field(11, [0x09, 1])], '8 bytes expected, got 1'],
    [[...SPAN, ...field(13, [0x0a, 5])], 'a field of 5 bytes expected, got 0'],
    [[...SPAN, ...field(15, [0x12, 5])], 'a field of 5 bytes expected, got 0'],
  ];
  for (const [bytes, what] of broken) {
    const batch = decodeBody(
      bodyOf([...SPAN, ...text(5, 'before')], bytes, [...SPAN, ...text(5, 'after')]),
      'protobuf',
    );

    expect(batch.spans.map(({ name }) => name)).toEqual(['before', 'after']);
    expect(batch.rejections).toEqual([
      { reason: 'malformed_span', spans: 1, detail: `resourceSpans[0].scopeSpans[0].spans[1]: ${what}` },
    ]);
  }
});

test('refuses a body whose frame is broken, and says where', () => {
  const good = bodyOf(SPAN);

  expect(refuseBody(good.subarray(0, good.length - 1), 'protobuf')).toEqual({
    reason: 'malformed_body',
    spans: 0,
    detail: `resourceSpans[0]: a field of ${good.length - 2} bytes expected, got ${good.length - 3}`,
  });
  expect(refuseBody(Uint8Array.from([...good, 0x0a, 0x80]), 'protobuf').detail).toBe(
    'resourceSpans[1]: a varint is cut off',
  );
  expect(refuseBody(Uint8Array.from(field(1, field(1, [0x0a, 7]))), 'protobuf').detail).toBe(
    'resourceSpans[0].resource: a field of 7 bytes expected, got 0',
  );
  expect(refuseBody(Uint8Array.from(field(1, field(2, field(1, [0x0a, 7])))), 'protobuf').detail).toBe(
    'resourceSpans[0].scopeSpans[0]: a field of 7 bytes expected, got 0',
  );
  expect(refuseBody(Buffer.from('{"resourceSpans":[]}'), 'protobuf').reason).toBe('malformed_body');
});

test('passes over fields that it does not know, groups included', () => {
  const group = [0xa3, 0x06, 0x08, 1, 0xab, 0x06, 0xac, 0x06, 0xa4, 0x06]; // field 100 { 1: 1, 101 {} }
  const unknown = [...text(99, 'later'), 0x98, 0x06, 0xff, 0x01, ...group, 0x9d, 0x06, 1, 2, 3, 4];
  const span = [
    ...unknown,
    ...SPAN,
    ...unknown,
    ...field(9, [...text(1, 'k'), ...unknown, ...field(2, [...unknown, ...text(1, 'v'), ...unknown])]),
  ];
  const request = [...unknown, ...field(1, [...unknown, ...field(2, [...unknown, ...field(2, span)])])];

  const batch = decodeBody(Uint8Array.from(request), 'protobuf');

  expect(batch.rejections).toEqual([]);
  expect(theSpan(batch).attributes.get('k')).toBe('v');
});

test('refuses a span with groups nested without end', () => {
  const batch = decodeBody(bodyOf([...SPAN, ...Array<number>(5000).fill(0x0b)], SPAN), 'protobuf');

  expect(batch.spans).toHaveLength(1);
  expect(batch.rejections).toMatchObject([{ reason: 'too_deep', spans: 1 }]);
});

test('refuses a span whose values are nested without end', () => {
  // array_value { values { array_value { ... } } }, a hundred and then a hundred thousand deep.
  const nested = (depth: number): number[] => {
    const lengths: number[][] = [];
    let size = 0;
    for (let i = 0; i < depth; i++) {
      const inner = varint(size);
      const outer = varint(size === 0 ? 0 : size + inner.length + 1);
      lengths.push(size === 0 ? [0x2a, 0] : [0x2a, ...outer, 0x0a, ...inner]);
      size += (lengths[i] as number[]).length;
    }
    return lengths.reverse().flat();
  };
  const batch = decodeBody(
    bodyOf(
      [...SPAN, ...attribute(nested(101))],
      [...SPAN, ...attribute(nested(102))],
      [...SPAN, ...attribute(nested(100_000))],
    ),
    'protobuf',
  );

  // The innermost array of the first is the 101st, and empty.
  expect(JSON.stringify(theSpan(batch).attributes.get('k'))).toBe('['.repeat(101) + ']'.repeat(101));
  expect(batch.rejections.map(({ reason }) => reason)).toEqual(['too_deep', 'too_deep']);
});

test('takes a known field of another wire type for an unknown one', () => {
  const batch = decodeBody(bodyOf([...SPAN, 0x28, 5, ...text(6, 'kind')]), 'protobuf');

  expect(theSpan(batch)).toMatchObject({ name: '', kind: 0 });
});

test('reads non-finite doubles as their names', () => {
  const double = (value: number): number[] => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return [0x21, ...bytes];
  };
  for (const [value, name] of [
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
  ] as const) {
    expect(theSpan(decodeBody(bodyOf([...SPAN, ...attribute(double(value))]), 'protobuf')).attributes.get('k')).toBe(
      name,
    );
  }
});

test('makes text that is no UTF-8 well-formed', () => {
  // A stray continuation byte, a cut sequence, and U+D800 encoded as if it were a character.
  const bytes = [0x61, 0x80, 0xe2, 0x82, 0x62, 0xed, 0xa0, 0x80];
  const span = theSpan(decodeBody(bodyOf([...SPAN, ...attribute(field(1, bytes)), ...field(5, bytes)]), 'protobuf'));

  for (const value of [span.name, span.attributes.get('k') as string]) {
    expect(value.isWellFormed()).toBe(true);
    expect(value).toMatch(/^a\ufffd+b\ufffd+$/);
  }
});

test('gives null to a value that only has fields newer than this reader', () => {
  const span = theSpan(decodeBody(bodyOf([...SPAN, ...attribute([0x40, 3])]), 'protobuf')); // string_value_strindex = 8

  expect(span.attributes.get('k')).toBeNull();
});

test('joins a resource that was sent in parts and after its spans', () => {
  const part = (key: string): number[] => field(1, field(1, [...text(1, key), ...field(2, text(1, `${key}!`))]));
  const request = field(1, [...part('a'), ...field(2, field(2, SPAN)), ...part('b')]);
  const { attributes } = theSpan(decodeBody(Uint8Array.from(request), 'protobuf')).resource;

  expect([attributes.get('a'), attributes.get('b')]).toEqual(['a!', 'b!']);
});

test('holds nothing for empty fields, however many', () => {
  const many = Array<number[]>(20_000).fill([0x0a, 0]).flat();

  expect(decodeBody(Uint8Array.from(many), 'protobuf').spans).toEqual([]);
  expect(decodeBody(Uint8Array.from(field(1, many)), 'protobuf').spans).toEqual([]);
});

test('finds no trace in protobuf of log records and refuses each', () => {
  // LogRecord: time_unix_nano = 1 (fixed64), body = 5 (AnyValue): a span without ids.
  const batch = decodeBody(bodyOf([...fixed64(1, 9), ...field(5, text(1, 'hello'))]), 'protobuf');

  expect(batch.rejections).toMatchObject([
    { reason: 'invalid_trace_id', spans: 1, detail: expect.stringContaining('16 bytes expected, got none') },
  ]);
});

test('keeps the good spans of a request with hex text in place of id bytes', () => {
  const batch = decodeBody(readFixture('cases/19-wrong-length-ids-in-protobuf/input.pb'), 'protobuf');

  expect(batch.spans).toHaveLength(4);
  expect(batch.rejections.map(({ spans }) => spans)).toEqual([1, 1]);
  expect(batch.rejections.map(({ detail }) => detail).join()).toContain('16 bytes expected, got 32');
});

test('reads fields in any order', () => {
  const forwards = theSpan(decodeBody(bodyOf([...SPAN, ...text(5, 'n'), ...attribute(text(1, 'v'))]), 'protobuf'));
  const backwards = theSpan(
    decodeBody(
      bodyOf([...attribute(text(1, 'v')), ...text(5, 'n'), ...fixed64(8, 2), ...fixed64(7, 1), ...IDS]),
      'protobuf',
    ),
  );

  expect(describeSpan(backwards)).toEqual(describeSpan(forwards));
});
