import { existsSync, readFileSync, statSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';

import { readConfig } from '../../../src/config.js';
import { dashboardProviders, dataSources, queries } from '../../support/grafana.js';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const isThere = (path: string) => existsSync(new URL(path, root));
const isFile = (path: string) => existsSync(new URL(path, root)) && statSync(new URL(path, root)).isFile();

/** As compose does with an empty environment. */
const withDefaults = (text: string) => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly restart?: string;
}

const text = read('docker-compose.yml');
const compose = parse(withDefaults(text)) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const services = Object.entries(compose.services);
const service = (name: string): Service => compose.services[name] as Service;
const dockerfile = read('Dockerfile');
const environmentOf = (name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(service(name).environment ?? {}).map(([key, value]) => [key, String(value)]));
/** Without its comments. */
const userXml = read('deploy/clickhouse/grafana-user.xml').replaceAll(/<!--[\s\S]*?-->/g, '');

/** Settings of the topic, and its options. */
function topic() {
  const command = service('topic').command ?? [];
  const after = (flag: string) => command.flatMap((word, i) => (command[i - 1] === flag ? [word] : []));
  const settings = Object.fromEntries(after('--config').map((pair) => pair.split('=') as [string, string]));
  return { name: after('--topic')[0], partitions: Number(after('--partitions')[0]), settings };
}

interface Exporter {
  readonly traces: { readonly topic: string; readonly encoding: string };
  readonly partition_traces_by_id: boolean;
  readonly record_partitioner: unknown;
  readonly producer: Readonly<Record<string, unknown>>;
  readonly retry_on_failure: Readonly<Record<string, unknown>>;
  readonly sending_queue: {
    readonly storage: string;
    readonly queue_size: number;
    readonly batch: { readonly sizer: string; readonly min_size: number; readonly max_size: number };
  };
}

const collector = parse(read('deploy/otel-collector/config.yaml')) as {
  readonly [section: string]: unknown;
  readonly exporters: { readonly kafka: Exporter };
  readonly service: {
    readonly extensions: readonly string[];
    readonly pipelines: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  };
};
const exporter = collector.exporters.kafka;

