/**
 * A real Kafka broker for tests: one node in KRaft mode, on free ports of the loopback interface, with a directory of
 * its own.
 *
 * Its life: created (directory formatted) -> `start` -> running -> `stop` (in order) or `kill` (-9) -> `start` again on
 * the same ports with the same data, as often as a test likes -> `remove`. `start` returns when the broker has answered
 * a client. What was started is killed with the process that started it.
 *
 * As a program it runs one until it is told to stop, and prints its addresses as a line of JSON:
 *
 *     node test/support/kafka-broker.mjs [--secure]
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import kafkajs from 'kafkajs';

import { findKafka } from './kafka-runtime.mjs';

const run = promisify(execFile);

const START_MS = 120_000;
const STOP_MS = 20_000;

/** Whom the listeners with authentication let in. */
export const USERNAME = 'tracegrade';
export const PASSWORD = 'for-tests-only';

/** Starts quickly and stays small; nothing of this is about what a broker promises. */
const PROPERTIES = {
  'process.roles': 'broker,controller',
  'node.id': 1,
  'controller.listener.names': 'CONTROLLER',
  'inter.broker.listener.name': 'PLAIN',
  'offsets.topic.replication.factor': 1,
  // One coordinator for all groups, so that asking for one tells of all.
  'offsets.topic.num.partitions': 1,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  'transaction.state.log.num.partitions': 4,
  'group.initial.rebalance.delay.ms': 0,
  // After `kill` the new process has to wait until the old one's session is over.
  'broker.session.timeout.ms': 3_000,
  'broker.heartbeat.interval.ms': 500,
  // A test says what topics it has.
  'auto.create.topics.enable': false,
};

/**
 * @typedef {object} BrokerOptions
 * @property {boolean} [secure] Also listen with SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512) and with TLS.
 * @property {Readonly<Record<string, string | number | boolean>>} [properties] More of server.properties.
 *
 * @typedef {object} Broker
 * @property {readonly string[]} brokers Bootstrap servers, `host:port`; without authentication.
 * @property {{ readonly sasl: readonly string[], readonly tls: readonly string[], readonly ca: string } | null} secure
 *   Bootstrap servers of the other listeners, and the certificate (PEM) that signs the one of TLS; null unless asked for.
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} stop Lets it finish; kills it when it does not.
 * @property {() => Promise<void>} kill As if the machine had died, but for what the operating system holds.
 * @property {() => Promise<void>} remove Kills it and deletes its data.
 * @property {readonly string[]} toolCommand Program and arguments before the name of one of Kafka's own programs, which
 *   then runs beside the broker.
 * @property {(mainClass: string, args: readonly string[], input?: string) => Promise<string>} tool Runs one of them and
 *   gives what it prints.
 */

/**
 * @param {Awaited<ReturnType<typeof findKafka>>} runtime From `findKafka`; throws when it is unavailable.
 * @param {BrokerOptions} [options]
 * @returns {Promise<Broker>}
 */
