import type { Interaction, ToolCall } from '../model/interaction.js';
import type { JudgedCall, JudgedOutcome, JudgeRequest, OpenQuestions } from '../model/judge.js';
import { callIdOf } from '../model/judge.js';
import { canonicalJson } from '../model/json.js';

/** What the pipeline knows beside the interaction. */
export interface RequestContext {
  readonly policy: string;
  readonly expectedAnswer: string | null;
  readonly asked: OpenQuestions;
}

/** The facts of an interaction as a request to the judge. */
export function judgeRequestOf(interaction: Interaction, context: RequestContext): JudgeRequest {
  const { toolCalls } = interaction;
  return {
    policy: context.policy,
    earlier: interaction.earlierTurns,
    query: interaction.query,
    answer: interaction.answer,
    expectedAnswer: context.expectedAnswer,
    calls: toolCalls.map((call) => judgedCall(call, toolCalls)),
    asked: { ...context.asked, arguments: [...context.asked.arguments].sort((a, b) => a - b).map(callIdOf) },
  };
}

function judgedCall(call: ToolCall, calls: readonly ToolCall[]): JudgedCall {
  const { offer, argumentsStatus } = call;
  const told = argumentsStatus === 'captured' || argumentsStatus === 'malformed';
  return {
    id: callIdOf(call.position),
    name: call.name,
    ...(offer.kind === 'offered' && offer.schema !== undefined ? { schema: offer.schema } : {}),
    arguments: told ? call.arguments : undefined,
    outcome: outcomeOf(call),
    knownBefore: calls.filter((other) => endedBefore(other, call)).map(({ position }) => callIdOf(position)),
  };
}

function outcomeOf(call: ToolCall): JudgedOutcome {
  if (call.pending) return { kind: 'unknown' };
  if (call.failed || call.error !== null) return { kind: 'error', message: call.error ?? 'failed' };
  return call.resultStatus === 'captured' && !isEmpty(call)
    ? { kind: 'result', value: call.result }
    : { kind: 'unknown' };
}

function isEmpty({ result }: ToolCall): boolean {
  return result === null || canonicalJson(result) === '""';
}

/**
 * Had `other` ended when `call` started? Without times of both the order of issue tells, because to hide a result that
 * the agent had would make right arguments look invented; a call's own result and a later one's are hidden either way.
 */
function endedBefore(other: ToolCall, call: ToolCall): boolean {
  if (other.position >= call.position) return false;
  if (other.endedAtMs === null || call.startedAtMs === null) return !other.pending;
  return other.endedAtMs <= call.startedAtMs;
}
