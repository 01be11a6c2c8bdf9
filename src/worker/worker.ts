/**
 * A running worker: its logs (the spool behind OTLP/HTTP, Kafka, or both), the pipeline and the store joined together,
 * with one timer.
 *
 * Life: starting (the port answers, nothing is read or accepted until the store has its tables) -> catching up (what the
 * spool still holds is read again, in order; new requests are accepted behind it) -> live -> draining (requests in hand
 * are finished, rows that wait are written, offsets are committed) -> stopped. What is undecided or in its late window
 * stays in its log and is read again by whoever reads that next, so stopping loses nothing and decides nothing early.
 *
 * A request is answered 200 once the spool has it on disk. When the store takes no rows, stream time stands still: open
 * interactions wait, Kafka is paused, and when the writer's queue is full senders are told to come back (503).
 */
import { after } from '../after.js';
import type { AssembleRules } from '../assemble/rules.js';
import type { Graded } from '../model/graded.js';
import type { Outcome } from '../model/outcome.js';
import type { Rejection } from '../model/rejection.js';
import type { PipelineEvents, SpanCounts } from '../pipeline.js';
import { atMost } from '../receive/at-most.js';
import { decodeTraces } from '../receive/decode.js';
import { startOtlpHttp, type OtlpEntry, type OtlpHttpConfig, type OtlpHttpServer } from '../receive/otlp-http.js';
import { openSpool, type Spool, type SpoolConfig } from '../receive/spool-lmdb.js';
import { turnName } from '../score/datasets.js';
import type { ExpectationIndex } from '../score/expectations.js';
import type { Redaction } from '../score/redact.js';
import { policyHash, policySettings, type ScoringPolicy } from '../score/policy.js';
import { openStore, type Heartbeat, type Store } from '../store/clickhouse.js';
import { ownerOf, type StoreConfig } from '../store/engine.js';
import { MigrationError } from '../store/errors.js';
import { isEngineError } from '../store/retry.js';
import type { StoreWriter, WriterRules } from '../store/writer.js';
import type { DropReason } from '../telemetry/instruments.js';
import type { Events } from '../telemetry/events.js';
import { exposeJudge, exposeKafkaLag, exposeReadings, type Registry } from '../telemetry/metrics.js';
import { Healer } from './healer.js';
import { KafkaLog, type KafkaLogConfig } from './kafka-log.js';
import { openJudge, type JudgeSettings, type OpenJudge } from './live-judge.js';
import { queryRoute } from './query-route.js';
import type { Shard, ShardDeps } from './shard.js';
import { SpoolLog } from './spool-log.js';
import { WorkerStartError } from './start-error.js';

export interface WorkerSettings {
  readonly role: 'all' | 'worker';
  readonly version: string;
  readonly pid: number;
  /** Names this process in heartbeats. */
  readonly workerId: string;
  readonly http: OtlpHttpConfig;
  /** Where OTLP/HTTP requests are kept until they are graded; null: none are accepted. */
  readonly spool: SpoolConfig | null;
  readonly kafka: KafkaLogConfig | null;
  readonly store: StoreConfig;
  readonly writer: Partial<WriterRules>;
  readonly assemble: AssembleRules;
  readonly policy: ScoringPolicy;
  readonly expectations: ExpectationIndex;
  /** null exactly when the policy has no judge. */
  readonly judge: JudgeSettings | null;
  /** Taken out of what is stored; null: nothing. */
  readonly storeRedaction: Redaction | null;
  /** Begins to keep `expectations` up to date, and gives what ends it. */
  readonly watchExpectations?: (reject: (rejection: Rejection) => void) => () => void;
}

export interface WorkerDeps {
  readonly events: Events;
  readonly registry: Registry;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly isAlive: (pid: number) => boolean;
}

export interface Worker {
  readonly port: number;
  readonly store: Store;
  /** Everything that was received is decided and stored. */
  whenIdle(): Promise<void>;
  /** Writes now how far it has read, which it else does every ten seconds. */
  heartbeat(): Promise<void>;
  /** Resolves with the fault that keeps it from working for good: the store's tables are not this program's. */
  readonly failed: Promise<unknown>;
  /** Drains and closes everything. */
  stop(): Promise<void>;
}

