/**
 * Reads topics as a member of a consumer group, and commits offsets when it is told that they are no longer needed.
 *
 * kafkajs does the protocol; it stands behind this file alone, so that another client can take its place. What we add:
 *
 * - *A group join starts over.* kafkajs fetches again from the committed offsets after every join, also on partitions
 *   that the member keeps. So each join opens new logs, and all that was read before is void.
 * - *Offsets are committed by low watermark*, never because something was read (`PartitionLog.committable`).
 * - *"Nothing more to read"* is asked for: kafkajs does not say which partitions an empty answer was about. Once a
 *   second the end offsets are fetched; a partition that had been read up to there was drained when the question left.
 *   The same answers give the lag.
 * - *A session ends, and another begins*, when the client gives up, when it has gone silent (neither a fetch
 *   nor a record for `SILENT_MS`), when a missing topic has appeared, or when a partition begins anew because its topic
 *   was made again; with growing pauses while brokers stay away.
 * - *Back-pressure*: while `full()` all partitions are paused. A paused consumer heartbeats and stays a member.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Admin, Consumer, EachBatchPayload, KafkaMessage, TopicPartitionOffset } from 'kafkajs';
import type { Offset } from '../model/received.js';
import { atMost } from './at-most.js';
import {
  createKafka,
  existingTopics,
  troubleOf,
  type ClientLog,
  type KafkaConnection,
  type KafkaTrouble,
} from './kafka-client.js';
import { missingCodecs, registerCodecs } from './kafka-codecs.js';
import type { KafkaRecord } from './kafka-record.js';

export interface KafkaSourceConfig {
  readonly connection: KafkaConnection;
  readonly groupId: string;
  readonly topics: readonly string[];
  /** Where a group begins that has committed nothing: an end, or a time in milliseconds since the Unix epoch. */
  readonly startFrom: 'earliest' | 'latest' | number;
  readonly sessionTimeoutMs: number;
  readonly maxBytesPerPartition: number;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** What is made of the records of one partition, from one group join to the next. */
export interface PartitionLog {
  /** Records come in order of offset. Must not throw. */
  take(record: KafkaRecord): void;
  /** Everything below `next` was read, whether a record was given for it or not. */
  reached(next: Offset): void;
  /** There was nothing more to read when the wall clock stood at `wallMs`. */
  drained(wallMs: number): void;
  /** What may be committed: the lowest offset that is still needed, else the next to read; null: nothing known yet. */
  readonly committable: Offset | null;
}

export interface KafkaSourceEvents {
  kafkaJoined(event: { readonly partitions: number; readonly memberId: string }): void;
  /** The session has ended by itself; another follows after `retryMs`. */
  kafkaLost(event: { readonly trouble: SourceTrouble; readonly error: Error; readonly retryMs: number }): void;
  /** The brokers have deleted records, as their retention says, that were not read yet. */
  kafkaRecordsGone(event: TopicPartition & { readonly records: number }): void;
  kafkaTopicsMissing(event: { readonly topics: readonly string[] }): void;
  kafkaCommitFailed(event: { readonly error: unknown }): void;
  kafkaPaused(event: { readonly paused: boolean }): void;
  /** A compression that batches may have and that cannot be read on this machine. */
  kafkaCodecMissing(event: { readonly codec: string; readonly error: unknown }): void;
  readonly kafkaClientLog: ClientLog;
}

/** `silent`: no sign of life from the client. `rewound`: a partition ends before what was read of it. */
export type SourceTrouble = KafkaTrouble | 'silent' | 'rewound';

export interface KafkaSourceDeps {
  readonly on: KafkaSourceEvents;
  readonly nowMs: () => number;
  readonly random: () => number;
  /** After a group join: one log for each partition. All logs that were opened before are void. */
  open(partitions: readonly TopicPartition[]): readonly PartitionLog[];
  /** Downstream has no room for more. */
  full(): boolean;
}

export interface PartitionLag extends TopicPartition {
  /** Records between what was read and the end of the partition; null: not known yet. */
  readonly lag: number | null;
}

export interface KafkaSource {
  /** Null while it reads; else why it does not. */
  readonly trouble: string | null;
  readonly lag: readonly PartitionLag[];
  /** Reads no more, but stays in the group so that offsets can be committed. */
  quiesce(): void;
  /** Commits what is committable and leaves the group. Nothing is given to a log after it has resolved. */
  stop(): Promise<void>;
}

