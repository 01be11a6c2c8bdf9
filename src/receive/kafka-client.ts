/** Connections to Kafka: what an operator configures, as kafkajs takes it, and what its errors mean to us. */
import kafkajs, { type Admin, type Kafka, type LogEntry, type SASLOptions } from 'kafkajs';

export interface KafkaConnection {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** TLS; null: plain text. PEM texts. */
  readonly tls: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly rejectUnauthorized: boolean;
  } | null;
  readonly sasl: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    readonly username: string;
    readonly password: string;
  } | null;
}

/** What the client library says of itself; texts without record content. */
export type ClientLog = (level: 'error' | 'warn' | 'debug', text: string) => void;

const CONNECT_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;
// A few quick tries inside one call; waiting for a broker that stays away is the caller's, with its own pauses.
const RETRIES = { retries: 4, initialRetryTime: 200, maxRetryTime: 2_000 };

export function createKafka(connection: KafkaConnection, log: ClientLog): Kafka {
  const { brokers, clientId, tls, sasl } = connection;
  return new kafkajs.Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: RETRIES,
    ...(tls === null ? {} : { ssl: tls }),
    ...(sasl === null ? {} : { sasl: sasl as SASLOptions }),
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => (entry) => log(levelOf(entry), `${entry.namespace}: ${entry.log.message}`),
  });
}

function levelOf({ level }: LogEntry): 'error' | 'warn' | 'debug' {
  if (level === kafkajs.logLevel.ERROR) return 'error';
  return level === kafkajs.logLevel.WARN ? 'warn' : 'debug';
}

/**
 * - `credentials`: the brokers refuse us; trying again helps only after somebody has mended something.
 * - `notMember`: the group has gone on without this consumer; what it held is somebody else's now.
 * - `unsupported`: a record batch, or a request, that this client cannot read.
 * - `refused`: the brokers answer, and will not do what is asked as it is configured.
 * - `away`: all else; later may work.
 */
export type KafkaTrouble = 'credentials' | 'notMember' | 'unsupported' | 'refused' | 'away';

const NOT_MEMBER: ReadonlySet<string> = new Set([
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'REBALANCE_IN_PROGRESS',
  'FENCED_INSTANCE_ID',
]);
const CREDENTIALS: ReadonlySet<string> = new Set([
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
  'ILLEGAL_SASL_STATE',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
]);

export function troubleOf(error: unknown): KafkaTrouble {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { type, retriable } = cause as { type?: unknown; retriable?: unknown };
    if (typeof type === 'string' && NOT_MEMBER.has(type)) return 'notMember';
    if (cause.name === 'KafkaJSSASLAuthenticationError') return 'credentials';
    if (typeof type === 'string' && CREDENTIALS.has(type)) return 'credentials';
    if (cause.name === 'KafkaJSNotImplemented' || cause.name === 'KafkaCodecError') return 'unsupported';
    if (typeof type === 'string' && retriable === false) return 'refused';
  }
  return 'away';
}

/** Topics of `names` that exist. Never creates any. */
export async function existingTopics(admin: Admin, names: readonly string[]): Promise<ReadonlySet<string>> {
  const known = new Set(await admin.listTopics());
  return new Set(names.filter((name) => known.has(name)));
}
