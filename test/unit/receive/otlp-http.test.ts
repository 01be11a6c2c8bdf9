import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/model/outcome.js';
import {
  otlpHttpFaults,
  startOtlpHttp,
  type OtlpHttpConfig,
  type OtlpHttpDeps,
} from '../../../src/receive/otlp-http.js';
import { freePort, jsonBody, otlp, protobufBody, startServer, type Running } from '../../support/otlp-http.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const PROTOBUF_TYPE = { 'content-type': 'application/x-protobuf' };
const OK: Outcome = { status: 'ok' };

const running: Running[] = [];

async function start(config: Partial<OtlpHttpConfig> = {}, deps: Partial<OtlpHttpDeps> = {}): Promise<Running> {
  const one = await startServer(config, deps);
  running.push(one);
  return one;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.server.close(0)));
});

function post(
  { url }: Running,
  body: Uint8Array,
  headers: Record<string, string> = JSON_TYPE,
  path = '/v1/traces',
): Promise<Response> {
  return fetch(url + path, { method: 'POST', body: Buffer.from(body), headers });
}

async function statusOf(response: Response): Promise<unknown> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  return otlp.lookupType('Status').decode(bytes).toJSON();
}

describe('a request that is right', () => {
  test('in JSON gets 200 and an empty object, after its spans were appended', async () => {
    const one = await start();

    const response = await post(one, jsonBody(3));

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.text()).toBe('{}');
    expect(one.appended).toHaveLength(1);
    expect(one.appended[0]).toMatchObject({ encoding: 'json', receivedAtMs: 1_796_020_000_000 });
    expect(Buffer.from(one.appended[0]!.body)).toEqual(jsonBody(3));
    expect(one.appended[0]!.batch.spans).toHaveLength(3);
    expect(one.events).toEqual([
      ['requestAccepted', { spans: 3, rejectedSpans: 0, bytes: jsonBody(3).length, encoding: 'json', leniencies: {} }],
    ]);
  });

  test.each(['application/x-protobuf', 'application/protobuf'])(
    'in %s gets an empty message of that type',
    async (type) => {
      const one = await start();

      const response = await post(one, protobufBody(2), { 'content-type': type });

      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe(type);
      expect(await response.arrayBuffer()).toHaveProperty('byteLength', 0);
      expect(one.appended[0]!.batch.spans).toHaveLength(2);
    },
  );

  test('is known by its media type alone, in any case and with parameters', async () => {
    const one = await start();

    const response = await post(one, jsonBody(1), { 'content-type': 'Application/JSON; charset=utf-8' });

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({});
  });

  test.each(['/v1/traces?a=b', '/v1/traces/', '/some/prefix/v1/traces'])('is read at %s', async (path) => {
    const one = await start();

    expect((await post(one, jsonBody(1), JSON_TYPE, path)).status).toBe(200);
    expect(one.appended).toHaveLength(1);
  });

  test('is not answered before append has resolved', async () => {
    const order: string[] = [];
    let store: ((outcome: Outcome) => void) | undefined;
    const appending = new Promise<void>((begun) => {
      void start(
        {},
        {
          append: () => {
            begun();
            return new Promise((resolve) => (store = resolve));
          },
        },
      );
    });
    while (!running[0]) await new Promise(setImmediate);
    const answered = post(running[0], jsonBody(1)).then((response) => order.push(`answered ${response.status}`));
    await appending;

    order.push('stored');
    store!(OK);
    await answered;

    expect(order).toEqual(['stored', 'answered 200']);
  });

  test('sent twice is accepted twice', async () => {
    const one = await start();

    const [first, second] = await Promise.all([post(one, jsonBody(2)), post(one, jsonBody(2))]);

    expect([first.status, second.status]).toEqual([200, 200]);
    expect(one.appended).toHaveLength(2);
    expect(one.appended[0]!.body).toEqual(one.appended[1]!.body);
  });

  test('without spans is accepted and not stored: zero bytes of protobuf, an empty object of JSON', async () => {
    const one = await start();

    expect((await post(one, new Uint8Array(0), PROTOBUF_TYPE)).status).toBe(200);
    expect((await post(one, Buffer.from('{}'))).status).toBe(200);
    expect(one.appended).toHaveLength(0);
  });
});