const TICK_MS = 250;
const OFFSETS_TICKS = 4; // once a second
const SILENT_MS = 60_000;
const TOPICS_TICKS = 40; // every 10 s
const FETCH_WAIT_MS = 500;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;
/** A client that hangs is not waited for longer; its session in the group then times out. */
const CLOSE_MS = 10_000;

/**
 * Starts reading; resolves at once. A broker or topic that is away is waited for.
 *
 * Records, batches and topics are never created by it.
 */
export function startKafkaSource(config: KafkaSourceConfig, deps: KafkaSourceDeps): KafkaSource {
  registerCodecs();
  for (const { codec, error } of missingCodecs()) deps.on.kafkaCodecMissing({ codec, error });
  return new RunningSource(config, deps);
}

type Ending =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'topics' }
  | { readonly kind: 'lost'; readonly trouble: SourceTrouble; readonly error: Error };

class RunningSource implements KafkaSource {
  private session: Session | null = null;
  private why: string | null = 'it is not connected yet';
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private quiet = false;

  constructor(
    private readonly config: KafkaSourceConfig,
    private readonly deps: KafkaSourceDeps,
  ) {
    this.running = this.run();
  }

  get trouble(): string | null {
    return this.why ?? this.session?.trouble ?? null;
  }

  get lag(): readonly PartitionLag[] {
    return this.session?.lag ?? [];
  }

  quiesce(): void {
    this.quiet = true;
    this.session?.quiesce();
  }

  async stop(): Promise<void> {
    this.quiesce();
    this.stopping.abort();
    this.session?.end({ kind: 'stopped' });
    await this.running;
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.stopping.signal.aborted) {
      const session = new Session(this.config, this.deps, () => (this.why = null));
      this.session = session;
      if (this.quiet) session.quiesce();
      const ending = await session.run();
      this.session = null;
      if (ending.kind === 'stopped') break;
      if (session.hasFetched) failures = 0;
      if (ending.kind === 'topics') continue;

      const retryMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) * (0.5 + this.deps.random() / 2);
      failures += 1;
      this.why = `${WHY[ending.trouble]}: ${ending.error.message}`;
      this.deps.on.kafkaLost({ ...ending, retryMs: Math.round(retryMs) });
      await pause(retryMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }
}

const WHY: Readonly<Record<SourceTrouble, string>> = {
  credentials: 'the brokers refuse its credentials',
  notMember: 'the group goes on without it',
  unsupported: 'it cannot read a batch',
  refused: 'the brokers refuse it',
  away: 'the brokers do not answer',
  silent: 'its consumer went silent',
  rewound: 'a partition begins anew',
};

interface Assigned extends TopicPartition {
  readonly log: PartitionLog;
  /** The next offset to read; null until known. */
  position: Offset | null;
  /** The end offset, when it was last asked for. */
  end: Offset | null;
  committed: Offset | null;
}

const keyOf = ({ topic, partition }: TopicPartition) => `${topic}/${String(partition)}`;

/** One consumer, from its connection to its end. What a consumer that was given up still says reaches nobody. */
class Session {
  hasFetched = false;
  private consumer: Consumer | null = null;
  private admin: Admin | null = null;
  private opening: Promise<void> = Promise.resolve();
  private subscribed: readonly string[] = [];
  private partitions = new Map<string, Assigned>();
  /** Where to begin on partitions for which the group has committed nothing. */
  private starts = new Map<string, Offset>();
  /** A join, a fetch, or a record: what one fetch brought can take longer than the patience with a silent consumer. */
  private lastSignMs = 0;
  /** Ticks until the next question. No times: a wall clock that is set back must not put them off. */
  private ticksToOffsets = 0;
  private ticksToTopics = TOPICS_TICKS;
  private asking = false;
  private committing: Promise<void> | null = null;
  private paused = false;
  private quiet = false;
  private ended = false;
  private finish: (ending: Ending) => void = () => undefined;
  private readonly ending = new Promise<Ending>((resolve) => (this.finish = resolve));

  constructor(
    private readonly config: KafkaSourceConfig,
    private readonly deps: KafkaSourceDeps,
    private readonly joined: () => void,
  ) {}

  get trouble(): string | null {
    if (this.consumer === null || this.lastSignMs === 0) return 'it has not joined its group yet';
    return null;
  }

