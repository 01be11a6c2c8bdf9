import { parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { rangeOf, type JsonSchema } from './config-range.js';
import { isLoopbackHost } from './model/loopback.js';

/**
 * What an operator may write: one YAML file, `TRACEGRADE_KEY__PATH` variables and `--set key.path=value`, the later
 * winning over the earlier. Values of the last two are read as YAML, so `[a, b]` is a list. `${NAME}` and
 * `${NAME:-default}` inside the file's values are taken from the environment; secrets belong there.
 *
 * Every key has its default here, and its unit in its name or description.
 */

const ms = (description: string) =>
  z
    .number()
    .int()
    .positive()
    .meta({ description: `${description} Milliseconds.` });
const bytes = (description: string) =>
  z
    .number()
    .int()
    .positive()
    .meta({ description: `${description} Bytes.` });
const count = (description: string) => z.number().int().positive().meta({ description });
const ratio = (description: string) => z.number().min(0).max(1).meta({ description });
const flag = (description: string) => z.boolean().meta({ description });
const text = (description: string) => z.string().min(1).meta({ description });
const names = (description: string) => z.array(z.string().min(1)).meta({ description });

const MiB = 1024 * 1024;

const http = z
  .strictObject({
    host: text('Address to listen on. Beyond loopback a token is needed.').default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535).meta({ description: 'TCP port; 0 takes a free one.' }).default(4318),
    tokens: names('Bearer tokens; any one of them opens /v1/* and /query. Empty: open to all who reach it.').default(
      [],
    ),
    allowUnauthenticated: flag('Listen beyond loopback without a token all the same.').default(false),
    maxBodyBytes: bytes('Largest request body, as sent and again after decompression.').default(64 * MiB),
    maxInFlightBytes: bytes('All request bodies in hand together; past it senders are told to wait.').default(
      256 * MiB,
    ),
  })
  .prefault({});

const topicName = (description: string) =>
  z
    .string()
    .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/, { message: 'letters, digits, ., _ and - only, at most 249' })
    .meta({ description });

const kafka = z
  .strictObject({
    brokers: names('`host:port` of brokers; empty: nothing is read from Kafka.').default([]),
    topics: z
      .array(topicName('Topic.'))
      .min(1)
      .meta({ description: 'Topics that hold OTLP traces, keyed by trace id.' })
      .default(['otlp_spans']),
    groupId: text('Consumer group; workers of one group share the partitions.').default('tracegrade'),
    clientId: text('Name of this client in the brokers’ logs and quotas.').default('tracegrade'),
    startFrom: z
      .union([z.enum(['earliest', 'latest']), z.iso.datetime({ offset: true })])
      .meta({
        description: 'Where a group begins that has committed nothing: `earliest`, `latest`, or a time as in RFC 3339.',
      })
      .default('earliest'),
    encoding: z
      .enum(['sniff', 'otlp_proto', 'otlp_json'])
      .meta({ description: 'Encoding of the records; `sniff` tells it by their first byte.' })
      .default('sniff'),
    deadLetterTopic: topicName('Where records go that cannot be read; null: nowhere, they are counted only.')
      .nullable()
      .default('tracegrade_dead_letters'),
    sessionTimeoutMs: ms('The group takes a worker for dead that was silent for this long.').default(30_000),
    maxBytesPerPartition: bytes('Fetched of a partition at a time; a larger record is read all the same.').default(MiB),
    tls: z
      .strictObject({
        enabled: flag('Connect with TLS.').default(false),
        caFile: text('PEM file of the certificate authorities; absent: those of Node.js.').optional(),
        certFile: text('PEM file of the client certificate.').optional(),
        keyFile: text('PEM file of the client certificate’s key.').optional(),
        rejectUnauthorized: flag('Refuse brokers whose certificate cannot be verified.').default(true),
      })
      .prefault({}),
    sasl: z
      .strictObject({
        mechanism: z
          .enum(['none', 'plain', 'scram-sha-256', 'scram-sha-512'])
          .meta({ description: 'How this client says who it is.' })
          .default('none'),
        username: z.string().meta({ description: 'User of the brokers.' }).default(''),
        password: z.string().meta({ description: 'Password of the brokers.', secret: true }).default(''),
      })
      .prefault({}),
  })
  .prefault({});