describe('content codings', () => {
  test('gzip and both flavours of deflate are read', async () => {
    const one = await start();
    const plain = jsonBody(5);

    for (const [coding, body] of [
      ['gzip', gzipSync(plain)],
      ['x-gzip', gzipSync(plain)],
      ['GZIP', gzipSync(plain)],
      ['deflate', deflateSync(plain)],
      ['deflate', deflateRawSync(plain)],
      ['deflate', deflateRawSync(plain, { level: 0 })],
      ['deflate', deflateRawSync(plain, { strategy: constants.Z_FIXED })],
      ['identity', plain],
    ] as const) {
      const response = await post(one, body, { ...JSON_TYPE, 'content-encoding': coding });
      expect(response.status, coding).toBe(200);
      expect(Buffer.from(one.appended.pop()!.body)).toEqual(plain);
    }
  });

  test('what another program compressed with deflate is read', async () => {
    const one = await start();
    const fixture = (name: string) => readFileSync(new URL(`../../fixtures/receive/deflate/${name}`, import.meta.url));

    for (const name of ['body.zlib', 'body.rawdeflate']) {
      const response = await post(one, fixture(name), { ...JSON_TYPE, 'content-encoding': 'deflate' });
      expect(response.status, name).toBe(200);
      expect(JSON.parse(Buffer.from(one.appended.pop()!.body).toString())).toEqual(
        JSON.parse(fixture('input.otlp.json').toString()),
      );
    }
  });

  test.each(['br', 'zstd', 'gzip, gzip'])('%s gets 415 and is told what is read', async (coding) => {
    const one = await start();

    const response = await post(one, jsonBody(1), { ...JSON_TYPE, 'content-encoding': coding });

    expect(response.status).toBe(415);
    expect(response.headers.get('accept-encoding')).toBe('gzip, deflate');
    expect(await response.json()).toMatchObject({ code: 3, message: expect.stringContaining('gzip') });
  });

  test.each(['gzip', 'deflate'])('a body that is no %s, or half of it, gets 400', async (coding) => {
    const one = await start();
    const compressed = coding === 'gzip' ? gzipSync(jsonBody(50)) : deflateSync(jsonBody(50));

    for (const body of [jsonBody(1), compressed.subarray(0, compressed.length - 20)]) {
      const response = await post(one, body, { ...JSON_TYPE, 'content-encoding': coding });
      expect(response.status).toBe(400);
    }
    expect(one.appended).toHaveLength(0);
    expect(one.events.filter(([name]) => name === 'spanRejected')).toHaveLength(2);
  });
});

