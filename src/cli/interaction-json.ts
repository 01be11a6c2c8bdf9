import type { ToolCall } from '../model/interaction.js';
import type { Graded } from '../model/graded.js';
import type { Score } from '../model/score.js';

/** An interaction with its verdict, in the field names that scripts stand on. Add to them; never rename. */
export function interactionJson({ interaction, verdict }: Graded) {
  return {
    interaction_id: interaction.interactionId,
    trace_id: interaction.traceId,
    conversation_id: interaction.conversationId,
    conversation_id_source: interaction.conversationIdSource,
    conversation_aliases: interaction.conversationAliases,
    assistant_id: interaction.assistantId,
    agent_version: interaction.agentVersion,
    environment: interaction.environment,
    task: interaction.task,
    case_id: interaction.caseId,
    user_id: interaction.userId,
    model: interaction.model,
    dialect: interaction.dialect,
    started_at: isoTime(interaction.startedAtMs),
    ended_at: isoTime(interaction.endedAtMs),
    revision: interaction.revision,
    policy: verdict.policy,
    input_tokens: interaction.inputTokens,
    output_tokens: interaction.outputTokens,
    query: interaction.query,
    answer: interaction.answer,
    interrupted: interaction.interrupted,
    tool_calls: interaction.toolCalls.map(toolCallJson),
    handoffs: interaction.handoffs,
    coverage: interaction.coverage,
    scores: verdict.scores.map(scoreJson),
    verdict: verdict.label,
    neutral: verdict.neutral,
  };
}

function toolCallJson(call: ToolCall) {
  return {
    position: call.position,
    call_id: call.callId,
    name: call.name,
    arguments: call.arguments,
    arguments_status: call.argumentsStatus,
    result: call.result,
    result_status: call.resultStatus,
    error: call.error,
    failed: call.failed,
    pending: call.pending,
    owner: call.owner,
    started_at: isoTime(call.startedAtMs),
    ended_at: isoTime(call.endedAtMs),
  };
}

function scoreJson(score: Score) {
  const scored = score.kind === 'scored';
  return {
    criterion: score.criterion,
    value: scored ? score.value : null,
    passed: scored ? score.passed : null,
    decided_by: scored ? score.decidedBy : null,
    abstained: scored ? null : score.abstained,
    reason: score.reason,
    details: score.details,
  };
}

/** ISO 8601 in UTC with milliseconds; null when unknown or beyond what a date can say. */
function isoTime(timeMs: number | null): string | null {
  if (timeMs === null || !(Math.abs(timeMs) <= 8.64e15)) return null;
  return new Date(timeMs).toISOString();
}
