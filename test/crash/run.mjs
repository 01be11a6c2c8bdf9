// Kills a worker (kill -9; the embedded engine dies with it) again and again while interactions are sent to it over
// HTTP, and then looks whether each interaction whose spans were acknowledged is in the store once, with all its calls.
//
//   npm run test:crash -- [--kills 20] [--interactions 10000] [--seed 1]
//
// The sender behaves as an OTLP exporter does: what was not answered with 200 is sent again. The spans of an
// interaction go out in two requests, the tool spans before the root, so that kills part them.
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const { values: options } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    interactions: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
  },
});
const KILLS = Number(options.kills);
const INTERACTIONS = Number(options.interactions);
const PER_REQUEST = 20;
const SENDERS = 4;

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), 'tracegrade-crash-'));
const settings = [
  ['dataDir', dataDir],
  ['receive.http.port', '0'],
  ['assemble.quietMs', '300'],
  ['assemble.lateMs', '600'],
  ['telemetry.logFormat', 'json'],
  ['telemetry.logLevel', 'info'],
].flatMap(([key, value]) => ['--set', `${key}=${value}`]);

const random = seeded(Number(options.seed));
const hex = (text, length) => createHash('sha256').update(`${options.seed}/${text}`).digest('hex').slice(0, length);

const callsOf = (i) => i % 4;
const epochNano = BigInt(Math.floor(Date.now() / 1000)) * 1_000_000_000n;
const at = (i, offsetMs) => String(epochNano + BigInt(i) * 1_000_000n + BigInt(offsetMs) * 1_000_000n);
const text = (key, value) => ({ key, value: { stringValue: value } });

let worker = null; // { child, port }
let sentRequests = 0;
let acknowledged = 0;

async function run() {
  worker = await startWorker();
  const queue = requests();
  const total = queue.length;
  const senders = Array.from({ length: SENDERS }, () => sendAll(queue));
  let sending = true;
  const allSent = Promise.all(senders).then(() => (sending = false));

  let kills = 0;
  while (kills < KILLS) {
    // Spread over the run: wait for a random number of acknowledgements, then for a random moment within it.
    const share = Math.ceil((total - acknowledged) / (KILLS - kills + 1));
    const until = acknowledged + Math.floor(random() * 2 * share);
    await waitFor(() => acknowledged >= until || !sending);
    await pause(random() * 120);
    worker.child.kill('SIGKILL');
    await worker.exited;
    kills += 1;
    worker = await startWorker();
    process.stdout.write(`kill ${kills} of ${KILLS}: ${acknowledged} of ${total} requests acknowledged\n`);
  }
  await allSent;
  await waitForIdle();
  worker.child.kill('SIGTERM');
  const code = await worker.exited;
  if (code !== 0) throw new Error(`the worker drained with exit status 0 expected, got ${code}`);
  await check();
}

/** Two requests for every group of interactions: tool spans first, then model and agent spans. */
function requests() {
  const list = [];
  for (let first = 0; first < INTERACTIONS; first += PER_REQUEST) {
    const group = Array.from({ length: Math.min(PER_REQUEST, INTERACTIONS - first) }, (_, i) => first + i);
    list.push(body(group.flatMap(toolSpans)), body(group.flatMap(otherSpans)));
  }
  return list.reverse(); // senders take from the end
}

function span(i, name, id, parent, fromMs, toMs, attributes) {
  return {
    traceId: hex(`trace ${i}`, 32),
    spanId: hex(`span ${i} ${id}`, 16),
    ...(parent === null ? {} : { parentSpanId: hex(`span ${i} ${parent}`, 16) }),
    name,
    kind: 1,
    startTimeUnixNano: at(i, fromMs),
    endTimeUnixNano: at(i, toMs),
    attributes: [text('gen_ai.conversation.id', `conversation-${i}`), ...attributes],
  };
}

function toolSpans(i) {
  return Array.from({ length: callsOf(i) }, (_, k) =>
    span(i, 'execute_tool look', `tool ${k}`, 'root', 10 + k, 11 + k, [
      text('gen_ai.operation.name', 'execute_tool'),
      text('gen_ai.tool.name', 'look'),
      text('gen_ai.tool.call.id', `call_${k}`),
      text('gen_ai.tool.call.arguments', JSON.stringify({ at: k })),
      text('gen_ai.tool.call.result', 'seen'),
    ]),
  );
}

