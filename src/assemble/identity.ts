import { RESOURCE_RANK, type AgentSpan, type Fact } from '../model/agent-span.js';
import type { Turn } from '../model/turn.js';
import { bestOf } from './best-of.js';
import type { ModelCall } from './model-calls.js';
import type { TurnTree } from './turn-tree.js';

type TextFact = Extract<
  Fact,
  'conversationId' | 'userId' | 'agentName' | 'agentVersion' | 'environment' | 'task' | 'model' | 'caseId'
>;

export function bestText(spans: readonly AgentSpan[], fact: TextFact): string | null {
  return bestOf(spans, fact)?.value ?? null;
}

/** The spans of a turn below those that stand above it. */
export function spansOfTurn(turn: Turn): readonly AgentSpan[] {
  return turn.ancestors.length === 0 ? turn.spans : [...turn.ancestors, ...turn.spans];
}

export interface ConversationIdentity {
  readonly id: string;
  readonly source: 'recorded' | 'synthetic';
  readonly aliases: readonly string[];
}

/** A span of an HTTP or RPC layer, of which no dialect says that it is an agent's. */
function isTransport(span: AgentSpan): boolean {
  return span.dialect === null && (span.span.kind === 2 || span.span.kind === 3);
}

/**
 * The conversation that a turn belongs to: the id that its outermost span records, since an application that sets one
 * on its own outer span means it. HTTP and RPC spans come after all others, the resource last; without any the trace
 * is its own conversation.
 */
export function conversationOf(turn: Turn): ConversationIdentity {
  const spans = spansOfTurn(turn);
  const inOrder = spans.some(isTransport)
    ? [...spans.filter((span) => !isTransport(span)), ...spans.filter(isTransport)]
    : spans;
  const ids = new Set<string>();
  for (const span of inOrder) {
    const reading = span.read('conversationId');
    if (reading !== undefined && reading.rank < RESOURCE_RANK) ids.add(reading.value);
  }
  const [id, ...aliases] = ids;
  if (id !== undefined) return { id, source: 'recorded', aliases };
  const onResource = spans.find((span) => span.read('conversationId') !== undefined)?.read('conversationId')?.value;
  return onResource === undefined
    ? { id: turn.traceId, source: 'synthetic', aliases: [] }
    : { id: onResource, source: 'recorded', aliases: [] };
}

export interface AgentIdentity {
  readonly name: string;
  /** false: no span names an agent, and the name is the service's. */
  readonly captured: boolean;
}

const RUN_SUFFIX = /\.(?:run|workflow|kickoff)$/;
const UNKNOWN_SERVICE = 'unknown_service';

/**
 * The agent that a turn is filed under: the root's, else the first that ran; never one that runs inside a tool. A name
 * that only the resource has is the service's.
 */
export function agentOfTurn(turn: Turn, tree: TurnTree): AgentIdentity {
  const below = turn.spans.some((span) => tree.underTool(span));
  const own = below ? turn.spans.filter((span) => !tree.underTool(span)) : turn.spans;
  const recorded = bestOf(own, 'agentName');
  if (recorded !== undefined) return { name: recorded.value, captured: recorded.rank < RESOURCE_RANK };
  const root = turn.root;
  if (root !== null && (root.kind === 'agent' || root.kind === 'workflow')) {
    const name = root.span.name.replace(RUN_SUFFIX, '').trim();
    if (name !== '') return { name, captured: true };
  }
  const service = (root ?? turn.spans[0])?.span.resource.attributes.get('service.name');
  return { name: typeof service === 'string' && service !== '' ? service : UNKNOWN_SERVICE, captured: false };
}

/** The name of an agent's span: its own, not the service's, which it may share with the agent that called it. */
export function agentNameOf(agent: AgentSpan): string | null {
  const recorded = agent.read('agentName');
  if (recorded !== undefined && recorded.rank < RESOURCE_RANK) return recorded.value;
  return agent.span.name.replace(RUN_SUFFIX, '').trim() || null;
}

/** The model that answered; else one that was asked, else what the spans of agents say. */
export function modelOfTurn(turn: Turn, models: readonly ModelCall[]): string | null {
  const named = (model: ModelCall) => model.read('model') !== undefined;
  const model =
    models.findLast((each) => !each.failed && !each.underTool && named(each)) ??
    models.findLast((each) => !each.failed && named(each)) ??
    models.find(named);
  return model?.read('model') ?? bestText(turn.spans, 'model');
}

/** Tokens of the model calls; what agents sum up counts only where no model call has any. */
export function tokensOfTurn(
  turn: Turn,
  models: readonly ModelCall[],
  fact: 'inputTokens' | 'outputTokens',
): number | null {
  let sum: number | null = null;
  for (const model of models) {
    const count = model.read(fact);
    if (count !== undefined) sum = (sum ?? 0) + count;
  }
  if (sum !== null) return sum;
  const summed = turn.spans.find((span) => span.kind !== 'llm' && span.read(fact) !== undefined);
  return summed?.read(fact)?.value ?? null;
}
