import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { RejectionReason } from '../model/rejection.js';
import type { Criterion, VerdictLabel } from '../model/score.js';

/** Why a span that was accepted became part of no row; the assembler's words, and one of the Kafka log's. */
export const DROP_REASONS = {
  duplicate: 'duplicate',
  late: 'late',
  cut: 'cut',
  ownJudge: 'own_judge',
  unclaimed: 'unclaimed',
  noTurn: 'no_turn',
  reread: 'reread',
} as const;
export type DropReason = keyof typeof DROP_REASONS;

const REJECTION_REASONS: Readonly<Record<RejectionReason, true>> = {
  malformed_body: true,
  malformed_span: true,
  invalid_trace_id: true,
  invalid_span_id: true,
  invalid_time: true,
  too_large: true,
  too_deep: true,
  unsupported_media_type: true,
  unauthorized: true,
  invalid_expectation: true,
  store_refused_row: true,
};
const VERDICTS: readonly VerdictLabel[] = ['correct', 'incorrect', 'unscored'];
const CRITERIA: readonly Criterion[] = ['tools', 'arguments', 'answer', 'completion', 'policy'];
const JUDGE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const STORE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics behind the events. What can be known in advance starts at 0, so that rates see the first occurrence. */
export function createInstruments(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: `tracegrade_${name}_total`, help, labelNames, registers });

  const instruments = {
    requestsAccepted: counter('requests_accepted', 'Requests whose spans are durable.', ['encoding']),
    requestsRefused: counter('requests_refused', 'Requests answered with an error.', ['reason']),
    requestsCut: counter('requests_cut', 'Requests whose sender went away before the body was complete.'),
    requestFailures: counter('request_failures', 'Requests that failed by a fault of ours.'),
    receivedBytes: counter('received_bytes', 'Bodies of accepted requests, decompressed.'),
    leniencies: counter('leniencies', 'Deviations from OTLP that were read all the same.', ['kind']),
    clockSkews: counter('clock_skews', 'Records more than a minute ahead of the wall clock.'),
    spansAccepted: counter('spans_accepted', 'Spans taken in hand; after a restart, those read again as well.'),
    spansAssembled: counter('spans_assembled', 'Spans that became part of a decided interaction.'),
    spansRejected: counter('spans_rejected', 'Spans that could not be read.', ['reason']),
    spansDropped: counter('spans_dropped', 'Spans that became part of no interaction.', ['reason']),
    interactions: counter('interactions', 'Interactions decided, by verdict; revisions apart.', ['verdict']),
    revisions: counter('interaction_revisions', 'Interactions decided again, with more evidence.'),
    scores: counter('scores', 'Scores by criterion: passed, failed, or why there is none.', ['criterion', 'outcome']),
    judgeRequests: counter('judge_requests', 'Requests to the judge’s model: answered, rejected, or its trouble.', [
      'outcome',
    ]),
    judgeSeconds: new Histogram({
      name: 'tracegrade_judge_request_seconds',
      help: 'Time to an answer of the judge’s model.',
      buckets: JUDGE_SECONDS,
      registers,
    }),
    judgeCalls: new Histogram({
      name: 'tracegrade_interaction_judge_calls',
      help: 'Answers of the judge’s model that an interaction took; 0: a cache knew all.',
      buckets: [0, 1, 2, 3, 5, 10],
      registers,
    }),
    judgeBreaks: counter('judge_breaks', 'Times that the judge failed too often and was not asked for a while.'),
    judgeFaults: counter('judge_faults', 'Interactions that were not judged by a fault of ours.'),
    verdictsHealed: counter('verdicts_healed', 'Verdicts stored without the judge’s word and stored again with it.'),
    storeBatches: counter('store_batches', 'Batches written.', ['table']),
    storeRows: counter('store_rows', 'Rows written.', ['table']),
    storeRetries: counter('store_retries', 'Writes that will be tried again.', ['table']),
    storeRowsRejected: counter('store_rows_rejected', 'Rows that the store refuses for good.', ['table']),
    storeSeconds: new Histogram({
      name: 'tracegrade_store_batch_seconds',
      help: 'Time to write a batch.',
      labelNames: ['table'],
      buckets: STORE_SECONDS,
      registers,
    }),
    storeOutages: counter('store_outages', 'Times that the store stopped taking rows.'),
    storeReachable: new Gauge({
      name: 'tracegrade_store_reachable_ratio',
      help: '1 while the store takes rows, else 0.',
      registers,
    }),
    rollupSeconds: new Histogram({
      name: 'tracegrade_rollup_tick_seconds',
      help: 'Time of a tick of the rollup: conversations, trials and estimates.',
      buckets: STORE_SECONDS,
      registers,
    }),
    rollupFailures: counter('rollup_failures', 'Ticks of the rollup that failed; the next one repeats them.'),
    alertTransitions: counter('alert_transitions', 'Transitions of alerts that this process wrote.', [
      'kind',
      'transition',
      'severity',
    ]),
    alertDeliveries: counter('alert_deliveries', 'Attempts to tell a webhook of a transition, by outcome.', [
      'outcome',
    ]),
    datasetLoads: counter('dataset_loads', 'Times that the ground truth of the dataset files was put in use.'),
    datasetRefusals: counter('dataset_refusals', 'Changes of a dataset file that cannot be used.'),
    kafkaJoins: counter('kafka_joins', 'Times that the consumer joined its group; each reads open work again.'),
    kafkaLosses: counter('kafka_losses', 'Times that the consumer was given up and built again.', ['trouble']),
    kafkaCommitFailures: counter('kafka_commit_failures', 'Offset commits that failed; they are made again.'),
    kafkaRecordsGone: counter('kafka_records_gone', 'Records that the brokers deleted before they were read.'),
    kafkaPauses: counter('kafka_pauses', 'Times that reading was paused because the store has no room.'),
    kafkaEmptyRecords: counter('kafka_empty_records', 'Tombstones, and values of no bytes.'),
    kafkaUnkeyedRecords: counter('kafka_unkeyed_records', 'Records whose key is not the trace id of their spans.'),
    kafkaDeadLetters: counter('kafka_dead_letters', 'Records written to the dead-letter topic.', ['reason']),
    kafkaDeadLettersLost: counter('kafka_dead_letters_lost', 'Records that the dead-letter topic did not take.'),
    recordsRelayed: counter('relay_records', 'Records written to the keyed topic, one a trace and request.'),
    bytesRelayed: counter('relay_bytes', 'Values of the records written to the keyed topic.'),
    spoolFills: counter('spool_fills', 'Times that the spool had no room for a request.'),
  };

  for (const reason of Object.keys(REJECTION_REASONS)) instruments.spansRejected.inc({ reason }, 0);
  for (const reason of Object.values(DROP_REASONS)) instruments.spansDropped.inc({ reason }, 0);
  for (const verdict of VERDICTS) instruments.interactions.inc({ verdict }, 0);
  for (const criterion of CRITERIA) {
    for (const outcome of ['passed', 'failed']) instruments.scores.inc({ criterion, outcome }, 0);
  }
  instruments.storeReachable.set(1);
  return instruments;
}
