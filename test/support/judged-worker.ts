import { onTestFinished } from 'vitest';
import type { JudgeConfig } from '../../src/judge/config.js';
import { DEFAULT_JUDGE_CONFIG } from '../../src/judge/config.js';
import { openAiModel } from '../../src/judge/langchain.js';
import { resolvePolicy } from '../../src/score/policy.js';
import type { JudgeSettings } from '../../src/worker/live-judge.js';
import type { WorkerSettings } from '../../src/worker/worker.js';
import type { OpenAiServer } from './openai-server.js';
import { runningWorker } from './worker.js';

/** A judge that asks the stand-in, with little patience. */
export async function judgeAt(
  server: OpenAiServer,
  config: Partial<JudgeConfig> = {},
  changes: Partial<JudgeSettings> = {},
): Promise<JudgeSettings> {
  const model = await openAiModel(
    { model: 'judge-1', baseUrl: server.url, temperature: 0, maxOutputTokens: null, useStructuredOutput: true },
    { nowMs: () => Date.now() },
  );
  return {
    model,
    config: { ...DEFAULT_JUDGE_CONFIG, backoffMs: 1, maxBackoffMs: 1, ...config },
    sampling: { rate: 1, salt: '' },
    redaction: null,
    holdMs: 60_000,
    healEveryMs: 0,
    ...changes,
  };
}

/** A worker whose calls go to that judge. */
export async function judgedWorker(dataDir: string, judge: JudgeSettings, settings: Partial<WorkerSettings> = {}) {
  const policy = resolvePolicy({ judge: { model: 'judge-1' } });
  const running = await runningWorker(dataDir, {}, { policy, judge, ...settings });
  // Also after a test that failed: there is one store a process.
  onTestFinished(() => running.worker.stop());
  return running;
}

/** Verdicts of the store by conversation: label, outstanding, and the outcome of `arguments`. */
export async function argumentVerdicts(store: {
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}): Promise<Readonly<Record<string, string>>> {
  const rows = await store.rows(
    `SELECT v.conversation_id AS id, v.verdict AS verdict, v.outstanding AS outstanding,
            coalesce(s.abstained, toString(s.value)) AS outcome
     FROM {db}.verdicts_current AS v INNER JOIN {db}.scores_current AS s USING interaction_id
     WHERE s.criterion = 'arguments' ORDER BY id`,
  );
  return Object.fromEntries(
    rows.map((row) => [
      String(row['id']),
      `${String(row['verdict'])} ${String(row['outstanding'])} ${String(row['outcome'])}`,
    ]),
  );
}