const relay = z
  .strictObject({
    fromTopics: z
      .array(topicName('Topic.'))
      .meta({ description: 'Topics whose records are not keyed; empty: only OTLP/HTTP is relayed.' })
      .default([]),
    topic: topicName('The keyed topic that the relay writes and workers read.').default('otlp_spans'),
    compression: z
      .enum(['none', 'gzip', 'snappy', 'lz4'])
      .meta({ description: 'Compression of the record batches.' })
      .default('lz4'),
    createTopic: flag('Make the keyed topic when it is missing.').default(false),
    partitions: count('Partitions of the topic when it is made; as many workers can share it.').default(12),
    replicationFactor: z
      .number()
      .int()
      .min(-1)
      .refine((factor) => factor !== 0, { message: 'must be -1 or >= 1' })
      .meta({ not: { const: 0 }, description: 'Replicas of the topic when it is made; -1: the brokers’ default.' })
      .default(-1),
    maxMessageBytes: bytes('Largest record batch of the topic when it is made.').default(8 * MiB),
  })
  .prefault({});

const receive = z
  .strictObject({
    http,
    kafka,
    spool: z
      .strictObject({
        maxBytes: bytes('Live entries of the spool; past it senders are told to wait.').default(1024 * MiB),
      })
      .prefault({}),
  })
  .prefault({});

const assemble = z
  .strictObject({
    quietMs: ms('An ended turn is decided when nothing more came for this long.').default(5_000),
    lateMs: ms('Spans that come this long after the decision still give a revision.').default(15_000),
    orphanMs: ms('A turn without its ended root is decided this long after its last span.').default(600_000),
    maxTurnMs: ms('A turn without its ended root is decided this long after its first span.').default(3_600_000),
    maxOpenTraces: count('Open traces; past it the oldest are decided early and flagged.').default(50_000),
    maxSpansPerTrace: count('Spans of one open trace; past it the trace is cut and flagged.').default(10_000),
    maxBytesPerTrace: bytes('Span bytes of one open trace; past it the trace is cut and flagged.').default(64 * MiB),
    maxOpenBytes: bytes('Span bytes of all open traces; past it the oldest are decided early.').default(1024 * MiB),
    rememberedInteractions: count('Decided interactions whose span ids are remembered, for re-deliveries.').default(
      100_000,
    ),
    rememberedSpans: count('Span ids remembered in all; about 100 bytes each.').default(1_000_000),
  })
  .prefault({});

const weight = (description: string) => z.number().min(0).meta({ description }).default(0.25);

const weights = z
  .strictObject({
    selection: weight('Weight of the right set of tools.'),
    parameters: weight('Weight of the right arguments.'),
    sequence: weight('Weight of the right order.'),
    utilization: weight('Weight of using the results in the answer.'),
  })
  .refine((w) => w.selection + w.parameters + w.sequence + w.utilization > 0, {
    message: 'at least one weight must be > 0',
  });

const criterion = z.enum(['tools', 'arguments', 'answer', 'completion', 'policy']);

const score = z
  .strictObject({
    required: z.array(criterion).min(1).optional().meta({
      description: 'Criteria that a verdict needs. Default: tools, arguments, answer, and policy if configured.',
    }),
    expectations: names(
      'Dataset files (JSON or JSONL) with the ground truth, or directories of them; read at start and when they change.',
    ).default([]),
    expectationsReloadMs: z
      .number()
      .int()
      .min(0)
      .meta({
        description:
          'A running worker looks so often whether the dataset files have changed; a change that has been still for as long is read. 0: never. Milliseconds.',
      })
      .default(5_000),
    tools: z
      .strictObject({
        threshold: ratio('Least value that passes.').default(1),
        weights: weights.prefault({}),
        owners: z
          .enum(['all', 'root'])
          .meta({ description: 'Count calls of sub-agents as well, or only the root agent’s.' })
          .default('all'),
        coerce: flag('Take "1" and 1 for the same argument.').default(false),
        utilizationByRule: flag(
          'Where nothing says whether results were used: an answer that states a value of one used it.',
        ).default(true),
      })
      .prefault({}),
    arguments: z
      .strictObject({
        threshold: ratio('Least share of correct calls that passes.').default(1),
        acceptByRules: flag(
          'A call that no rule objects to is correct, although nobody judged its meaning. Default: true without a judge.',
        ).optional(),
        noCalls: z
          .literal(1)
          .nullable()
          .meta({ description: 'Score of an interaction without calls; null: the criterion says nothing of it.' })
          .default(null),
        undecidable: z
          .enum(['left_out', 'correct'])
          .meta({
            description: 'A call of which the judge cannot tell: left out of the share, or correct as in DeepEval.',
          })
          .default('left_out'),
      })
      .prefault({}),
    answer: z.strictObject({ threshold: ratio('Least value that passes.').default(0.7) }).prefault({}),
    completion: z
      .strictObject({
        enabled: flag('Ask the judge whether the answer did what the user asked; needs no ground truth.').default(
          false,
        ),
        threshold: ratio('Least value that passes.').default(0.7),
      })
      .prefault({}),
    policy: z
      .strictObject({
        allow: names('The only tools that may be called; a trailing * matches any ending.').optional(),
        deny: names('Tools that must not be called; a trailing * matches any ending.').default([]),
        loopCalls: z
          .number()
          .int()
          .min(0)
          .refine((calls) => calls !== 1, { message: 'must be 0 or >= 2' })
          .meta({
            not: { const: 1 },
            description: 'So many calls with equal name, arguments and outcome in a turn are a loop; 0: never.',
          })
          .default(6),
      })
      .prefault({}),
  })
  .prefault({});

