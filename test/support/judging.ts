import type { PipelineJudging } from '../../src/pipeline.js';
import type { Graded } from '../../src/model/graded.js';
import type { CallJudgement, Judgement, JudgeAbstention, JudgeRequest, PartJudgement } from '../../src/model/judge.js';

/** The same word on all that a request asks; numbers are 1. */
export function judgementOn(
  { asked }: JudgeRequest,
  word: 'correct' | 'incorrect' | { readonly abstained: JudgeAbstention } = 'correct',
): Judgement {
  const common = { decidedBy: 'judge', reason: 'as scripted' } as const;
  const part = <T>(value: T): PartJudgement<T> =>
    typeof word === 'string'
      ? { kind: 'decided', value, ...common }
      : { kind: 'failed', abstained: word.abstained, reason: 'as scripted' };
  const right = word === 'correct';
  const onCall = (id: string): CallJudgement => ({
    id,
    verdict: part(right ? 'correct' : 'incorrect'),
    parameters: [],
  });
  return {
    arguments: asked.arguments.map(onCall),
    answer: asked.answer ? part(right ? 1 : 0) : null,
    completion: asked.completion ? part(right ? 1 : 0) : null,
    utilization: asked.utilization ? part(right ? 'used' : 'unused') : null,
    modelCalls: 1,
  };
}

interface Asked {
  readonly request: JudgeRequest;
  readonly answer: (word?: Parameters<typeof judgementOn>[1]) => Promise<void>;
}

/** A judge that answers when the test says so, and a clock for its patience that the test turns. */
export function heldJudging(changes: Partial<PipelineJudging> = {}) {
  const asked: Asked[] = [];
  const late: Graded[] = [];
  const verdicts: Graded[] = [];
  const alarms = new Set<() => void>();
  const judging: PipelineJudging = {
    judge: {
      budgetSpent: false,
      standing: () => null,
      judge: (request) =>
        new Promise((resolve) => {
          asked.push({
            request,
            async answer(word) {
              resolve(judgementOn(request, word));
              await settled();
            },
          });
        }),
    },
    sampling: { rate: 1, salt: '' },
    holdMs: 1,
    after: (_ms, wake) => {
      alarms.add(wake);
      return () => void alarms.delete(wake);
    },
    judgedLate: (graded) => void late.push(graded),
    storeVerdict(graded) {
      verdicts.push(graded);
      return Promise.resolve({ status: 'ok' });
    },
    ...changes,
  };
  return {
    judging,
    asked,
    late,
    verdicts,
    /** The patience of all that wait is over. */
    passHold: async () => {
      for (const wake of [...alarms]) {
        alarms.delete(wake);
        wake();
      }
      await settled();
    },
  };
}

/** All that has been promised so far has been acted on. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
