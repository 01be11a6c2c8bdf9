/**
 * Where Apache Kafka's programs can be run on this machine, by the first that applies:
 *
 * 1. Java 17 or newer (`JAVA_HOME`, else the PATH), with the jars in the directory `TRACEGRADE_TEST_KAFKA_LIBS` (`libs`
 *    of an unpacked Kafka 4), else fetched once by Maven into .cache/kafka;
 * 2. Docker, with the official image.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const POM = fileURLToPath(new URL('kafka-pom.xml', import.meta.url));
const CACHE = fileURLToPath(new URL('../../.cache/kafka/', import.meta.url));
const IMAGE = 'apache/kafka:4.1.0';

/**
 * @typedef {{ readonly kind: 'java', readonly java: string, readonly keytool: string, readonly classPath: string }} JavaRuntime
 * @typedef {{ readonly kind: 'docker', readonly image: string, readonly classPath: string }} DockerRuntime
 * @typedef {{ readonly kind: 'unavailable', readonly reason: string }} Unavailable
 */

/**
 * Finds one of them; fetches what it needs (some 45 MB, or Docker's image) when it is not there yet.
 *
 * @returns {Promise<JavaRuntime | DockerRuntime | Unavailable>}
 */
export async function findKafka(env = process.env) {
  const java = await findJava(env);
  const jars = 'reason' in java ? java : await findJars(env);
  if ('java' in java && 'classPath' in jars) return { kind: 'java', ...java, ...jars };
  const docker = await findDocker();
  if (!('reason' in docker)) return docker;
  const without = 'reason' in jars ? jars.reason : '';
  return { kind: 'unavailable', reason: `a Kafka broker needs Java or Docker: ${without}; ${docker.reason}` };
}

/** @returns {Promise<{ java: string, keytool: string } | { reason: string }>} */
async function findJava(env) {
  const home = env['JAVA_HOME'];
  const program = (name) => (home ? join(home, 'bin', name) : name);
  try {
    const { stderr } = await run(program('java'), ['-version']);
    const version = Number(/version "(?:1\.)?(\d+)/.exec(stderr)?.[1]);
    if (version >= 17) return { java: program('java'), keytool: program('keytool') };
    return { reason: `Java 17 or newer expected, got ${stderr.split('\n')[0]}` };
  } catch {
    return { reason: `no Java ${home ? 'in JAVA_HOME' : 'on the PATH'}` };
  }
}

/** @returns {Promise<{ classPath: string } | { reason: string }>} */
async function findJars(env) {
  const given = env['TRACEGRADE_TEST_KAFKA_LIBS'];
  if (given) return { classPath: join(given, '*') };

  const lib = join(CACHE, createHash('sha256').update(readFileSync(POM)).digest('hex').slice(0, 12));
  // Made under another name and renamed when whole: it is there, or it is not.
  if (!existsSync(lib)) {
    mkdirSync(CACHE, { recursive: true });
    const partial = mkdtempSync(join(CACHE, 'partial-'));
    const goals = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${partial}`];
    try {
      await run('mvn', ['-q', '-B', '-C', '-f', POM, ...goals], { maxBuffer: 64 * 1024 * 1024 });
      renameSync(partial, lib);
    } catch (error) {
      rmSync(partial, { recursive: true, force: true });
      // Another process may have been faster.
      if (!existsSync(lib)) return { reason: fetchFailure(error) };
    }
  }
  return { classPath: join(lib, '*') };
}

function fetchFailure(error) {
  if (error.code === 'ENOENT') {
    return "no Maven on the PATH to fetch Kafka's jars, and TRACEGRADE_TEST_KAFKA_LIBS is not set";
  }
  const first = `${error.stdout ?? ''}`.split('\n').find((line) => line.includes('ERROR'));
  return `Maven could not fetch Kafka's jars: ${first ?? error.message}`;
}

/** @returns {Promise<DockerRuntime | { reason: string }>} */
async function findDocker() {
  try {
    await run('docker', ['info']);
  } catch (error) {
    return { reason: error.code === 'ENOENT' ? 'no Docker on the PATH' : 'Docker does not run' };
  }
  try {
    await run('docker', ['image', 'inspect', IMAGE]).catch(() => run('docker', ['pull', '--quiet', IMAGE]));
    return { kind: 'docker', image: IMAGE, classPath: '/opt/kafka/libs/*' };
  } catch (error) {
    return { reason: `Docker could not fetch ${IMAGE}: ${error.message.split('\n')[0]}` };
  }
}
