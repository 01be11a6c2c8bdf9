import { RESOURCE_RANK, type SpanFacts } from '../../model/agent-span.js';
import { isJsonObject, type Json } from '../../model/json.js';
import { countSources, textSource, textSources, type Dialect, type KindReading, type Source } from '../dialect.js';
import { finishReason } from '../finish-reason.js';
import { parseJson } from '../jsonish.js';
import { resultValue } from '../message-parts.js';
import { callId } from '../placeholders.js';
import type { SpanView } from '../span-view.js';
import { recordedArguments } from '../tool-arguments.js';
import {
  answer,
  callInput,
  offeredTools,
  outputMessages,
  promptMessages,
  question,
  RESPONSE,
  RESULT,
  rewrittenInput,
  rewrittenOutput,
  stopReason,
  summedUpAnswer,
} from './vercel-ai-messages.js';
import { isNamedForModel } from './otel-genai.js';
import {
  attachedExpectation,
  attachedText,
  CASE_ID,
  CONTEXT,
  DATASET,
  METADATA,
  RUN_ID,
  TASK,
} from './vercel-ai-metadata.js';

/** A call of the SDK, which may be a loop of steps, and the model call of one step. */
const OPERATION = /^ai\.(?:generate|stream)(?:Text|Object)(\.do(?:Generate|Stream))?$/;
const EMBEDDING = /^ai\.embed(?:Many)?(?:\.doEmbed)?$/;

/** `ai.operationId`, and `operation.name`, where the application's name for the function follows it. */
function operationKind(value: Json | undefined): KindReading {
  if (typeof value !== 'string' || !value.startsWith('ai.')) return undefined;
  const [operation = ''] = value.split(' ', 1);
  if (operation === 'ai.toolCall') return 'tool';
  const run = OPERATION.exec(operation);
  if (run !== null) return run[1] === undefined ? 'agent' : 'llm';
  // Reranking, speech, transcription, ...: no model call of a conversation, though they name a model.
  return EMBEDDING.test(operation) ? 'embedding' : 'transparent';
}

/** The result is JSON text, so a number in it is a number. */
function toolResult(view: SpanView): Json | undefined {
  const value = view.get('ai.toolCall.result');
  if (value === undefined || value === null) return undefined;
  const scalar = typeof value === 'string' && /^(?:-?\d|true$|false$)/.test(value) ? parseJson(value) : undefined;
  return scalar ?? resultValue(value) ?? undefined;
}

/** Members that may stand beside an error without being a result. */
const ABOUT_AN_ERROR = new Set(['error', 'message', 'code', 'name', 'status', 'success', 'ok', 'details', 'hint']);

/**
 * An error that the tool gave back instead of throwing it: in v4 a tool that throws ends the whole run, so tools catch
 * their errors and return `{error}`. A result that has data as well has not failed.
 */
function returnedError(view: SpanView): SpanFacts['toolFailure'] | undefined {
  const result = toolResult(view);
  if (result === undefined || !isJsonObject(result)) return undefined;
  if (!Object.keys(result).every((key) => ABOUT_AN_ERROR.has(key))) return undefined;
  const { error } = result;
  const text = error !== undefined && isJsonObject(error) ? error.message : error;
  if (typeof text === 'string' && text !== '') return { message: text, interrupt: false };
  if (error !== true || typeof result.message !== 'string') return undefined;
  return { message: result.message, interrupt: false };
}

type AttachedFact =
  'conversationId' | 'userId' | 'agentName' | 'agentVersion' | 'environment' | 'task' | 'caseId' | 'dataset' | 'runId';

/** A text that the application attached, under one of some names; the context of v7 comes after the metadata. */
function attachedSources<F extends AttachedFact>(rank: number, names: readonly string[]): Source<F>[] {
  return ([METADATA, CONTEXT] as const).map((prefix, at) => ({
    rank: rank + at,
    source: `${prefix}*`,
    keys: [prefix],
    read: (view) => attachedText(view, prefix, names),
  }));
}

const FUNCTION_ID = /^ai\.\S+ (.+)$/;

/**
 * The Vercel AI SDK, v3 to v6 and the legacy telemetry of v7. By default v7 follows OpenTelemetry's conventions; here is
 * only what it writes beside them.
 */
