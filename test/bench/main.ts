import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchDecode } from './decode.js';
import { benchEndToEnd, SENDERS } from './end-to-end.js';
import { benchEstimate } from './estimate.js';
import { benchJudge, callsSettledByRules } from './judge.js';
import { benchKafka } from './kafka.js';
import { benchPipeline } from './pipeline.js';
import { MEASURED_BEFORE, measurePython } from './python-reference.js';
import { benchRollup } from './rollup.js';
import { benchToolCorrectness, toolWorkloads, type ToolWorkload } from './tool-correctness.js';

const SPANS = 60_000;
const JUDGED = 10_000;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    conversations: { type: 'string', default: '1000000' },
    python: { type: 'string' },
  },
});

const line = (...cells: readonly (string | number)[]) =>
  console.log(cells.map((cell, i) => (i === 0 ? String(cell).padEnd(44) : String(cell).padStart(14))).join(''));
const rounded = (value: number, digits = 1) => Number(value.toFixed(digits));
const cell = (value: number | null) => (value === null ? '-' : rounded(value));

const toolLoads = toolWorkloads();
let known: ReturnType<typeof measurePython> | undefined;
const reference = () => (known ??= options.python === undefined ? MEASURED_BEFORE : measured(options.python));
const measured = (python: string) =>
  measurePython(python, join(import.meta.dirname, '../../../../test/bench/python-reference.py'), toolLoads);

