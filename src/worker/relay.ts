/**
 * The relay: OTLP/HTTP requests, or the records of a topic that is not keyed, cut up by trace and written to a topic
 * that is keyed by trace id, so that all spans of a trace meet in one worker.
 *
 * It keeps nothing: a request is answered 200, and an offset is committed, once all in-sync replicas have the records.
 * What is repeated after a crash is the workers' to recognise.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome } from '../model/outcome.js';
import type { Rejection } from '../model/rejection.js';
import { atMost } from '../receive/at-most.js';
import { decodeTraces } from '../receive/decode.js';
import { troubleOf, type KafkaConnection } from '../receive/kafka-client.js';
import {
  createKafkaProducer,
  ensureTopic,
  type KafkaProducer,
  type OutgoingRecord,
  type ProducerCompression,
  type TopicShape,
} from '../receive/kafka-producer.js';
import {
  encodingOfRecord,
  rejectionAt,
  withoutSpans,
  type KafkaEncoding,
  type KafkaRecord,
} from '../receive/kafka-record.js';
import {
  startKafkaSource,
  type KafkaSource,
  type KafkaSourceConfig,
  type PartitionLog,
  type TopicPartition,
} from '../receive/kafka-source.js';
import { createLowWatermark } from '../receive/low-watermark.js';
import { startOtlpHttp, type OtlpEntry, type OtlpHttpConfig, type OtlpHttpServer } from '../receive/otlp-http.js';
import { splitByTrace, splitDecoded } from '../receive/split-by-trace.js';
import type { Events } from '../telemetry/events.js';
import { exposeKafkaLag, type Registry } from '../telemetry/metrics.js';
import { openDeadLetters, RECORD_BYTES, type DeadLetters } from './dead-letters.js';
import { WorkerStartError } from './start-error.js';

export interface RelaySettings {
  readonly version: string;
  readonly pid: number;
  readonly http: OtlpHttpConfig;
  readonly connection: KafkaConnection;
  /** The keyed topic. */
  readonly topic: string;
  readonly compression: ProducerCompression;
  /** Made when it is missing; null: it must be there. */
  readonly create: TopicShape | null;
  /** Topics that are not keyed; null: only OTLP/HTTP is relayed. */
  readonly from: { readonly source: KafkaSourceConfig; readonly encoding: KafkaEncoding } | null;
  readonly deadLetterTopic: string | null;
}

export interface RelayDeps {
  readonly events: Events;
  readonly registry: Registry;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export interface Relay {
  readonly port: number;
  /** All of the topics that it reads has been relayed. */
  readonly drained: boolean;
  stop(): Promise<void>;
}

const REQUEST_DEADLINE_MS = 10_000;
const CLOSE_MS = 10_000;
const RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Starts a relay; resolves when its port answers. Throws WorkerStartError. A broker that is away is waited for. */
export async function startRelay(settings: RelaySettings, deps: RelayDeps): Promise<Relay> {
  const relay = new RunningRelay(settings, deps);
  await relay.listen();
  return relay;
}

class RunningRelay implements Relay {
  private readonly producer: KafkaProducer;
  private readonly deadLetters: DeadLetters | null;
  private server: OtlpHttpServer | undefined;
  private source: KafkaSource | null = null;
  private readonly preparing: Promise<void>;
  /** Why the keyed topic, which is ours to make, is not there; null: it is, or it is not ours. */
  private unprepared: string | null;
  /** Of the records that were read and are not written yet: also of those that wait to be tried again. */
  private waitingBytes = 0;
  private readonly stopping = new AbortController();

  constructor(
    private readonly settings: RelaySettings,
    private readonly deps: RelayDeps,
  ) {
    const { connection, compression, create, deadLetterTopic } = settings;
    const { events } = deps;
    this.producer = createKafkaProducer(connection, compression, events.kafkaClientLog);
    this.deadLetters = openDeadLetters(deadLetterTopic, connection, { on: events, nowMs: deps.nowMs });
    setMaxListeners(0, this.stopping.signal); // one for each record that waits
    this.unprepared = create === null ? null : 'the brokers do not answer yet';
    this.preparing = this.prepare();
  }

  get port(): number {
    return this.server?.port ?? 0;
  }

  get drained(): boolean {
    const { source } = this;
    if (source === null) return this.settings.from === null;
    return source.trouble === null && source.lag.every(({ lag }) => lag === 0) && this.waitingBytes === 0;
  }

  async listen(): Promise<void> {
    const { settings, deps } = this;
    const { events, registry } = deps;
    exposeKafkaLag(registry, () => this.source?.lag ?? []);
    const start = await startOtlpHttp(settings.http, {
      decode: (body, encoding) => decodeTraces(body, encoding),
      append: (entry) => this.append(entry),
      accepting: () => this.accepting(),
      readiness: () => this.readiness(),
      metricsText: () => registry.metrics(),
      events,
      nowMs: () => deps.nowMs(),
    });
    if (start.status !== 'started') throw new WorkerStartError(start.cause.message, { cause: start.cause });
    this.server = start.server;
    const { version, pid, http } = settings;
    events.workerStarted({ role: 'relay', version, pid, host: http.host, port: this.port });
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.source?.quiesce();
    await Promise.all([this.server?.close(REQUEST_DEADLINE_MS), atMost(CLOSE_MS, this.preparing)]);
    await Promise.all([this.producer.close(), this.deadLetters?.close()]);
    await this.source?.stop();
  }

