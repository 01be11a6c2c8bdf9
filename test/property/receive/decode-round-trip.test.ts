import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBody, describeSpan } from '../../support/decoding.js';
import { encodeRequest } from '../../support/otlp-proto.js';

/** An AnyValue as protobufjs takes it, as OTLP/JSON has it, and what it means by the table of the model. */
interface Value {
  readonly proto: object;
  readonly json: object;
  readonly meaning: unknown;
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '__proto__', 'a'.repeat(60)),
);
const key = fc.oneof(fc.constantFrom('a', 'b', 'gen_ai.operation.name', '__proto__', 'toString', '0'), text);

const leaf: fc.Arbitrary<Value> = fc.oneof(
  text.map((stringValue) => ({ proto: { stringValue }, json: { stringValue }, meaning: stringValue })),
  fc.boolean().map((boolValue) => ({ proto: { boolValue }, json: { boolValue }, meaning: boolValue })),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((int) => ({
    proto: { intValue: int.toString() },
    json: { intValue: int.toString() },
    meaning: int >= -MAX_SAFE && int <= MAX_SAFE ? Number(int) : int.toString(),
  })),
  fc.double().map((doubleValue) => ({
    proto: { doubleValue },
    json: { doubleValue: Number.isFinite(doubleValue) ? doubleValue : String(doubleValue) },
    // JSON.stringify writes -0 as 0.
    meaning: Number.isFinite(doubleValue) ? doubleValue : String(doubleValue),
  })),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => {
    const base64 = Buffer.from(bytes).toString('base64');
    return { proto: { bytesValue: bytes }, json: { bytesValue: base64 }, meaning: base64 };
  }),
  fc.constant({ proto: {}, json: {}, meaning: null }),
);

const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }).map((values) => ({
      proto: { arrayValue: { values: values.map(({ proto }) => proto) } },
      json: { arrayValue: { values: values.map(({ json }) => json) } },
      meaning: values.map(({ meaning }) => meaning),
    })),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((members) => ({
      proto: { kvlistValue: { values: members.map(([name, { proto }]) => ({ key: name, value: proto })) } },
      json: { kvlistValue: { values: members.map(([name, { json }]) => ({ key: name, value: json })) } },
      meaning: asObject(members.map(([name, { meaning }]) => [name, meaning])),
    })),
  ),
}));

