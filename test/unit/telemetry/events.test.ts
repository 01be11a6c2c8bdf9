import { expect, expectTypeOf, test } from 'vitest';
import type { DropReason as AssemblyDropReason } from '../../../src/assemble/assembly.js';
import type { Score, Verdict } from '../../../src/model/score.js';
import type { KafkaLogEvents } from '../../../src/worker/kafka-log.js';
import type { OtlpHttpEvents } from '../../../src/receive/otlp-http.js';
import type { DropReason, Events } from '../../../src/telemetry/events.js';
import { telemetryProbe } from '../../support/telemetry.js';

function verdict(label: Verdict['label'], scores: readonly Score[] = []): Verdict {
  return { interactionId: 'aa-bb', policy: 'p1', label, neutral: false, leftOut: false, outstanding: 0, scores };
}

const PASSED: Score = {
  kind: 'scored',
  criterion: 'tools',
  value: 1,
  passed: true,
  decidedBy: 'rule',
  reason: '',
  details: {},
};
const ABSTAINED: Score = { kind: 'abstained', criterion: 'answer', abstained: 'no_judge', reason: '', details: {} };

test('speaks the words of the receiver and of the assembler', () => {
  expectTypeOf<Events>().toExtend<OtlpHttpEvents>();
  expectTypeOf<AssemblyDropReason | 'reread'>().toEqualTypeOf<DropReason>();
  expectTypeOf<Events>().toExtend<KafkaLogEvents>();
});

test('balances spans: accepted = assembled + rejected + dropped + open', async () => {
  const { events, sample } = telemetryProbe();

  events.spansAccepted(10);
  events.spanRejected({ reason: 'invalid_trace_id', detail: 'traceId: 32 hex digits expected, got 30', spans: 2 });
  events.spanRejected({ reason: 'malformed_span', detail: 'a warning', spans: 0 });
  events.spansAssembled(6);
  events.spansDropped('late', 1);
  events.spansDropped('ownJudge', 1);

  // 10 + 2 = 6 + 2 + (1 + 1) + 2 open
  expect(await sample('tracegrade_spans_accepted_total')).toBe(12);
  expect(await sample('tracegrade_spans_assembled_total')).toBe(6);
  expect(await sample('tracegrade_spans_rejected_total{reason="invalid_trace_id"}')).toBe(2);
  expect(await sample('tracegrade_spans_rejected_total{reason="malformed_span"}')).toBe(0);
  expect(await sample('tracegrade_spans_dropped_total{reason="late"}')).toBe(1);
  expect(await sample('tracegrade_spans_dropped_total{reason="own_judge"}')).toBe(1);
});

test('counts an interaction once, and its revisions apart', async () => {
  const { events, sample } = telemetryProbe();

  events.interactionDecided({ verdict: verdict('correct', [PASSED, ABSTAINED]), revised: false });
  events.interactionDecided({ verdict: verdict('incorrect', [{ ...PASSED, passed: false }]), revised: true });

  expect(await sample('tracegrade_interactions_total{verdict="correct"}')).toBe(1);
  expect(await sample('tracegrade_interactions_total{verdict="incorrect"}')).toBe(0);
  expect(await sample('tracegrade_interaction_revisions_total')).toBe(1);
  expect(await sample('tracegrade_scores_total{criterion="tools",outcome="passed"}')).toBe(1);
  expect(await sample('tracegrade_scores_total{criterion="tools",outcome="failed"}')).toBe(0);
  expect(await sample('tracegrade_scores_total{criterion="answer",outcome="no_judge"}')).toBe(1);
});

test('counts what the store took, how long it needed, and what it refused', async () => {
  const { events, sample } = telemetryProbe();

  events.batchStored({ table: 'verdicts', rows: 500, ms: 40 });
  events.batchRetried({ table: 'verdicts', rows: 500, attempt: 1, error: new Error('socket hang up') });
  events.rowRejected({ table: 'interactions', error: new Error('bad row') });

  expect(await sample('tracegrade_store_rows_total{table="verdicts"}')).toBe(500);
  expect(await sample('tracegrade_store_batches_total{table="verdicts"}')).toBe(1);
  expect(await sample('tracegrade_store_batch_seconds_sum{table="verdicts"}')).toBe(0.04);
  expect(await sample('tracegrade_store_retries_total{table="verdicts"}')).toBe(1);
  expect(await sample('tracegrade_store_rows_rejected_total{table="interactions"}')).toBe(1);
});

test('tells what ground truth is in use, and which file of it cannot be used', async () => {
  const { events, records, sample } = telemetryProbe();

  events.datasetsLoaded({ files: 2, turns: 30 });
  const first = { place: 'truth.jsonl:12', problem: 'not JSON (cut off?)' };
  events.datasetRefused({ path: 'truth.jsonl', faults: 3, first });

  expect(records()).toMatchObject([
    { level: 'info', event: 'datasetsLoaded', files: 2, turns: 30 },
    { level: 'error', event: 'datasetRefused', path: 'truth.jsonl', faults: 3, ...first },
  ]);
  expect(await sample('tracegrade_dataset_loads_total')).toBe(1);
  expect(await sample('tracegrade_dataset_refusals_total')).toBe(1);
});