const judge = z
  .strictObject({
    model: text(
      'Model that judges what rules cannot decide; absent: there is no judge, and nothing is sent.',
    ).optional(),
    revision: z
      .string()
      .meta({
        description:
          'Part of the scoring policy: change it when another model answers under the same name, so that its verdicts make a new series. Where the judge is reached (`baseUrl`) and `settings` are no part of the policy.',
      })
      .default(''),
    baseUrl: z
      .url({ protocol: /^https?$/ })
      .meta({ description: 'Base URL of OpenAI’s API, or of another server with that API, up to `/v1`.' })
      .default('https://api.openai.com/v1'),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: 'must be the name of an environment variable' })
      .meta({
        description: 'Name of the environment variable that holds the API key; the key itself stands nowhere else.',
      })
      .default('OPENAI_API_KEY'),
    module: text('npm package with another chat model of LangChain; absent: OpenAI’s API is used.').optional(),
    className: text('Name of its class, `ChatAnthropic` for example.').optional(),
    settings: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What else the class is made with; `model` and `temperature` are given to it anyway.' })
      .refine((settings) => !('model' in settings) && !('temperature' in settings), {
        message: 'model and temperature are keys of judge, so that they are part of the scoring policy',
      })
      .default({}),
    useStructuredOutput: flag(
      'Ask for the answer by its schema; false: as JSON text, for servers that know no schema.',
    ).default(true),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .nullable()
      .meta({ description: 'Temperature of the model; null: not sent, for models that refuse it.' })
      .default(0),
    maxOutputTokens: count('Tokens of an answer at most; null: the server’s own limit.').nullable().default(null),
    maxPromptTokens: count(
      'Tokens of a question at most, estimated; what is longer is cut, with the cut marked.',
    ).default(16_000),
    maxCallsPerRequest: count('Tool calls that one question asks about at most.').default(20),
    together: z
      .enum(['known', 'turn'])
      .meta({
        description:
          '`known`: calls are asked together that were made with the same results known, so that the judge never sees a result early. `turn`: all calls of a turn in one question, which costs less.',
      })
      .default('known'),
    concurrency: count('Requests to the model at once.').default(8),
    maxWaiting: count(
      'Questions that wait for the judge; past it Kafka is paused and senders are told to wait.',
    ).default(1_000),
    requestsPerMinute: count('Requests to the model a minute; absent: no limit.').optional(),
    tokensPerMinute: count('Tokens a minute, questions and answers together; absent: no limit.').optional(),
    tokensPerDay: count(
      'Tokens of this process a day (UTC); conversations past it are left out as `budget`. Absent: no limit.',
    ).optional(),
    timeoutMs: ms('For one answer of the model.').default(60_000),
    deadlineMs: ms('For a question in all, waiting and retries included.').default(300_000),
    holdMs: ms(
      'An interaction that has waited so long is stored as `pending`, and again when the answer comes.',
    ).default(60_000),
    attempts: count('Answers asked for a question at most.').default(4),
    backoffMs: ms('Longest pause before the first retry; it doubles with each.').default(1_000),
    maxBackoffMs: ms('Longest pause before any retry, unless the server asks for more.').default(30_000),
    breakerFailures: count('So many failures of the server in a row, and nothing is asked for a while.').default(10),
    breakerOpenMs: ms('After that long one request tries again.').default(30_000),
    cacheEntries: count('Answers kept in memory; all are kept in the store for 90 days.').default(10_000),
    healEveryMs: z
      .number()
      .int()
      .min(0)
      .meta({
        description:
          'A worker looks so often for interactions of the last day that the judge had no word on, and asks again. 0: never. Milliseconds.',
      })
      .default(300_000),
    sampling: z
      .strictObject({
        rate: ratio('Share of the conversations that are judged; the others are left out as `sampled_out`.').default(1),
        salt: z.string().meta({ description: 'Another text draws another sample.' }).default(''),
      })
      .prefault({}),
    redact: z
      .strictObject({
        keys: names(
          'Members with these names are taken out of all that goes to the judge, in any case of letters.',
        ).default([]),
        patterns: names('What these regular expressions match is taken out of it.').default([]),
        store: flag('Take the same out of what is stored.').default(false),
      })
      .prefault({}),
  })
  .prefault({});

