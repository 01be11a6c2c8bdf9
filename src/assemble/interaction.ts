import type { AgentSpan } from '../model/agent-span.js';
import type { Interaction } from '../model/interaction.js';
import type { Turn } from '../model/turn.js';
import { coverageOf } from './coverage.js';
import { findEarlierTurns } from './earlier-turns.js';
import { expectationOf, groundTruthSpans } from './ground-truth.js';
import {
  agentNameOf,
  agentOfTurn,
  bestText,
  conversationOf,
  modelOfTurn,
  spansOfTurn,
  tokensOfTurn,
} from './identity.js';
import { modelCalls } from './model-calls.js';
import { findAnswer, findQuery } from './query-answer.js';
import { findToolCalls, milliseconds } from './tool-calls.js';
import { TurnTree } from './turn-tree.js';

/**
 * Reads what happened in a turn off its spans: facts only, no judgement. The same spans give the same interaction,
 * in whatever order they arrived.
 */
export function buildInteraction(turn: Turn): Interaction {
  const interaction = readInteraction(turn);
  // Its spans are held for their late window; what was read of them is many times their size and would stay as long.
  for (const span of turn.ancestors) span.forget?.();
  for (const span of turn.spans) span.forget?.();
  return interaction;
}

function readInteraction(turn: Turn): Interaction {
  const { root, spans } = turn;
  const tree = new TurnTree(turn);
  const models = modelCalls(spans, tree);
  const agent = agentOfTurn(turn, tree);
  const conversation = conversationOf(turn);
  const ownerName = (owner: AgentSpan | null): string | null =>
    owner !== null && owner !== root ? agentNameOf(owner) : agent.captured ? agent.name : null;
  const found = findToolCalls(spans, tree, models, root, ownerName, agent.name);
  const toolCalls = found.calls;
  const query = findQuery(root, spans, tree, models);
  const answer = findAnswer(root, spans, tree, models);
  const truth = groundTruthSpans(turn);
  const all = spansOfTurn(turn);
  const { startedAtMs, endedAtMs } = times(turn);
  return {
    interactionId: `${turn.traceId}-${turn.rootSpanId}`,
    traceId: turn.traceId,
    rootSpanId: turn.rootSpanId,
    conversationId: conversation.id,
    conversationIdSource: conversation.source,
    conversationAliases: conversation.aliases,
    userId: bestText(all, 'userId'),
    assistantId: agent.name,
    agentVersion: bestText(spans, 'agentVersion'),
    environment: bestText(spans, 'environment'),
    task: bestText(truth, 'task'),
    caseId: bestText(truth, 'caseId'),
    model: modelOfTurn(turn, models),
    dialect: root?.dialect ?? spans.find((span) => span.dialect !== null)?.dialect ?? 'none',
    startedAtMs,
    endedAtMs,
    revision: evidence(turn),
    openTop: turn.openTop,
    inputTokens: tokensOfTurn(turn, models, 'inputTokens'),
    outputTokens: tokensOfTurn(turn, models, 'outputTokens'),
    query: query.text,
    answer: answer.text,
    earlierTurns: findEarlierTurns(root, models),
    interrupted: toolCalls.some((call) => call.pending) || (answer.text === null && spans.some(waits)),
    toolCalls,
    handoffs: found.handoffs,
    coverage: coverageOf(turn, {
      query,
      answer,
      calls: toolCalls,
      callsIncomplete: found.incomplete,
      agentCaptured: agent.captured,
      conversationRecorded: conversation.source === 'recorded',
    }),
    expectation: expectationOf(truth),
  };
}

function waits(span: AgentSpan): boolean {
  return span.kind !== 'tool' && (span.read('toolFailure')?.value.interrupt ?? false);
}

/** The root's start once it was seen, whatever other hosts' clocks say; the last end of any span. */
function times(turn: Turn): Pick<Interaction, 'startedAtMs' | 'endedAtMs'> {
  let start = turn.root?.span.startUnixNano ?? (turn.spans[0] as AgentSpan).span.startUnixNano;
  if (turn.root === null) for (const { span } of turn.spans) if (span.startUnixNano < start) start = span.startUnixNano;
  let end = start;
  for (const { span } of turn.spans) {
    const last = span.endUnixNano === 0n ? span.startUnixNano : span.endUnixNano;
    if (last > end) end = last;
  }
  return { startedAtMs: milliseconds(start), endedAtMs: milliseconds(end) };
}

/** The sum over the distinct spans behind a row of 2 for an ended and 1 for an unended one: more evidence wins. */
function evidence(turn: Turn): number {
  const weight = ({ span }: AgentSpan) => (span.endUnixNano === 0n ? 1 : 2);
  let sum = 0;
  for (const span of turn.spans) sum += weight(span);
  if (turn.ancestors.length === 0) return sum;
  const seen = new Set(turn.spans.map(({ span }) => span.spanId));
  for (const span of turn.ancestors) {
    if (seen.has(span.span.spanId)) continue;
    seen.add(span.span.spanId);
    sum += weight(span);
  }
  return sum;
}
