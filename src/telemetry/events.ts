import type { Registry } from 'prom-client';
import type { Rejection } from '../model/rejection.js';
import type { Score, Verdict } from '../model/score.js';
import { createInstruments, DROP_REASONS, type DropReason } from './instruments.js';
import type { LogFields, Logger, LogLevel } from './logger.js';
import { safeError, safeText } from './safe-error.js';
import { createThrottle } from './throttle.js';

export type { DropReason } from './instruments.js';

/** Why a request was answered with an error; the receivers' words. */
export type RefusalReason =
  | 'unauthorized'
  | 'not_found'
  | 'logs_not_read'
  | 'metrics_not_read'
  | 'profiles_not_read'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'unsupported_coding'
  | 'too_large'
  | 'malformed_body'
  | 'not_accepting'
  | 'no_room'
  | 'draining'
  | 'not_stored'
  | 'failed';

export type StoreTable =
  | 'interactions'
  | 'verdicts'
  | 'conversations'
  | 'trials'
  | 'estimates'
  | 'comparisons'
  | 'rollup_ticks'
  | 'alerts'
  | 'detector_state'
  | 'policies'
  | 'heartbeats'
  | 'rejections'
  | 'schema_migrations';

/**
 * What we say about ourselves: one function an event, which makes both the log line and the metric. None throws.
 *
 * Only numbers, words from small sets, ids, and error texts without what they quote get into a log; never span content,
 * prompts or secrets. Events that come with every request or row are counted and logged at `debug`; a fault that repeats
 * is logged once a minute, with how many were held back.
 *
 * Spans balance: accepted = assembled + rejected + dropped + open. A rejected span counts as accepted by itself;
 * `spansAccepted` is told of the others, as they enter assembly.
 */
export interface Events {
  workerStarted(event: {
    readonly role: string;
    readonly version: string;
    readonly pid?: number;
    readonly host?: string;
    readonly port?: number;
    readonly dataDir?: string;
    readonly store?: 'embedded' | 'server';
    readonly database?: string;
  }): void;
  /** A fault that ends the worker. */
  workerFailed(error: unknown): void;
  drainStarted(event: { openSpans: number }): void;
  /** What is open stays in the log and is read again by the next start. */
  drainFinished(event: { ms: number; openSpans: number }): void;

  requestAccepted(event: {
    readonly spans: number;
    readonly rejectedSpans: number;
    readonly bytes: number;
    readonly encoding: 'protobuf' | 'json';
    readonly leniencies: Readonly<Record<string, number>>;
  }): void;
  requestRefused(event: { readonly status: number; readonly reason: RefusalReason; readonly bytes: number }): void;
  requestCut(event: { readonly bytes: number }): void;
  /** A fault of ours. */
  requestFailed(event: { readonly cause: unknown }): void;
  leniencyUsed(kind: string, count?: number): void;
  clockSkewSeen(event: { aheadMs: number; records?: number }): void;
  spoolFilled(event: { bytes: number; maxBytes: number }): void;

  /** Spans that enter assembly. */
  spansAccepted(count: number): void;
  /** Its spans are lost; none for a warning. */
  spanRejected(rejection: Rejection): void;
  spansAssembled(count: number): void;
  spansDropped(reason: DropReason, count: number): void;

  /** Ground truth was put in use: at the start, and after each change. */
  datasetsLoaded(event: { readonly files: number; readonly turns: number }): void;
  /** A changed file cannot be used; what was read of it before stays in use. `faults`: how many it has. */
  datasetRefused(event: {
    readonly path: string;
    readonly faults: number;
    readonly first: { readonly place: string; readonly problem: string };
  }): void;

  /** Each join makes the consumer read again what was open. */
  kafkaJoined(event: { readonly partitions: number; readonly memberId: string }): void;
  kafkaLost(event: { readonly trouble: string; readonly error: Error; readonly retryMs: number }): void;
  /** Records that the brokers deleted before they were read. */
  kafkaRecordsGone(event: { readonly topic: string; readonly partition: number; readonly records: number }): void;
  kafkaTopicsMissing(event: { readonly topics: readonly string[] }): void;
  kafkaCommitFailed(event: { readonly error: unknown }): void;
  kafkaPaused(event: { readonly paused: boolean }): void;
  kafkaCodecMissing(event: { readonly codec: string; readonly error: unknown }): void;
  readonly kafkaClientLog: (level: 'error' | 'warn' | 'debug', text: string) => void;
  recordEmpty(event: { readonly topic: string }): void;
  recordUnkeyed(event: { readonly topic: string }): void;
  recordDeadLettered(event: { readonly topic: string; readonly reason: string }): void;
  /** `givenUp`: the topic does not take the record, which stays in the one that it came from. */
  deadLetterFailed(event: { readonly error: Error; readonly givenUp: boolean }): void;
  recordsRelayed(event: { readonly records: number; readonly bytes: number }): void;