/** More says nothing that a person would ask; figures take time in proportion. */
export const MAX_K = 1_000;

const estimate = z
  .strictObject({
    k: z
      .array(z.number().int().min(1).max(MAX_K))
      .min(1)
      .refine((list) => new Set(list).size === list.length, { message: 'must not repeat one' })
      .meta({ description: 'The K of pass@K and pass^K.' })
      .default([1, 3, 5, 10]),
    prior: z
      .strictObject({
        // Below, a comparison of few conversations is not exact.
        a: z.number().min(0.1).max(1e9).meta({ description: 'Prior successes.' }),
        b: z.number().min(0.1).max(1e9).meta({ description: 'Prior failures.' }),
      })
      .default({ a: 1, b: 1 }),
    level: z.number().gt(0).lt(1).meta({ description: 'Mass of the equal-tailed interval.' }).default(0.95),
    windows: z
      .array(
        z.string().regex(/^([1-9]\d{0,5}[mhd]|last_[1-9]\d{0,6})$/, {
          message: 'a time such as 30m, 24h or 7d, or a number of conversations such as last_200',
        }),
      )
      .min(1)
      .refine((list) => new Set(list).size === list.length, { message: 'must not repeat one' })
      .meta({
        description:
          'Stretches of closed conversations to estimate over: by time (`30m`, `24h`, `7d`), or the last so many that count (`last_200`).',
      })
      .default(['1h', '24h', '7d', 'last_50', 'last_200', 'last_1000']),
    margin: z
      .number()
      .min(0)
      .lt(1)
      .meta({
        description: 'Where two versions or windows are compared: the smallest difference of pass^K that matters.',
      })
      .default(0),
    tickMs: z
      .number()
      .int()
      .min(1_000)
      .max(86_400_000)
      .meta({ description: 'Estimates are brought up to date so often, in stream time. Milliseconds.' })
      .default(60_000),
  })
  .prefault({});

const between01 = (description: string) => z.number().gt(0).lt(1).meta({ description });

const objective = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
      message: 'a name of letters, digits, ., _ and - expected, at most 64',
    }),
    passPowK: between01('Least pass^K; `k` says which K.').optional(),
    k: z.number().int().min(1).max(MAX_K).meta({ description: 'K of `passPowK`.' }).optional(),
    successRate: between01('Least share of conversations that are right.').optional(),
    assistants: names('Agents that it is for; empty: all.').default([]),
    environments: names('Environments that it is for; empty: all.').default([]),
    delta: between01('As `alert.delta`.').optional(),
    falseAlarmDays: z.number().min(0).optional(),
  })
  .superRefine(({ name, passPowK, k, successRate }, context) => {
    const fault = (message: string) => void context.addIssue({ code: 'custom', message });
    if (name === 'baseline') fault('the name baseline is taken by alert.baseline');
    if ((passPowK === undefined) === (successRate === undefined)) fault('either passPowK or successRate expected');
    if ((passPowK === undefined) !== (k === undefined)) fault('passPowK and k go together');
  });

const alert = z
  .strictObject({
    objectives: z
      .array(objective)
      .meta({
        description:
          'What agents are held to. Each has a `name` and either `passPowK` (0..1) with `k`, or `successRate` (0..1); if you like `assistants` and `environments` (lists of names; absent: all), `delta` and `falseAlarmDays`. A series keeps the numbers that an objective had when its watch began; give it another name to begin anew.',
      })
      .default([]),
    baseline: z
      .strictObject({
        enabled: flag('Hold every series to how it did at first.').default(true),
        conversations: z
          .number()
          .int()
          .min(100)
          .meta({ description: 'So many first trials of a series make its baseline.' })
          .default(300),
      })
      .prefault({}),
    delta: between01('The smallest drop of the success rate that matters.').default(0.03),
    falseAlarmDays: z
      .number()
      .min(0)
      .meta({
        description:
          'Days between false alarms of a healthy series. With the series’ conversations a day it makes A, within 1000 and 1 000 000 conversations.',
      })
      .default(90),
    alphaClose: between01('An alert closes when the evidence of recovery reaches 1/this.').default(0.05),
    minOpenMs: z
      .number()
      .int()
      .min(0)
      .meta({ description: 'An alert stays open at least this long. Milliseconds.' })
      .default(1_800_000),
    pageCertainty: between01(
      'A drop is a page, and no ticket, when it is larger than delta with this probability.',
    ).default(0.95),
    waitMs: ms('Detectors wait at most this long for a conversation that lacks a judgement.').default(3_600_000),
    supersededMs: ms(
      'An alert is closed when its series had no conversation for this long while another version or policy of the agent had.',
    ).default(86_400_000),
    blind: z
      .strictObject({
        severity: z
          .enum(['ticket', 'page'])
          .meta({ description: 'Severity of an alert that says that nothing can be seen.' })
          .default('ticket'),
        afterMs: ms('How long after its close a conversation should have its judgement.').default(600_000),
        conversations: z
          .number()
          .int()
          .min(2)
          .meta({ description: 'How many of the latest conversations of a series are looked at.' })
          .default(20),
        outstandingShare: z
          .number()
          .gt(0)
          .max(1)
          .meta({ description: 'Blind when this share of them lacks a judgement.' })
          .default(0.5),
        unscoredConversations: count(
          'Blind when nothing could be scored in so many conversations in a row, although there was something before.',
        ).default(100),
        silentMs: ms('Blind when no worker gave a sign of life for this long.').default(300_000),
        lagMs: ms('Blind when what is read is this far behind ...').default(600_000),
        lagForMs: ms('... for this long.').default(300_000),
        judgeMs: ms('Blind when the judge refused workers, and answered none of them, for this long.').default(300_000),
      })
      .prefault({}),
    webhook: z
      .strictObject({
        urls: z
          .array(z.url({ protocol: /^https?$/ }))
          .meta({
            description:
              'Each transition of an alert is posted to these as JSON with a `text`, as Slack’s incoming webhooks take it. They are secrets: give them through the environment.',
          })
          .default([]),
        timeoutMs: ms('An answer takes at most this long.').default(5_000),
        maxAgeMs: ms('Older transitions are no news and not sent.').default(86_400_000),
      })
      .prefault({}),
  })
  .prefault({});