  /** Makes the topic if asked, however long the brokers stay away, and then begins to read. */
  private async prepare(): Promise<void> {
    const { create, connection, from } = this.settings;
    const { events } = this.deps;
    for (let retryMs = RETRY_MS; create !== null && !this.stopped; retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)) {
      try {
        await ensureTopic(connection, create, events.kafkaClientLog);
        break;
      } catch (error) {
        const cause = error instanceof Error ? error : new Error('unknown error');
        this.unprepared = `the topic ${create.topic} cannot be made: ${cause.message}`;
        events.kafkaLost({ trouble: troubleOf(cause), error: cause, retryMs });
        await this.pause(retryMs);
      }
    }
    this.unprepared = null;
    if (this.stopped || from === null) return;
    this.source = startKafkaSource(from.source, {
      on: events,
      nowMs: this.deps.nowMs,
      random: this.deps.random,
      open: (partitions) => partitions.map((partition) => this.partitionLog(partition)),
      full: () =>
        this.waitingBytes > MAX_WAITING_BYTES ||
        this.producer.waitingBytes > MAX_WAITING_BYTES ||
        this.deadLetters?.full === true,
    });
  }

  private get stopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }

  private accepting(): Outcome {
    const slow = this.producer.waitingBytes > MAX_WAITING_BYTES ? 'Kafka takes records too slowly' : null;
    const reason = this.unprepared ?? slow;
    return reason === null ? { status: 'ok' } : { status: 'retryable', cause: new Error(reason) };
  }

  private readiness(): { ready: boolean; reasons: string[] } {
    const reasons: string[] = [];
    if (this.unprepared !== null) reasons.push(`Kafka: ${this.unprepared}`);
    if (this.source !== null && this.source.trouble !== null) reasons.push(`Kafka: ${this.source.trouble}`);
    if (this.producer.trouble !== null) reasons.push(`Kafka: ${this.producer.trouble}`);
    return { ready: reasons.length === 0, reasons };
  }

  /** The spans of the request were decoded and what is wrong with some of them is told by the server. */
  private append({ body, encoding, batch }: OtlpEntry): Promise<Outcome> {
    const split = splitDecoded(body, encoding, batch);
    // More than the decoder refuses: what is above the spans would be repeated too often.
    if (split.rejections.length > batch.rejections.length) {
      return Promise.resolve({ status: 'rejected', cause: new Error('the request holds too many traces') });
    }
    this.deps.events.spansAccepted(batch.spans.length);
    return this.write(split.parts);
  }

  private async write(parts: ReadonlyMap<string, Buffer>): Promise<Outcome> {
    const { topic } = this.settings;
    const records = [...parts].map(([key, value]): OutgoingRecord => ({ topic, key, value }));
    const outcome = await this.producer.send(records);
    if (outcome.status === 'ok') {
      this.deps.events.recordsRelayed({ records: records.length, bytes: bytesOf(parts) });
    }
    return outcome;
  }

  private partitionLog(partition: TopicPartition): PartitionLog {
    const watermark = createLowWatermark();
    return {
      take: (record) => {
        watermark.hold(record.offset);
        void this.relay(partition, record).then((done) => done && watermark.release(record.offset));
      },
      reached: (next) => watermark.reached(next),
      drained: () => undefined,
      get committable() {
        return watermark.committable;
      },
    };
  }

  /** False: it is not written, and has to be read again. */
  private async relay(from: TopicPartition, record: KafkaRecord): Promise<boolean> {
    const { events } = this.deps;
    const encoding = encodingOfRecord(record, this.settings.from?.encoding ?? 'sniff');
    if (encoding === null) {
      events.recordEmpty({ topic: from.topic });
      return true;
    }
    const split = splitByTrace(record.value as Buffer, encoding);
    if (split.kind === 'malformed') return this.bury(from, record, split.rejection);
    for (const rejection of split.rejections) this.reject(from, record, rejection);
    if (split.parts.size === 0) {
      return this.bury(from, record, withoutSpans(record));
    }
    const bytes = bytesOf(split.parts) + RECORD_BYTES;
    this.waitingBytes += bytes;
    const outcome = await this.writeAtLast(split.parts).finally(() => (this.waitingBytes -= bytes));
    if (outcome.status !== 'rejected') return outcome.status === 'ok';
    const detail = 'a record is larger than the keyed topic takes';
    return this.bury(from, record, { reason: 'too_large', detail, spans: 0 });
  }

  /** Tries again until the brokers take it, or not for good, or this is stopped. */
  private async writeAtLast(parts: ReadonlyMap<string, Buffer>): Promise<Outcome> {
    for (;;) {
      const outcome = await this.write(parts);
      if (outcome.status !== 'retryable' || this.stopped) return outcome;
      await this.pause(outcome.afterMs ?? RETRY_MS);
    }
  }

  private async bury(from: TopicPartition, record: KafkaRecord, rejection: Rejection): Promise<boolean> {
    this.reject(from, record, rejection);
    return this.deadLetters === null || (await this.deadLetters.send(from, record, rejection));
  }

  private reject(from: TopicPartition, record: KafkaRecord, rejection: Rejection): void {
    this.deps.events.spanRejected(rejectionAt(from, record, rejection));
  }
}

function bytesOf(parts: ReadonlyMap<string, Buffer>): number {
  let bytes = 0;
  for (const part of parts.values()) bytes += part.length;
  return bytes;
}