  /** `revised`: it was decided before, with less evidence. */
  interactionDecided(event: { verdict: Verdict; revised: boolean }): void;

  /** The judge's model answered; `rejected` says why the answer cannot be used, and quotes nothing. */
  readonly modelAnswered: (answer: { readonly durationMs: number; readonly rejected: string | null }) => void;
  /** It did not. `kind` is one of a small set, the message ours. */
  readonly modelFailed: (trouble: { readonly kind: string; readonly message: string }, durationMs: number) => void;
  readonly breakerMoved: (state: 'closed' | 'open' | 'half_open') => void;
  /** The store's cache of answers could not be read or written; the question is, or will be, asked again. */
  readonly cacheFailed: (error: unknown) => void;
  /** A fault of ours; what was asked is outstanding. */
  readonly judgeFaulted: (error: unknown) => void;
  /** `modelCalls`: answers of the model that an interaction took; none when a cache knew all. */
  readonly interactionJudged: (event: { readonly modelCalls: number }) => void;
  /** A verdict that was stored without the judge's word has it now. */
  readonly verdictHealed: () => void;
  /** The store did not answer when it was asked for verdicts without the judge's word; it is asked again later. */
  readonly healingFailed: (error: unknown) => void;
  /** A transition of an alert was found; two rollups at once both say so. */
  alertChanged(event: {
    readonly alertId: string;
    readonly kind: 'drop' | 'blind';
    readonly transition: 'opened' | 'upgraded' | 'closed';
    readonly severity: 'ticket' | 'page';
    readonly objective: string;
    readonly assistantId: string;
  }): void;
  /** `webhook` stands for its URL, which is a secret. */
  alertDelivered(event: { readonly alertId: string; readonly transition: string; readonly webhook: string }): void;
  alertNotDelivered(event: {
    readonly alertId: string;
    readonly transition: string;
    readonly webhook: string;
    readonly attempt: number;
    readonly error: Error;
    /** It will not be tried again. */
    readonly givenUp: boolean;
  }): void;
  /** Webhooks could not be told, because the store did not say what is due. It is asked again at the next tick. */
  alertDeliveryFailed(error: unknown): void;

  batchStored(event: { table: StoreTable; rows: number; ms: number }): void;
  batchRetried(event: { table: StoreTable; rows: number; attempt: number; error: unknown }): void;
  /** The store refuses the row for good; it is lost but for its entry in `rejections`. */
  rowRejected(event: { table: StoreTable; error: unknown }): void;
  /** Told as often as it is seen; logged and counted when it begins. */
  storeUnavailable(error: unknown): void;
  storeRecovered(): void;

  /** `atMs`: the tick that the tables have come to; null: no worker has been heard of yet. */
  rollupTicked(event: {
    readonly atMs: number | null;
    readonly ms: number;
    readonly conversations: number;
    readonly trials: number;
    readonly estimates: number;
  }): void;
  /** The next tick repeats it. */
  rollupFailed(error: unknown): void;
}

export interface EventsDeps {
  readonly logger: Logger;
  readonly registry: Registry;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: () => number;
}

const MAX_KINDS = 50; // many more than there are; a label that grows without end would fill Prometheus