const TICK_MS = 100;
const HEARTBEAT_MS = 10_000;
/** A heartbeat without an answer for so long has failed; as for the writer's inserts. */
const HEARTBEAT_STALLED_MS = 30_000;
const REQUEST_DEADLINE_MS = 10_000;
const DRAIN_MS = 20_000;
/** Of these, the judge may take so much to answer what it was asked. */
const JUDGE_DRAIN_MS = 5_000;
const RETRY_AFTER_MS = 1_000;
const STORE_RETRY_MS = 1_000;

/**
 * Starts a worker; resolves when its port answers.
 *
 * Throws WorkerStartError, or what `openStore` throws, after closing what it had opened.
 */
export async function startWorker(settings: WorkerSettings, deps: WorkerDeps): Promise<Worker> {
  const spool = settings.spool === null ? null : await openOwnSpool(settings.spool, settings.store, deps);
  let store: Store | undefined;
  try {
    store = await openStore(settings.store, deps);
    const worker = new RunningWorker(settings, deps, spool, store);
    await worker.prepareStore();
    await worker.listen();
    return worker;
  } catch (error) {
    await store?.close();
    await spool?.close();
    throw error;
  }
}

async function openOwnSpool(config: SpoolConfig, store: StoreConfig, deps: WorkerDeps): Promise<Spool> {
  const opening = openSpool(config);
  if (opening.status === 'opened') return opening.spool;
  const owner = store.url === 'embedded' ? await ownerOf(store.dataDir) : null;
  const by = owner !== null && deps.isAlive(owner.pid) ? ` (process ${owner.pid}, running since ${owner.since})` : '';
  throw new WorkerStartError(`${opening.cause.message}${by}`, { cause: opening.cause });
}

type Phase = 'starting' | 'catching up' | 'live' | 'draining';

class RunningWorker implements Worker {
  private phase: Phase = 'starting';
  private readonly writer: StoreWriter;
  private readonly spool: SpoolLog | null;
  private readonly judge: OpenJudge | null;
  private readonly healer: Healer | null;
  private kafka: KafkaLog | null = null;
  private server: OtlpHttpServer | undefined;
  private unwatch: (() => void) | undefined;
  private timer: NodeJS.Timeout | undefined;
  private nextBeatMs = 0;
  /** When the heartbeat that is on its way was sent; null: none is. */
  private beatSinceMs: number | null = null;
  /** The last heartbeat failed, and no row has got in since: all that an idle worker knows of its store. */
  private beatFailed = false;
  private starting: Promise<void> = Promise.resolve();
  private idleWaiters: (() => void)[] = [];
  private storeReady = false;
  private fail: (error: unknown) => void = () => undefined;
  readonly failed = new Promise<unknown>((resolve) => (this.fail = resolve));

  constructor(
    private readonly settings: WorkerSettings,
    private readonly deps: WorkerDeps,
    spool: Spool | null,
    readonly store: Store,
  ) {
    const { events } = deps;
    this.writer = store.writer(
      {
        nowMs: () => deps.nowMs(),
        chance: () => deps.random(),
        after,
        on: {
          ...events,
          batchStored: (event) => {
            this.beatFailed = false;
            events.batchStored(event);
          },
        },
      },
      settings.writer,
    );
    this.judge = this.openJudge();
    this.healer = this.openHealer();
    this.spool = spool === null ? null : new SpoolLog(spool, { ...this.shardDeps(), on: events, reject: this.reject });
    exposeReadings(deps.registry, {
      openSpans: () => this.openSpans,
      ...(this.spool && {
        spoolEntries: () => this.spool!.stats().entries,
        spoolBytes: () => this.spool!.stats().bytes,
      }),
      queuedRows: () => this.writer.waiting,
      streamLagMs: () => this.streamLagMs(),
    });
    const { judge } = this;
    if (judge !== null) exposeJudge(deps.registry, () => judge.judge.stats());
    if (settings.kafka !== null) exposeKafkaLag(deps.registry, () => this.kafka?.lag ?? []);
  }

  get port(): number {
    return this.server?.port ?? 0;
  }

  private get shards(): readonly Shard[] {
    return [...(this.spool === null ? [] : [this.spool.shard]), ...(this.kafka?.shards ?? [])];
  }

  private get openSpans(): number {
    return this.shards.reduce((sum, shard) => sum + shard.openSpans, 0);
  }

