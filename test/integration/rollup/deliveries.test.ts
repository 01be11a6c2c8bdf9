import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

import { createAlerting } from '../../../src/rollup/alerting.js';
import { deliverAlerts, webhookName } from '../../../src/rollup/deliveries.js';
import { createDetectors } from '../../../src/rollup/detectors.js';
import { postWebhook } from '../../../src/rollup/webhook-http.js';
import {
  ALERTING_RULES,
  ALERT_RULES,
  MINUTE_MS,
  NO_EVENTS,
  START_MS,
  stream,
  writeClosed,
} from '../../support/alerts.js';
import { freshStore, type TestStore } from '../../support/store.js';

const NOW_MS = START_MS + 240 * MINUTE_MS;

/** A server that answers with these statuses, the last one from then on, and keeps what it was sent. */
async function webhookServer(...statuses: readonly number[]) {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      response.writeHead(statuses[Math.min(bodies.length, statuses.length - 1)] ?? 200).end();
      bodies.push(body);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/secret`, bodies };
}

/** A store with one alert that opened. */
async function storeWithAlert(): Promise<TestStore> {
  const store = await freshStore();
  await writeClosed(store, [...stream(150, 3), ...stream(60, 60, 150)]);
  await createDetectors(store, ALERT_RULES).step(NOW_MS);
  return store;
}

const rulesFor = (url: string) => ({ ...ALERTING_RULES, webhook: { ...ALERTING_RULES.webhook, urls: [url] } });

function statuses(store: TestStore) {
  return store.rows('SELECT attempt, status FROM {db}.alert_deliveries FINAL ORDER BY attempt');
}

test('tells a webhook of each transition once, in words without content, whoever is asked how often', async () => {
  const store = await storeWithAlert();
  const { url, bodies } = await webhookServer(200);
  const rollups = [0, 1].map(() => createAlerting(store, rulesFor(url), NO_EVENTS));

  await Promise.all(rollups.map((rollup) => rollup.deliver(NOW_MS)));
  await Promise.all(rollups.map((rollup) => rollup.deliver(NOW_MS + 60 * MINUTE_MS)));

  expect(bodies).toHaveLength(1);
  const { text: said } = JSON.parse(bodies[0] ?? '') as { text: string };
  expect(said).toMatch(/^\[page\] order-desk 1 \(prod\): succeeds less often than it should \(objective "reliable", /);
  expect(said).toMatch(/conversations were right since 2026-11-02 02:3\d UTC; P\(below 0\.8983\) = /);
  expect(said).toMatch(/\ntracegrade alert explain [0-9a-f]{16}$/);
  expect(await statuses(store)).toEqual([{ attempt: 1, status: 'delivered' }]);
});

test('tries again what was not taken, later and by whoever comes, and never what is refused', async () => {
  const store = await storeWithAlert();
  const busy = await webhookServer(503, 503, 503, 200);
  const gone = await webhookServer(404);
  const said: unknown[] = [];
  const events = {
    ...NO_EVENTS,
    alertNotDelivered: ({ error, ...event }: object & { error: Error }) =>
      void said.push({ ...event, why: error.message }),
  };

  const deliver = (url: string, wallMs: number) => {
    const { alerts, webhook } = rulesFor(url);
    return createAlerting(store, { alerts, webhook: { ...webhook, maxAgeMs: wallMs } }, events).deliver(wallMs);
  };
  const since = Date.now();

  await deliver(busy.url, since);
  await deliver(gone.url, since);
  await deliver(busy.url, since + 10_000);
  expect(busy.bodies).toHaveLength(3);
  // Half a minute from the first attempt, of three tries, to the second.
  await deliver(busy.url, Date.now() + 31_000);
  await deliver(gone.url, Date.now() + 24 * 60 * MINUTE_MS);

  expect(busy.bodies).toHaveLength(4);
  expect(gone.bodies).toHaveLength(1);
  expect(said).toMatchObject([
    { webhook: webhookName(busy.url), attempt: 1, givenUp: false, why: '2xx expected, got 503' },
    { webhook: webhookName(gone.url), attempt: 1, givenUp: true, why: '2xx expected, got 404' },
  ]);
  expect(JSON.stringify(said)).not.toContain('secret');
});

test('sends again, and only then, when a process died between its claim and its record', async () => {
  const store = await storeWithAlert();
  const { url, bodies } = await webhookServer(200);
  const { webhook } = rulesFor(url);
  const died = {
    rows: (...args: Parameters<typeof store.rows>) => store.rows(...args),
    insertRows: (...args: Parameters<typeof store.insertRows>) =>
      args[2][0]?.[4] === 'claimed' ? store.insertRows(...args) : Promise.reject(new Error('killed')),
  };
  const post = (to: string, message: { text: string }) => postWebhook(to, message, webhook);
  const since = Date.now();
  await expect(deliverAlerts(webhook, NOW_MS, { store: died, post, events: NO_EVENTS })).rejects.toThrow('killed');

  const later = { ...webhook, maxAgeMs: since };
  await deliverAlerts(later, since + 1_000, { store, post, events: NO_EVENTS });
  expect(bodies).toHaveLength(1);
  await deliverAlerts(later, since + 10 * MINUTE_MS, { store, post, events: NO_EVENTS });

  expect(bodies).toHaveLength(2);
  expect(await statuses(store)).toEqual([
    { attempt: 1, status: 'claimed' },
    { attempt: 2, status: 'delivered' },
  ]);
});

test('leaves out what is no news', async () => {
  const store = await storeWithAlert();
  const { url, bodies } = await webhookServer(200);

  await createAlerting(store, rulesFor(url), NO_EVENTS).deliver(NOW_MS + 48 * 60 * MINUTE_MS);

  expect(bodies).toEqual([]);
});