describe('a request that its sender must mend', () => {
  test.each(['text/plain', 'application/octet-stream', 'application/jsonx', 'json'])(
    'of type %s gets 415 naming the supported types, in JSON',
    async (type) => {
      const one = await start();

      const response = await post(one, jsonBody(1), { 'content-type': type });

      expect(response.status).toBe(415);
      expect(response.headers.get('content-type')).toBe('application/json');
      const status = await response.json();
      expect(status).toEqual({ code: 3, message: expect.any(String) });
      expect((status as { message: string }).message).toMatch(/application\/x-protobuf.*application\/json/);
      expect(one.appended).toHaveLength(0);
      expect(one.events.map(([name]) => name)).toEqual(['spanRejected', 'requestRefused']);
    },
  );

  test('without a type gets 415', async () => {
    const one = await start();

    expect((await post(one, jsonBody(1), {})).status).toBe(415);
  });

  test('that cannot be decoded gets 400 with a Status in its own encoding, and shows on our side', async () => {
    const one = await start();

    const json = await post(one, Buffer.from('{"resourceSpans":['));
    const protobuf = await post(one, protobufBody(3).subarray(0, 50), PROTOBUF_TYPE);

    expect(json.status).toBe(400);
    expect(json.headers.get('content-type')).toBe('application/json');
    expect(await json.json()).toEqual({ code: 3, message: expect.any(String) });
    expect(protobuf.status).toBe(400);
    expect(protobuf.headers.get('content-type')).toBe('application/x-protobuf');
    expect(await statusOf(protobuf)).toEqual({ code: 3, message: expect.any(String) });
    expect(one.events.filter(([name]) => name === 'spanRejected').map(([, r]) => r.reason)).toEqual([
      'malformed_body',
      'malformed_body',
    ]);
  });

  test('of zero bytes in JSON gets 400: nothing is no JSON text', async () => {
    const one = await start();

    expect((await post(one, new Uint8Array(0))).status).toBe(400);
  });

  test('with bad spans among good ones gets 200 with a partial success in its own encoding', async () => {
    const one = await start();

    const json = await post(one, jsonBody(4, 1));
    const protobuf = await post(one, protobufBody(4, 2), PROTOBUF_TYPE);

    expect(json.status).toBe(200);
    expect(await json.json()).toEqual({
      partialSuccess: { rejectedSpans: '1', errorMessage: expect.stringContaining('spans[4]') },
    });
    expect(protobuf.status).toBe(200);
    const type = otlp.lookupType('ExportTraceServiceResponse');
    expect(type.decode(new Uint8Array(await protobuf.arrayBuffer())).toJSON()).toEqual({
      partialSuccess: { rejectedSpans: '2', errorMessage: expect.stringContaining('spans[5]') },
    });
    expect(one.appended.map((entry) => entry.batch.spans.length)).toEqual([4, 4]);
    expect(one.events.filter(([name]) => name === 'spanRejected')).toHaveLength(3);
  });

  test('with another method gets 405 and is told which', async () => {
    const one = await start();

    for (const [method, path, allow] of [
      ['GET', '/v1/traces', 'POST'],
      ['PUT', '/v1/traces', 'POST'],
      ['OPTIONS', '/v1/traces', 'POST'],
      ['POST', '/healthz', 'GET, HEAD'],
    ] as const) {
      const response = await fetch(one.url + path, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
    }
  });

  test('with logs or metrics gets 404, which is not retried, and is told that only traces are read', async () => {
    const one = await start();

    const logs = await post(one, Buffer.from('{"resourceLogs":[]}'), JSON_TYPE, '/v1/logs');
    const metrics = await post(one, new Uint8Array(9), PROTOBUF_TYPE, '/v1/metrics');

    expect(logs.status).toBe(404);
    expect(await logs.json()).toMatchObject({ code: 12, message: expect.stringContaining('logs are not read') });
    expect(metrics.status).toBe(404);
    expect(await statusOf(metrics)).toMatchObject({ code: 12, message: expect.stringContaining('/v1/traces') });
    expect(one.events.map(([, event]) => event.reason)).toEqual(['logs_not_read', 'metrics_not_read']);
  });

  test('anywhere else gets 404', async () => {
    const one = await start();

    expect((await post(one, jsonBody(1), JSON_TYPE, '/v1/tracesx')).status).toBe(404);
    expect((await fetch(one.url + '/')).status).toBe(404);
  });
});

describe('limits', () => {
  const limited = { maxBodyBytes: 1_000_000 };

  test('a body over the limit gets 413, stated or chunked; one at the limit is read', async () => {
    const one = await start(limited);
    const over = Buffer.from('{}'.padEnd(1_000_001));

    const stated = await post(one, over);
    const chunked = await fetch(`${one.url}/v1/traces`, {
      method: 'POST',
      body: Readable.toWeb(Readable.from([over.subarray(0, 700_000), over.subarray(700_000)])),
      headers: JSON_TYPE,
      duplex: 'half',
    });
    const at = await post(one, over.subarray(0, -1));

    expect([stated.status, chunked.status, at.status]).toEqual([413, 413, 200]);
    expect(await stated.json()).toMatchObject({ code: 3, message: expect.stringContaining('1000000') });
  });

  test('a body that is small on the wire and large unpacked gets 413', async () => {
    const one = await start(limited);
    const body = gzipSync(Buffer.alloc(1_000_001, 0x20));

    expect(body.length).toBeLessThan(2_000);
    expect((await post(one, body, { ...JSON_TYPE, 'content-encoding': 'gzip' })).status).toBe(413);
  });

  test('a bomb of 1 GiB is not unpacked beyond the limit', async () => {
    const one = await start({ maxBodyBytes: 2_000_000 });
    // Members of a gzip file may follow each other (RFC 1952 2.2).
    const bomb = Buffer.concat(Array<Buffer>(1024).fill(gzipSync(Buffer.alloc(1024 * 1024))));
    expect(bomb.length).toBeLessThan(2_000_000);
    const before = process.memoryUsage().rss;

    const response = await post(one, bomb, { ...JSON_TYPE, 'content-encoding': 'gzip' });

    expect(response.status).toBe(413);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    const [, refused] = one.events.at(-1)!;
    expect(refused).toMatchObject({ status: 413, reason: 'too_large' });
    // It stopped within one chunk of zlib's output of the limit.
    expect(refused.bytes).toBeGreaterThan(2_000_000 - 64 * 1024);
    expect(refused.bytes).toBeLessThanOrEqual(2_000_000);
  });

  test('bodies in flight over all requests are bounded: 503, and room again afterwards', async () => {
    const stored: ((outcome: Outcome) => void)[] = [];
    let isSecond: () => void;
    const appending = new Promise<void>((resolve) => (isSecond = resolve));
    const body = jsonBody(100);
    const one = await start(
      { maxInFlightBytes: body.length * 2 },
      {
        append: () =>
          new Promise((resolve) => {
            if (stored.push(resolve) === 2) isSecond();
          }),
      },
    );
    const held = [post(one, body), post(one, body)];
    await appending;

    const third = await post(one, body);
    expect(third.status).toBe(503);
    expect(third.headers.get('retry-after')).toBe('1');

    for (const resolve of stored.splice(0)) resolve(OK);
    expect((await Promise.all(held)).map((response) => response.status)).toEqual([200, 200]);
    const again = post(one, body);
    await expect.poll(() => stored.length).toBe(1);
    stored[0]!(OK);
    expect((await again).status).toBe(200);
  });

  test('a body in chunks of one byte is read whole', async () => {
    const one = await start();
    const body = jsonBody(20);

    const status = await new Promise((resolve) => {
      const request = httpRequest(`${one.url}/v1/traces`, { method: 'POST', headers: JSON_TYPE }, (response) => {
        resolve(response.resume().statusCode);
      });
      for (const byte of body) request.write(Uint8Array.of(byte));
      request.end();
    });

    expect(status).toBe(200);
    expect(Buffer.from(one.appended[0]!.body)).toEqual(body);
  });
});

describe('our own trouble', () => {
  test('is 503 with Retry-After before the body is read when nothing can be accepted', async () => {
    const one = await start(
      {},
      {
        accepting: () => ({ status: 'retryable', afterMs: 2500, cause: new Error('disk /secret/place is full') }),
      },
    );

    const response = await post(one, jsonBody(1));

    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await response.text()).not.toContain('secret');
    expect(one.events).toEqual([['requestRefused', { status: 503, reason: 'not_accepting', bytes: 0 }]]);
  });

  test('is 503 when the spans cannot be stored, and says nothing of what was refused in them yet', async () => {
    const one = await start(
      {},
      {
        append: () => Promise.resolve({ status: 'retryable', cause: new Error('disk /secret/place is full') }),
      },
    );

    const response = await post(one, protobufBody(2, 1), PROTOBUF_TYPE);

    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await statusOf(response)).toEqual({ code: 14, message: 'the spans cannot be stored now' });
    expect(one.events.map(([name]) => name)).toEqual(['requestRefused']);
  });

  test('is 413 when the same spans can never be stored', async () => {
    const one = await start(
      {},
      {
        append: () => Promise.resolve({ status: 'rejected', cause: new Error('too large for the spool') }),
      },
    );

    expect((await post(one, jsonBody(1))).status).toBe(413);
  });

  test.each([
    [
      'decode',
      {
        decode: (): never => {
          throw new Error('at Object.<anonymous> (/secret/place.js:1)');
        },
      },
    ],
    ['append', { append: () => Promise.reject(new Error('at Object.<anonymous> (/secret/place.js:1)')) }],
    [
      'accepting',
      {
        accepting: (): never => {
          throw new Error('at Object.<anonymous> (/secret/place.js:1)');
        },
      },
    ],
  ])('is 503 and no stack when %s fails unforeseen', async (_, deps) => {
    const one = await start({}, deps);

    const response = await post(one, jsonBody(1));

    expect(response.status).toBe(503);
    expect(response.headers.has('retry-after')).toBe(true);
    expect(await response.text()).not.toMatch(/secret|Object/);
    expect(one.events.map(([name]) => name)).toEqual(['requestFailed', 'requestRefused']);
  });
});