/** Own members only, the last of a name: also of `__proto__`. */
function asObject(members: [string, unknown][]): object {
  const object = {};
  for (const [name, member] of members) {
    Object.defineProperty(object, name, { value: member, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

const attributes = fc.array(fc.tuple(key, value), { maxLength: 20 }).map((members) => {
  const meaning = new Map<string, unknown>();
  for (const [name, member] of members) meaning.set(name, member.meaning);
  return {
    proto: members.map(([name, { proto }]) => ({ key: name, value: proto })),
    json: members.map(([name, { json }]) => ({ key: name, value: json })),
    meaning: [...meaning],
  };
});

const idOf = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).filter((id) => id.some((byte) => byte !== 0));
const nanos = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const span = fc
  .record({
    traceId: idOf(16),
    spanId: idOf(8),
    parentSpanId: fc.option(idOf(8), { nil: undefined }),
    name: text,
    kind: fc.constantFrom(0, 1, 2, 3, 4, 5),
    start: nanos,
    end: fc.oneof(nanos, fc.constant(0n)),
    attributes,
    droppedAttributesCount: fc.nat({ max: 2 ** 32 - 1 }),
    events: fc.array(fc.record({ time: nanos, name: text, attributes }), { maxLength: 3 }),
    links: fc.array(fc.record({ traceId: idOf(16), spanId: idOf(8) }), { maxLength: 3 }),
    code: fc.constantFrom(0, 1, 2),
    message: text,
    remote: fc.constantFrom(undefined, false, true),
  })
  .map((made) => {
    const flags = made.remote === undefined ? 1 : made.remote ? 0x301 : 0x101;
    const { name, kind, droppedAttributesCount } = made;
    const common = { name, kind, droppedAttributesCount, flags, status: { code: made.code, message: made.message } };
    return {
      proto: {
        ...common,
        traceId: made.traceId,
        spanId: made.spanId,
        ...(made.parentSpanId && { parentSpanId: made.parentSpanId }),
        startTimeUnixNano: made.start.toString(),
        endTimeUnixNano: made.end.toString(),
        attributes: made.attributes.proto,
        events: made.events.map((event) => ({
          timeUnixNano: event.time.toString(),
          name: event.name,
          attributes: event.attributes.proto,
        })),
        links: made.links,
      },
      json: {
        ...common,
        traceId: hex(made.traceId),
        spanId: hex(made.spanId).toUpperCase(),
        ...(made.parentSpanId && { parentSpanId: hex(made.parentSpanId) }),
        startTimeUnixNano: made.start.toString(),
        endTimeUnixNano: made.end.toString(),
        attributes: made.attributes.json,
        events: made.events.map((event) => ({
          timeUnixNano: event.time.toString(),
          name: event.name,
          attributes: event.attributes.json,
        })),
        links: made.links.map((link) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
      },
      meaning: {
        traceId: hex(made.traceId),
        spanId: hex(made.spanId),
        parentSpanId: made.parentSpanId && hex(made.parentSpanId),
        parentIsRemote: made.remote,
        name,
        kind,
        start: made.start,
        end: made.end,
        statusCode: made.code,
        statusMessage: made.message,
        attributes: made.attributes.meaning,
        events: made.events.map((event) => [event.name, event.time, event.attributes.meaning]),
        links: made.links.map((link) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
        droppedAttributes: droppedAttributesCount,
      },
    };
  });

const request = fc
  .array(
    fc.record({
      resource: attributes,
      scopes: fc.array(fc.record({ name: text, version: text, spans: fc.array(span, { maxLength: 4 }) }), {
        maxLength: 3,
      }),
    }),
    { maxLength: 2 },
  )
  .map((groups) => {
    const encode = (as: 'proto' | 'json') => ({
      resourceSpans: groups.map(({ resource, scopes }) => ({
        resource: { attributes: resource[as] },
        scopeSpans: scopes.map(({ name, version, spans }) => ({
          scope: { name, version },
          spans: spans.map((made) => made[as]),
        })),
      })),
    });
    return {
      proto: encode('proto'),
      json: encode('json'),
      meaning: groups.flatMap(({ resource, scopes }) =>
        scopes.flatMap(({ name, version, spans }) =>
          spans.map(({ meaning }) => ({ ...meaning, resource: resource.meaning, scope: [name, version] })),
        ),
      ),
    };
  });

test('reads back every request that protobufjs encodes', () => {
  fc.assert(
    fc.property(request, ({ proto, meaning }) => {
      const batch = decodeBody(encodeRequest(proto), 'protobuf');

      expect(batch.rejections).toEqual([]);
      expect(batch.spans.map(describeSpan)).toEqual(meaning);
      expect(batch.spans.map((decoded) => describeSpan(decoded.compact()))).toEqual(meaning);
    }),
    { numRuns: 150 },
  );
});

test('reads back every request that JSON.stringify writes, in any layout', () => {
  fc.assert(
    fc.property(request, fc.constantFrom(undefined, 1, '\t'), ({ json, meaning }, indent) => {
      const batch = decodeBody(Buffer.from(JSON.stringify(json, null, indent)), 'json');

      expect(batch.rejections).toEqual([]);
      expect(batch.leniencies).toEqual({});
      // JSON.stringify writes -0 as 0, so both sides are compared without the sign of zero.
      expect(unsignedZeros(batch.spans.map(describeSpan))).toEqual(unsignedZeros(meaning));
      expect(unsignedZeros(batch.spans.map((decoded) => describeSpan(decoded.compact())))).toEqual(
        unsignedZeros(meaning),
      );
    }),
    { numRuns: 150 },
  );
});

function unsignedZeros(described: unknown): unknown {
  if (Array.isArray(described)) return described.map(unsignedZeros);
  if (typeof described === 'object' && described !== null) {
    return asObject(Object.entries(described).map(([name, member]) => [name, unsignedZeros(member)]));
  }
  return described === 0 ? 0 : described;
}

type ReadableSpan = Parameters<(typeof JsonTraceSerializer)['serializeRequest']>[0][number];

const scalar = fc.oneof(
  text,
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
);
const sdkAttributes = fc.dictionary(
  fc.string({ unit: 'grapheme', minLength: 1 }),
  fc.oneof(scalar, fc.array(text, { maxLength: 3 })),
  { noNullPrototype: true, maxKeys: 8 },
);

test('reads the same from both serializers of the OpenTelemetry SDK', () => {
  const sdkSpan = fc.record({
    traceId: idOf(16).map(hex),
    spanId: idOf(8).map(hex),
    parentId: idOf(8).map(hex),
    name: text,
    attributes: sdkAttributes,
    isRemote: fc.boolean(),
    seconds: fc.nat({ max: 2 ** 31 - 1 }),
    nanos: fc.integer({ min: 1, max: 999_999_999 }),
  });
  fc.assert(
    fc.property(fc.array(sdkSpan, { minLength: 1, maxLength: 4 }), (made) => {
      const resource = { attributes: { 'service.name': 'shop' }, asyncAttributesPending: false };
      const instrumentationScope = { name: 'lib', version: '1' };
      const spans = made.map(
        ({ traceId, spanId, parentId, name, attributes: given, isRemote, seconds, nanos: rest }) =>
          ({
            name,
            kind: SpanKind.CLIENT,
            spanContext: () => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED }),
            parentSpanContext: { traceId, spanId: parentId, traceFlags: TraceFlags.SAMPLED, isRemote },
            startTime: [seconds, rest],
            endTime: [seconds + 1, rest],
            status: { code: SpanStatusCode.ERROR, message: 'broken' },
            attributes: given,
            links: [{ context: { traceId, spanId, traceFlags: 1 }, attributes: {} }],
            events: [{ name: 'e', time: [seconds, rest], attributes: given }],
            duration: [1, 0],
            ended: true,
            resource,
            instrumentationScope,
            droppedAttributesCount: 3,
            droppedEventsCount: 0,
            droppedLinksCount: 0,
          }) as unknown as ReadableSpan,
      );
      const meaning = made.map(
        ({ traceId, spanId, parentId, name, attributes: given, isRemote, seconds, nanos: rest }) => ({
          traceId,
          spanId,
          parentSpanId: parentId,
          parentIsRemote: isRemote,
          name,
          kind: 3,
          start: BigInt(seconds) * 1_000_000_000n + BigInt(rest),
          end: BigInt(seconds + 1) * 1_000_000_000n + BigInt(rest),
          statusCode: 2,
          statusMessage: 'broken',
          attributes: Object.entries(given),
          events: [['e', BigInt(seconds) * 1_000_000_000n + BigInt(rest), Object.entries(given)]],
          links: [{ traceId, spanId }],
          droppedAttributes: 3,
          resource: [['service.name', 'shop']],
          scope: ['lib', '1'],
        }),
      );

      const protobuf = decodeBody(ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array(), 'protobuf');
      const json = decodeBody(JsonTraceSerializer.serializeRequest(spans) ?? new Uint8Array(), 'json');

      expect(unsignedZeros(protobuf.spans.map(describeSpan))).toEqual(unsignedZeros(meaning));
      expect(unsignedZeros(json.spans.map(describeSpan))).toEqual(unsignedZeros(meaning));
    }),
    { numRuns: 100 },
  );
});
