import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeTraces } from '../../../src/receive/decode.js';
import type { OtlpEncoding } from '../../../src/receive/decode.js';
import { describeSpan } from '../../support/decoding.js';
import { readFixture } from '../../support/fixture.js';
import { encodeOtlpJson } from '../../support/otlp-proto.js';

const SCENARIOS = ['a_single_tool', 'd_tool_error_retry', 'f_multi_turn'];
const PROTOBUF = [
  ...SCENARIOS.map((name) => readFixture(`corpus/genai-semconv/${name}.pb`)),
  ...SCENARIOS.map((name) =>
    encodeOtlpJson(JSON.parse(readFixture(`corpus/genai-semconv-structured/${name}.otlp.json`).toString('utf8'))),
  ),
];
const JSONS = ['openinference-openai', 'genai-semconv-structured'].flatMap((folder) =>
  SCENARIOS.map((name) => readFixture(`corpus/${folder}/${name}.otlp.json`)),
);

/** Reads all there is: any bytes have to give a value, and what is given has to be readable and well-formed. */
function exhaust(body: Uint8Array, encoding: OtlpEncoding): void {
  const result = decodeTraces(body, encoding);
  if (result.kind === 'malformed') {
    expect(result.rejection.detail).not.toBe('');
    return;
  }
  for (const span of result.batch.spans) {
    const described = describeSpan(span);
    expect(span.traceId).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
    expect(span.spanId).toMatch(/^(?!0+$)[0-9a-f]{16}$/);
    expect(span.startUnixNano > 0n).toBe(true);
    const text = JSON.stringify(described, (_, member: unknown) =>
      typeof member === 'bigint' ? member.toString() : member,
    );
    // JSON.stringify escapes half surrogate pairs.
    expect(/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text)).toBe(false);
    expect(describeSpan(span.compact())).toEqual(described);
  }
}

/** Changes that faulty senders, networks and attackers make: bytes set, cut out, doubled, or taken from elsewhere. */
const change = fc.record({
  kind: fc.constantFrom('set', 'remove', 'repeat', 'insert', 'cut'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 30 }),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
});

function mutate(body: Buffer, changes: readonly (typeof change extends fc.Arbitrary<infer C> ? C : never)[]): Buffer {
  let mutated = Buffer.from(body);
  for (const { kind, at, length, bytes } of changes) {
    const start = Math.floor(at * mutated.length);
    const [before, after] = [mutated.subarray(0, start), mutated.subarray(start)];
    if (kind === 'set') mutated = Buffer.concat([before, bytes, after.subarray(bytes.length)]);
    else if (kind === 'remove') mutated = Buffer.concat([before, after.subarray(length)]);
    else if (kind === 'repeat') mutated = Buffer.concat([before, after.subarray(0, length), after]);
    else if (kind === 'insert') mutated = Buffer.concat([before, bytes, after]);
    else if (changes.length === 1) mutated = Buffer.from(before);
  }
  return mutated;
}

const changes = fc.array(change, { minLength: 1, maxLength: 4 });

test('gives a value for any mutation of a recorded protobuf body', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PROTOBUF), changes, (body, made) => exhaust(mutate(body, made), 'protobuf')),
    { numRuns: 2_000 },
  );
});

test('gives a value for any mutation of a recorded JSON body', () => {
  fc.assert(
    fc.property(fc.constantFrom(...JSONS), changes, (body, made) => exhaust(mutate(body, made), 'json')),
    { numRuns: 2_000 },
  );
});

test('gives a value for JSON whose tokens were exchanged', () => {
  const token = fc.constantFrom(
    'null',
    '{}',
    '[]',
    '""',
    '0',
    '-1',
    '1e400',
    'true',
    '{"a":[{}]}',
    '"\\ud800"',
    'NaN',
    '"9".',
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...JSONS),
      fc.array(fc.tuple(fc.nat(), token), { minLength: 1, maxLength: 3 }),
      (body, edits) => {
        let text = body.toString('utf8');
        for (const [choice, replacement] of edits) {
          const tokens = [...text.matchAll(/"(?:[^"\\]|\\.)*"(?!:)|\d+|\{\}|\[\]/g)];
          const chosen = tokens[choice % tokens.length];
          if (chosen === undefined) continue;
          text = text.slice(0, chosen.index) + replacement + text.slice(chosen.index + chosen[0].length);
        }
        exhaust(Buffer.from(text), 'json');
      },
    ),
    { numRuns: 500 },
  );
});

test('gives a value for any bytes at all', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom('protobuf', 'json'), (body, encoding) => {
      exhaust(body, encoding);
    }),
    { numRuns: 5_000 },
  );
});

test('agrees with JSON.parse on what is JSON', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '1',
    '-',
    '0',
    '.',
    'e',
    '+',
    ' ',
    '\n',
    'true',
    'null',
    '\\',
    '\\u',
    '00e9',
    '\t',
    '{"a":',
    'é',
  );
  const soup = fc.array(piece, { maxLength: 12 }).map((pieces) => `{"x":${pieces.join('')}}`);
  const valid = fc.json().map((value) => `{"x":${value}}`);
  fc.assert(
    fc.property(fc.oneof(soup, valid), (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(decodeTraces(Buffer.from(text), 'json').kind).toBe(isJson ? 'decoded' : 'malformed');
    }),
    { numRuns: 5_000 },
  );
});

test('needs time and memory in proportion to the bytes of hostile bodies', () => {
  const hostile: [OtlpEncoding, Buffer][] = [
    ['protobuf', Buffer.alloc(4_000_000, Buffer.from([0x0a, 0x00]))], // two million empty resources
    ['protobuf', nest(Buffer.alloc(2_000_000, Buffer.from([0x12, 0x00])))], // a million empty spans
    ['protobuf', Buffer.alloc(1_000_000, 0x0b)], // groups in groups
    ['json', Buffer.from(`{"resourceSpans":[${'{},'.repeat(500_000)}{}]}`)],
    ['json', Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(500_000)}{}]}]}]}`)],
    ['json', Buffer.from(`{"resourceSpans":[${'['.repeat(1_000_000)}`)],
    ['json', Buffer.from(`{"a":"${'\\u0041'.repeat(500_000)}`)],
  ];
  for (const [encoding, body] of hostile) {
    const before = process.memoryUsage().heapUsed;
    const result = decodeTraces(body, encoding);
    const grown = process.memoryUsage().heapUsed - before;

    if (result.kind === 'decoded') expect(result.batch.rejections.length).toBeLessThanOrEqual(51);
    expect(grown).toBeLessThan(500_000_000);
  }
});

/** The bytes as the spans of one request. */
function nest(spans: Buffer): Buffer {
  const field = (tag: number, payload: Buffer): Buffer => {
    const length: number[] = [];
    let rest = payload.length;
    for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
    return Buffer.concat([Buffer.from([tag, ...length, rest]), payload]);
  };
  return field(0x0a, field(0x12, spans));
}