const store = z
  .strictObject({
    url: text('`embedded` (ClickHouse in this process), or the http(s) URL of a server.')
      .refine((url) => url === 'embedded' || /^https?:\/\/[^\s]+$/.test(url), {
        message: 'must be `embedded` or an http(s) URL',
      })
      .default('embedded'),
    database: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: 'letters, digits and _ only, not starting with a digit' })
      .meta({ description: 'Database; it is created when it is missing.' })
      .default('tracegrade'),
    username: text('User of the server.').default('default'),
    password: z.string().meta({ description: 'Password of the server.', secret: true }).default(''),
    cluster: text('Name of the ClickHouse cluster; tables are then Replicated and made ON CLUSTER.').optional(),
    ttlDays: count('Rows older than this are deleted. Days; absent: kept for ever.').optional(),
    batchRows: count('Rows that are written together at most.').default(10_000),
    batchMs: ms('A row waits at most this long for others to be written with.').default(1_000),
    maxQueuedRows: count('Rows that wait for the store; past it senders are told to wait.').default(200_000),
  })
  .prefault({});

const telemetry = z
  .strictObject({
    logLevel: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'])
      .meta({ description: 'Least level that is logged.' })
      .default('info'),
    logFormat: z
      .enum(['auto', 'json', 'text'])
      .meta({ description: '`auto`: text on a terminal, else JSON.' })
      .default('auto'),
    otlpEndpoint: z
      .url()
      .optional()
      .meta({ description: 'OTLP/HTTP endpoint for Tracegrade’s own traces; absent: none are sent.' }),
  })
  .prefault({});

export const configSchema = z.strictObject({
  dataDir: text('Directory of the spool and of the embedded store; one process at a time.').default(
    './tracegrade-data',
  ),
  receive,
  relay,
  assemble,
  conversation: z
    .strictObject({
      idleMs: ms(
        'A conversation is closed when idle for this long, which delays its estimate and every alert by as much.',
      ).default(900_000),
    })
    .prefault({}),
  score,
  judge,
  estimate,
  alert,
  store,
  telemetry,
});

export type Config = z.infer<typeof configSchema>;

/** Something wrong with what the operator wrote: where it stands, and what is expected. Never a value that is secret. */
export interface ConfigFault {
  readonly path: string;
  readonly message: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly ConfigFault[] }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