  get lag(): readonly PartitionLag[] {
    return [...this.partitions.values()].map(({ topic, partition, position, end }) => ({
      topic,
      partition,
      lag: position === null || end === null ? null : Math.max(0, end - position),
    }));
  }

  async run(): Promise<Ending> {
    this.opening = this.open().catch((error: unknown) => this.lose(error));
    const ending = await this.ending;
    // The first may have been under way, with offsets from before.
    if (ending.kind === 'stopped')
      await atMost(
        CLOSE_MS,
        this.commit().then(() => this.commit()),
      );
    this.ended = true;
    this.partitions = new Map();
    if (ending.kind !== 'stopped') this.deps.open([]);
    await atMost(CLOSE_MS, this.disconnect());
    return ending;
  }

  /** A consumer that is disconnected while it joins would join all the same, and go on in nobody's name. */
  private async disconnect(): Promise<void> {
    await this.opening;
    await Promise.allSettled([this.consumer?.disconnect(), this.admin?.disconnect()]);
  }

  end(ending: Ending): void {
    this.finish(ending);
  }

  quiesce(): void {
    this.quiet = true;
    this.pause();
  }

  private lose(error: unknown): void {
    const cause = error instanceof Error ? error : new Error('unknown error');
    this.end({ kind: 'lost', trouble: troubleOf(error), error: cause });
  }

  private async open(): Promise<void> {
    const { config, deps } = this;
    const kafka = createKafka(config.connection, (level, text) => {
      if (!this.ended) deps.on.kafkaClientLog(level, text);
    });
    this.admin = kafka.admin();
    await this.admin.connect();
    const found = await existingTopics(this.admin, config.topics);
    this.subscribed = config.topics.filter((topic) => found.has(topic));
    this.reportMissing(found);
    if (this.ended) return;
    if (this.subscribed.length > 0) await this.consume(kafka.consumer(this.consumerConfig()));
    void this.tick();
  }

  private consumerConfig() {
    const { groupId, sessionTimeoutMs, maxBytesPerPartition } = this.config;
    return {
      groupId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: sessionTimeoutMs,
      heartbeatInterval: Math.floor(sessionTimeoutMs / 10),
      maxBytesPerPartition,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      allowAutoTopicCreation: false,
      // One way of starting again for everything: a new session.
      retry: { retries: 4, restartOnFailure: () => Promise.resolve(false) },
    };
  }