export async function createBroker(runtime, options = {}) {
  if (runtime.kind === 'unavailable') throw new Error(runtime.reason);
  const dir = mkdtempSync(join(tmpdir(), 'tracegrade-kafka-'));
  const name = dir.slice(dir.lastIndexOf('tracegrade-kafka-'));
  const [plain, sasl, tls, controller] = await freePorts(4);
  const ports = { PLAIN: plain, ...(options.secure ? { SASL: sasl, TLS: tls } : {}) };
  const launch = launcher(runtime, { dir, name, ports: Object.values(ports) });
  const config = join(dir, 'server.properties');
  const data = join(dir, 'data');
  mkdirSync(data);

  const host = runtime.kind === 'docker' ? '0.0.0.0' : '127.0.0.1';
  const properties = {
    ...PROPERTIES,
    'log.dirs': data,
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: [...addresses(ports, host), `CONTROLLER://127.0.0.1:${controller}`].join(','),
    'advertised.listeners': addresses(ports, '127.0.0.1').join(','),
    'listener.security.protocol.map': 'PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL',
    ...(options.secure ? securityProperties(dir) : {}),
    ...options.properties,
  };
  writeFileSync(config, Object.entries(properties).map(([key, value]) => `${key}=${value}\n`).join('')); // prettier-ignore

  /** @type {{ child: import('node:child_process').ChildProcess, gone: Promise<unknown>, said: () => string } | null} */
  let running = null;
  const killAtExit = () => launch.killNow(running?.child);
  process.once('exit', killAtExit);

  const bootstrap = (port) => [`127.0.0.1:${port}`];
  let secure = null;
  try {
    const ca = options.secure ? await makeCertificate(launch, dir) : '';
    if (options.secure) secure = { sasl: bootstrap(sasl), tls: bootstrap(tls), ca };
    await launch.once(...format(config, options.secure === true));
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }

  async function start() {
    if (running !== null) return;
    const [file, args] = launch.server([
      '-Xmx512m',
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      'kafka.Kafka',
      config,
    ]);
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = lastWords(child);
    const started = { child, gone: once(child, 'exit').catch(() => undefined), said };
    running = started;
    void started.gone.then(() => {
      if (running === started) running = null;
    });
    const deadline = Date.now() + START_MS;
    while (!(await answers(bootstrap(plain)))) {
      if (running !== started) throw new Error(`the broker ended while it started: ${said()}`);
      if (Date.now() > deadline) {
        await end('SIGKILL');
        throw new Error(`a broker within ${START_MS} ms expected, got none: ${said()}`);
      }
      await delay(100);
    }
  }

  async function end(signal) {
    const ending = running;
    if (ending === null) return;
    if (signal === 'SIGKILL') launch.killNow(ending.child);
    else ending.child.kill(signal);
    const patience = new AbortController();
    const late = delay(STOP_MS, true, { signal: patience.signal }).catch(() => false);
    const stuck = await Promise.race([ending.gone.then(() => false), late]);
    patience.abort();
    if (stuck && signal !== 'SIGKILL') return end('SIGKILL');
    await ending.gone;
    running = null;
  }

  return {
    brokers: bootstrap(plain),
    secure,
    start,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    remove: async () => {
      await end('SIGKILL');
      process.off('exit', killAtExit);
      rmSync(dir, { recursive: true, force: true });
    },
    toolCommand: launch.toolCommand,
    tool: (mainClass, args, input) => runTool(launch.toolCommand, mainClass, args, input),
  };
}

/**
 * Runs one of Kafka's own programs; `command` is a broker's `toolCommand`.
 *
 * @param {readonly string[]} command
 * @param {string} mainClass
 * @param {readonly string[]} args
 * @returns {Promise<string>} What it prints.
 */
export async function runTool([program, ...before], mainClass, args, input = '') {
  const child = spawn(program, [...before, mainClass, ...args], { stdio: 'pipe' });
  let printed = '';
  let said = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  child.stderr.on('data', (chunk) => (said += chunk));
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${mainClass}: exit status 0 expected, got ${code}: ${said.trim()}`);
  return printed;
}

/** How a program of Kafka is called: with Java itself, or with the Java inside of Docker's image. */
function launcher(runtime, { dir, name, ports }) {
  // The compiler's first tier alone: a test's broker lives too short for the second.
  const java = (args) => ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', runtime.classPath, ...args];
  if (runtime.kind === 'java') {
    const call = (args) => [runtime.java, java(args)];
    return {
      server: call,
      toolCommand: [runtime.java, ...java([])],
      once: (program, args) => run(runtime[program], program === 'java' ? java(args) : args),
      killNow: (child) => child?.kill('SIGKILL'),
    };
  }
  const user = process.getuid === undefined ? [] : ['--user', `${process.getuid()}:${process.getgid()}`];
  const container = (program, flags, args) =>
    ['run', '--rm', '--volume', `${dir}:${dir}`, ...user, ...flags, '--entrypoint', program, runtime.image, ...args]; // prettier-ignore
  const published = ports.flatMap((port) => ['--publish', `127.0.0.1:${port}:${port}`]);
  return {
    server: (args) => ['docker', container('java', ['--name', name, ...published], java(args))],
    toolCommand: ['docker', 'exec', '--interactive', name, 'java', ...java([])],
    once: (program, args) => run('docker', container(program, [], program === 'java' ? java(args) : args)),
    killNow: (child) => {
      if (child !== undefined) spawn('docker', ['kill', name], { stdio: 'ignore', detached: true }).unref();
    },
  };
}

function addresses(ports, host) {
  return Object.entries(ports).map(([listener, port]) => `${listener}://${host}:${port}`);
}