export interface ConfigInput {
  /** Text of the YAML file with the name to call it by; absent when there is none. */
  readonly file?: { readonly name: string; readonly text: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `key.path=value`, in order. */
  readonly sets: readonly string[];
}

type Tree = { [key: string]: unknown };

const ENV_PREFIX = 'TRACEGRADE_';
/** Variables under the prefix that are no configuration keys. */
const NOT_CONFIG = /^TRACEGRADE_(CONFIG|TEST_.*)$/;

/** Reads the configuration from its three sources and reports all faults at once. */
export function readConfig(input: ConfigInput): ConfigResult {
  const faults: ConfigFault[] = [];
  const warnings: ConfigFault[] = [];
  const tree = input.file ? readFile(input.file, input.env, faults, warnings) : {};

  for (const [name, value] of Object.entries(input.env)) {
    if (!name.startsWith(ENV_PREFIX) || value === undefined || NOT_CONFIG.test(name)) continue;
    const segments = name.slice(ENV_PREFIX.length).split('__');
    const path = resolvePath(segments);
    if (path === undefined) faults.push({ path: name, message: 'names no configuration key' });
    else assign(tree, path, value, name, faults);
  }
  for (const set of input.sets) {
    const at = set.indexOf('=');
    if (at < 1) faults.push({ path: `--set ${at < 0 ? set : ''}`.trim(), message: 'expected key.path=value' });
    else assign(tree, set.slice(0, at).split('.'), set.slice(at + 1), `--set ${set.slice(0, at)}`, faults);
  }

  const parsed = configSchema.safeParse(tree);
  if (!parsed.success) {
    // A key that has a fault already needs no second one that follows from the first.
    const known = new Set(faults.map((fault) => fault.path));
    const found = parsed.error.issues.flatMap((issue) => faultsOf(issue, tree));
    faults.push(...found.filter((fault) => !known.has(fault.path)));
  }
  if (parsed.success) faults.push(...crossFaults(parsed.data));
  if (faults.length > 0 || !parsed.success) return { ok: false, faults };
  return { ok: true, config: parsed.data, warnings };
}

function readFile(
  file: { name: string; text: string },
  env: ConfigInput['env'],
  faults: ConfigFault[],
  warnings: ConfigFault[],
): Tree {
  let value: unknown;
  try {
    value = parseYaml(file.text, { prettyErrors: true });
  } catch (error) {
    const where = error instanceof YAMLParseError && error.linePos ? `:${error.linePos[0].line}` : '';
    faults.push({ path: `${file.name}${where}`, message: `is no YAML: ${(error as Error).message.split('\n')[0]}` });
    return {};
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    faults.push({ path: file.name, message: 'must hold a mapping of keys to values' });
    return {};
  }
  for (const [path, literal] of literalSecrets(value as Tree)) {
    if (literal)
      warnings.push({
        path,
        message: `stands in ${file.name} as plain text; write \${NAME} and set it in the environment`,
      });
  }
  return substitute(value, env, '', faults) as Tree;
}

function* literalSecrets(tree: Tree): Generator<[string, boolean]> {
  const receiveTree = tree['receive'] as { http?: { tokens?: unknown } } | undefined;
  const tokens: unknown = receiveTree?.http?.tokens;
  if (Array.isArray(tokens))
    yield ['receive.http.tokens', tokens.some((token) => typeof token === 'string' && !token.startsWith('${'))];
  const urls = (tree['alert'] as { webhook?: { urls?: unknown } } | undefined)?.webhook?.urls;
  if (Array.isArray(urls))
    yield ['alert.webhook.urls', urls.some((url) => typeof url === 'string' && !url.startsWith('${'))];
  for (const path of ['store.password', 'receive.kafka.sasl.password']) {
    const password = path.split('.').reduce<unknown>((node, key) => (node as Tree | undefined)?.[key], tree);
    if (typeof password === 'string' && password !== '') yield [path, !password.startsWith('${')];
  }
}

/** Replaces `${NAME}` and `${NAME:-default}`; a value that is nothing but one such reference is read as YAML again. */
function substitute(value: unknown, env: ConfigInput['env'], path: string, faults: ConfigFault[]): unknown {
  if (Array.isArray(value)) return value.map((item, i) => substitute(item, env, `${path}[${i}]`, faults));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, substitute(item, env, path ? `${path}.${key}` : key, faults)]),
    );
  }
  if (typeof value !== 'string' || !value.includes('${')) return value;
  const replaced = value.replace(
    /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
    (_match, name: string, fallback?: string) => {
      const found = env[name] ?? fallback;
      if (found === undefined) faults.push({ path, message: `the environment has no ${name}` });
      return found ?? '';
    },
  );
  const whole = /^\$\{[^}]*\}$/.test(value);
  return whole ? scalarOf(replaced) : replaced;
}

/** Numbers and truth values out of the environment; any other text stays the text it is, as a secret must. */
function scalarOf(value: string): unknown {
  if (/^(true|false|-?\d+(\.\d+)?)$/.test(value)) return parseYaml(value);
  return value;
}