  private streamLagMs(): number {
    const times = this.shards.map((shard) => shard.nowMs).filter((nowMs) => nowMs > 0);
    return times.length === 0 ? 0 : Math.max(0, this.deps.nowMs() - Math.min(...times));
  }

  private shardDeps(): ShardDeps {
    const { assemble, policy, expectations } = this.settings;
    return {
      rules: { assemble, policy },
      expectations,
      events: this.pipelineEvents(),
      judging: this.judging(),
      store: (graded: Graded) => this.writer.write(this.shown(graded)),
      nowMs: this.deps.nowMs,
    };
  }

  private openJudge(): OpenJudge | null {
    const { judge, policy } = this.settings;
    if (judge === null) return null;
    const { events: on, nowMs, random } = this.deps;
    return openJudge(judge, { keptIn: { store: this.store, policy: policyHash(policy) }, nowMs, random, on });
  }

  private openHealer(): Healer | null {
    const { judge, settings } = this;
    if (judge === null || settings.judge === null) return null;
    const { events, nowMs, random } = this.deps;
    const quiet = { expectationUnreadable: () => undefined, expectationAmbiguous: () => undefined };
    return new Healer(settings.judge.healEveryMs, settings.policy, {
      expectations: settings.expectations,
      events: { ...this.pipelineEvents(), ...quiet },
      judging: judge,
      judge: judge.judge,
      atOnce: judge.atOnce,
      store: this.store,
      nowMs,
      random,
      storeVerdict: (graded) => this.writer.writeVerdict(graded),
      verdictHealed: () => events.verdictHealed(),
      healingFailed: (error) => events.healingFailed(error),
    });
  }

  private judging(): ShardDeps['judging'] {
    const { judge, settings } = this;
    if (judge === null || settings.judge === null) return null;
    return {
      ...judge,
      holdMs: settings.judge.holdMs,
      after,
      judgedLate: () => this.deps.events.verdictHealed(),
      storeVerdict: (graded) => this.writer.writeVerdict(this.shown(graded)),
    };
  }

  /** As it may be stored. */
  private shown(graded: Graded): Graded {
    const { storeRedaction } = this.settings;
    return storeRedaction === null
      ? graded
      : { ...graded, interaction: storeRedaction.interaction(graded.interaction) };
  }

  private pipelineEvents(): PipelineEvents {
    const { events } = this.deps;
    return {
      spansCounted: (counts) => this.count(counts),
      interactionGraded: ({ verdict }, revised) => events.interactionDecided({ verdict, revised }),
      interactionJudged: (event) => events.interactionJudged(event),
      gradingFailed: ({ traceId, stage, error }) => {
        const name = error instanceof Error ? error.name : 'unknown';
        const detail = `trace ${traceId}: a fault of ours while it was ${stage}: ${name}`;
        this.reject({ reason: 'malformed_span', detail, spans: 0 }, 'pipeline');
      },
      expectationUnreadable: ({ interactionId }, members) => {
        const detail = `interaction ${interactionId}: readable ground truth expected in ${members.join(', ')}`;
        this.reject({ reason: 'invalid_expectation', detail, spans: 0 }, 'spans');
      },
      expectationAmbiguous: ({ interactionId }, { by, turns }) => {
        const named = turns.slice(0, 3).map(turnName).join(', ');
        const detail = `interaction ${interactionId}: one turn of the datasets expected by ${by}, got ${turns.length}: ${named}`;
        this.reject({ reason: 'invalid_expectation', detail, spans: 0 }, 'datasets');
      },
    };
  }

  async listen(): Promise<void> {
    const { events, registry } = this.deps;
    const start = await startOtlpHttp(this.settings.http, {
      decode: (body, encoding) => decodeTraces(body, encoding),
      append: (entry) => this.append(entry),
      accepting: () => this.accepting(),
      readiness: () => this.readiness(),
      metricsText: () => registry.metrics(),
      ...(this.spool === null && { tracesElsewhere: 'this worker reads from Kafka only; send traces to a relay' }),
      routes: new Map([['/query', queryRoute(this.store)]]),
      events: { ...events, spanRejected: (rejection) => this.reject(rejection, 'otlp_http') },
      nowMs: () => this.deps.nowMs(),
    });
    if (start.status !== 'started') {
      throw new WorkerStartError(start.cause.message, { cause: start.cause });
    }
    this.server = start.server;
    this.unwatch = this.settings.watchExpectations?.((rejection) => this.reject(rejection, 'datasets'));
    const { role, version, pid, http, store } = this.settings;
    const { dataDir, database } = store;
    events.workerStarted({
      role,
      version,
      pid,
      host: http.host,
      port: this.port,
      dataDir,
      store: this.store.kind,
      database,
    });
    this.starting = this.start().catch((error: unknown) => {
      events.workerFailed(error);
      this.fail(error);
    });
  }