function securityProperties(dir) {
  const module = 'org.apache.kafka.common.security';
  return {
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.sasl.plain.sasl.jaas.config': `${module}.plain.PlainLoginModule required user_${USERNAME}="${PASSWORD}";`,
    'listener.name.sasl.scram-sha-256.sasl.jaas.config': `${module}.scram.ScramLoginModule required;`,
    'listener.name.sasl.scram-sha-512.sasl.jaas.config': `${module}.scram.ScramLoginModule required;`,
    'ssl.keystore.type': 'PKCS12',
    'ssl.keystore.location': join(dir, 'broker.p12'),
    'ssl.keystore.password': PASSWORD,
  };
}

function format(config, secure) {
  const users = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${USERNAME},password=${PASSWORD}]`,
  ]);
  const clusterId = 'dHJhY2VncmFkZS10ZXN0cw';
  return ['java', ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', config, ...(secure ? users : [])]];
}

/** A certificate that signs itself, for 127.0.0.1 and localhost; gives it as PEM. */
async function makeCertificate(launch, dir) {
  const store = ['-keystore', join(dir, 'broker.p12'), '-storetype', 'PKCS12', '-storepass', PASSWORD, '-alias', 'b'];
  const names = ['-dname', 'CN=localhost', '-ext', 'SAN=dns:localhost,ip:127.0.0.1', '-validity', '30'];
  await launch.once('keytool', ['-genkeypair', '-keyalg', 'EC', '-groupname', 'secp256r1', ...names, ...store]);
  const pem = join(dir, 'ca.pem');
  await launch.once('keytool', ['-exportcert', '-rfc', '-file', pem, ...store]);
  return readFileSync(pem, 'utf8');
}

/** Does a broker say who it is, and does it coordinate consumer groups already? */
async function answers(brokers) {
  const client = new kafkajs.Kafka({
    brokers: [...brokers],
    logLevel: kafkajs.logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    // The first request of a client that has not seen the cluster yet fails inside it, and makes it look.
    retry: { retries: 2, initialRetryTime: 50 },
  });
  const admin = client.admin();
  try {
    await admin.connect();
    await admin.fetchOffsets({ groupId: 'is-there-a-coordinator', topics: [] });
    return (await admin.describeCluster()).brokers.length > 0;
  } catch {
    return false;
  } finally {
    await admin.disconnect();
  }
}

/** The end of what a process says, for error messages. */
function lastWords(child) {
  let said = '';
  const keep = (chunk) => {
    said = `${said}${chunk}`.slice(-10_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return () => said.trim();
}

/** Ports that nothing listens on, all different. */
export async function freePorts(count) {
  const probes = await Promise.all(
    Array.from({ length: count }, async () => {
      const probe = createServer().listen(0, '127.0.0.1');
      await once(probe, 'listening');
      return probe;
    }),
  );
  const ports = probes.map((probe) => probe.address().port);
  await Promise.all(probes.map((probe) => promisify(probe.close.bind(probe))()));
  return ports;
}

async function main() {
  const runtime = await findKafka();
  if (runtime.kind === 'unavailable') {
    console.error(runtime.reason);
    process.exitCode = 1;
    return;
  }
  const broker = await createBroker(runtime, { secure: process.argv.includes('--secure') });
  const stop = async () => {
    await broker.stop();
    await broker.remove();
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  await broker.start();
  console.log(JSON.stringify({ brokers: broker.brokers, secure: broker.secure }));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