function assign(tree: Tree, path: readonly string[], value: string, source: string, faults: ConfigFault[]): void {
  let parsed: unknown;
  try {
    parsed = parseYaml(value);
  } catch {
    faults.push({ path: source, message: 'its value is no YAML' });
    return;
  }
  // A text such as `12345` for a key that takes text is meant as text.
  if (leafKind(path) === 'string' && (typeof parsed === 'number' || typeof parsed === 'boolean')) parsed = value;
  let node = tree;
  for (const key of path.slice(0, -1)) {
    if (FORBIDDEN.has(key)) return void faults.push({ path: source, message: 'names no configuration key' });
    const next = Object.hasOwn(node, key) ? node[key] : undefined;
    node = (typeof next === 'object' && next !== null ? next : (node[key] = {})) as Tree;
  }
  const last = path.at(-1) as string;
  if (FORBIDDEN.has(last)) return void faults.push({ path: source, message: 'names no configuration key' });
  node[last] = parsed ?? undefined;
}

const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype', '']);

/** A key of the configuration, for the reference page and for finding what an environment variable names. */
export interface ConfigKey {
  readonly path: readonly string[];
  readonly type: string;
  /** Which values of the type, as Markdown; empty: any. What several keys have to say of each other is no part of it. */
  readonly range: string;
  readonly default: unknown;
  readonly description: string;
}

let keys: readonly ConfigKey[] | undefined;

/** All keys, leaves only, in the order of the schema. */
export function configKeys(): readonly ConfigKey[] {
  keys ??= leaves(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema, []);
  return keys;
}

function leaves(schema: JsonSchema, path: readonly string[]): ConfigKey[] {
  if (!schema.properties) {
    const described = schema.description ?? schema.anyOf?.find((one) => one.description)?.description;
    const [type, range] = [typeOf(schema), rangeOf(schema)];
    return [{ path, type, range, default: schema.default, description: described ?? '' }];
  }
  return Object.entries(schema.properties).flatMap(([key, child]) => {
    const from = schema.default as Record<string, unknown> | undefined;
    const inherited =
      child.default === undefined && from?.[key] !== undefined ? { ...child, default: from[key] } : child;
    return leaves(inherited, [...path, key]);
  });
}

function typeOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'array') return `${schema.items?.enum?.join(' | ') ?? schema.items?.type ?? 'any'}[]`;
  return schema.type ?? 'any';
}

function leafKind(path: readonly string[]): string | undefined {
  return configKeys().find((key) => key.path.join('.') === path.join('.'))?.type;
}

/** `RECEIVE`, `HTTP`, `MAX_BODY_BYTES` -> `receive.http.maxBodyBytes`; case and single underscores do not matter. */
function resolvePath(segments: readonly string[]): readonly string[] | undefined {
  const plain = (name: string) => name.replaceAll('_', '').toLowerCase();
  const wanted = segments.map(plain);
  for (const key of configKeys()) {
    // An inner key may be named as well: its value is then a YAML mapping.
    const head = key.path.slice(0, wanted.length);
    if (head.length === wanted.length && head.every((segment, i) => plain(segment) === wanted[i])) return head;
  }
  return undefined;
}