function otherSpans(i) {
  const calls = Array.from({ length: callsOf(i) }, (_, k) => ({
    type: 'tool_call',
    id: `call_${k}`,
    name: 'look',
    arguments: { at: k },
  }));
  const query = [{ role: 'user', parts: [{ type: 'text', content: `Question ${i}?` }] }];
  const answer = [{ role: 'assistant', parts: [{ type: 'text', content: `Answer ${i}.` }], finish_reason: 'stop' }];
  return [
    ...(calls.length === 0
      ? []
      : [
          span(i, 'chat m', 'chat', 'root', 1, 9, [
            text('gen_ai.operation.name', 'chat'),
            text('gen_ai.input.messages', JSON.stringify(query)),
            text(
              'gen_ai.output.messages',
              JSON.stringify([{ role: 'assistant', parts: calls, finish_reason: 'tool_call' }]),
            ),
          ]),
        ]),
    span(i, 'invoke_agent a', 'root', null, 0, 100, [
      text('gen_ai.operation.name', 'invoke_agent'),
      text('gen_ai.agent.name', 'crash-agent'),
      text('gen_ai.input.messages', JSON.stringify(query)),
      text('gen_ai.output.messages', JSON.stringify(answer)),
    ]),
  ];
}

function body(spans) {
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
}

async function sendAll(queue) {
  for (let request = queue.pop(); request !== undefined; request = queue.pop()) {
    for (;;) {
      sentRequests += 1;
      const answer = await fetch(`http://127.0.0.1:${worker.port}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: request,
      }).catch(() => null);
      if (answer?.status === 200) break;
      if (answer !== null && answer.status !== 503) throw new Error(`200 or 503 expected, got ${answer.status}`);
      await pause(20);
    }
    acknowledged += 1;
  }
}

async function startWorker() {
  const child = spawn(process.execPath, [main, 'start', ...settings], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  const last = [];
  for await (const line of createInterface(child.stderr)) {
    last.push(line);
    const started = line.includes('"event":"workerStarted"') && JSON.parse(line);
    if (started) {
      child.stderr.resume();
      return { child, exited, port: started.port };
    }
  }
  throw new Error(`the worker does not start:\n${last.slice(-10).join('\n')}`);
}

async function waitForIdle() {
  await waitFor(async () => {
    const ready = await fetch(`http://127.0.0.1:${worker.port}/readyz`);
    const metrics = await (await fetch(`http://127.0.0.1:${worker.port}/metrics`)).text();
    const value = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? NaN);
    return ready.ok && value('tracegrade_spans_open') === 0 && value('tracegrade_spool_entries') === 0;
  }, 120_000);
}

async function check() {
  const expected = new Map(
    Array.from({ length: INTERACTIONS }, (_, i) => [`${hex(`trace ${i}`, 32)}-${hex(`span ${i} root`, 16)}`, i]),
  );
  const rows = await query(
    'SELECT interaction_id, length(tool_calls.name) AS calls, query, answer FROM interactions_current',
  );
  const verdicts = await query('SELECT interaction_id FROM verdicts_current');
  const faults = [];
  const seen = new Set();
  for (const row of rows) {
    const i = expected.get(row.interaction_id);
    if (i === undefined) faults.push(`${row.interaction_id}: nobody sent it`);
    else if (seen.has(row.interaction_id)) faults.push(`interaction ${i}: in the store twice`);
    else if (Number(row.calls) !== callsOf(i))
      faults.push(`interaction ${i}: ${callsOf(i)} calls expected, got ${row.calls}`);
    else if (row.query !== `Question ${i}?` || row.answer !== `Answer ${i}.`)
      faults.push(`interaction ${i}: other query or answer`);
    seen.add(row.interaction_id);
  }
  for (const [id, i] of expected) if (!seen.has(id)) faults.push(`interaction ${i}: acknowledged and not in the store`);
  const judged = new Set(verdicts.map((row) => row.interaction_id));
  if (judged.size !== INTERACTIONS || verdicts.length !== INTERACTIONS) {
    faults.push(`${INTERACTIONS} verdicts expected, got ${verdicts.length} of ${judged.size} interactions`);
  }
  if (faults.length > 0)
    throw new Error(`${faults.length} faults after ${KILLS} kills:\n${faults.slice(0, 20).join('\n')}`);
  process.stdout.write(
    `${INTERACTIONS} interactions, ${KILLS} kills, ${sentRequests - acknowledged} requests sent again: each is in the store once, with all its calls\n`,
  );
}

async function query(sql) {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [main, 'query', ...settings, '--format', 'JSONEachRow', sql],
    { maxBuffer: 2 ** 30 },
  );
  return stdout.trim() === ''
    ? []
    : stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
}

async function waitFor(holds, timeoutMs = 600_000) {
  const end = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain`);
    await pause(10);
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** mulberry32 */
function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

await run().finally(async () => {
  worker?.child.kill('SIGKILL');
  await rm(dataDir, { recursive: true, force: true });
});
