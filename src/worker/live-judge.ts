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

export interface StoredJudgeDeps {
  readonly store: Pick<Store, 'judgeAnswers'>;
  /** Hash of the scoring policy. */
  readonly policy: string;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly on: JudgeEvents;
}

/** A judge whose answers are kept in the store. */
export interface StoredJudge extends Judging {
  readonly judge: Judge;
  /** So many interactions keep it busy. */
  readonly atOnce: number;
  /** What is under way ends as `pending`; answers that wait are written. */
  close(): Promise<void>;
}

// More than are asked at once wait for their turn, and their deadline runs meanwhile.
const WAITING_FOR_EACH = 2;

/** So many interactions keep a judge busy. */
export function atOnceOf({ concurrency }: JudgeConfig): number {
  return concurrency * WAITING_FOR_EACH;
}

export function openStoredJudge(settings: JudgeSettings, deps: StoredJudgeDeps): StoredJudge {
  const { nowMs, random, on } = deps;
  const answers = deps.store.judgeAnswers(deps.policy, { answersLost: (error) => on.cacheFailed(error) });
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
    atOnce: atOnceOf(settings.config),
    close() {
      judge.close();
      return answers.close();
    },
  };
}
