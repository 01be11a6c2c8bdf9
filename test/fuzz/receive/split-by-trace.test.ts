import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitByTrace } from '../../../src/receive/split-by-trace.js';
import { readFixture } from '../../support/fixture.js';
import { encodeOtlpJson, type OtlpJson } from '../../support/otlp-proto.js';
import { expectSplitLaws } from '../../property/receive/split-by-trace-laws.js';

const REQUESTS = ['genai-semconv-structured', 'openinference-openai'].map((folder): OtlpJson => {
  const recorded: OtlpJson[] = ['a_single_tool', 'd_tool_error_retry', 'e_no_tools'].map((scenario) =>
    JSON.parse(readFixture(`corpus/${folder}/${scenario}.otlp.json`).toString('utf8')),
  );
  return { resourceSpans: recorded.flatMap(({ resourceSpans }) => resourceSpans) };
});
const BODIES = REQUESTS.flatMap((request) => [
  { encoding: 'json' as const, body: Buffer.from(JSON.stringify(request)) },
  { encoding: 'protobuf' as const, body: encodeOtlpJson(request) },
]);
const recordedBody = fc.constantFrom(...BODIES);

const place = fc.double({ min: 0, max: 1, noNaN: true });
/** What faulty senders and networks do to bytes: `removed` of them are gone, and others stand there. */
const damage = fc.record({
  place,
  removed: fc.integer({ min: 0, max: 20 }),
  inserted: fc.uint8Array({ maxLength: 6 }),
});

test('the recorded bodies have several traces each', () => {
  for (const { body, encoding } of BODIES) expect(expectSplitLaws(body, encoding)?.parts.size).toBeGreaterThan(2);
});

test('keeps its promises for damaged bodies', () => {
  fc.assert(
    fc.property(recordedBody, fc.array(damage, { minLength: 1, maxLength: 3 }), ({ body, encoding }, damages) => {
      let damaged: Buffer = body;
      for (const { place: at, removed, inserted } of damages) {
        const start = Math.floor(at * damaged.length);
        damaged = Buffer.concat([damaged.subarray(0, start), inserted, damaged.subarray(start + removed)]);
      }

      expectSplitLaws(damaged, encoding);
    }),
    { numRuns: 500 },
  );
});

test('keeps its promises for one wrong byte', () => {
  fc.assert(
    fc.property(recordedBody, place, fc.nat({ max: 255 }), ({ body, encoding }, at, byte) => {
      const damaged = Buffer.from(body);
      damaged[Math.floor(at * (damaged.length - 1))] = byte;

      expectSplitLaws(damaged, encoding);
    }),
    { numRuns: 500 },
  );
});

test('keeps its promises for bodies that were cut off', () => {
  fc.assert(
    fc.property(recordedBody, place, ({ body, encoding }, at) => {
      expectSplitLaws(body.subarray(0, Math.floor(at * body.length)), encoding);
    }),
    { numRuns: 500 },
  );
});

test('gives a value for any bytes at all', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom('protobuf' as const, 'json' as const),
      (body, encoding) => {
        expectSplitLaws(body, encoding);
      },
    ),
    { numRuns: 2_000 },
  );
});

/** Small JSON, with and without sense, around the few names that matter. */
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 7, depthSize: 'medium' },
    fc.constantFrom(null, '', 0, '5b8efff798038103d269b633813fc60c', 'eee19b7ec3c1b174', '7'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom('resourceSpans', 'resource_spans', 'resource', 'scopeSpans', 'scope', 'spans', 'x'),
      tie('json'),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
}));
/** A span of one of three traces, anywhere in it. */
const traceId = fc.constantFrom('5b8efff798038103d269b633813fc60c', '5B8EFFF798038103D269B633813FC60D', '7'.repeat(32));
const jsonText = fc.record({ value: json, ids: fc.array(traceId, { maxLength: 6 }) }).map(({ value, ids }) => {
  const spans = ids.map((id) => `{"traceId":"${id}","spanId":"eee19b7ec3c1b174","startTimeUnixNano":1}`);
  const list = `{"spans":[${spans.slice(2).join(' , ')}],"spans":[null,${spans.slice(0, 2).join()}]}`.replace(
    ',]',
    ']',
  );
  return `{"resourceSpans":[{"scopeSpans":[${list},${JSON.stringify(value)}],"scope_spans":[${list}]}],"a":${JSON.stringify(value)},"resource_spans":null}`;
});

test('keeps its promises for JSON in which other things stand', () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      expectSplitLaws(Buffer.from(text), 'json');
    }),
    { numRuns: 500 },
  );
});

test('gives a value for JSON in which a list or an object stands where another is expected', () => {
  fc.assert(
    fc.property(json, (value) => {
      const body = Buffer.from(JSON.stringify({ resourceSpans: value }));

      expect(['split', 'malformed']).toContain(splitByTrace(body, 'json').kind);
    }),
    { numRuns: 300 },
  );
});