describe('docker-compose.yml', () => {
  test('has an image of a stated version, or a Dockerfile, for each service', () => {
    for (const [name, { image, build }] of services) {
      const known = build === undefined ? /^[^:]+:\d+(\.\d+)+$/.test(image ?? '') : isFile('Dockerfile');
      expect(known, name).toBe(true);
    }
  });

  test('waits only for services that are there, and for conditions that they can meet', () => {
    for (const [name, { depends_on: needs = {} }] of services) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        const { healthcheck, restart } = service(needed);
        if (condition === 'service_healthy') expect(healthcheck, `${name} needs ${needed}`).toBeDefined();
        else {
          expect(condition, `${name} needs ${needed}`).toBe('service_completed_successfully');
          expect(restart, `${needed} ends`).toBe('on-failure');
        }
      }
    }
  });

  test('checks the health of every service that does not end by itself', () => {
    for (const [name, { healthcheck, build, restart }] of services) {
      if (restart === 'on-failure') continue;
      const checked = healthcheck !== undefined || (build !== undefined && dockerfile.includes('\nHEALTHCHECK '));
      expect(checked, name).toBe(true);
    }
  });

  test('mounts files that are in the repository and volumes that it declares', () => {
    const mounts = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0] as string));

    expect(mounts).toHaveLength(8);
    for (const source of mounts) {
      const known = source.startsWith('.') ? isThere(source) : Object.hasOwn(compose.volumes, source);
      expect(known, source).toBe(true);
    }
  });

  test('publishes each port once, on the loopback interface', () => {
    const ports = services.flatMap(([, { ports: published = [] }]) => published);

    const hostPorts = ports.map((port) => /^127\.0\.0\.1:(\d+):\d+$/.exec(port)?.[1]);
    expect(hostPorts).not.toContain(undefined);
    expect(new Set(hostPorts).size).toBe(hostPorts.length);
  });

  test('configures workers without fault', () => {
    const result = readConfig({ env: environmentOf('worker'), sets: [] });
    const { command } = service('worker');

    expect(command).toEqual(['start', '--role', 'worker']);
    expect(result).toMatchObject({ ok: true });
    if (!result.ok) return;
    const { store, receive } = result.config;
    expect(new URL(store.url).hostname).toBe('clickhouse');
    expect(receive.kafka.brokers).toEqual(['kafka:9092']);
    expect(receive.kafka.topics).toEqual([topic().name]);
    expect(receive.kafka.encoding).toBe(exporter.traces.encoding);
    const server = service('clickhouse').environment;
    expect(store).toMatchObject({ username: server?.CLICKHOUSE_USER, password: server?.CLICKHOUSE_PASSWORD });
  });

  test('configures the rollup without fault, on the store of the workers', () => {
    const result = readConfig({ env: environmentOf('rollup'), sets: [] });
    const workers = readConfig({ env: environmentOf('worker'), sets: [] });

    expect(service('rollup').command).toEqual(['start', '--role', 'rollup']);
    expect(result).toMatchObject({ ok: true });
    if (result.ok && workers.ok) expect(result.config.store).toEqual(workers.config.store);
  });

  test('gives Grafana its plugin, its files and what they expect of its environment', () => {
    const { volumes = [] } = service('grafana');
    const environment = environmentOf('grafana');
    const inside = (path: string) => volumes.find((mount) => mount.split(':')[1] === path)?.split(':')[0];
    const [source] = dataSources as [(typeof dataSources)[0]];
    const written = JSON.stringify(source);

    expect(inside('/etc/grafana/provisioning')).toBe('./grafana/provisioning');
    for (const { options } of dashboardProviders) expect(inside(options.path)).toBe('./grafana/dashboards');
    const [plugin, version] = environment['GF_PLUGINS_PREINSTALL_SYNC']?.split('@') ?? [];
    expect(plugin).toBe(source.type);
    expect(new Set(queries.map(({ target }) => target.pluginVersion))).toEqual(new Set([version]));
    for (const [, name = ''] of written.matchAll(/\$(\w+)/g)) expect(Object.keys(environment)).toContain(name);
    expect(Object.keys(compose.services)).toContain(environment['TRACEGRADE_CLICKHOUSE_HOST']);
  });

  test('makes the user that Grafana reads with, with the password that Grafana has', () => {
    const [source] = dataSources as [(typeof dataSources)[0]];
    const user =
      new RegExp(`<users>\\s*<${String(source.jsonData['username'])}>([\\s\\S]*)</users>`).exec(userXml)?.[1] ?? '';
    const variable = /<password from_env="(\w+)"\/>/.exec(user)?.[1] ?? '';

    const mounted = service('clickhouse').volumes?.filter((mount) => mount.includes('grafana-user.xml'));
    expect(mounted).toEqual([
      './deploy/clickhouse/grafana-user.xml:/etc/clickhouse-server/users.d/grafana-user.xml:ro',
    ]);
    expect(environmentOf('clickhouse')[variable]).toBe(environmentOf('grafana')['TRACEGRADE_CLICKHOUSE_PASSWORD']);
    expect(user).toContain(`<query>GRANT SELECT ON ${String(source.jsonData['defaultDatabase'])}.*</query>`);
    expect(user).toContain('<profile>grafana</profile>');
  });

  test('lets that user read, and change nothing but how long a query may take, as the plugin does with each', () => {
    const profile = /<profiles>([\s\S]*)<\/profiles>/.exec(userXml)?.[1] ?? '';

    expect(profile).toContain('<readonly>1</readonly>');
    const changeable = [...profile.matchAll(/<(\w+)>\s*<changeable_in_readonly\/>/g)].map(([, name]) => name);
    expect(changeable).toEqual(['max_execution_time']);
  });

  test('holds no secret but the default of a variable', () => {
    const secrets = text.split('\n').filter((line) => /PASSWORD:/.test(line));

    expect(secrets.length).toBeGreaterThan(0);
    for (const line of secrets) expect(line).toMatch(/: \$\{\w+:-for-local-use-only\}$/);
  });

  test('makes a topic with the time of the broker, that as many workers can share as it starts', () => {
    expect(topic().settings).toMatchObject({ 'message.timestamp.type': 'LogAppendTime' });
    expect(topic().partitions).toBeGreaterThanOrEqual(2);
  });
});