/** The metrics are added to the registry, so once per registry. */
export function createEvents({ logger, registry, nowMs }: EventsDeps): Events {
  const count = createInstruments(registry);
  const pass = createThrottle(nowMs);
  const kinds = new Set<string>();
  let outageSinceMs: number | null = null;

  /** Logs unless the same was logged within a minute. `key` tells apart what is worth a line of its own. */
  function sometimes(level: Exclude<LogLevel, 'silent'>, event: string, key: string, fields: LogFields, text: string) {
    const heldBack = pass(`${event} ${key}`);
    if (heldBack !== null) logger[level]({ event, ...fields, ...(heldBack > 0 && { heldBack }) }, text);
  }

  const events: Events = {
    workerStarted: (event) => logger.info({ event: 'workerStarted', ...event }, 'worker started'),
    workerFailed: (error) => logger.error({ event: 'workerFailed', error: safeError(error) }, 'worker failed'),
    drainStarted: ({ openSpans }) => logger.info({ event: 'drainStarted', openSpans }, 'draining'),
    drainFinished: ({ ms, openSpans }) =>
      logger.info(
        { event: 'drainFinished', ms, openSpans },
        openSpans === 0 ? 'drained' : 'drained; what is open is read again at the next start',
      ),

    requestAccepted({ spans, rejectedSpans, bytes, encoding, leniencies }) {
      count.requestsAccepted.inc({ encoding });
      count.receivedBytes.inc(bytes);
      for (const [kind, times] of Object.entries(leniencies)) events.leniencyUsed(kind, times);
      logger.debug({ event: 'requestAccepted', spans, rejectedSpans, bytes, encoding }, 'request accepted');
    },
    requestRefused({ status, reason, bytes }) {
      count.requestsRefused.inc({ reason });
      sometimes('warn', 'requestRefused', reason, { reason, status, bytes }, 'request refused');
    },
    requestCut({ bytes }) {
      count.requestsCut.inc();
      logger.debug({ event: 'requestCut', bytes }, 'sender went away before its request was complete');
    },
    requestFailed({ cause }) {
      count.requestFailures.inc();
      sometimes('error', 'requestFailed', '', { error: safeError(cause) }, 'request failed by a fault of ours');
    },
    leniencyUsed(kind, times = 1) {
      const known = kinds.has(kind) || (kinds.size < MAX_KINDS && /^[a-z][a-z0-9_]{0,39}$/.test(kind));
      const label = known ? kind : 'other';
      kinds.add(label);
      count.leniencies.inc({ kind: label }, times);
      sometimes('debug', 'leniencyUsed', label, { kind: label }, 'read what OTLP does not allow');
    },
    clockSkewSeen({ aheadMs, records = 1 }) {
      count.clockSkews.inc(records);
      sometimes('warn', 'clockSkewSeen', '', { aheadMs }, 'a record is ahead of the wall clock; it moves no time');
    },
    spoolFilled({ bytes, maxBytes }) {
      count.spoolFills.inc();
      sometimes('warn', 'spoolFilled', '', { bytes, maxBytes }, 'the spool is full; senders are told to wait');
    },

    spansAccepted: (spans) => count.spansAccepted.inc(spans),
    spanRejected({ reason, detail, spans }) {
      count.spansAccepted.inc(spans);
      count.spansRejected.inc({ reason }, spans);
      sometimes('warn', 'spanRejected', reason, { reason, spans, detail: safeText(detail) }, 'input rejected');
    },
    spansAssembled: (spans) => count.spansAssembled.inc(spans),
    spansDropped(reason, spans) {
      if (spans === 0) return;
      const label = DROP_REASONS[reason];
      count.spansDropped.inc({ reason: label }, spans);
      sometimes(DROP_LEVEL[reason], 'spansDropped', label, { reason: label, spans }, 'spans dropped');
    },

    datasetsLoaded({ files, turns }) {
      count.datasetLoads.inc();
      logger.info({ event: 'datasetsLoaded', files, turns }, 'ground truth loaded');
    },
    datasetRefused({ path, faults, first }) {
      count.datasetRefusals.inc();
      const { place, problem } = first;
      logger.error(
        { event: 'datasetRefused', path, faults, place, problem: safeText(problem) },
        'a dataset file cannot be used; what was read of it before stays in use',
      );
    },

    kafkaJoined({ partitions, memberId }) {
      count.kafkaJoins.inc();
      logger.info({ event: 'kafkaJoined', partitions, memberId }, 'joined the consumer group');
    },
    kafkaLost({ trouble, error, retryMs }) {
      count.kafkaLosses.inc({ trouble });
      const fields = { trouble, error: safeError(error), retryMs };
      sometimes('error', 'kafkaLost', trouble, fields, 'reading from Kafka stopped; it is begun again');
    },
    kafkaRecordsGone({ topic, partition, records }) {
      count.kafkaRecordsGone.inc(records);
      const text = 'the brokers have deleted records that were not read yet';
      sometimes('error', 'kafkaRecordsGone', topic, { topic, partition, records }, text);
    },
    kafkaTopicsMissing: ({ topics }) =>
      sometimes(
        'warn',
        'kafkaTopicsMissing',
        '',
        { topics: topics.join(', ') },
        'topics that do not exist yet, or that this user may not see',
      ),
    kafkaCommitFailed({ error }) {
      count.kafkaCommitFailures.inc();
      sometimes('warn', 'kafkaCommitFailed', '', { error: safeError(error) }, 'offsets not committed; tried again');
    },
    kafkaPaused({ paused }) {
      if (paused) count.kafkaPauses.inc();
      logger.debug({ event: 'kafkaPaused', paused }, paused ? 'reading is paused' : 'reading goes on');
    },
    kafkaCodecMissing: ({ codec, error }) =>
      logger.error(
        { event: 'kafkaCodecMissing', codec, error: safeError(error) },
        'record batches with this compression cannot be read on this machine',
      ),
    kafkaClientLog(level, text) {
      if (level === 'debug') logger.debug({ event: 'kafkaClientLog' }, safeText(text));
      else
        sometimes(
          'warn',
          'kafkaClientLog',
          text.slice(0, 60),
          { level, text: safeText(text) },
          'the Kafka client says',
        );
    },
    recordEmpty({ topic }) {
      count.kafkaEmptyRecords.inc();
      sometimes('debug', 'recordEmpty', topic, { topic }, 'a record without a value');
    },
    recordUnkeyed({ topic }) {
      count.kafkaUnkeyedRecords.inc();
      sometimes(
        'warn',
        'recordUnkeyed',
        topic,
        { topic },
        'records are not keyed by their trace id: traces may be torn apart among partitions. Set partition_traces_by_id in the Collector, or put a relay between',
      );
    },
    recordDeadLettered({ topic, reason }) {
      count.kafkaDeadLetters.inc({ reason });
      sometimes('warn', 'recordDeadLettered', reason, { topic, reason }, 'a record that cannot be read was put aside');
    },
    deadLetterFailed({ error, givenUp }) {
      if (givenUp) count.kafkaDeadLettersLost.inc();
      const text = givenUp ? 'the dead-letter topic does not take a record' : 'dead letter not written; tried again';
      sometimes('error', 'deadLetterFailed', String(givenUp), { error: safeError(error) }, text);
    },
    recordsRelayed({ records, bytes }) {
      count.recordsRelayed.inc(records);
      count.bytesRelayed.inc(bytes);
      logger.debug({ event: 'recordsRelayed', records, bytes }, 'records relayed');
    },

    interactionDecided({ verdict, revised }) {
      const { interactionId, policy, label, outstanding, scores } = verdict;
      if (revised) count.revisions.inc();
      else {
        count.interactions.inc({ verdict: label });
        for (const score of scores) count.scores.inc({ criterion: score.criterion, outcome: outcomeOf(score) });
      }
      logger.debug(
        { event: 'interactionDecided', interactionId, policy, verdict: label, outstanding, revised },
        'interaction decided',
      );
    },

    modelAnswered({ durationMs, rejected }) {
      count.judgeRequests.inc({ outcome: rejected === null ? 'answered' : 'rejected' });
      count.judgeSeconds.observe(durationMs / 1_000);
      if (rejected === null) logger.debug({ event: 'modelAnswered', durationMs }, 'the judge answered');
      else sometimes('warn', 'answerRejected', '', { reason: rejected }, 'an answer of the judge cannot be used');
    },
    modelFailed({ kind, message }, durationMs) {
      count.judgeRequests.inc({ outcome: kind });
      const fields = { kind, durationMs, detail: safeText(message) };
      // Until a person acts every request fails.
      const level = kind === 'auth' ? 'error' : 'warn';
      sometimes(level, 'modelFailed', kind, fields, 'the judge gave no answer');
    },
    breakerMoved(state) {
      if (state === 'open') count.judgeBreaks.inc();
      const text =
        state === 'open'
          ? 'the judge failed too often; it is not asked for a while, and what it should say is outstanding'
          : 'the judge is asked again';
      logger[state === 'open' ? 'warn' : 'info']({ event: 'breakerMoved', state }, text);
    },
    cacheFailed: (error) =>
      sometimes('warn', 'cacheFailed', '', { error: safeError(error) }, "the judge's answers in the store: no answer"),
    judgeFaulted(error) {
      count.judgeFaults.inc();
      sometimes('error', 'judgeFaulted', '', { error: safeError(error) }, 'judging failed by a fault of ours');
    },
    interactionJudged: ({ modelCalls }) => count.judgeCalls.observe(modelCalls),
    verdictHealed: () => count.verdictsHealed.inc(),
    healingFailed: (error) =>
      sometimes(
        'warn',
        'healingFailed',
        '',
        { error: safeError(error) },
        'verdicts without the judge’s word: not found',
      ),
    alertChanged({ kind, transition, severity, ...names }) {
      count.alertTransitions.inc({ kind, transition, severity });
      const level = transition === 'closed' ? 'info' : 'warn';
      logger[level]({ event: 'alertChanged', kind, transition, severity, ...names }, `alert ${transition}`);
    },
    alertDelivered(event) {
      count.alertDeliveries.inc({ outcome: 'delivered' });
      logger.info({ event: 'alertDelivered', ...event }, 'a webhook was told of an alert');
    },
    alertNotDelivered({ error, givenUp, ...names }) {
      count.alertDeliveries.inc({ outcome: givenUp ? 'given_up' : 'failed' });
      const fields = { event: 'alertNotDelivered', ...names, error: safeError(error) };
      if (givenUp) logger.error(fields, 'a webhook was not told of an alert, and will not be');
      else logger.warn(fields, 'a webhook was not told of an alert; it is tried again');
    },
    alertDeliveryFailed(error) {
      const fields = { error: safeError(error) };
      sometimes('warn', 'alertDeliveryFailed', '', fields, 'what webhooks are to be told could not be read or written');
    },

    batchStored({ table, rows, ms }) {
      count.storeBatches.inc({ table });
      count.storeRows.inc({ table }, rows);
      count.storeSeconds.observe({ table }, ms / 1_000);
      logger.debug({ event: 'batchStored', table, rows, ms }, 'batch stored');
    },
    batchRetried({ table, rows, attempt, error }) {
      count.storeRetries.inc({ table });
      const fields = { table, rows, attempt, error: safeError(error) };
      sometimes('warn', 'batchRetried', table, fields, 'write failed and will be tried again');
    },
    rowRejected({ table, error }) {
      count.storeRowsRejected.inc({ table });
      sometimes('error', 'rowRejected', table, { table, error: safeError(error) }, 'the store refused a row for good');
    },
    storeUnavailable(error) {
      if (outageSinceMs !== null) return;
      outageSinceMs = nowMs();
      count.storeOutages.inc();
      count.storeReachable.set(0);
      logger.warn(
        { event: 'storeUnavailable', error: safeError(error) },
        'the store takes no rows; it is tried again, meanwhile stream time waits and senders get 503 when the queue is full',
      );
    },
    storeRecovered() {
      if (outageSinceMs === null) return;
      const outageMs = nowMs() - outageSinceMs;
      outageSinceMs = null;
      count.storeReachable.set(1);
      logger.info({ event: 'storeRecovered', outageMs }, 'the store takes rows again');
    },

    rollupTicked({ atMs, ms, conversations, trials, estimates }) {
      count.rollupSeconds.observe(ms / 1_000);
      const at = atMs === null ? null : new Date(atMs).toISOString();
      logger.debug({ event: 'rollupTicked', at, ms, conversations, trials, estimates }, 'estimates are up to date');
      if (atMs === null) {
        sometimes('info', 'rollupWaiting', '', {}, 'no worker has been heard of; nothing closes until one is');
      }
    },
    rollupFailed(error) {
      count.rollupFailures.inc();
      sometimes('warn', 'rollupFailed', '', { error: safeError(error) }, 'a tick failed; the next one repeats it');
    },
  };
  return events;
}

/** Only late spans are lost to a row that they belong to, and a cut trace has lost what was over its bound. */
const DROP_LEVEL: Readonly<Record<DropReason, 'debug' | 'info' | 'error'>> = {
  duplicate: 'debug',
  late: 'error',
  cut: 'error',
  ownJudge: 'debug',
  unclaimed: 'info',
  noTurn: 'debug',
  reread: 'info',
};

function outcomeOf(score: Score): string {
  if (score.kind === 'abstained') return score.abstained;
  return score.passed ? 'passed' : 'failed';
}