/** By the name that --only takes, in order. */
const PARTS: Readonly<Record<string, () => void | Promise<void>>> = {
  decode() {
    console.log(
      'Decoding. Two instrumentations of OpenAI calls in turn (structured values; flattened keys with JSON text),',
    );
    console.log(
      'scenarios a to g, fresh ids, tool definitions in one trace of four, about 100 spans a request, protobuf.',
    );
    const decoding = benchDecode();
    console.log(
      `${decoding.spans} spans of ${Math.round(decoding.bytesPerSpan)} bytes; medians of CPU time, interleaved.\n`,
    );
    line('', 'MB/s', 'spans/s', 'CPU s/1M', 'x protobufjs');
    for (const row of decoding.rows) {
      line(
        row.name,
        rounded(row.MBps),
        Math.round(row.spansPerSecond),
        rounded(row.cpuSecondsPerMillionSpans, 2),
        rounded(row.ratio, 2),
      );
    }
  },
  async pipeline() {
    console.log('\nThe pipeline over the same kind of bytes, each line with all stages before it. CPU: all threads.\n');
    line('', 'spans/s', 'CPU s/1M spans', 'interactions', 'MB resident');
    for (const row of await benchPipeline(SPANS)) {
      const resident = Math.round(process.memoryUsage.rss() / 1e6);
      line(
        row.name,
        Math.round(row.spans / row.seconds),
        rounded((row.cpuSeconds / row.spans) * 1e6, 1),
        row.interactions,
        resident,
      );
    }
  },
  async otlp() {
    console.log('\nA worker in its own process: OTLP/HTTP, spool, verdicts, rows in the embedded engine;');
    console.log(
      `${4 * SPANS} spans a run, ${SENDERS} requests at a time. The sender takes its share of the same cores.\n`,
    );
    line('', 'spans/s', 'CPU s/1M spans', 'of the sender', 'MB peak');
    for (const row of await benchEndToEnd(4 * SPANS)) {
      const perMillion = (cpuSeconds: number) => rounded((cpuSeconds / row.spans) * 1e6, 1);
      const [worker, sender] = [perMillion(row.cpuSeconds), perMillion(row.senderCpuSeconds)];
      line(row.name, Math.round(row.spans / row.seconds), worker, sender, Math.round(row.peakRss / 1e6));
    }
  },
  async judge() {
    const load = await benchJudge(JUDGED);
    console.log(
      `\nThe judge: ${load.interactions} turns of one call as fast as they are taken; 200 ms an answer, 50 at once.\n`,
    );
    line('seconds; at best', rounded(load.seconds), rounded(load.atBestSeconds));
    line('answers of the model an interaction', rounded(load.modelCalls / load.interactions, 3));
    line('known already', load.cacheHits);
    line('questions waiting, at most', load.inFlight);
    line('stream lag at most, s', rounded(load.streamLagSeconds, 2));
    line('senders told to come back', load.turnedAway);
    line('outstanding', load.outstanding);
    const settled = callsSettledByRules();
    const byRules = settled.incorrect + settled.correct;
    console.log(
      `Of ${settled.calls} recorded calls rules alone settle ${byRules} (${rounded((100 * byRules) / settled.calls)} %): ` +
        `${settled.incorrect} incorrect, ${settled.correct} correct; ${settled.notCaptured} were not captured, ${settled.open} are for the judge.`,
    );
  },
  async kafka() {
    const kafka = await benchKafka(4 * SPANS);
    console.log(
      '\nKafka, 6 partitions, lz4 -> workers -> ClickHouse over HTTP; a worker has a process, as have the others.\n',
    );
    if (kafka === null) console.log('left out: no broker can run here (Java 17 with Maven, or Docker)');
    else {
      line('', 'spans/s', 'CPU s/1M spans', '', 'MB peak');
      for (const { workers, spansPerSecond, cpuSecondsPerMillionSpans, peakRss } of kafka) {
        const name = workers === 1 ? '1 worker' : `${workers} workers`;
        line(name, Math.round(spansPerSecond), rounded(cpuSecondsPerMillionSpans), '', Math.round(peakRss / 1e6));
      }
    }
  },
  async rollup() {
    const conversations = Number(options.conversations);
    console.log(
      `\nA tick of the rollup over a minute of traffic, on a store of ${conversations.toLocaleString('en')} conversations in 1000 series`,
    );
    console.log('(231 conversations a minute; --conversations 10000000 for those of a month); medians.\n');
    line('', 's', 'CPU s', 'rows written');
    for (const tasks of [false, true]) {
      const { ticks, rowsWritten } = await benchRollup(conversations, tasks);
      const middle = (of: 'seconds' | 'cpuSeconds') =>
        ticks.map((tick) => tick[of]).sort((a, b) => a - b)[Math.floor(ticks.length / 2)] ?? NaN;
      const name = tasks ? 'with the labels of three tasks' : 'without task labels';
      line(name, rounded(middle('seconds'), 2), rounded(middle('cpuSeconds'), 2), Math.round(rowsWritten));
    }
  },
  tools() {
    console.log('\nTool correctness, calls of three arguments; CPU us for one evaluation, medians.');
    const python = reference();
    console.log(`Python: ${python.source}.\n`);
    line('', 'calls', 'us', 'Gaussia us', 'DeepEval us');
    benchToolCorrectness(toolLoads).forEach((micros, at) => {
      const load = toolLoads[at] as ToolWorkload;
      const [gaussia, deepeval] = [python.tools('gaussia', load), python.tools('deepeval', load)];
      line(load.workload, load.calls, rounded(micros), cell(gaussia), cell(deepeval));
    });
  },
  estimates() {
    const estimates = benchEstimate();
    console.log(`\nEstimates with intervals: ${estimates.workload}.\n`);
    line('', 'us a figure', 'x slower');
    line('closed form', rounded(1e6 / estimates.exactPerSecond, 2), 1);
    line(
      'Monte Carlo, the same in JavaScript',
      rounded(1e6 / estimates.monteCarloPerSecond),
      rounded(estimates.ratio, 0),
    );
    const { estimateMicros } = reference();
    if (estimateMicros !== null) {
      const slower = (estimateMicros / 1e6) * estimates.exactPerSecond;
      line("Monte Carlo, Gaussia's with NumPy", rounded(estimateMicros), rounded(slower, 0));
    }
    console.log(`Largest error of the Monte Carlo: ${rounded(estimates.monteCarloError, 4)}.`);
  },
};

const asked = options.only ?? Object.keys(PARTS);
const unknown = asked.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`--only: one of ${Object.keys(PARTS).join(', ')} expected, got ${unknown.join(', ')}`);
  process.exitCode = 2;
} else for (const name of asked) await PARTS[name]?.();
