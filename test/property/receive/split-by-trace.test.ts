import fc from 'fast-check';
import { expect, test } from 'vitest';
import { corpusFolders, scenarios } from '../../support/corpus.js';
import { readFixture } from '../../support/fixture.js';
import { encodeOtlpJson, type OtlpJson } from '../../support/otlp-proto.js';
import { expectSplitLaws, filtered, parsedElsewhere } from './split-by-trace-laws.js';

const TRACES = [
  '5b8efff798038103d269b633813fc60c',
  'a0000000000000000000000000000001',
  '00000000000000000000000000000002',
];

const value = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((stringValue) => ({ stringValue })),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((int) => ({ intValue: int.toString() })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((doubleValue) => ({ doubleValue })),
  fc.array(fc.string()).map((texts) => ({ arrayValue: { values: texts.map((stringValue) => ({ stringValue })) } })),
);
const attributes = fc.array(fc.record({ key: fc.string(), value }), { maxLength: 3 });

const span = fc
  .record({
    traceId: fc.constantFrom(...TRACES),
    spanId: fc.constantFrom('eee19b7ec3c1b174', '0000000000000001'),
    name: fc.string({ unit: 'grapheme' }),
    attributes,
    times: fc.constant({ startTimeUnixNano: '1796020000000000000', endTimeUnixNano: '18446744073709551615' }),
    traceState: fc.string(),
    fault: fc.option(
      fc.constantFrom(
        { traceId: '' },
        { traceId: '0'.repeat(32) },
        { spanId: 'ab' },
        { startTimeUnixNano: '0', endTimeUnixNano: '0' },
      ),
      { nil: {}, freq: 8 },
    ),
  })
  .map(({ times, fault, ...rest }) => ({ ...rest, ...times, ...fault }));

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const spans = fc.array(span, { maxLength: 4 });
const scope = fc.record({ name: fc.string(), version: fc.string(), attributes });
const request: fc.Arbitrary<OtlpJson> = fc.record({
  resourceSpans: fc.array(
    fc.record({
      resource: optional(fc.record({ attributes, droppedAttributesCount: fc.nat() })),
      scopeSpans: fc.array(fc.record({ scope: optional(scope), spans, schemaUrl: optional(fc.string()) }), {
        maxLength: 3,
      }),
      instrumentationLibrarySpans: optional(fc.array(fc.record({ spans }), { maxLength: 2 })),
      schemaUrl: optional(fc.string()),
    }),
    { maxLength: 3 },
  ),
});

/** The same with a member that no reader knows in each message, and its members in another order. */
function withStrangers(message: OtlpJson, backwards: boolean): OtlpJson {
  if (Array.isArray(message)) return message.map((element) => withStrangers(element, backwards));
  if (typeof message !== 'object' || message === null) return message;
  const members = Object.entries(message as object).map(([name, member]) => [name, withStrangers(member, backwards)]);
  members.push(['later', { spans: ['}],"\\', [{}], -1e-3, null] }]);
  return Object.fromEntries(backwards ? members.reverse() : members);
}

function isUsable({ traceId, spanId, endTimeUnixNano }: OtlpJson): boolean {
  return TRACES.includes(traceId) && spanId.length === 16 && Number(endTimeUnixNano ?? 0) > 0;
}

test('a part of a JSON body holds what another parser finds of its trace, whatever the layout', () => {
  fc.assert(
    fc.property(request, fc.constantFrom(undefined, ' ', '\t'), fc.boolean(), (made, indent, backwards) => {
      const body = Buffer.from(JSON.stringify(withStrangers(made, backwards), null, indent));

      const split = expectSplitLaws(body, 'json');

      for (const [traceId, part] of split?.parts ?? []) {
        if (part.length === body.length) continue; // all of the body, groups without spans included
        const expected = filtered(parsedElsewhere(body, 'json'), (each) => isUsable(each) && each.traceId === traceId);
        expect(parsedElsewhere(part, 'json')).toEqual(expected);
      }
    }),
    { numRuns: 60 },
  );
});

test('a part of a protobuf body holds what another parser finds of its trace', () => {
  fc.assert(
    fc.property(request, (made) => {
      const body = encodeOtlpJson(made);

      const split = expectSplitLaws(body, 'protobuf');

      for (const [traceId, part] of split?.parts ?? []) {
        if (part.length === body.length) continue;
        const id = Buffer.from(traceId, 'hex').toString('base64');
        const expected = filtered(
          parsedElsewhere(body, 'protobuf'),
          (each) => each.traceId === id && isUsable({ ...each, traceId, spanId: hexOfBase64(each.spanId) }),
        );
        expect(parsedElsewhere(part, 'protobuf')).toEqual(expected);
      }
    }),
    { numRuns: 60 },
  );
});

function hexOfBase64(text = ''): string {
  return Buffer.from(text, 'base64').toString('hex');
}

test('every recorded payload is cut by trace without a loss, in both encodings', () => {
  let bodies = 0;
  for (const folder of corpusFolders()) {
    for (const scenario of scenarios(folder)) {
      const json = readFixture(`corpus/${folder}/${scenario}.otlp.json`);
      const split = expectSplitLaws(json, 'json');
      expect(split?.rejections).toEqual([]);

      const protobuf = expectSplitLaws(encodeOtlpJson(JSON.parse(json.toString('utf8'))), 'protobuf');
      expect([...(protobuf?.parts.keys() ?? [])]).toEqual([...(split?.parts.keys() ?? [])]);
      bodies++;
    }
  }
  expect(bodies).toBeGreaterThan(200);
});

test('two bodies in one are split into the parts of both', () => {
  fc.assert(
    fc.property(request, request, (one, other) => {
      // Protobuf messages that stand one behind the other are one message.
      const bodies = [encodeOtlpJson(one), encodeOtlpJson(other)];

      const both = expectSplitLaws(Buffer.concat(bodies), 'protobuf');

      const ids = bodies.flatMap((body) => [...(expectSplitLaws(body, 'protobuf')?.parts.keys() ?? [])]);
      expect(new Set(both?.parts.keys())).toEqual(new Set(ids));
    }),
    { numRuns: 60 },
  );
});
