import { expect, test } from 'vitest';
import { encodeStatus, encodeSuccess, partialSuccessOf } from '../../../src/receive/otlp-answer.js';
import { otlp } from '../../support/otlp-http.js';

function decode(type: string, bytes: Uint8Array): unknown {
  return otlp.lookupType(type).decode(bytes).toJSON();
}

test('whole success is the empty message', () => {
  expect(encodeSuccess('protobuf', undefined)).toHaveLength(0);
  expect(Buffer.from(encodeSuccess('json', undefined)).toString()).toBe('{}');
});

// The varint's length changes at 2^7, 2^14, ..., and at 2^32 for readers of 32 bits.
test.each([0, 1, 127, 128, 16_383, 16_384, 2 ** 32, 2 ** 53 - 1])('partial success carries %d rejected spans', (n) => {
  const partial = { rejectedSpans: n, errorMessage: 'größer' };

  const expected = { partialSuccess: { ...(n ? { rejectedSpans: String(n) } : {}), errorMessage: 'größer' } };
  expect(decode('ExportTraceServiceResponse', encodeSuccess('protobuf', partial))).toEqual(expected);
  expect(JSON.parse(Buffer.from(encodeSuccess('json', partial)).toString())).toEqual({
    partialSuccess: { rejectedSpans: String(n), errorMessage: 'größer' },
  });
});

test('a status carries code and message', () => {
  expect(decode('Status', encodeStatus('protobuf', 14, 'x'.repeat(200)))).toEqual({
    code: 14,
    message: 'x'.repeat(200),
  });
  expect(JSON.parse(Buffer.from(encodeStatus('json', 3, 'no "body"')).toString())).toEqual({
    code: 3,
    message: 'no "body"',
  });
});

test('a partial success sums the spans and stays short', () => {
  const rejections = Array.from({ length: 1000 }, (_, i) => ({
    reason: 'malformed_span' as const,
    detail: `spans[${i}]: ${'x'.repeat(10_000)}`,
    spans: 2,
  }));

  const partial = partialSuccessOf(rejections)!;

  expect(partial.rejectedSpans).toBe(2000);
  expect(partial.errorMessage).toContain('spans[0]');
  expect(partial.errorMessage).toContain('and 995 more');
  expect(partial.errorMessage.length).toBeLessThan(2000);
  expect(partialSuccessOf([])).toBeUndefined();
});
