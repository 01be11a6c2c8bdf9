/**
 * A running worker: the receiver, the spool, the pipeline and the store joined together, with one timer.
 *
 * Life: starting (the port answers, nothing is accepted until the store has its tables) -> catching up (what the spool
 * still holds is read again, in order; new requests are accepted behind it) -> live -> draining (requests in hand are
 * finished, late windows end, rows that wait are written) -> stopped. What is undecided at the end stays in the spool and
 * is read again by the next start, so stopping loses nothing and decides nothing early.
 *
 * A request is answered 200 once the spool has it on disk. When the store takes no rows, stream time stands still: open
 * interactions wait, and when the writer's queue is full senders are told to come back (503).
 */
import { z } from 'zod';
import type { AssembleRules } from './assemble/rules.js';
import type { Graded } from './model/graded.js';
import type { Outcome } from './model/outcome.js';
import type { Offset } from './model/received.js';
import type { Rejection } from './model/rejection.js';
import type { Span } from './model/span.js';
import { createPipeline, type Pipeline, type SpanCounts } from './pipeline.js';
import { decodeTraces } from './receive/decode.js';
import {
  startOtlpHttp,
  type HttpAnswer,
  type OtlpEntry,
  type OtlpHttpConfig,
  type OtlpHttpServer,
  type PostRequest,
} from './receive/otlp-http.js';
import { openSpool, type Spool, type SpoolConfig } from './receive/spool-lmdb.js';
import { createStreamClock } from './receive/stream-clock.js';
import type { ExpectationIndex } from './score/expectations.js';
import { policyHash, policySettings, type ScoringPolicy } from './score/policy.js';
import { openStore, type Store } from './store/clickhouse.js';
import { ownerOf, type StoreConfig } from './store/engine.js';
import type { StoreWriter, WriterRules } from './store/writer.js';
import type { DropReason } from './telemetry/instruments.js';
import type { Events } from './telemetry/events.js';
import { exposeReadings, type Registry } from './telemetry/metrics.js';

export interface WorkerSettings {
  readonly version: string;
  readonly pid: number;
  /** Names this process in heartbeats. */
  readonly workerId: string;
  readonly http: OtlpHttpConfig;
  readonly spool: SpoolConfig;
  readonly store: StoreConfig;
  readonly writer: Partial<WriterRules>;
  readonly assemble: AssembleRules;
  readonly policy: ScoringPolicy;
  readonly expectations: ExpectationIndex;
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
  /** Resolves with the fault that keeps it from working for good: the store's tables are not this program's. */
  readonly failed: Promise<unknown>;
  /** Drains and closes everything. */
  stop(): Promise<void>;
}

/** Why a worker cannot start: what to tell the operator. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';
}

const TICK_MS = 100;
const HEARTBEAT_MS = 10_000;
const REQUEST_DEADLINE_MS = 10_000;
const DRAIN_MS = 20_000;
const RETRY_AFTER_MS = 1_000;
const STORE_RETRY_MS = 1_000;
// Queries and the spool's commits share libuv's four threads: two are left for the spool, whatever is asked.
const MAX_QUERIES = 2;
const QUERY_LIMITS = { maxSeconds: 30, maxRows: 100_000, maxBytes: 32 * 1024 * 1024 };

/**
 * Starts a worker; resolves when its port answers.
 *
 * Throws WorkerStartError, or what `openStore` throws, after closing what it had opened.
 */
export async function startWorker(settings: WorkerSettings, deps: WorkerDeps): Promise<Worker> {
  const opening = openSpool(settings.spool);
  if (opening.status !== 'opened') {
    const owner = settings.store.url === 'embedded' ? await ownerOf(settings.store.dataDir) : null;
    const by = owner !== null && deps.isAlive(owner.pid) ? ` (process ${owner.pid}, running since ${owner.since})` : '';
    throw new WorkerStartError(`${opening.cause.message}${by}`, { cause: opening.cause });
  }
  const { spool } = opening;
  let store: Store | undefined;
  try {
    store = await openStore(settings.store, deps);
    const worker = new RunningWorker(settings, deps, spool, store);
    await worker.prepareStore();
    await worker.listen();
    return worker;
  } catch (error) {
    await store?.close();
    await spool.close();
    throw error;
  }
}

