import { readFile } from 'node:fs/promises';
import type { Config } from '../config.js';
import type { KafkaConnection } from '../receive/kafka-client.js';
import type { KafkaSourceConfig } from '../receive/kafka-source.js';
import { CommandError, ExitStatus } from './exit-status.js';

/** Throws a CommandError when a certificate file cannot be read. */
export async function kafkaConnection(config: Config): Promise<KafkaConnection> {
  const { brokers, clientId, tls, sasl } = config.receive.kafka;
  const { mechanism, username, password } = sasl;
  const ca = await pem(tls.caFile, 'caFile');
  const cert = await pem(tls.certFile, 'certFile');
  const key = await pem(tls.keyFile, 'keyFile');
  return {
    brokers,
    clientId,
    tls: tls.enabled
      ? {
          rejectUnauthorized: tls.rejectUnauthorized,
          ...(ca !== undefined && { ca }),
          ...(cert !== undefined && { cert }),
          ...(key !== undefined && { key }),
        }
      : null,
    sasl: mechanism === 'none' ? null : { mechanism, username, password },
  };
}

export async function kafkaSource(config: Config): Promise<KafkaSourceConfig> {
  const { topics, groupId, startFrom, sessionTimeoutMs, maxBytesPerPartition } = config.receive.kafka;
  return {
    connection: await kafkaConnection(config),
    groupId,
    topics,
    startFrom: startFrom === 'earliest' || startFrom === 'latest' ? startFrom : Date.parse(startFrom),
    sessionTimeoutMs,
    maxBytesPerPartition,
  };
}

async function pem(file: string | undefined, key: string): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new CommandError(`receive.kafka.tls.${key}: cannot read ${file}: ${code}`, ExitStatus.usage);
  }
}
