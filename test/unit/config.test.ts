import { expect, test } from 'vitest';
import { configKeys, readConfig, type ConfigInput } from '../../src/config.js';

const read = (input: Partial<ConfigInput>) => readConfig({ env: {}, sets: [], ...input });

function configOf(input: Partial<ConfigInput>) {
  const result = read(input);
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return result.config;
}

function faultsOf(input: Partial<ConfigInput>): string[] {
  const result = read(input);
  return result.ok ? [] : result.faults.map((fault) => `${fault.path}: ${fault.message}`);
}

test('has a default for every key', () => {
  const config = configOf({});

  expect(config.receive.http).toMatchObject({ host: '127.0.0.1', port: 4318, tokens: [] });
  expect(config.assemble).toMatchObject({ quietMs: 5000, lateMs: 15_000, orphanMs: 600_000, maxTurnMs: 3_600_000 });
  expect(config.store).toMatchObject({ url: 'embedded', database: 'tracegrade' });
  expect(config.score).toMatchObject({ expectations: [], expectationsReloadMs: 5000 });
  expect(config.conversation).toEqual({ idleMs: 900_000 });
  expect(config.estimate).toEqual({
    k: [1, 3, 5, 10],
    prior: { a: 1, b: 1 },
    level: 0.95,
    windows: ['1h', '24h', '7d', 'last_50', 'last_200', 'last_1000'],
    margin: 0,
    tickMs: 60_000,
  });
});

test('lets --set win over the environment and the environment over the file', () => {
  const file = { name: 'tracegrade.yaml', text: 'assemble: { quietMs: 1, lateMs: 1, orphanMs: 10 }' };

  const { assemble } = configOf({
    file,
    env: { TRACEGRADE_ASSEMBLE__LATE_MS: '2', TRACEGRADE_ASSEMBLE__QUIETMS: '2' },
    sets: ['assemble.quietMs=3'],
  });

  expect(assemble).toMatchObject({ orphanMs: 10, lateMs: 2, quietMs: 3 });
});

test('reads lists out of --set and the environment as YAML', () => {
  expect(configOf({ sets: ['estimate.k=[1, 2]'] }).estimate.k).toEqual([1, 2]);
  expect(configOf({ env: { TRACEGRADE_RECEIVE__HTTP__TOKENS: '[a, b]' } }).receive.http.tokens).toEqual(['a', 'b']);
});

test('keeps text as text where text is asked for', () => {
  expect(configOf({ env: { TRACEGRADE_STORE__PASSWORD: '0123' } }).store.password).toBe('0123');
  expect(configOf({ sets: ['dataDir="/tmp/a: b"'] }).dataDir).toBe('/tmp/a: b');
});

test('substitutes environment variables in the file and names those that are missing', () => {
  const text =
    'store: { password: "${CH_PASSWORD}", username: "${CH_USER:-reader}" }\nreceive: { http: { port: "${PORT}" } }';

  const config = configOf({ file: { name: 'f', text }, env: { CH_PASSWORD: 's3', PORT: '4320' } });

  expect(config.store).toMatchObject({ password: 's3', username: 'reader' });
  expect(config.receive.http.port).toBe(4320);
  expect(faultsOf({ file: { name: 'f', text }, env: { PORT: '1' } })).toEqual([
    'store.password: the environment has no CH_PASSWORD',
  ]);
});

test('lists all faults at once, with the value found and the key meant', () => {
  const faults = faultsOf({
    file: { name: 'f', text: 'assemble: { quietMs: -5, lateMS: 3 }\nnonsense: 1' },
    env: { TRACEGRADE_NOPE: '1' },
    sets: ['estimate.level=2', 'broken'],
  });

  expect(faults).toHaveLength(6);
  expect(faults.join('\n')).toContain('assemble.quietMs: Too small: expected number to be >0, got -5');
  expect(faults.join('\n')).toContain('assemble.lateMS: is no configuration key; did you mean assemble.lateMs?');
  expect(faults.join('\n')).toContain('TRACEGRADE_NOPE: names no configuration key');
});

test('never repeats a secret in a fault', () => {
  const faults = faultsOf({
    file: { name: 'f', text: 'store: { password: [hunter2] }\nreceive: { http: { tokens: hunter2 } }' },
  });

  expect(faults).toHaveLength(2);
  expect(faults.join()).not.toContain('hunter2');
});

