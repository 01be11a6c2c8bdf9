import { expect, test } from 'vitest';
import { isLoopbackHost } from '../../../src/model/loopback.js';

test.each([
  'localhost',
  'LocalHost',
  '127.0.0.1',
  '127.255.255.254',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
])('%s is loopback', (host) => expect(isLoopbackHost(host)).toBe(true));

test.each([
  '0.0.0.0',
  '::',
  '',
  '128.0.0.1',
  '10.0.0.1',
  '::2',
  '127.1',
  'localhost.example.org',
  '127.0.0.1.nip.io',
  '::ffff:10.0.0.1',
])('%j is not loopback', (host) => expect(isLoopbackHost(host)).toBe(false));
