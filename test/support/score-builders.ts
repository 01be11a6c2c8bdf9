import type { Interaction, ToolCall } from '../../src/model/interaction.js';
import type { Criterion, Score, Verdict } from '../../src/model/score.js';
import type { OpenCriterion } from '../../src/score/open-criterion.js';

/** A call that was captured whole; its position is set by `interaction`. */
export function call(name: string, changes: Partial<ToolCall> = {}): ToolCall {
  return {
    position: 0,
    callId: null,
    name,
    arguments: {},
    argumentsStatus: 'captured',
    result: 'ok',
    resultStatus: 'captured',
    error: null,
    failed: false,
    pending: false,
    owner: null,
    byRoot: true,
    startedAtMs: null,
    endedAtMs: null,
    offer: { kind: 'unknown' },
    providerExecuted: false,
    ...changes,
  };
}

export function interaction(toolCalls: readonly ToolCall[] = [], changes: Partial<Interaction> = {}): Interaction {
  return {
    interactionId: '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    rootSpanId: 'b7ad6b7169203331',
    conversationId: 'session-1',
    conversationIdSource: 'recorded',
    conversationAliases: [],
    userId: null,
    assistantId: 'weather-agent',
    agentVersion: null,
    environment: null,
    task: null,
    caseId: null,
    model: null,
    dialect: 'genai',
    startedAtMs: 1_796_020_000_000,
    endedAtMs: 1_796_020_001_000,
    revision: 2,
    openTop: false,
    inputTokens: null,
    outputTokens: null,
    query: 'What is the weather in Lindholm?',
    answer: 'It is 14 degrees.',
    earlierTurns: [],
    interrupted: false,
    toolCalls: toolCalls.map((one, position) => ({ ...one, position })),
    handoffs: [],
    coverage: [],
    expectation: null,
    ...changes,
  };
}

export function scoreOf(verdict: Verdict, criterion: Criterion): Score {
  const score = verdict.scores.find((one) => one.criterion === criterion);
  if (score === undefined) throw new Error(`no score of ${criterion}`);
  return score;
}

/** Value of a scored criterion, why it abstained, or `open`. */
export function outcome(score: Score | OpenCriterion): number | string {
  return score.kind === 'scored' ? score.value : score.kind === 'open' ? 'open' : score.abstained;
}