type Phase = 'starting' | 'catching up' | 'live' | 'draining';

class RunningWorker implements Worker {
  private phase: Phase = 'starting';
  private readonly clock = createStreamClock();
  private readonly writer: StoreWriter;
  private readonly pipeline: Pipeline;
  private server: OtlpHttpServer | undefined;
  /** Appended while the spool was being caught up with; the reader has not come to them yet. */
  private readonly ahead = new Set<Offset>();
  private readonly toRelease = new Set<Offset>();
  private releasing: Promise<unknown> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private nextBeatMs = 0;
  private aheadRecords = 0;
  private starting: Promise<void> = Promise.resolve();
  private idleWaiters: (() => void)[] = [];
  private storeReady = false;
  private queries = 0;
  private fail: (error: unknown) => void = () => undefined;
  readonly failed = new Promise<unknown>((resolve) => (this.fail = resolve));

  constructor(
    private readonly settings: WorkerSettings,
    private readonly deps: WorkerDeps,
    private readonly spool: Spool,
    readonly store: Store,
  ) {
    const { events } = deps;
    this.writer = store.writer(
      {
        nowMs: () => deps.nowMs(),
        chance: () => deps.random(),
        after: (ms, wake) => {
          const timer = setTimeout(wake, ms);
          return () => clearTimeout(timer);
        },
        on: events,
      },
      settings.writer,
    );
    this.pipeline = createPipeline(
      { assemble: settings.assemble, policy: settings.policy },
      {
        expectations: settings.expectations,
        events: {
          spansCounted: (counts) => this.count(counts),
          interactionGraded: ({ verdict }, revised) => events.interactionDecided({ verdict, revised }),
          gradingFailed: ({ traceId, stage, error }) => {
            const name = error instanceof Error ? error.name : 'unknown';
            const detail = `trace ${traceId}: a fault of ours while it was ${stage}: ${name}`;
            this.reject({ reason: 'malformed_span', detail, spans: 0 }, 'pipeline');
          },
          expectationUnreadable: ({ interactionId }, members) => {
            const detail = `interaction ${interactionId}: readable ground truth expected in ${members.join(', ')}`;
            this.reject({ reason: 'invalid_expectation', detail, spans: 0 }, 'spans');
          },
          expectationAmbiguous: ({ interactionId }, { by, places }) => {
            const detail = `interaction ${interactionId}: one turn of the datasets expected by ${by}, got ${places.length}`;
            this.reject({ reason: 'invalid_expectation', detail, spans: 0 }, 'datasets');
          },
        },
        store: (graded: Graded) => this.writer.write(graded),
        release: (offsets) => offsets.forEach((offset) => this.toRelease.add(offset)),
      },
    );
    exposeReadings(deps.registry, {
      openSpans: () => this.pipeline.openSpans,
      spoolEntries: () => spool.stats().entries,
      spoolBytes: () => spool.stats().bytes,
      queuedRows: () => this.writer.waiting,
      streamLagMs: () => (this.clock.nowMs === 0 ? 0 : Math.max(0, deps.nowMs() - this.clock.nowMs)),
    });
  }

  get port(): number {
    return this.server?.port ?? 0;
  }