test('tells the start and the end of an outage of the store once each', async () => {
  const { events, records, sample, advance } = telemetryProbe();

  events.storeRecovered();
  events.storeUnavailable(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
  events.storeUnavailable(new Error('still away'));
  expect(await sample('tracegrade_store_reachable_ratio')).toBe(0);
  advance(90_000);
  events.storeRecovered();
  events.storeRecovered();

  expect(await sample('tracegrade_store_reachable_ratio')).toBe(1);
  expect(await sample('tracegrade_store_outages_total')).toBe(1);
  expect(records().map(({ event }) => event)).toEqual(['storeUnavailable', 'storeRecovered']);
  expect(records()[0]).toMatchObject({ level: 'warn', error: { name: 'Error', code: 'ECONNREFUSED' } });
  expect(records()[1]).toMatchObject({ level: 'info', outageMs: 90_000 });
});

test('logs a fault that repeats once a minute, and says how many it held back', () => {
  const { events, records, advance } = telemetryProbe();

  for (let i = 0; i < 1_000; i += 1) events.requestRefused({ status: 401, reason: 'unauthorized', bytes: 0 });
  events.requestRefused({ status: 413, reason: 'too_large', bytes: 0 });
  advance(60_000);
  events.requestRefused({ status: 401, reason: 'unauthorized', bytes: 0 });

  expect(records().map(({ reason, heldBack }) => [reason, heldBack])).toEqual([
    ['unauthorized', undefined],
    ['too_large', undefined],
    ['unauthorized', 999],
  ]);
});

test('counts what a request says of itself, and its leniencies', async () => {
  const { events, sample } = telemetryProbe();

  const leniencies = { snake_case_keys: 3, enum_names: 1 };
  events.requestAccepted({ spans: 5, rejectedSpans: 0, bytes: 700, encoding: 'json', leniencies });
  events.requestRefused({ status: 503, reason: 'no_room', bytes: 0 });
  events.requestCut({ bytes: 10 });

  expect(await sample('tracegrade_requests_accepted_total{encoding="json"}')).toBe(1);
  expect(await sample('tracegrade_requests_refused_total{reason="no_room"}')).toBe(1);
  expect(await sample('tracegrade_requests_cut_total')).toBe(1);
  expect(await sample('tracegrade_received_bytes_total')).toBe(700);
  expect(await sample('tracegrade_leniencies_total{kind="snake_case_keys"}')).toBe(3);
});

test('keeps the labels of leniencies few', async () => {
  const { events, registry, sample } = telemetryProbe();

  for (let i = 0; i < 500; i += 1) events.leniencyUsed(`kind_${i}`);
  events.leniencyUsed('what "the sender" wrote');

  const kinds = (await registry.getSingleMetricAsString('tracegrade_leniencies_total')).split('\n');
  expect(kinds.length).toBeLessThan(60);
  expect(await sample('tracegrade_leniencies_total{kind="other"}')).toBe(451);
});

test('logs nothing per request, interaction or batch unless asked to', () => {
  const { events, text } = telemetryProbe('info');

  events.requestAccepted({ spans: 5, rejectedSpans: 0, bytes: 700, encoding: 'protobuf', leniencies: { a: 1 } });
  events.spansAccepted(5);
  events.spansAssembled(5);
  events.spansDropped('duplicate', 5);
  events.interactionDecided({ verdict: verdict('correct'), revised: false });
  events.batchStored({ table: 'verdicts', rows: 1, ms: 1 });

  expect(text()).toBe('');
});

test('counts ticks of the rollup, and says once a minute that one failed or that there is nobody to follow', async () => {
  const { events, records, registry } = telemetryProbe('info');

  events.rollupTicked({ atMs: 1_000, ms: 250, conversations: 3, trials: 2, estimates: 96 });
  for (let again = 0; again < 3; again += 1) {
    events.rollupTicked({ atMs: null, ms: 1, conversations: 0, trials: 0, estimates: 0 });
    events.rollupFailed(new Error('no answer'));
  }

  expect(records().map(({ level, event }) => [level, event])).toEqual([
    ['info', 'rollupWaiting'],
    ['warn', 'rollupFailed'],
  ]);
  const text = await registry.metrics();
  expect(text).toContain('tracegrade_rollup_tick_seconds_count 4');
  expect(text).toContain('tracegrade_rollup_failures_total 3');
});

test('tells the life of the worker', () => {
  const { events, records } = telemetryProbe('info');

  events.workerStarted({ role: 'all', version: '1.2.3', store: 'embedded', port: 4318 });
  events.drainStarted({ openSpans: 12 });
  events.drainFinished({ ms: 300, openSpans: 4 });
  events.workerFailed(new RangeError('level must be > 0, got 2'));

  expect(records().map(({ level, event }) => [level, event])).toEqual([
    ['info', 'workerStarted'],
    ['info', 'drainStarted'],
    ['info', 'drainFinished'],
    ['error', 'workerFailed'],
  ]);
  expect(records()[3]).toMatchObject({ error: { name: 'RangeError', message: 'level must be > 0, got 2' } });
});