  /** Makes the tables. False when the server is away, which is waited for later. */
  async prepareStore(): Promise<boolean> {
    if (this.storeReady) return true;
    const away = await this.store.ping();
    if (away !== null && this.store.kind === 'server') {
      this.deps.events.storeUnavailable(away);
      return false;
    }
    const { policy } = this.settings;
    const record = { policy: policyHash(policy), sinceMs: this.deps.nowMs(), settings: policySettings(policy) };
    try {
      await this.store.migrate();
      await this.store.recordPolicy(record);
    } catch (error) {
      // A server may have gone since it answered. What it answers, and a schema that does not fit, are for a person.
      if (this.store.kind !== 'server' || isEngineError(error) || error instanceof MigrationError) throw error;
      this.deps.events.storeUnavailable(error);
      return false;
    }
    this.storeReady = true;
    return true;
  }

  /** Waits for the store, reads what the spool still holds, and goes live. */
  private async start(): Promise<void> {
    while (this.phase === 'starting' && !(await this.prepareStore())) {
      await new Promise((wake) => setTimeout(wake, STORE_RETRY_MS));
    }
    if (this.phase !== 'starting') return;
    this.phase = 'catching up';
    const { settings, deps, writer } = this;
    if (settings.kafka !== null) {
      this.kafka = new KafkaLog(settings.kafka, {
        ...this.shardDeps(),
        on: deps.events,
        random: deps.random,
        reject: this.reject,
        full: () => writer.full || !writer.available || this.judgeFull,
      });
    }
    this.tick();
    await this.spool?.catchUp(async () => {
      await writer.ready();
      await this.judge?.judge.ready();
    });
    // A cast, because the compiler does not see that stop() may have changed it meanwhile.
    if ((this.phase as Phase) === 'catching up') this.phase = 'live';
  }

  private get judgeFull(): boolean {
    return this.judge?.judge.full ?? false;
  }

  private append(entry: OtlpEntry): Promise<Outcome> {
    if (this.spool !== null) return this.spool.append(entry);
    return Promise.resolve({ status: 'retryable', cause: new Error('no spool') });
  }

  private accepting(): Outcome {
    const reason =
      this.phase === 'starting'
        ? 'the store is not ready yet'
        : this.phase === 'draining'
          ? 'this worker is stopping'
          : this.writer.full
            ? 'the store takes rows too slowly'
            : this.judgeFull
              ? 'the judge answers too slowly'
              : null;
    return reason === null
      ? { status: 'ok' }
      : { status: 'retryable', afterMs: RETRY_AFTER_MS, cause: new Error(reason) };
  }

  private readiness(): { ready: boolean; reasons: string[] } {
    const reasons: string[] = [];
    if (this.phase !== 'live') reasons.push(this.phase === 'starting' ? 'the store does not answer yet' : this.phase);
    if (!this.writer.available || this.beatFailed) reasons.push('the store takes no rows');
    for (const trouble of [this.spool?.trouble, this.kafka?.trouble]) if (trouble) reasons.push(trouble);
    return { ready: reasons.length === 0, reasons };
  }

  private readonly reject = (rejection: Rejection, source: string): void => {
    this.deps.events.spanRejected(rejection);
    this.writer.reject([{ ...rejection, atMs: this.deps.nowMs(), source }]);
  };

  private count(counts: SpanCounts): void {
    const { arrived: _arrived, assembled, ...dropped } = counts;
    this.deps.events.spansAssembled(assembled);
    for (const [reason, spans] of Object.entries(dropped)) {
      this.deps.events.spansDropped(reason as DropReason, spans);
    }
  }