describe('the configuration of the Collector', () => {
  test('writes what workers need: one trace a record, keyed by its id, acknowledged by all replicas', () => {
    expect(exporter).toMatchObject({
      traces: { topic: topic().name, encoding: 'otlp_proto' },
      partition_traces_by_id: true,
      producer: { required_acks: -1, allow_auto_topic_creation: false },
    });
  });

  test('acknowledges what is on its disk, in a volume, and tries until Kafka has it', () => {
    const { volumes = [], environment } = service('collector');
    const storage = (collector['extensions'] as Record<string, { fsync: boolean; directory: string }>)['file_storage'];

    expect(exporter.sending_queue.storage).toBe('file_storage');
    expect(storage).toMatchObject({ fsync: true, directory: expect.stringContaining('${env:QUEUE_DIRECTORY:') });
    const volume = volumes.find((mount) => String(environment?.QUEUE_DIRECTORY).startsWith(mount.split(':')[1] ?? '?'));
    expect(volume).toBe('collector:/var/lib/otelcol');
    expect(exporter.retry_on_failure).toMatchObject({ enabled: true, max_elapsed_time: 0 });
  });

  test('makes no record that is larger than the topic takes', () => {
    const { batch, queue_size: queueSize } = exporter.sending_queue;
    const largest = Number(exporter.producer.max_message_bytes);

    expect(batch.sizer).toBe('bytes');
    expect(batch.max_size).toBeLessThan(largest);
    expect(largest).toBeLessThanOrEqual(Number(topic().settings['max.message.bytes']));
    expect(batch.min_size).toBeLessThanOrEqual(batch.max_size);
    expect(batch.max_size).toBeLessThan(queueSize);
  });

  test('names in its pipelines what it configures, and configures nothing else', () => {
    const { extensions, pipelines } = collector.service;
    const named = (kind: string) => Object.values(pipelines).flatMap((pipeline) => pipeline[kind] ?? []);

    for (const kind of ['receivers', 'processors', 'exporters']) {
      expect(named(kind), kind).toEqual(Object.keys(collector[kind] as object));
    }
    expect(extensions).toEqual(Object.keys(collector['extensions'] as object));
  });
});

describe('the Dockerfile', () => {
  test('copies files that are there and that .dockerignore lets through', () => {
    const ignored = read('.dockerignore').split('\n');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*)$/gm)].flatMap(([, words = '']) =>
      words.split(' ').slice(0, -1),
    );

    expect(copied.length).toBeGreaterThan(0);
    for (const path of copied) {
      expect(existsSync(new URL(path, root)), path).toBe(true);
      expect(ignored, path).toContain(`!${path}`);
    }
  });

  test('runs as a user without rights, on a version of Node.js that the package takes', () => {
    const bases = [...dockerfile.matchAll(/^FROM node:(\d+)-slim/gm)].map(([, major]) => Number(major));
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    const least = Number(/^>=(\d+)/.exec(engines.node)?.[1]);

    expect(bases).toHaveLength([...dockerfile.matchAll(/^FROM /gm)].length);
    for (const major of bases) expect(major).toBeGreaterThanOrEqual(least);
    expect(dockerfile).toMatch(/^USER node$/m);
  });
});
