import type { Judging } from '../grade.js';
import type { JudgeConfig } from '../judge/config.js';
import type { JudgeModel } from '../judge/judge-model.js';
import { createJudge, type Judge, type JudgeEvents } from '../judge/judge.js';
import type { SamplingRules } from '../score/sampling.js';
import type { Redaction } from '../score/redact.js';
import type { Store } from '../store/clickhouse.js';

export interface JudgeSettings {
  readonly model: JudgeModel;
  readonly config: JudgeConfig;
  readonly sampling: SamplingRules;
  /** Of what the judge is told; null: nothing is taken out. */
  readonly redaction: Redaction | null;
  /** See `PipelineJudging`. */
  readonly holdMs: number;
  /** How often a worker asks again about what the judge had no word on; 0: never. */
  readonly healEveryMs: number;
}

export interface OpenJudgeDeps {
  /** Where its answers are kept, under the hash of the scoring policy; null: in memory alone. */
  readonly keptIn: { readonly store: Pick<Store, 'judgeAnswers'>; readonly policy: string } | null;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly on: JudgeEvents;
}

/** A judge at work. */
export interface OpenJudge extends Judging {
  readonly judge: Judge;
  /** So many interactions keep it busy. */
  readonly atOnce: number;
  /** What is under way ends as `pending`; answers that wait are written. */
  close(): Promise<void>;
}

// More than are asked at once wait for their turn, and their deadline runs meanwhile.
const WAITING_FOR_EACH = 2;

export function openJudge(settings: JudgeSettings, { keptIn, nowMs, random, on }: OpenJudgeDeps): OpenJudge {
  const answers = keptIn?.store.judgeAnswers(keptIn.policy, { answersLost: (error) => on.cacheFailed(error) }) ?? null;
  const judge = createJudge(settings.config, {
    model: settings.model,
    cache: answers,
    redact: settings.redaction?.request ?? null,
    nowMs,
    random,
    on,
  });
  return {
    judge,
    sampling: settings.sampling,
    atOnce: settings.config.concurrency * WAITING_FOR_EACH,
    async close() {
      judge.close();
      await answers?.close();
    },
  };
}
