import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { JudgeTrouble, type JudgeModel } from '../../../src/judge/judge-model.js';
import { judgeRequest, startJudge } from '../../support/judge.js';

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly quirk: boolean;
  readonly input: { readonly conversations: readonly (readonly { readonly judge_result: unknown }[])[] };
  readonly options: { readonly threshold: number };
  readonly expected?: readonly {
    readonly correctness_scores: readonly number[];
    readonly correct_indices: readonly number[];
  }[];
}

const file = new URL('../../fixtures/vectors/gaussia.json', import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { readonly vectors: readonly Vector[] };

/** Gaussia's scripted judge under our names: a number, a dictionary as it was parsed, nothing, or an exception. */
function scripted(result: unknown): JudgeModel {
  return {
    ask() {
      if (typeof result === 'string') return Promise.reject(new JudgeTrouble('unreachable', '503'));
      if (result === null) return Promise.resolve({ content: { text: '' }, inputTokens: null, outputTokens: null });
      const given = typeof result === 'number' ? { correctness_score: result } : (result as Record<string, unknown>);
      const answer = { reason: '', value: given['correctness_score'] };
      return Promise.resolve({ content: { structured: { answer } }, inputTokens: null, outputTokens: null });
    },
  };
}

// What their `ideal` asks for: a judge's trouble and an answer out of shape or range are no verdict.
const outstanding: Readonly<Record<string, string>> = {
  'process-07-judge-none': 'judge_rejected',
  'process-08-judge-raises': 'judge_failed',
  'process-09-judge-dict-missing-key': 'judge_rejected',
  'process-10-judge-out-of-range': 'judge_rejected',
  'process-11-judge-string-score': 'judge_rejected',
};

describe.each(vectors.filter(({ kind, expected }) => kind === 'process' && expected !== undefined))('$id', (vector) => {
  test('its judged answers have its scores, and its troubles are outstanding', async () => {
    for (const [i, conversation] of vector.input.conversations.entries()) {
      const expected = vector.expected?.[i];
      for (const [j, { judge_result: result }] of conversation.entries()) {
        const { judge } = startJudge(scripted(result), { attempts: 1 });

        const { answer } = await judge.judge(judgeRequest({ asked: { arguments: [], answer: true } }));

        const abstained = outstanding[vector.id];
        if (abstained !== undefined && j === 0) {
          expect(answer).toMatchObject({ kind: 'failed', abstained });
        } else {
          expect(answer).toMatchObject({ kind: 'decided', value: expected?.correctness_scores[j] });
          const passed = answer?.kind === 'decided' && answer.value >= vector.options.threshold;
          expect(passed).toBe(expected?.correct_indices.includes(j));
        }
      }
    }
  });
});
