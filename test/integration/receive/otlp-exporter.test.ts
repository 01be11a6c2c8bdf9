import { context, propagation, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { afterEach, expect, test } from 'vitest';
import type { Outcome } from '../../../src/model/outcome.js';
import { startServer, type Running } from '../../support/otlp-http.js';

let one: Running | undefined;

afterEach(async () => {
  await one?.server.close(0);
});

/** Sends spans with the SDK, set up by its environment variables as users do it. */
async function sendSpans(url: string, protocol: string, compression: string, count: number): Promise<void> {
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_COMPRESSION: compression,
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  });
  const sdk = new NodeSDK({ autoDetectResources: false });
  sdk.start();
  const tracer = trace.getTracer('test');
  for (let i = 0; i < count; i++) tracer.startSpan(`span ${i}`).end();
  await sdk.shutdown();
  for (const api of [trace, context, propagation]) api.disable();
}

test.each([
  ['http/json', 'none'],
  ['http/json', 'gzip'],
  ['http/protobuf', 'none'],
  ['http/protobuf', 'gzip'],
])('a real exporter (%s, compression %s) that meets 503 first delivers everything', async (protocol, compression) => {
  // Once before the body is read, and once when it could not be stored.
  const refusals: Outcome[] = [
    { status: 'retryable', cause: new Error('store takes no rows') },
    { status: 'ok' },
    { status: 'retryable', cause: new Error('disk full') },
  ];
  const appended: string[] = [];
  one = await startServer(
    {},
    {
      accepting: () => refusals.shift() ?? { status: 'ok' },
      append: ({ batch }) => {
        const refusal = refusals.shift();
        if (refusal) return Promise.resolve(refusal);
        appended.push(...batch.spans.map((span) => span.name));
        return Promise.resolve({ status: 'ok' });
      },
    },
  );

  await sendSpans(one.url, protocol, compression, 100);

  expect(appended.toSorted()).toEqual(Array.from({ length: 100 }, (_, i) => `span ${i}`).toSorted());
  expect(one.events.map(([name, event]) => [name, event.status ?? event.spans])).toEqual([
    ['requestRefused', 503],
    ['requestRefused', 503],
    ['requestAccepted', 100],
  ]);
  const encoding = protocol === 'http/json' ? 'json' : 'protobuf';
  expect(one.events.at(-1)![1]).toMatchObject({ encoding });
});
