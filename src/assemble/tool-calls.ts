import type { AgentSpan, SpanFacts } from '../model/agent-span.js';
import type { ToolCall, ToolOffer } from '../model/interaction.js';
import type { Json } from '../model/json.js';
import { isCutJson } from '../model/json-text.js';
import type { RecordedArguments, ToolDefinition } from '../model/message.js';
import { handoffTarget } from './handoffs.js';
import { inOrder } from './in-order.js';
import { issuedCalls, type IssuedCall } from './issued-calls.js';
import { byOrder, joinRuns } from './join-runs.js';
import type { ModelCall } from './model-calls.js';
import { resolveArguments } from './tool-arguments.js';
import { errorText, failureInResult } from './tool-outcome.js';
import { pseudoToolNames, toolRuns, type ToolRun } from './tool-runs.js';
import type { TurnTree } from './turn-tree.js';

type Handoff = SpanFacts['handoff'];

export interface FoundCalls {
  /** In order of issue. */
  readonly calls: readonly ToolCall[];
  readonly handoffs: readonly Handoff[];
  /** Something says that a tool was called whose call was not recorded. */
  readonly incomplete: boolean;
}

/**
 * The tool calls of a turn: the union of its tool spans and of the calls that its messages tell of, each once.
 * Handoffs are kept apart; helpers of frameworks that only look like tools are left out.
 *
 * @param agentName names the agent that made a call
 * @param rootName the agent that the turn is filed under
 */
export function findToolCalls(
  spans: readonly AgentSpan[],
  tree: TurnTree,
  models: readonly ModelCall[],
  root: AgentSpan | null,
  agentName: (agent: AgentSpan | null) => string | null,
  rootName: string,
): FoundCalls {
  const agents = spans.filter((span) => span.kind === 'agent' || (span === root && span.kind === 'workflow'));
  const runs = toolRuns(spans, tree);
  const pseudo = pseudoToolNames(spans);
  const issued = issuedCalls(models, agents).filter((call) => !pseudo.has(call.name));
  const unasked = joinRuns(issued, runs);
  const interrupted = spans.some((span) => span.kind !== 'tool' && span.read('toolFailure')?.value.interrupt === true);

  const carriedOut = issued.filter((call) => !call.tentative || call.runs.length > 0 || call.result !== undefined);
  const made = inOrder(carriedOut, byOrder).map((call): Made => ({ call, runs: call.runs, nano: call.orderNano }));
  const all = merge(
    made,
    unasked.map((group) => ({ call: null, runs: group, nano: (group[0] as ToolRun).startNano })),
  );

  const handoffs: Handoff[] = spans.flatMap((span) =>
    span.kind === 'handoff' ? [span.read('handoff')?.value ?? { from: null, to: null }] : [],
  );
  const recordedHandoffs = handoffs.length > 0;
  const calls: ToolCall[] = [];
  for (const entry of all) {
    const target = handoffTarget(nameOf(entry), entry.call?.parts[0]?.arguments ?? entry.runs[0]?.arguments[0]);
    const owner = agentName(agentOf(entry));
    if (target === undefined) {
      calls.push(resolve(entry, interrupted, calls.length, owner, owner === null || owner === rootName));
    } else if (!recordedHandoffs) {
      handoffs.push({ from: owner, to: target });
    }
  }
  return { calls, handoffs, incomplete: isIncomplete(models, made.length > 0 || runs.length > 0, pseudo.size > 0) };
}

/** A call with what tells of it. */
interface Made {
  readonly call: IssuedCall | null;
  readonly runs: readonly ToolRun[];
  readonly nano: bigint;
}

/** Both lists are in order; a call that no message asked for has its place by its start. */
function merge(asked: readonly Made[], unasked: readonly Made[]): readonly Made[] {
  if (unasked.length === 0) return asked;
  return [...asked, ...unasked].sort((a, b) => (a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0));
}

function nameOf({ call, runs }: Made): string {
  return call !== null && call.name !== '' ? call.name : (runs[0]?.name ?? '');
}

function agentOf({ call, runs }: Made): AgentSpan | null {
  return runs[0]?.agent ?? call?.agent ?? null;
}