test('warns of a secret that stands in the file', () => {
  const result = read({ file: { name: 'f.yaml', text: 'store: { password: hunter2 }' } });

  expect(result.ok && result.warnings.map((warning) => warning.path)).toEqual(['store.password']);
});

test('refuses to listen beyond loopback without a token unless told to', () => {
  expect(faultsOf({ sets: ['receive.http.host=0.0.0.0'] })).toHaveLength(1);
  expect(faultsOf({ sets: ['receive.http.host=0.0.0.0', 'receive.http.tokens=[t]'] })).toEqual([]);
  expect(faultsOf({ sets: ['receive.http.host=0.0.0.0', 'receive.http.allowUnauthenticated=true'] })).toEqual([]);
  expect(faultsOf({ sets: ['receive.http.host=::1'] })).toEqual([]);
});

test('does not let a key reach a prototype', () => {
  expect(faultsOf({ sets: ['__proto__.polluted=1', 'assemble.constructor.x=1'] }).length).toBeGreaterThan(0);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test('lets one weight be set, the others keep their defaults', () => {
  expect(configOf({ sets: ['score.tools.weights.selection=0.5'] }).score.tools.weights).toEqual({
    selection: 0.5,
    parameters: 0.25,
    sequence: 0.25,
    utilization: 0.25,
  });
  expect(
    faultsOf({ sets: ['score.tools.weights={selection: 0, parameters: 0, sequence: 0, utilization: 0}'] }),
  ).toHaveLength(1);
});

test('reports a missing environment variable once', () => {
  const file = { name: 'f', text: 'receive: { http: { tokens: ["${NOPE}"] } }' };

  expect(faultsOf({ file })).toEqual(['receive.http.tokens[0]: the environment has no NOPE']);
});

test('describes every key', () => {
  for (const key of configKeys()) expect(key.description, key.path.join('.')).not.toBe('');
});

test('lists what is wrong with objectives, each with its place', () => {
  const objectives = [
    { name: 'a', passPowK: 0.8 },
    { name: 'baseline', successRate: 0.9 },
    { name: 'b c', successRate: 1.5 },
    { name: 'd' },
  ];

  const faults = faultsOf({ sets: [`alert.objectives=${JSON.stringify(objectives)}`] });

  expect(faults).toEqual([
    'alert.objectives[0]: passPowK and k go together',
    'alert.objectives[1]: the name baseline is taken by alert.baseline',
    'alert.objectives[2].name: a name of letters, digits, ., _ and - expected, at most 64, got "b c"',
    'alert.objectives[2].successRate: Too big: expected number to be <1, got 1.5',
    'alert.objectives[3]: either passPowK or successRate expected',
  ]);
});

test('refuses a drop that cannot happen, a name twice, and waits longer than a series lives', () => {
  // 0.001^(1/10) = 0.501.
  const objectives = [
    { name: 'a', passPowK: 0.001, k: 10, delta: 0.6 },
    { name: 'a', successRate: 0.9 },
  ];

  const faults = faultsOf({
    sets: [`alert.objectives=${JSON.stringify(objectives)}`, 'alert.waitMs=10', 'alert.supersededMs=5'],
  });

  expect(faults).toContain('alert.objectives[1].name: a name of its own expected, got a again');
  expect(faults.find((fault) => fault.startsWith('alert.objectives[0]: '))).toMatch(
    /delta must be < 0\.501\d*, .*, got 0\.6/,
  );
  expect(faults).toContain('alert.waitMs: must be <= alert.supersededMs (5), got 10');
});

test('never shows the URL of a webhook, and warns where one stands in the file', () => {
  const faults = faultsOf({ sets: ['alert.webhook.urls=[hooks/T0/secret]'] });
  const read = readConfig({
    file: { name: 't.yaml', text: 'alert: { webhook: { urls: ["https://example.test/secret"] } }' },
    env: {},
    sets: [],
  });

  expect(faults).toHaveLength(1);
  expect(faults[0]).not.toContain('secret');
  expect(read.ok && read.warnings.map(({ path }) => path)).toEqual(['alert.webhook.urls']);
});

test('has no judge unless a model is named, and tells what of its keys cannot go together', () => {
  expect(configOf({}).judge).toMatchObject({ holdMs: 60_000, sampling: { rate: 1 }, apiKeyEnv: 'OPENAI_API_KEY' });
  expect(configOf({}).judge.model).toBeUndefined();

  const sets = [
    'judge.timeoutMs=9',
    'judge.deadlineMs=9',
    'judge.concurrency=8',
    'judge.maxWaiting=7',
    'judge.module=m',
  ];
  expect(faultsOf({ sets })).toEqual([
    'judge.timeoutMs: must be < judge.deadlineMs (9), got 9',
    'judge.maxWaiting: must be >= judge.concurrency (8), got 7',
    'judge.className: judge.module and judge.className go together',
    'judge.model: must be set, or there is no judge',
  ]);
});

test('refuses what would change the judge beside its policy, and times that no timer can keep', () => {
  expect(faultsOf({ sets: ['judge.settings={ model: other, temperature: 1 }', 'judge.holdMs=2147483648'] })).toEqual([
    expect.stringMatching(/^judge\.settings: model and temperature are keys of judge/),
  ]);
  expect(faultsOf({ sets: ['judge.holdMs=2147483648'] })).toEqual([
    'judge.holdMs: must be <= 2147483647, got 2147483648',
  ]);
});

test('never shows what was written where the name of a key’s variable belongs', () => {
  const [fault] = faultsOf({ sets: ['judge.apiKeyEnv=sk-secret-1'] });

  expect(fault).toBe('judge.apiKeyEnv: must be the name of an environment variable');
});

test('refuses figures that could not be computed, or only in hours', () => {
  const objectives = [{ name: 'b', passPowK: 0.99, k: 1_000_000_000_000 }];
  // 0.9999999999999999^(1/1000) is 1 in double precision.
  const nearlyOne = [{ name: 'c', passPowK: 0.9999999999999999, k: 1_000 }];

  const faults = faultsOf({
    sets: [
      `alert.objectives=${JSON.stringify(objectives)}`,
      'estimate.k=[1, 3, 3]',
      'estimate.prior={ a: 0.001, b: 1 }',
      'estimate.tickMs=1',
    ],
  });

  expect(faults.map((fault) => fault.split(':')[0]).sort()).toEqual([
    'alert.objectives[0].k',
    'estimate.k',
    'estimate.prior.a',
    'estimate.tickMs',
  ]);
  expect(faults.find((fault) => fault.startsWith('estimate.k: '))).toMatch('must not repeat one');
  expect(faults).toContain('estimate.prior.a: Too small: expected number to be >=0.1, got 0.001');
  expect(faults).toContain('estimate.tickMs: Too small: expected number to be >=1000, got 1');
  expect(faultsOf({ sets: ['estimate.k=[1000000000]'] })).toHaveLength(1);
  expect(faultsOf({ sets: ['estimate.tickMs=3000000000'] })).toHaveLength(1);
  expect(faultsOf({ sets: [`alert.objectives=${JSON.stringify(nearlyOne)}`] })).toEqual([
    'alert.objectives[0]: a success rate below 1 expected, got one that is 1 when rounded',
  ]);
});

test('says of each key which values it takes, as its schema has it', () => {
  const ranges = new Map(configKeys().map(({ path, range }) => [path.join('.'), range]));

  expect(ranges.get('relay.replicationFactor')).toBe('>= -1, not 0');
  expect(ranges.get('receive.http.port')).toBe('0 .. 65535');
  expect(ranges.get('assemble.quietMs')).toBe('>= 1');
  expect(ranges.get('estimate.level')).toBe('> 0 and < 1');
  expect(ranges.get('alert.blind.outstandingShare')).toBe('> 0 and <= 1');
  expect(ranges.get('estimate.k')).toBe('1 or more; each 1 .. 1000');
  expect(ranges.get('store.database')).toBe('`^[A-Za-z_][A-Za-z0-9_]*$`');
  expect(ranges.get('judge.temperature')).toBe('0 .. 2');
  expect(ranges.get('judge.baseUrl')).toBe('a URL');
  expect(ranges.get('receive.http.allowUnauthenticated')).toBe('');
  expect(ranges.get('alert.objectives')).toContain('`passPowK` > 0 and < 1; `k` 1 .. 1000');
});