  /** Lets time pass. One timer for everything, so that nothing else has to know when. */
  private tick(): void {
    const { events } = this.deps;
    const { writer } = this;
    const held = !writer.available || writer.full;
    if (!writer.available) events.storeUnavailable(new Error('inserts fail or hang'));
    else if (!held && !this.beatFailed) events.storeRecovered();
    this.spool?.tick(held);
    this.kafka?.tick(held);
    for (const shard of this.shards) {
      const records = shard.takeAheadRecords();
      if (records > 0) events.clockSkewSeen({ aheadMs: 60_000, records });
    }
    this.beat();
    if (this.phase === 'live' && !held) this.healer?.tick();
    if (this.isIdle()) for (const wake of this.idleWaiters.splice(0)) wake();
    this.timer = setTimeout(() => this.tick(), TICK_MS);
  }

  private isIdle(): boolean {
    if (this.phase !== 'live' || this.kafka?.drained === false || this.spool?.drained === false) return false;
    return this.shards.every((shard) => shard.openSpans === 0 && shard.unstored === 0 && shard.unjudged === 0);
  }

  private beat(): void {
    const nowMs = this.deps.nowMs();
    if (nowMs < this.nextBeatMs || this.phase !== 'live' || !this.writer.available) return;
    this.nextBeatMs = nowMs + HEARTBEAT_MS;
    const beats = this.beats(nowMs);
    if (beats.length === 0) return;
    if (this.beatSinceMs !== null) {
      const waitedMs = nowMs - this.beatSinceMs;
      if (waitedMs >= HEARTBEAT_STALLED_MS) this.beatLost(new Error(`no answer to a heartbeat for ${waitedMs} ms`));
      return;
    }
    this.beatSinceMs = nowMs;
    this.store
      .recordHeartbeats(beats)
      .then(
        () => (this.beatFailed = false),
        (error: unknown) => this.beatLost(error),
      )
      .finally(() => (this.beatSinceMs = null));
  }

  private beats(nowMs: number): readonly Heartbeat[] {
    return this.shards
      .filter((shard) => shard.nowMs > 0)
      .map((shard) => ({
        worker: this.settings.workerId,
        source: shard.source,
        atMs: nowMs,
        streamTimeMs: shard.nowMs,
        details: { openSpans: shard.openSpans, queuedRows: this.writer.waiting, ...this.judgeHealth() },
      }));
  }

  private judgeHealth(): { readonly [key: string]: string | number } {
    if (this.judge === null) return {};
    const { breaker, inFlight, answers } = this.judge.judge.stats();
    return { judge: breaker, judgeInFlight: inFlight, judgeAnswers: answers };
  }

  heartbeat(): Promise<void> {
    return this.store.recordHeartbeats(this.beats(this.deps.nowMs()));
  }

  private beatLost(error: unknown): void {
    this.beatFailed = true;
    this.deps.events.storeUnavailable(error);
  }

  whenIdle(): Promise<void> {
    return new Promise((wake) => this.idleWaiters.push(wake));
  }

  /** Gives the judge a while for what it was asked; what it has not answered then is stored as `pending`. */
  private async endJudging(): Promise<void> {
    const { judge } = this;
    if (judge === null) return;
    const healed = this.healer?.stop();
    const end = after(JUDGE_DRAIN_MS, () => judge.judge.close());
    await Promise.all(this.shards.map((shard) => shard.whenJudged()));
    end();
    // Answers that wait are written before the store closes, unless it does not answer.
    await atMost(JUDGE_DRAIN_MS, Promise.all([judge.close(), healed]));
  }

  async stop(): Promise<void> {
    if (this.phase === 'draining') return;
    const startedMs = this.deps.nowMs();
    this.phase = 'draining';
    this.deps.events.drainStarted({ openSpans: this.openSpans });
    clearTimeout(this.timer);
    this.unwatch?.();
    this.spool?.quiesce();
    this.kafka?.quiesce();
    await this.server?.close(REQUEST_DEADLINE_MS);
    await this.starting;
    clearTimeout(this.timer);

    await this.endJudging();
    const stored = Promise.all(this.shards.map((shard) => shard.whenStored()));
    await this.writer.close({ drainMs: DRAIN_MS });
    await stored;
    const { openSpans } = this;
    await this.kafka?.close();
    await this.spool?.close();
    await this.store.close();
    this.deps.events.drainFinished({ ms: this.deps.nowMs() - startedMs, openSpans });
  }
}
