import { register as globalRegistry } from 'prom-client';
import { expect, test } from 'vitest';
import { exposeReadings } from '../../../src/telemetry/metrics.js';
import { telemetryProbe } from '../../support/telemetry.js';

/** Units of the Prometheus naming rules that we use, and what is counted where the thing itself is the unit. */
const UNITS = /_(seconds|bytes|ratio|total|info|spans_open|traces_open|entries|rows|turns_(un)?matched|judge_calls)$/;

test('exposes the text format, with help and type of every metric', async () => {
  const { registry } = telemetryProbe();
  exposeReadings(registry, { openSpans: () => 7, spoolBytes: () => 4_096, streamLagMs: () => 1_500 });

  const lines = (await registry.metrics()).split('\n');

  expect(registry.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(lines).toContain('# TYPE tracegrade_spans_open gauge');
  expect(lines).toContain('tracegrade_spans_open 7');
  expect(lines).toContain('tracegrade_spool_bytes 4096');
  expect(lines).toContain('tracegrade_stream_lag_seconds 1.5');
  expect(lines).toContain('# TYPE tracegrade_spans_accepted_total counter');
  expect(lines).toContain('tracegrade_spans_accepted_total 0');
  expect(lines).toContain('tracegrade_build_info{version="1.2.3",node_version="v20.19.0"} 1');
  expect(lines.some((line) => line.startsWith('process_cpu_seconds_total '))).toBe(true);
  expect(lines.some((line) => line.startsWith('nodejs_eventloop_lag_p99_seconds '))).toBe(true);
  // Every line is a comment or a sample of the text format (whose readers take NaN in any case of letters).
  const sample = /^[a-z_0-9]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? (-?[0-9.e+-]+|N[aA][nN]|[+-]Inf)$/;
  expect(lines.filter((line) => line !== '' && !line.startsWith('# ') && !sample.test(line))).toEqual([]);
});

test('ends every name of ours in its unit', () => {
  const { registry } = telemetryProbe();
  const zero = () => 0;
  exposeReadings(registry, {
    openSpans: zero,
    openTraces: zero,
    openBytes: zero,
    spoolEntries: zero,
    spoolBytes: zero,
    queuedRows: zero,
    streamLagMs: zero,
    matchedTurns: zero,
    unmatchedTurns: zero,
  });

  const ours = registry.getMetricsAsArray().filter(({ name }) => name.startsWith('tracegrade_'));

  expect(ours.length).toBeGreaterThan(25);
  expect(ours.map(({ name }) => name).filter((name) => !UNITS.test(name))).toEqual([]);
  expect(ours.filter(({ help }) => help === '')).toEqual([]);
});

test('reads a gauge when the metrics are asked for', async () => {
  const { registry, sample } = telemetryProbe();
  let entries = 1;
  exposeReadings(registry, { openSpans: () => 0, spoolEntries: () => entries });

  expect(await sample('tracegrade_spool_entries')).toBe(1);
  entries = 5;
  expect(await sample('tracegrade_spool_entries')).toBe(5);
});

test('leaves the global registry of the library alone', () => {
  telemetryProbe();

  expect(globalRegistry.getMetricsAsArray()).toEqual([]);
});
