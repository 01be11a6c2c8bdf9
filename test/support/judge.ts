import type { JudgedCall, JudgeRequest } from '../../src/model/judge.js';
import { DEFAULT_JUDGE_CONFIG, type JudgeConfig } from '../../src/judge/config.js';
import type { JudgeModel, JudgeTrouble } from '../../src/judge/judge-model.js';
import { createJudge, type Judge, type JudgeDeps } from '../../src/judge/judge.js';

/** A call that was made with nothing known before, unless `given` says otherwise. */
export function judgedCall(position: number, given: Partial<JudgedCall> = {}): JudgedCall {
  return {
    id: `call_${position}`,
    name: 'lookup_order',
    arguments: { order_id: `A-${position}` },
    outcome: { kind: 'result', value: { state: `result-of-${position}` } },
    knownBefore: [],
    ...given,
  };
}

/** About one call; nothing else is asked unless `given` says so. */
export function judgeRequest(
  given: Partial<Omit<JudgeRequest, 'asked'>> & { asked?: Partial<JudgeRequest['asked']> } = {},
) {
  const calls = given.calls ?? [judgedCall(0)];
  const request: JudgeRequest = {
    policy: 'policy-1',
    earlier: [],
    query: 'Where is my order A-0?',
    answer: 'It is on its way.',
    expectedAnswer: 'On its way',
    ...given,
    calls,
    asked: {
      arguments: calls.map(({ id }) => id),
      answer: false,
      completion: false,
      utilization: false,
      ...given.asked,
    },
  };
  return request;
}

export interface RunningJudge {
  readonly judge: Judge;
  /** Names of the events with what they carried, in order. */
  readonly events: (readonly [string, unknown])[];
}

/** A judge with short pauses and no store, on the wall clock. */
export function startJudge(
  model: JudgeModel,
  config: Partial<JudgeConfig> = {},
  deps: Partial<JudgeDeps> = {},
): RunningJudge {
  const events: [string, unknown][] = [];
  const record = (name: string) => (detail: unknown) => void events.push([name, detail]);
  const judge = createJudge(
    { ...DEFAULT_JUDGE_CONFIG, backoffMs: 1, maxBackoffMs: 1, ...config },
    {
      model,
      cache: null,
      redact: null,
      nowMs: () => Date.now(),
      random: () => 0.5,
      on: {
        modelAnswered: record('modelAnswered'),
        modelFailed: (trouble: JudgeTrouble) => void events.push(['modelFailed', trouble.kind]),
        breakerMoved: record('breakerMoved'),
        cacheFailed: record('cacheFailed'),
        judgeFaulted: record('judgeFaulted'),
      },
      ...deps,
    },
  );
  return { judge, events };
}
