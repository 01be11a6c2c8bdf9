import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { trace } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { SELF_ATTRIBUTE, SELF_SCOPE, startSelfTracing } from '../../../src/telemetry/self-tracing.js';

test('sends our own spans, marked as ours, to the endpoint and nothing to anywhere else', async () => {
  const requests: { url: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ url: request.url, body: Buffer.concat(chunks).toString('utf8') });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const tracing = await startSelfTracing({ endpoint: `http://127.0.0.1:${port}/v1/traces`, version: '1.2.3' });
  trace.getTracer(SELF_SCOPE).startSpan('store').end();
  await tracing.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));

  expect(requests.map(({ url }) => url)).toEqual(['/v1/traces']);
  expect(requests[0]?.body).toContain(SELF_ATTRIBUTE);
  expect(requests[0]?.body).toContain('store');
});

test('stops without a fault when the endpoint is not there', async () => {
  const tracing = await startSelfTracing({ endpoint: 'http://127.0.0.1:9/v1/traces', version: '1.2.3' });
  trace.getTracer(SELF_SCOPE).startSpan('store').end();

  await expect(tracing.stop()).resolves.toBeUndefined();
});