describe('connections', () => {
  test('one that is cut in the middle of a body leaves nothing behind', async () => {
    const body = jsonBody(10);
    const one = await start({ maxInFlightBytes: body.length });
    const socket = connect(one.server.port, '127.0.0.1');
    socket.write(
      `POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body.subarray(0, 100), () => socket.destroy());

    expect(await one.event('requestCut')).toEqual({ bytes: 100 });
    expect(one.appended).toHaveLength(0);
    // Its bytes are free again: the whole budget is there for the next.
    expect((await post(one, body)).status).toBe(200);
  });

  test('one that is cut while its spans are stored is accepted all the same', async () => {
    let store: ((outcome: Outcome) => void) | undefined;
    let began: () => void;
    const appending = new Promise<void>((resolve) => (began = resolve));
    const one = await start(
      {},
      {
        append: () => {
          began();
          return new Promise((resolve) => (store = resolve));
        },
      },
    );
    const abort = new AbortController();
    const answered = fetch(`${one.url}/v1/traces`, {
      method: 'POST',
      body: jsonBody(1),
      headers: JSON_TYPE,
      signal: abort.signal,
    }).catch(() => 'cut');
    await appending;
    abort.abort();
    expect(await answered).toBe('cut');

    store!(OK);

    expect(await one.event('requestAccepted')).toMatchObject({ spans: 1 });
  });

  test('one that speaks no HTTP is closed with 400', async () => {
    const one = await start();
    const socket = connect(one.server.port, '127.0.0.1');
    socket.write('\x16\x03\x01 hello\r\n\r\n');

    expect(String(await buffer(socket))).toMatch(/^HTTP\/1.1 400 /);
  });

  test('close finishes the requests in hand, refuses new ones over open connections, and takes no more', async () => {
    let store: ((outcome: Outcome) => void) | undefined;
    let began: () => void;
    const appending = new Promise<void>((resolve) => (began = resolve));
    const one = await start(
      {},
      {
        append: () => {
          began();
          return new Promise((resolve) => (store = resolve));
        },
      },
    );
    const inHand = post(one, jsonBody(1));
    await appending;

    const closed = one.server.close(60_000);
    const refused = await fetch(one.url + '/healthz').catch(() => 'refused');
    store!(OK);
    const response = await inHand;
    await closed;

    expect(refused).toBe('refused');
    expect(response.status).toBe(200);
    expect(response.headers.get('connection')).toBe('close');
  });

  test('close ends what is still in hand at its deadline', async () => {
    let began: () => void;
    const appending = new Promise<void>((resolve) => (began = resolve));
    const one = await start(
      {},
      {
        append: () => {
          began();
          return new Promise(() => undefined);
        },
      },
    );
    const inHand = post(one, jsonBody(1)).catch(() => 'cut');
    await appending;

    await one.server.close(0);

    expect(await inHand).toBe('cut');
  });
});

describe('tokens', () => {
  const tokens = ['one-token', 'another-token'];

  test('guard the traces and everything but the open routes', async () => {
    const one = await start(
      { tokens },
      {
        routes: new Map([['/query', () => Promise.resolve({ status: 200, contentType: 'text/plain', body: 'rows' })]]),
      },
    );

    for (const path of ['/v1/traces', '/v1/logs', '/query', '/nowhere']) {
      const response = await post(one, protobufBody(1), { ...PROTOBUF_TYPE, authorization: 'Bearer wrong' }, path);
      expect(response.status, path).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
      expect(await statusOf(response)).toMatchObject({ code: 16 });
    }
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await fetch(one.url + path)).status, path).toBe(200);
    }
    expect(one.appended).toHaveLength(0);
    expect(one.events[0]).toEqual(['spanRejected', expect.objectContaining({ reason: 'unauthorized' })]);
  });

  test('let in whoever has one of them', async () => {
    const one = await start({ tokens });

    for (const token of tokens) {
      const response = await post(one, jsonBody(1), { ...JSON_TYPE, authorization: `Bearer ${token}` });
      expect(response.status).toBe(200);
    }
  });

  test('are needed beyond loopback, unless the operator says otherwise', async () => {
    const config = { host: '0.0.0.0', port: 0, tokens: [] };

    const faults = otlpHttpFaults(config);
    const started = await startOtlpHttp(config, {} as OtlpHttpDeps);

    expect(faults).toEqual([expect.stringContaining('"0.0.0.0"')]);
    expect(started).toMatchObject({ status: 'rejected', cause: { message: faults[0] } });
    expect(otlpHttpFaults({ ...config, tokens: ['t'] })).toEqual([]);
    expect(otlpHttpFaults({ ...config, allowUnauthenticated: true })).toEqual([]);
    expect(otlpHttpFaults({ ...config, host: '[::1]' })).toEqual([]);
  });

  test('are checked at the start, without being told', () => {
    const faults = otlpHttpFaults({ host: '::1', port: 0, tokens: ['', 'with space', 'good'], maxBodyBytes: 0 });

    expect(faults).toHaveLength(3);
    expect(faults.join()).not.toContain('with space');
  });
});

describe('the other routes', () => {
  test('healthz answers while the process lives; HEAD as GET', async () => {
    const one = await start({}, { readiness: () => ({ ready: false, reasons: ['store'] }) });

    expect((await fetch(one.url + '/healthz')).status).toBe(200);
    expect((await fetch(one.url + '/healthz', { method: 'HEAD' })).status).toBe(200);
  });

  test('readyz says whether, and why not', async () => {
    let readiness = { ready: false, reasons: ['store: no answer', 'spool: full'] };
    const one = await start({}, { readiness: () => readiness });

    const not = await fetch(one.url + '/readyz');
    readiness = { ready: true, reasons: [] };
    const ready = await fetch(one.url + '/readyz');

    expect([not.status, await not.json()]).toEqual([
      503,
      { ready: false, reasons: ['store: no answer', 'spool: full'] },
    ]);
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, reasons: [] }]);
  });

  test('metrics are in Prometheus text format', async () => {
    const one = await start();

    const response = await fetch(one.url + '/metrics');

    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toBe('spans_total 1\n');
  });

  test('a POST route of the caller gets the unpacked body and gives its own answer', async () => {
    const one = await start(
      {},
      {
        routes: new Map([
          [
            '/query',
            ({ body, mediaType }) =>
              Promise.resolve({
                status: 207,
                contentType: 'text/csv',
                body: `${mediaType} ${Buffer.from(body).toString()}`,
              }),
          ],
        ]),
      },
    );

    const headers = { 'content-type': 'text/plain; charset=utf-8', 'content-encoding': 'gzip' };
    const response = await post(one, gzipSync('SELECT 1'), headers, '/query');

    expect([response.status, response.headers.get('content-type')]).toEqual([207, 'text/csv']);
    expect(await response.text()).toBe('text/plain SELECT 1');
    expect((await fetch(one.url + '/query')).status).toBe(405);
  });
});

test('a port that is taken is an outcome, not an exception', async () => {
  const one = await start();

  const second = await startOtlpHttp({ host: '127.0.0.1', port: one.server.port, tokens: [] }, {} as OtlpHttpDeps);

  expect(second).toMatchObject({ status: 'retryable', cause: { message: expect.stringContaining('EADDRINUSE') } });
  expect(await freePort()).not.toBe(one.server.port);
});
