import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolvePolicy } from '../../src/score/policy.js';
import { assess } from '../../src/score/score-interaction.js';
import { corpusFolders, corpusSpans, isWhole, scenarios } from '../support/corpus.js';
import { interactionsOf } from '../support/interactions.js';
import { answerTo, startOpenAiServer } from '../support/openai-server.js';
import { agent, request, tool } from '../support/turn-traffic.js';

export interface JudgeLoad {
  readonly interactions: number;
  /** From the first request to the last verdict. */
  readonly seconds: number;
  /** What the questions that were asked take at best: questions x latency / concurrency. */
  readonly atBestSeconds: number;
  readonly modelCalls: number;
  readonly cacheHits: number;
  /** The most that was seen. */
  readonly inFlight: number;
  readonly streamLagSeconds: number;
  /** How often a sender was told to come back. */
  readonly turnedAway: number;
  readonly outstanding: number;
}

const LATENCY_MS = 200;
const CONCURRENCY = 50;
/** One turn of so many repeats what another one asked. */
const REPEATED = 10;
const PER_REQUEST = 20;
const DEADLINE_MS = 600_000;

/**
 * A worker in a process of its own, whose judge takes 200 ms for an answer and 50 questions at once. Turns of one call come
 * as fast as they are taken; one of ten asks what was asked before.
 */
export async function benchJudge(interactions: number): Promise<JudgeLoad> {
  const server = await startOpenAiServer((given) => ({
    kind: 'after',
    until: sleep(LATENCY_MS),
    reply: answerTo(given),
  }));
  const dataDir = mkdtempSync(join(tmpdir(), 'tracegrade-bench-'));
  const port = await freePort();
  const settings = [
    `dataDir=${dataDir}`,
    `receive.http.port=${port}`,
    'assemble.quietMs=1000',
    'judge.model=bench',
    `judge.baseUrl=${server.url}`,
    `judge.concurrency=${CONCURRENCY}`,
  ];
  const main = join(import.meta.dirname, '../../src/main.js');
  const child = spawn(process.execPath, [main, 'start', ...settings.flatMap((set) => ['--set', set])], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const peak = { inFlight: 0, lag: 0 };
  try {
    await ready(url);
    const startedMs = Date.now();
    let turnedAway = 0;
    let sent = 0;
    let done = false;
    const watching = (async () => {
      while (!done) {
        const text = await metrics(url);
        peak.inFlight = Math.max(peak.inFlight, valueOf(text, 'tracegrade_judge_in_flight'));
        peak.lag = Math.max(peak.lag, valueOf(text, 'tracegrade_stream_lag_seconds'));
        done = valueOf(text, 'tracegrade_interactions_total') >= interactions;
        if (Date.now() - startedMs > DEADLINE_MS) throw new Error('the worker has not judged all in time');
        await sleep(200);
      }
    })();
    while (sent < interactions) {
      const traces = Array.from({ length: PER_REQUEST }, (_, i) => sent + i + 1);
      const body = request(...traces.flatMap((trace) => [agent(trace), tool(trace, questionOf(trace))]));
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body });
      await response.arrayBuffer();
      if (response.ok) sent += PER_REQUEST;
      else {
        turnedAway += 1;
        await sleep(Number(response.headers.get('retry-after') ?? 1) * 1_000);
      }
    }
    await watching;
    const seconds = (Date.now() - startedMs) / 1_000;
    const text = await metrics(url);
    const modelCalls = server.requests.length;
    return {
      interactions,
      seconds,
      atBestSeconds: (modelCalls * LATENCY_MS) / CONCURRENCY / 1_000,
      modelCalls,
      cacheHits: valueOf(text, 'tracegrade_judge_cache_hits_total') + valueOf(text, 'tracegrade_judge_shared_total'),
      inFlight: peak.inFlight,
      streamLagSeconds: peak.lag,
      turnedAway,
      outstanding: valueOf(text, 'tracegrade_judge_abstentions_total'),
    };
  } finally {
    child.kill('SIGTERM');
    await ended;
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function questionOf(trace: number): number {
  return 2 + (trace % REPEATED === 0 ? trace - 1 : trace);
}

async function ready(url: string): Promise<void> {
  const until = Date.now() + DEADLINE_MS;
  while (Date.now() < until) {
    const response = await fetch(`${url}/readyz`).catch(() => null);
    if (response?.ok === true) return;
    await sleep(100);
  }
  throw new Error('the worker is not ready');
}

async function metrics(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

/** The sum over all labels. */
function valueOf(text: string, name: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

export interface SettledByRules {
  readonly calls: number;
  readonly incorrect: number;
  readonly correct: number;
  readonly notCaptured: number;
  readonly open: number;
}

/** What rules alone make of the calls of the recorded payloads, under a policy with a judge. */
export function callsSettledByRules(): SettledByRules {
  const policy = resolvePolicy({ judge: { model: 'bench' } });
  const counts = { calls: 0, incorrect: 0, correct: 0, notCaptured: 0, open: 0 };
  for (const folder of corpusFolders().filter(isWhole)) {
    for (const name of scenarios(folder)) {
      for (const interaction of interactionsOf(corpusSpans(folder, name))) {
        const assessment = assess(interaction, null, policy);
        const found = assessment.verdict().scores.find(({ criterion }) => criterion === 'arguments');
        const calls = (found?.details['calls'] ?? []) as readonly { readonly verdict: string }[];
        counts.calls += interaction.toolCalls.length;
        for (const { verdict } of calls) {
          if (verdict === 'incorrect' || verdict === 'correct') counts[verdict] += 1;
          else if (verdict === 'unobjected' && assessment.open !== null) counts.open += 1;
          else counts.notCaptured += 1;
        }
      }
    }
  }
  return counts;
}