export const vercelAi: Dialect = {
  name: 'vercel-ai',
  kinds: [
    // Before gen_ai.operation.name: Traceloop's SDK gives `chat` to runs and steps alike.
    { order: 250, key: 'ai.operationId', read: operationKind },
    { order: 260, key: 'operation.name', read: operationKind },
  ],
  facts: {
    conversationId: attachedSources(1000, ['sessionid', 'threadid', 'conversationid', 'chatid']),
    userId: attachedSources(700, ['userid']),
    agentName: [
      textSource(500, 'ai.telemetry.functionId'),
      {
        rank: 510,
        source: 'operation.name',
        keys: ['operation.name'],
        read: (view) => FUNCTION_ID.exec(view.text('operation.name') ?? '')?.[1],
      },
      ...attachedSources<'agentName'>(520, ['agentname', 'agent']),
      {
        // Without a functionId the span's name is the operation, in v7 with the model, and no agent's.
        rank: RESOURCE_RANK,
        source: 'resource service.name',
        keys: ['ai.operationId', 'gen_ai.request.model'],
        kinds: ['agent'],
        read: (view) =>
          view.has('ai.operationId') || isNamedForModel(view)
            ? (view.resourceText('service.name') ?? 'unknown_service')
            : undefined,
      },
    ],
    agentVersion: attachedSources(510, ['agentversion', 'version']),
    environment: attachedSources(610, ['environment']),
    task: attachedSources(210, TASK),
    model: textSources(700, 'ai.response.model', 'ai.model.id'),
    responseId: [textSource(200, 'ai.response.id', (text) => text.trim())],
    query: [{ rank: 500, source: 'ai.prompt', keys: ['ai.prompt'], read: question }],
    answer: [
      { rank: 305, source: 'gen_ai.output.messages', keys: ['gen_ai.output.messages'], read: summedUpAnswer },
      {
        rank: 500,
        source: 'ai.response.*',
        keys: [RESPONSE.text, RESPONSE.object],
        read: (view) => answer(view, RESPONSE),
      },
      { rank: 510, source: 'ai.result.*', keys: [RESULT.text, RESULT.object], read: (view) => answer(view, RESULT) },
    ],
    inputMessages: [
      // Before gen_ai.input.messages: beside the SDK's own attributes those are somebody's copy.
      { rank: 50, source: 'ai.prompt.messages', keys: ['ai.prompt.messages'], read: promptMessages },
      { rank: 60, source: 'gen_ai.input.messages', keys: ['gen_ai.input.messages'], read: rewrittenInput },
      { rank: 1200, source: 'ai.prompt', keys: ['ai.prompt'], read: callInput },
    ],
    outputMessages: [
      {
        rank: 50,
        source: 'ai.response.*',
        keys: [RESPONSE.text, RESPONSE.toolCalls, RESPONSE.object],
        read: (view) => outputMessages(view, RESPONSE),
      },
      { rank: 60, source: 'gen_ai.output.messages', keys: ['gen_ai.output.messages'], read: rewrittenOutput },
      {
        rank: 410,
        source: 'ai.result.*',
        keys: [RESULT.text, RESULT.toolCalls, RESULT.object],
        read: (view) => outputMessages(view, RESULT),
      },
    ],
    finishReason: [
      {
        // v4 may ask for an object by way of a tool call, which is none of the agent's.
        rank: 50,
        source: 'ai.response.object',
        keys: [RESPONSE.object, RESULT.object],
        read: (view) => (stopReason(view) === 'tool_call' ? 'stop' : undefined),
      },
      ...['ai.response.finishReason', 'ai.finishReason'].map((key, at) => ({
        rank: 300 + at,
        source: key,
        keys: [key],
        read: (view: SpanView) => finishReason(view.get(key)),
      })),
    ],
    inputTokens: countSources(300, 'ai.usage.inputTokens', 'ai.usage.promptTokens'),
    outputTokens: countSources(300, 'ai.usage.outputTokens', 'ai.usage.completionTokens'),
    toolName: [textSource(300, 'ai.toolCall.name')],
    toolCallId: [
      {
        rank: 300,
        source: 'ai.toolCall.id',
        keys: ['ai.toolCall.id'],
        read: (view) => callId(view.get('ai.toolCall.id')),
      },
    ],
    toolArguments: [
      {
        // Recorded with the outputs: absent where `recordOutputs` is off.
        rank: 200,
        source: 'ai.toolCall.args',
        keys: ['ai.toolCall.args'],
        read: (view) => recordedArguments(view.get('ai.toolCall.args'), 'recorder'),
      },
    ],
    toolResult: [{ rank: 200, source: 'ai.toolCall.result', keys: ['ai.toolCall.result'], read: toolResult }],
    toolFailure: [{ rank: 800, source: 'ai.toolCall.result', keys: ['ai.toolCall.result'], read: returnedError }],
    toolByProvider: [
      {
        // Of v7, which says it nowhere else. Other instrumentations call the tools of MCP servers so.
        rank: 100,
        source: 'gen_ai.tool.type',
        keys: ['gen_ai.tool.type'],
        read: (view) =>
          view.span.scope.name === 'gen_ai' && view.text('gen_ai.tool.type') === 'extension' ? true : undefined,
      },
    ],
    toolDefinitions: [{ rank: 300, source: 'ai.prompt.tools', keys: ['ai.prompt.tools'], read: offeredTools }],
    caseId: attachedSources(500, CASE_ID),
    dataset: attachedSources(500, DATASET),
    runId: attachedSources(500, RUN_ID),
    expectation: ([METADATA, CONTEXT] as const).map((prefix, at) => ({
      rank: 610 + at,
      source: `${prefix}*`,
      keys: [prefix],
      read: (view: SpanView) => attachedExpectation(view, prefix),
    })),
  },
};