function faultsOf(issue: z.core.$ZodIssue, tree: Tree): ConfigFault[] {
  const path = issue.path
    .map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i > 0 ? '.' : ''}${String(part)}`))
    .join('');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: path ? `${path}.${key}` : key,
      message: `is no configuration key${suggestion(key)}`,
    }));
  }
  let value: unknown = tree;
  for (const part of issue.path) value = (value as Tree | undefined)?.[part as string];
  const secret = /password|tokens?$|apiKey|webhook\.urls$/i.test(path.replace(/\[\d+\]$/, ''));
  const got = secret || value === undefined || typeof value === 'object' ? '' : `, got ${JSON.stringify(value)}`;
  return [{ path: path || '(top level)', message: `${issue.message}${got}` }];
}

function suggestion(key: string): string {
  const near = configKeys().find(
    (known) => known.path.at(-1)?.toLowerCase() === key.replaceAll(/[-_]/g, '').toLowerCase(),
  );
  return near ? `; did you mean ${near.path.join('.')}?` : '';
}

/** What no single key can say. */
function crossFaults(config: Config): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const { host, tokens, allowUnauthenticated } = config.receive.http;
  if (!isLoopbackHost(host) && tokens.length === 0 && !allowUnauthenticated) {
    faults.push({
      path: 'receive.http.host',
      message: `${host} is reachable from other machines: set receive.http.tokens, or receive.http.allowUnauthenticated=true`,
    });
  }
  const { mechanism, username } = config.receive.kafka.sasl;
  if (mechanism !== 'none' && username === '') {
    faults.push({ path: 'receive.kafka.sasl.username', message: `must be set for the mechanism ${mechanism}` });
  }
  if (mechanism === 'none' && username !== '') {
    faults.push({ path: 'receive.kafka.sasl.mechanism', message: 'must not be none: sasl.username is set' });
  }
  const { enabled, caFile, certFile, keyFile } = config.receive.kafka.tls;
  if (!enabled && (caFile ?? certFile ?? keyFile) !== undefined) {
    faults.push({ path: 'receive.kafka.tls.enabled', message: 'must be true: a file for TLS is named' });
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const path = `receive.kafka.tls.${certFile === undefined ? 'certFile' : 'keyFile'}`;
    faults.push({ path, message: `must be set with ${certFile === undefined ? 'keyFile' : 'certFile'}` });
  }
  const { deadLetterTopic, topics } = config.receive.kafka;
  const read = [...topics, ...config.relay.fromTopics, config.relay.topic];
  if (deadLetterTopic !== null && read.includes(deadLetterTopic)) {
    faults.push({
      path: 'receive.kafka.deadLetterTopic',
      message: `must be a topic of its own, got ${deadLetterTopic}: what cannot be read would be read again for ever`,
    });
  }
  const broker = config.receive.kafka.brokers.findIndex((address) => !/^[^\s:/]+:\d+$|^\[[^\]]+\]:\d+$/.test(address));
  if (broker >= 0) {
    const address = config.receive.kafka.brokers[broker] as string;
    faults.push({
      path: `receive.kafka.brokers[${broker}]`,
      message: `must be host:port, got ${JSON.stringify(address)}`,
    });
  }
  if (config.relay.fromTopics.includes(config.relay.topic)) {
    faults.push({
      path: 'relay.fromTopics',
      message: `must not hold relay.topic (${config.relay.topic}): it would read what it writes`,
    });
  }
  if (config.assemble.quietMs > config.assemble.orphanMs) {
    faults.push({
      path: 'assemble.quietMs',
      message: `must be <= assemble.orphanMs (${config.assemble.orphanMs}), got ${config.assemble.quietMs}`,
    });
  }
  faults.push(...judgeFaults(config.judge));
  faults.push(...alertFaults(config.alert));
  if (config.store.url === 'embedded' && config.store.cluster !== undefined) {
    faults.push({ path: 'store.cluster', message: 'needs a server: store.url is embedded' });
  }
  return faults;
}

/** Of Node; a longer one would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function judgeFaults({
  timeoutMs,
  deadlineMs,
  module,
  className,
  model,
  concurrency,
  maxWaiting,
  holdMs,
}: Config['judge']): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const timers = { deadlineMs, holdMs };
  if (timeoutMs >= deadlineMs) {
    faults.push({ path: 'judge.timeoutMs', message: `must be < judge.deadlineMs (${deadlineMs}), got ${timeoutMs}` });
  }
  for (const [key, ms] of Object.entries(timers)) {
    if (ms > LONGEST_TIMER_MS) {
      faults.push({ path: `judge.${key}`, message: `must be <= ${LONGEST_TIMER_MS}, got ${ms}` });
    }
  }
  if (maxWaiting < concurrency) {
    faults.push({
      path: 'judge.maxWaiting',
      message: `must be >= judge.concurrency (${concurrency}), got ${maxWaiting}`,
    });
  }
  if ((module === undefined) !== (className === undefined)) {
    const missing = module === undefined ? 'module' : 'className';
    faults.push({ path: `judge.${missing}`, message: 'judge.module and judge.className go together' });
  }
  if (module !== undefined && model === undefined) {
    faults.push({ path: 'judge.model', message: 'must be set, or there is no judge' });
  }
  return faults;
}

function alertFaults({ objectives, delta, waitMs, supersededMs, blind }: Config['alert']): ConfigFault[] {
  const faults: ConfigFault[] = [];
  objectives.forEach((one, i) => {
    const path = `alert.objectives[${i}]`;
    if (objectives.findIndex(({ name }) => name === one.name) < i) {
      faults.push({ path: `${path}.name`, message: `a name of its own expected, got ${one.name} again` });
    }
    const p0 = one.successRate ?? (one.passPowK ?? 0) ** (1 / (one.k ?? 1));
    if (p0 >= 1) faults.push({ path, message: 'a success rate below 1 expected, got one that is 1 when rounded' });
    const drop = one.delta ?? delta;
    if (drop >= p0) faults.push({ path, message: `delta must be < ${p0}, the success rate asked for, got ${drop}` });
  });
  if (waitMs > supersededMs) {
    faults.push({ path: 'alert.waitMs', message: `must be <= alert.supersededMs (${supersededMs}), got ${waitMs}` });
  }
  if (blind.afterMs > supersededMs) {
    const message = `must be <= alert.supersededMs (${supersededMs}), got ${blind.afterMs}`;
    faults.push({ path: 'alert.blind.afterMs', message });
  }
  return faults;
}

/** The faults as an operator reads them, one a line. */
export function describeFaults(faults: readonly ConfigFault[]): string {
  return faults.map((fault) => `  ${fault.path}: ${fault.message}`).join('\n');
}