  private async consume(consumer: Consumer): Promise<void> {
    this.consumer = consumer;
    consumer.on('consumer.group_join', ({ payload }) => this.join(payload.memberId, payload.memberAssignment));
    consumer.on('consumer.fetch', () => {
      this.lastSignMs = this.deps.nowMs();
      this.hasFetched = true;
    });
    // Batches that hold control records only, or whose records were aborted or compacted away, are given to nobody.
    consumer.on('consumer.start_batch_process', ({ payload }) => {
      if (payload.batchSize === 0) this.reach(this.partitions.get(keyOf(payload)), Number(payload.lastOffset) + 1);
    });
    consumer.on('consumer.crash', ({ payload }) => this.lose(payload.error));

    await this.findStarts();
    await consumer.connect();
    await consumer.subscribe({ topics: [...this.subscribed], fromBeginning: true });
    this.lastSignMs = this.deps.nowMs();
    if (this.ended) return;
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: (payload) => this.batch(payload) });
  }

  /** Of topics of which the group has committed nothing. Partitions that are added later are read from their beginning. */
  private async findStarts(): Promise<void> {
    const { groupId, startFrom } = this.config;
    if (startFrom === 'earliest' || this.admin === null) return;
    const committed = await this.admin.fetchOffsets({ groupId, topics: [...this.subscribed] });
    for (const { topic, partitions } of committed) {
      const fresh = new Set(partitions.filter(({ offset }) => Number(offset) < 0).map(({ partition }) => partition));
      if (fresh.size < partitions.length) continue;
      const offsets =
        startFrom === 'latest'
          ? await this.admin.fetchTopicOffsets(topic)
          : await this.admin.fetchTopicOffsetsByTimestamp(topic, startFrom);
      for (const { partition, offset } of offsets) {
        if (fresh.has(partition)) this.starts.set(keyOf({ topic, partition }), Number(offset));
      }
    }
  }

  private join(memberId: string, assignment: Readonly<Record<string, number[]>>): void {
    if (this.ended) return;
    const parts = Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.map((partition): TopicPartition => ({ topic, partition })),
    );
    const logs = this.deps.open(parts);
    this.partitions = new Map();
    // Another member has those that are not here, and commits where it begins; a start of ours would be out of date.
    const mine = new Set(parts.map(keyOf));
    for (const key of this.starts.keys()) if (!mine.has(key)) this.starts.delete(key);
    parts.forEach((part, at) => {
      const log = logs[at] as PartitionLog;
      const assigned: Assigned = { ...part, log, position: null, end: null, committed: null };
      this.partitions.set(keyOf(part), assigned);
      const start = this.starts.get(keyOf(part));
      if (start === undefined) return;
      this.consumer?.seek({ ...part, offset: String(start) });
      this.reach(assigned, start);
    });
    this.ticksToOffsets = 0;
    this.lastSignMs = this.deps.nowMs();
    // The client remembers across joins which topics are paused.
    if (this.quiet || this.deps.full()) this.pause();
    this.joined();
    this.deps.on.kafkaJoined({ partitions: parts.length, memberId });
  }

  private async batch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const assigned = this.partitions.get(keyOf(batch));
    if (assigned === undefined) return;
    const current = () =>
      !this.ended && payload.isRunning() && !payload.isStale() && this.partitions.get(keyOf(batch)) === assigned;
    for (const message of batch.messages) {
      if (!current()) return;
      this.lastSignMs = this.deps.nowMs();
      if (this.quiet || this.deps.full()) return this.pause();
      const offset = Number(message.offset);
      if (assigned.position !== null && offset < assigned.position) return this.rewind(assigned, offset, offset);
      assigned.log.take(recordOf(message));
      assigned.position = offset + 1;
      payload.resolveOffset(message.offset);
      await payload.heartbeat();
    }
    if (current()) this.reach(assigned, Number(batch.lastOffset()) + 1);
  }

  private reach(assigned: Assigned | undefined, next: Offset): void {
    if (assigned === undefined || this.ended) return;
    if (assigned.position === null || next > assigned.position) assigned.position = next;
    assigned.log.reached(next);
  }

  private pause(): void {
    if (this.paused || this.consumer === null || this.partitions.size === 0) return;
    this.paused = true;
    this.consumer.pause(this.subscribed.map((topic) => ({ topic })));
    this.deps.on.kafkaPaused({ paused: true });
  }

  private resume(): void {
    this.paused = false;
    this.consumer?.resume(this.subscribed.map((topic) => ({ topic })));
    this.deps.on.kafkaPaused({ paused: false });
  }

  /** One timer for all that happens without a record. */
  private async tick(): Promise<void> {
    while (!this.ended) {
      const nowMs = this.deps.nowMs();
      if (this.paused && !this.quiet && !this.deps.full()) this.resume();
      if (--this.ticksToTopics <= 0) this.ask(() => this.lookForTopics());
      else if (--this.ticksToOffsets <= 0 && this.consumer !== null) this.ask(() => this.fetchEnds());
      if (this.consumer !== null && nowMs - this.lastSignMs > SILENT_MS) {
        const error = new Error(
          `neither a fetch nor a record for ${String(Math.round((nowMs - this.lastSignMs) / 1_000))} s`,
        );
        this.end({ kind: 'lost', trouble: 'silent', error });
      }
      void this.commit();
      await pause(TICK_MS);
    }
  }

  /** One question at a time; one that fails is asked again. */
  private ask(question: () => Promise<void>): void {
    if (this.asking) return;
    this.asking = true;
    question()
      .catch((error: unknown) => {
        // Without a consumer nothing else would notice that the brokers have gone.
        if (this.consumer === null && !this.ended) this.lose(error);
      })
      .finally(() => (this.asking = false));
  }

  private async lookForTopics(): Promise<void> {
    this.ticksToTopics = TOPICS_TICKS;
    if (this.admin === null || this.subscribed.length === this.config.topics.length) return;
    const found = await existingTopics(this.admin, this.config.topics);
    if (found.size > this.subscribed.length) this.end({ kind: 'topics' });
    else this.reportMissing(found);
  }

  private reportMissing(found: ReadonlySet<string>): void {
    const topics = this.config.topics.filter((topic) => !found.has(topic));
    if (topics.length > 0) this.deps.on.kafkaTopicsMissing({ topics });
  }

  private async fetchEnds(): Promise<void> {
    const { admin, deps, partitions } = this;
    if (admin === null) return;
    this.ticksToOffsets = OFFSETS_TICKS;
    if (partitions.size === 0) return;
    const committed = await this.fetchCommitted(admin);
    for (const topic of new Set([...partitions.values()].map((assigned) => assigned.topic))) {
      const askedMs = deps.nowMs();
      const positions = new Map([...partitions].map(([key, { position }]) => [key, position]));
      for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
        const key = keyOf({ topic, partition });
        const assigned = partitions.get(key);
        if (assigned === undefined || this.partitions !== partitions || this.ended) continue;
        assigned.end = Number(high);
        if ((positions.get(key) ?? 0) > assigned.end) {
          this.rewind(assigned, Number(low), assigned.end);
          return;
        }
        this.place(assigned, committed.get(key), Number(low));
        if (assigned.position !== null && assigned.position >= assigned.end) assigned.log.drained(askedMs);
      }
    }
  }

  /** What the group has committed for partitions on which nothing has come since the join. */
  private async fetchCommitted(admin: Admin): Promise<ReadonlyMap<string, Offset>> {
    const unknown = [...this.partitions.values()].filter(({ position }) => position === null);
    if (unknown.length === 0) return new Map();
    const topics = [...new Set(unknown.map(({ topic }) => topic))];
    const groups = await admin.fetchOffsets({ groupId: this.config.groupId, topics });
    return new Map(
      groups.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }): [string, Offset] => [keyOf({ topic, partition }), Number(offset)]),
      ),
    );
  }

  /**
   * A partition on which nothing has come since the join stands where its group has committed. Where no record is any
   * more (deleted before it was read, or of a topic that was made again) the client begins at the lowest that is there.
   */
  private place(assigned: Assigned, committed: Offset | undefined, low: Offset): void {
    const { position, end, topic, partition } = assigned;
    const known = committed !== undefined && committed >= 0 && committed <= (end ?? 0) ? committed : null;
    const next = position ?? known;
    if (next !== null && next < low) this.deps.on.kafkaRecordsGone({ topic, partition, records: low - next });
    if (position === null) assigned.committed = known;
    if (position === null || position < low) this.reach(assigned, Math.max(next ?? low, low));
  }

  /**
   * A partition ends before what was read of it: its topic was made again, or its log was cut. What was read before is
   * void, and what is committed may be ahead of records that nobody has read; so it is read anew, from the lowest of them.
   */
  private rewind({ topic, partition, position }: Assigned, low: Offset, end: Offset): void {
    this.partitions = new Map();
    const where = `${topic}/${String(partition)}`;
    const error = new Error(
      `${where}: offset ${String(position)} expected next, but its log goes on at ${String(end)}`,
    );
    void Promise.resolve(this.committing)
      .then(() => this.commitOffsets([{ topic, partition, offset: String(low) }]))
      .then(() => this.end({ kind: 'lost', trouble: 'rewound', error }));
  }

  /** Commits what has moved. A commit that fails is made again by the next tick, and costs a second reading at most. */
  private commit(): Promise<void> {
    this.committing ??= this.commitNow().finally(() => (this.committing = null));
    return this.committing;
  }

  private async commitNow(): Promise<void> {
    const moved = [...this.partitions.values()].flatMap((assigned) => {
      const offset = assigned.log.committable;
      return offset === null || offset === assigned.committed ? [] : [{ assigned, offset }];
    });
    if (moved.length === 0) return;
    const offsets = moved.map(({ assigned: { topic, partition }, offset }) => ({
      topic,
      partition,
      offset: String(offset),
    }));
    if (!(await this.commitOffsets(offsets))) return;
    for (const { assigned, offset } of moved) {
      assigned.committed = offset;
      this.starts.delete(keyOf(assigned));
    }
  }

  private async commitOffsets(offsets: readonly TopicPartitionOffset[]): Promise<boolean> {
    try {
      if (this.consumer === null) return false;
      await this.consumer.commitOffsets([...offsets]);
      return true;
    } catch (error) {
      if (troubleOf(error) !== 'notMember' && !this.ended) this.deps.on.kafkaCommitFailed({ error });
      return false;
    }
  }
}

function recordOf({ offset, key, value, headers, timestamp }: KafkaMessage): KafkaRecord {
  return { offset: Number(offset), key, value, headers: headers ?? {}, timestampMs: Number(timestamp) };
}