function resolve(entry: Made, interrupted: boolean, position: number, owner: string | null, byRoot: boolean): ToolCall {
  const { call, runs } = entry;
  const name = nameOf(entry);
  const last = runs[runs.length - 1];
  const offer = offerOf(name, call, runs, agentOf(entry));
  const args = resolveArguments(recordedArguments(call, runs), offer);
  const result: Json | undefined = last?.result ?? call?.result?.result ?? undefined;
  const pending = last === undefined ? interrupted && result === undefined : last.waits;
  const failure = pending ? undefined : failureOf(call, last, result);
  const started = runs[0]?.startNano;
  const ended = runs.map((run) => run.endNano).reduce((a, b) => (b > a ? b : a), 0n);
  return {
    position,
    callId: runs.find((run) => run.callId !== undefined)?.callId ?? call?.id ?? null,
    name,
    arguments: args.arguments,
    argumentsStatus: args.status,
    result: pending ? null : (result ?? null),
    resultStatus: pending || result === undefined ? 'not_captured' : isCutResult(result) ? 'truncated' : 'captured',
    error: failure?.message ?? null,
    failed: failure !== undefined,
    pending,
    owner,
    byRoot,
    startedAtMs: started === undefined ? null : milliseconds(started),
    endedAtMs: ended === 0n ? null : milliseconds(ended),
    offer,
    providerExecuted:
      call?.parts.some((part) => part.providerExecuted) === true ||
      runs.some((run) => run.spans.some((span) => span.read('toolByProvider')?.value === true)),
  };
}

/** Best source first. */
function recordedArguments(call: IssuedCall | null, runs: readonly ToolRun[]): readonly RecordedArguments[] {
  const recorded: RecordedArguments[] = [];
  for (const run of runs) recorded.push(...run.arguments);
  for (const part of call?.parts ?? []) recorded.push(part.arguments);
  return recorded;
}

function isCutResult(result: Json): boolean {
  return typeof result === 'string' && isCutJson(result);
}

function failureOf(
  call: IssuedCall | null,
  run: ToolRun | undefined,
  result: Json | undefined,
): { readonly message: string | null } | undefined {
  const recorded = run?.failure;
  if (recorded !== undefined) return { message: recorded.message ?? errorText(result) };
  const inResult = failureInResult(result);
  if (inResult !== undefined) return { message: inResult };
  return run === undefined && call?.result?.isError === true ? { message: errorText(call.result.result) } : undefined;
}

/** What the model that asked for the call had been offered; where that was not recorded, what else shows the schema. */
function offerOf(name: string, call: IssuedCall | null, runs: readonly ToolRun[], agent: AgentSpan | null): ToolOffer {
  const offered = call?.by?.read('toolDefinitions');
  if (offered !== undefined && offered.length > 0) {
    const definition = offered.find((candidate) => candidate.name === name);
    return definition === undefined ? { kind: 'not_offered' } : asOffer(definition);
  }
  for (const run of runs) {
    for (const span of run.spans) {
      const definition = definitionOn(span, name);
      if (definition !== undefined) return asOffer(definition);
    }
  }
  const definition = agent === null ? undefined : definitionOn(agent, name);
  return definition === undefined ? { kind: 'unknown' } : asOffer(definition);
}

function definitionOn(span: AgentSpan, name: string): ToolDefinition | undefined {
  return span.read('toolDefinitions')?.value.find((candidate) => candidate.name === name);
}

function asOffer({ schema, freeText }: ToolDefinition): ToolOffer {
  return schema === undefined ? { kind: 'offered', freeText } : { kind: 'offered', schema, freeText };
}

/**
 * Were there calls that nothing shows? A model that stopped for a tool says so; so does silence about every output of
 * a turn without tool spans, unless the models give other reasons for stopping; and a turn without any model span shows
 * its calls only if it has tool spans.
 */
function isIncomplete(models: readonly ModelCall[], anyCall: boolean, anyHelper: boolean): boolean {
  if (anyCall) return false;
  const stopped = models.some(
    (model) => !model.failed && model.read('finishReason') === 'tool_call' && model.calls.length === 0,
  );
  if (stopped) return !anyHelper;
  const silent = models.filter((model) => !model.failed);
  return (
    !anyHelper &&
    silent.every(
      (model) => (!model.spoke || model.output?.complete === false) && model.read('finishReason') === undefined,
    )
  );
}

export function milliseconds(unixNano: bigint): number {
  return Number(unixNano / 1_000_000n);
}
