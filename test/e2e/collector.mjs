/**
 * A real OpenTelemetry Collector for tests, with the parts that deploy/otel-collector/config.yaml names: the program in
 * `TRACEGRADE_TEST_OTELCOL` (one of the contrib distribution), else built once by Go from collector/main.go into .cache/otelcol.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { freePorts } from '../support/kafka-broker.mjs';

const run = promisify(execFile);

const SOURCE = fileURLToPath(new URL('collector/', import.meta.url));
const CACHE = fileURLToPath(new URL('../../.cache/otelcol/', import.meta.url));
export const CONFIG = fileURLToPath(new URL('../../deploy/otel-collector/config.yaml', import.meta.url));

const START_MS = 120_000;

/**
 * @typedef {object} Collector
 * @property {string} tracesUrl Where OTLP/HTTP traces go.
 * @property {string} healthUrl
 * @property {() => Promise<void>} kill As if its machine had died (-9).
 */

/** The program; builds it when it is not there yet. @returns {Promise<string>} */
export async function findCollector(env = process.env) {
  if (env['TRACEGRADE_TEST_OTELCOL']) return env['TRACEGRADE_TEST_OTELCOL'];
  const hash = createHash('sha256');
  for (const file of ['main.go', 'go.mod', 'go.sum']) hash.update(readFileSync(join(SOURCE, file)));
  const program = join(CACHE, hash.digest('hex').slice(0, 12));
  if (existsSync(program)) return program;

  mkdirSync(CACHE, { recursive: true });
  // Made under another name and renamed when whole: it is there, or it is not.
  const partial = `${program}.${process.pid}`;
  const go = ['build', '-trimpath', '-ldflags', '-s -w', '-o', partial, '.'];
  await run('go', go, { cwd: SOURCE, env: { ...env, CGO_ENABLED: '0' }, maxBuffer: 64 * 1024 * 1024 });
  renameSync(partial, program);
  return program;
}

/**
 * Starts one on free ports of the loopback interface; resolves when it is healthy.
 *
 * @typedef {object} CollectorOptions
 * @property {readonly string[]} brokers
 * @property {string} directory What it has acknowledged and not written yet is kept here, and sent by the next one.
 * @property {Readonly<Record<string, string>>} [set] Settings other than those of config.yaml, by their path with dots.
 *
 * @param {string} program
 * @param {CollectorOptions} options
 * @returns {Promise<Collector>}
 */
export async function startCollector(program, { brokers, directory, set = {} }) {
  const [http, grpc, health] = await freePorts(3);
  const healthUrl = `http://127.0.0.1:${health}/`;
  const env = {
    ...process.env,
    KAFKA_BROKERS: `[${brokers.join(', ')}]`,
    QUEUE_DIRECTORY: directory,
    OTLP_HTTP_ENDPOINT: `127.0.0.1:${http}`,
    OTLP_GRPC_ENDPOINT: `127.0.0.1:${grpc}`,
    HEALTH_ENDPOINT: `127.0.0.1:${health}`,
  };
  // Its own metrics would take port 8888.
  const sets = Object.entries({ ...set, 'service.telemetry.metrics.level': 'none' });
  const args = [`--config=${CONFIG}`, ...sets.map(([path, value]) => `--set=${path.replaceAll('.', '::')}=${value}`)];
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (said = `${said}${chunk}`.slice(-20_000)));
  }

  const deadline = Date.now() + START_MS;
  while (!(await fetch(healthUrl).catch(() => null))?.ok) {
    if (child.exitCode !== null)
      throw new Error(`the Collector ended with ${child.exitCode} while it started: ${said}`);
    if (Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`a healthy Collector within ${START_MS} ms expected, got none: ${said}`);
    }
    await delay(100);
  }
  return {
    tracesUrl: `http://127.0.0.1:${http}/v1/traces`,
    healthUrl,
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
      process.off('exit', killAtExit);
    },
  };
}
