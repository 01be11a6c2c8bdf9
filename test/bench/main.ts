import { benchDecode } from './decode.js';
import { benchEstimate } from './estimate.js';
import { benchPipeline } from './pipeline.js';
import { benchToolCorrectness } from './tool-correctness.js';

const SPANS = 60_000;

const line = (...cells: readonly (string | number)[]) =>
  console.log(cells.map((cell, i) => (i === 0 ? String(cell).padEnd(44) : String(cell).padStart(14))).join(''));
const rounded = (value: number, digits = 1) => Number(value.toFixed(digits));

console.log(
  'Decoding. Two instrumentations of OpenAI calls in turn (structured values; flattened keys with JSON text),',
);
console.log('scenarios a to g, fresh ids, tool definitions in one trace of four, about 100 spans a request, protobuf.');
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

console.log('\nTool correctness, calls of three arguments.\n');
line('', 'calls', 'us');
for (const row of benchToolCorrectness()) line(row.workload, row.calls, rounded(row.micros, 2));

console.log('\nEstimates with intervals: closed form beside 5000 draws.\n');
console.log(benchEstimate());