  async listen(): Promise<void> {
    const { events, registry } = this.deps;
    const start = await startOtlpHttp(this.settings.http, {
      decode: (body, encoding) => decodeTraces(body, encoding),
      append: (entry) => this.append(entry),
      accepting: () => this.accepting(),
      readiness: () => this.readiness(),
      metricsText: () => registry.metrics(),
      routes: new Map([['/query', (request: PostRequest) => this.answerQuery(request)]]),
      events: { ...events, spanRejected: (rejection) => this.reject(rejection, 'otlp_http') },
      nowMs: () => this.deps.nowMs(),
    });
    if (start.status !== 'started') {
      throw new WorkerStartError(start.cause.message, { cause: start.cause });
    }
    this.server = start.server;
    const { version, pid, http, store } = this.settings;
    const { dataDir, database } = store;
    events.workerStarted({
      role: 'all',
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
    await this.store.migrate();
    const record = { policy: policyHash(policy), sinceMs: this.deps.nowMs(), settings: policySettings(policy) };
    await this.store.recordPolicy(record);
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
    this.tick();
    for await (const entry of this.spool.entries()) {
      // A cast, because the compiler does not see that stop() may have changed it meanwhile.
      if ((this.phase as Phase) === 'draining') return;
      this.takeEntry(entry.offset, entry.bytes, entry.encoding, entry.receivedAtMs);
      await this.writer.ready();
    }
    if ((this.phase as Phase) === 'draining') return;
    this.phase = 'live';
    for (const offset of this.ahead) {
      const entry = this.spool.read(offset);
      if (entry !== undefined) this.takeEntry(offset, entry.bytes, entry.encoding, entry.receivedAtMs);
    }
    this.ahead.clear();
  }

  private takeEntry(offset: Offset, bytes: Uint8Array, encoding: OtlpEntry['encoding'], receivedAtMs: number): void {
    this.ahead.delete(offset);
    const result = decodeTraces(bytes, encoding);
    if (result.kind === 'decoded' && result.batch.spans.length > 0) {
      this.deliver(offset, result.batch.spans, receivedAtMs);
      return;
    }
    // It was decoded once before it was appended; a disk has changed it since.
    if (result.kind === 'malformed') this.reject(result.rejection, 'spool');
    this.toRelease.add(offset);
  }

  private deliver(offset: Offset, spans: readonly Span[], receivedAtMs: number): void {
    this.deps.events.spansAccepted(spans.length);
    const nowMs = this.clock.see(receivedAtMs, this.deps.nowMs());
    this.pipeline.receive({ offset, receivedAtMs, spans }, nowMs);
  }

  private async append({ body, encoding, receivedAtMs, batch }: OtlpEntry): Promise<Outcome> {
    const appended = await this.spool.append(body, { encoding, receivedAtMs });
    if (appended.status !== 'ok') {
      const { bytes, maxBytes } = this.spool.stats();
      this.deps.events.spoolFilled({ bytes, maxBytes });
      return appended;
    }
    // While draining it stays in the spool, for the next start.
    if (this.phase === 'live') this.deliver(appended.offset, batch.spans, receivedAtMs);
    else this.ahead.add(appended.offset);
    return { status: 'ok' };
  }

  private accepting(): Outcome {
    const reason =
      this.phase === 'starting'
        ? 'the store is not ready yet'
        : this.phase === 'draining'
          ? 'this worker is stopping'
          : this.writer.full
            ? 'the store takes rows too slowly'
            : null;
    return reason === null
      ? { status: 'ok' }
      : { status: 'retryable', afterMs: RETRY_AFTER_MS, cause: new Error(reason) };
  }

  private readiness(): { ready: boolean; reasons: string[] } {
    const reasons: string[] = [];
    if (this.phase !== 'live') reasons.push(this.phase === 'starting' ? 'the store does not answer yet' : this.phase);
    if (!this.writer.available) reasons.push('the store takes no rows');
    if (this.spool.stats().trouble !== null) reasons.push('the spool cannot be written');
    return { ready: reasons.length === 0, reasons };
  }

  private reject(rejection: Rejection, source: string): void {
    this.deps.events.spanRejected(rejection);
    this.writer.reject([{ ...rejection, atMs: this.deps.nowMs(), source }]);
  }

  private count(counts: SpanCounts): void {
    const { arrived: _arrived, assembled, ...dropped } = counts;
    this.deps.events.spansAssembled(assembled);
    for (const [reason, spans] of Object.entries(dropped)) {
      this.deps.events.spansDropped(reason as DropReason, spans);
    }
  }

  /** Lets time pass. One timer for everything, so that nothing else has to know when. */
  private tick(): void {
    const { clock, writer, pipeline } = this;
    if (writer.available && !writer.full) {
      clock.letGo();
      if (this.phase === 'live') clock.drained(this.deps.nowMs());
      this.deps.events.storeRecovered();
    } else {
      clock.hold();
      if (!writer.available) this.deps.events.storeUnavailable(new Error('inserts fail or hang'));
    }
    if (clock.aheadRecords > this.aheadRecords) {
      this.deps.events.clockSkewSeen({ aheadMs: 60_000, records: clock.aheadRecords - this.aheadRecords });
      this.aheadRecords = clock.aheadRecords;
    }
    if (pipeline.nextDueMs !== null && pipeline.nextDueMs <= clock.nowMs) pipeline.pass(clock.nowMs);
    this.flushReleases();
    this.beat();
    if (this.phase === 'live' && pipeline.openSpans === 0 && pipeline.unstored === 0) {
      for (const wake of this.idleWaiters.splice(0)) wake();
    }
    this.timer = setTimeout(() => this.tick(), TICK_MS);
  }

  private flushReleases(): void {
    if (this.toRelease.size === 0) return;
    const offsets = [...this.toRelease];
    this.toRelease.clear();
    this.releasing = this.spool.release(offsets).then((outcome) => {
      // Releasing again is harmless, and not releasing only costs a second reading.
      if (outcome.status !== 'ok') for (const offset of offsets) this.toRelease.add(offset);
    });
  }

  private beat(): void {
    const nowMs = this.deps.nowMs();
    if (nowMs < this.nextBeatMs || this.phase !== 'live' || !this.writer.available) return;
    this.nextBeatMs = nowMs + HEARTBEAT_MS;
    const details = { openSpans: this.pipeline.openSpans, queuedRows: this.writer.waiting };
    const beat = {
      worker: this.settings.workerId,
      source: 'spool',
      atMs: nowMs,
      streamTimeMs: this.clock.nowMs,
      details,
    };
    this.store.recordHeartbeats([beat]).catch((error: unknown) => this.deps.events.storeUnavailable(error));
  }

  /** The body is SQL, or as `application/json` `{"query": SQL, "format": NAME}`. */
  private async answerQuery({ body, mediaType }: PostRequest): Promise<HttpAnswer> {
    if (this.queries >= MAX_QUERIES) return text(503, 'busy with other queries; try again\n');
    const asked = readQuery(Buffer.from(body).toString('utf8'), mediaType);
    if (asked === null || asked.query.includes('\0')) return text(400, '{"query": SQL, "format": NAME} expected\n');
    this.queries += 1;
    try {
      return await this.runQuery(asked.query, asked.options);
    } finally {
      this.queries -= 1;
    }
  }

  private async runQuery(sql: string, options: { format?: string }): Promise<HttpAnswer> {
    const outcome = await this.store.query(sql, { ...QUERY_LIMITS, ...options });
    if (outcome.status === 'refused') return text(400, `${outcome.type} (${outcome.code}): ${outcome.message}\n`);
    if (outcome.status === 'failed') return text(503, 'the store does not answer\n');
    const chunks: Buffer[] = [];
    for await (const chunk of outcome.body) chunks.push(Buffer.from(chunk));
    return { status: 200, contentType: 'text/plain; charset=utf-8', body: Buffer.concat(chunks) };
  }

  whenIdle(): Promise<void> {
    return new Promise((wake) => this.idleWaiters.push(wake));
  }

  async stop(): Promise<void> {
    if (this.phase === 'draining') return;
    const startedMs = this.deps.nowMs();
    this.phase = 'draining';
    this.deps.events.drainStarted({ openSpans: this.pipeline.openSpans });
    clearTimeout(this.timer);
    await this.server?.close(REQUEST_DEADLINE_MS);
    await this.starting;
    clearTimeout(this.timer);

    const drained = this.pipeline.drain(this.clock.nowMs);
    await this.writer.close({ drainMs: DRAIN_MS });
    await drained;
    this.flushReleases();
    await this.releasing;
    await this.spool.close();
    await this.store.close();
    this.deps.events.drainFinished({ ms: this.deps.nowMs() - startedMs, openSpans: this.pipeline.openSpans });
  }
}

const queryBody = z.object({ query: z.string(), format: z.string().regex(/^\w+$/).optional() });

function readQuery(body: string, mediaType: string): { query: string; options: { format?: string } } | null {
  if (mediaType !== 'application/json') return { query: body, options: {} };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  const { success, data } = queryBody.safeParse(value);
  if (!success) return null;
  return { query: data.query, options: data.format === undefined ? {} : { format: data.format } };
}

function text(status: number, body: string): HttpAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}
