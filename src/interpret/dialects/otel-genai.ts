import type { RecordedText } from '../../model/agent-span.js';
import { finalAssistantText, lastUserText } from '../../model/message-text.js';
import type { MessagePart, Messages } from '../../model/message.js';
import { countSources, textSource, textSources, type Dialect, type KindReading } from '../dialect.js';
import { finishReason } from '../finish-reason.js';
import { indexedAttributes } from '../indexed-attributes.js';
import { looseJson } from '../jsonish.js';
import { resultValue } from '../message-parts.js';
import { readMessages } from '../messages.js';
import { opaqueMessages } from '../opaque.js';
import { callId } from '../placeholders.js';
import type { SpanView } from '../span-view.js';
import { recordedArguments } from '../tool-arguments.js';
import { readToolDefinitions, toolDefinitionsAt } from '../tool-definitions.js';
import {
  CHOICE,
  contentEvent,
  detailMessages,
  DETAILS,
  eventInput,
  eventOutput,
  toolEvent,
} from './otel-genai-events.js';

/** `gen_ai.operation.name`: the values of the conventions, and those seen in the wild. */
const OPERATIONS: Readonly<Record<string, KindReading>> = {
  chat: 'llm',
  'chat.completions': 'llm',
  text_completion: 'llm',
  'text.completions': 'llm',
  completion: 'llm',
  completions: 'llm',
  acompletion: 'llm',
  atext_completion: 'llm',
  generate_content: 'llm',
  generate: 'llm',
  response: 'llm',
  responses: 'llm',
  aresponses: 'llm',
  llm_request: 'llm',
  invoke_agent: 'agent',
  'agent.run': 'agent',
  agent_run: 'agent',
  invoke_workflow: 'workflow',
  'workflow.run': 'workflow',
  workflow_run: 'workflow',
  execute_tool: 'tool',
  'tool.execute': 'tool',
  tool_call: 'tool',
  embeddings: 'embedding',
  embedding: 'embedding',
  aembedding: 'embedding',
  retrieval: 'retriever',
  vector_db_retrieve: 'retriever',
  handoff: 'handoff',
  // Set-up, never a turn.
  create_agent: 'transparent',
  plan: 'transparent',
  agent_step: 'transparent',
  execute_task: 'transparent',
  execute_event_loop_cycle: 'transparent',
  framework: 'transparent',
  chain: 'transparent',
  rerank: 'transparent',
};

function operationKind(value: unknown): KindReading {
  const word = typeof value === 'string' ? looseJson(value) : value;
  if (typeof word !== 'string') return undefined;
  const operation = word.trim().toLowerCase();
  const known = Object.hasOwn(OPERATIONS, operation) ? OPERATIONS[operation] : undefined;
  if (known !== undefined) return known;
  // Strands names its multi-agent runs invoke_swarm, invoke_graph, ...
  if (operation.startsWith('invoke_')) return 'agent';
  return operation.endsWith('_memory') || operation.endsWith('_memory_store') ? 'transparent' : undefined;
}

const guess = (order: number, kind: 'tool' | 'llm', ...keys: readonly string[]) =>
  keys.map((key) => ({ order, key, guess: true, read: () => kind }));

function queryOf(messages: Messages | undefined): RecordedText | undefined {
  if (messages === undefined) return undefined;
  if (!messages.complete) return { cut: true };
  const text = lastUserText(messages.messages);
  return text === undefined ? undefined : { text };
}

function answerOf(messages: Messages | undefined): RecordedText | undefined {
  if (messages === undefined) return undefined;
  if (!messages.complete) return { cut: true };
  const text = finalAssistantText(messages.messages);
  return text === undefined ? undefined : { text };
}

const input = (view: SpanView) => view.messages('gen_ai.input.messages', 'user');
const output = (view: SpanView) => view.messages('gen_ai.output.messages', 'assistant');

/** Has the span the name of its model in the place of an agent's, which has none? */
export function isNamedForModel(view: SpanView): boolean {
  const model = view.text('gen_ai.request.model');
  return model !== undefined && view.span.name === `invoke_agent ${model}`;
}

/** The first part of a type in the details events of a tool span. */
function detailPart<T extends MessagePart['type']>(view: SpanView, key: 'input' | 'output', type: T) {
  return detailMessages(view, `gen_ai.${key}.messages`)
    ?.messages.flatMap((message) => message.parts)
    .find((part): part is Extract<MessagePart, { type: T }> => part.type === type);
}

/** OpenTelemetry's conventions for generative AI, from 1.26 to now, with what implementations made of them. */
export const otelGenai: Dialect = {
  name: 'otel-genai',
  kinds: [
    { order: 300, key: 'gen_ai.operation.name', read: operationKind },
    ...guess(1500, 'tool', 'gen_ai.tool.name', 'gen_ai.tool.call.id'),
    ...guess(
      1600,
      'llm',
      'gen_ai.input.messages',
      'gen_ai.output.messages',
      'gen_ai.request.model',
      'gen_ai.response.model',
      'gen_ai.prompt',
      'gen_ai.completion',
    ),
  ],
  facts: {
    conversationId: [textSource(100, 'gen_ai.conversation.id'), textSource(500, 'gen_ai.thread.id')],
    userId: textSources(800, 'gen_ai.user.id', 'gen_ai.user'),
    agentName: [
      textSource(100, 'gen_ai.agent.name'),
      textSource(900, 'gen_ai.workflow.name'),
      {
        rank: 1300,
        source: 'span name',
        read: (view) => {
          const name = /^(?:invoke_agent|agent_run) \[?(.+?)\]?$/.exec(view.span.name)?.[1];
          return name === undefined || isNamedForModel(view) ? undefined : name;
        },
      },
    ],
    agentVersion: [textSource(100, 'gen_ai.agent.version')],
    environment: [textSource(500, 'gen_ai.environment')],
    model: textSources(
      100,
      'gen_ai.response.model',
      'gen_ai.request.model',
      'gen_ai.response_model',
      'gen_ai.request_model',
    ),
    responseId: [textSource(100, 'gen_ai.response.id', (text) => text.trim())],
    query: [
      {
        rank: 200,
        source: 'gen_ai.input.messages',
        keys: ['gen_ai.input.messages'],
        read: (view) => queryOf(input(view)),
      },
      {
        rank: 210,
        source: DETAILS,
        on: 'events',
        read: (view) => queryOf(detailMessages(view, 'gen_ai.input.messages')),
      },
      { rank: 400, source: 'gen_ai.user.message', on: 'events', read: (view) => queryOf(eventInput(view)) },
    ],
    answer: [
      {
        rank: 300,
        source: 'gen_ai.output.messages',
        keys: ['gen_ai.output.messages'],
        read: (view) => answerOf(output(view)),
      },
      {
        rank: 310,
        source: DETAILS,
        on: 'events',
        read: (view) => answerOf(detailMessages(view, 'gen_ai.output.messages')),
      },
      { rank: 400, source: CHOICE, on: 'events', read: (view) => answerOf(eventOutput(view)) },
    ],
    inputMessages: [
      { rank: 100, source: 'gen_ai.input.messages', keys: ['gen_ai.input.messages'], read: input },
      { rank: 200, source: DETAILS, on: 'events', read: (view) => detailMessages(view, 'gen_ai.input.messages') },
      { rank: 600, source: 'gen_ai.*.message', on: 'events', read: eventInput },
      {
        rank: 900,
        source: 'gen_ai.content.prompt',
        on: 'events',
        read: (view) => readMessages(contentEvent(view, 'gen_ai.content.prompt', 'gen_ai.prompt'), 'user'),
      },
      {
        rank: 1000,
        source: 'gen_ai.prompt',
        keys: ['gen_ai.prompt'],
        read: (view) => opaqueMessages(view.json('gen_ai.prompt'), 'user') ?? view.messages('gen_ai.prompt', 'user'),
      },
    ],
    outputMessages: [
      { rank: 100, source: 'gen_ai.output.messages', keys: ['gen_ai.output.messages'], read: output },
      { rank: 200, source: DETAILS, on: 'events', read: (view) => detailMessages(view, 'gen_ai.output.messages') },
      { rank: 600, source: CHOICE, on: 'events', read: eventOutput },
      {
        rank: 900,
        source: 'gen_ai.content.completion',
        on: 'events',
        read: (view) => readMessages(contentEvent(view, 'gen_ai.content.completion', 'gen_ai.completion'), 'assistant'),
      },
      {
        rank: 1000,
        source: 'gen_ai.completion',
        keys: ['gen_ai.completion'],
        read: (view) =>
          opaqueMessages(view.json('gen_ai.completion'), 'assistant') ??
          view.messages('gen_ai.completion', 'assistant'),
      },
    ],
    finishReason: [
      {
        rank: 100,
        source: 'gen_ai.response.finish_reasons',
        keys: ['gen_ai.response.finish_reasons'],
        read: (view) => finishReason(view.get('gen_ai.response.finish_reasons')),
      },
      {
        rank: 200,
        source: 'gen_ai.output.messages',
        keys: ['gen_ai.output.messages'],
        read: (view) => output(view)?.messages.find((message) => message.finishReason !== undefined)?.finishReason,
      },
      {
        rank: 210,
        source: CHOICE,
        on: 'events',
        read: (view) => eventOutput(view)?.messages.find((message) => message.finishReason !== undefined)?.finishReason,
      },
      {
        rank: 600,
        source: 'gen_ai.response.finish_reason',
        keys: ['gen_ai.response.finish_reason'],
        read: (view) => finishReason(view.get('gen_ai.response.finish_reason')),
      },
    ],
    inputTokens: countSources(
      100,
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens',
      'gen_ai.response.prompt_tokens',
    ),
    outputTokens: countSources(
      100,
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'gen_ai.response.completion_tokens',
    ),
    toolName: [textSource(100, 'gen_ai.tool.name')],
    toolCallId: [
      {
        rank: 100,
        source: 'gen_ai.tool.call.id',
        keys: ['gen_ai.tool.call.id'],
        read: (view) => callId(view.get('gen_ai.tool.call.id')),
      },
      {
        rank: 800,
        source: 'gen_ai.tool.message',
        on: 'events',
        kinds: ['tool'],
        read: (view) => callId(toolEvent(view, 'gen_ai.tool.message')?.id ?? toolEvent(view, CHOICE)?.id),
      },
    ],
    toolArguments: [
      {
        rank: 100,
        source: 'gen_ai.tool.call.arguments',
        keys: ['gen_ai.tool.call.arguments'],
        read: (view) =>
          view.has('gen_ai.tool.call.arguments')
            ? recordedArguments(view.get('gen_ai.tool.call.arguments'), 'recorder')
            : undefined,
      },
      {
        rank: 500,
        source: DETAILS,
        on: 'events',
        kinds: ['tool'],
        read: (view) => detailPart(view, 'input', 'tool_call')?.arguments,
      },
      {
        rank: 600,
        source: 'gen_ai.tool.message',
        on: 'events',
        kinds: ['tool'],
        read: (view) => {
          const event = toolEvent(view, 'gen_ai.tool.message');
          return event === undefined ? undefined : recordedArguments(event.value, 'recorder');
        },
      },
    ],
    toolResult: [
      {
        rank: 100,
        source: 'gen_ai.tool.call.result',
        keys: ['gen_ai.tool.call.result'],
        read: (view) => {
          const value = view.get('gen_ai.tool.call.result');
          return value === undefined || value === null ? undefined : (resultValue(value) ?? undefined);
        },
      },
      {
        rank: 500,
        source: DETAILS,
        on: 'events',
        kinds: ['tool'],
        read: (view) => detailPart(view, 'output', 'tool_result')?.result ?? undefined,
      },
      {
        rank: 600,
        source: CHOICE,
        on: 'events',
        kinds: ['tool'],
        read: (view) => {
          const event = toolEvent(view, CHOICE);
          return event === undefined ? undefined : (resultValue(looseJson(event.value)) ?? undefined);
        },
      },
    ],
    toolDefinitions: [
      {
        rank: 100,
        source: 'gen_ai.tool.definitions',
        keys: ['gen_ai.tool.definitions', 'gen_ai.tool.definitions.'],
        read: (view) => {
          const definitions = toolDefinitionsAt(view.span.attributes, 'gen_ai.tool.definitions');
          return definitions.length > 0 || view.has('gen_ai.tool.definitions') ? definitions : indexedDefinitions(view);
        },
      },
      {
        rank: 800,
        source: 'gen_ai.agent.tools',
        keys: ['gen_ai.agent.tools'],
        read: (view) => {
          const definitions = toolDefinitionsAt(view.span.attributes, 'gen_ai.agent.tools');
          return definitions.length === 0 ? undefined : definitions;
        },
      },
    ],
    handoff: [
      {
        rank: 100,
        source: 'gen_ai.handoff.*',
        keys: ['gen_ai.handoff.from_agent', 'gen_ai.handoff.to_agent'],
        read: (view) => {
          const from = view.text('gen_ai.handoff.from_agent') ?? null;
          const to = view.text('gen_ai.handoff.to_agent') ?? null;
          return from === null && to === null ? undefined : { from, to };
        },
      },
    ],
  },
};

/** A short-lived form: `gen_ai.tool.definitions.<n>.{name, parameters}`. */
function indexedDefinitions(view: SpanView) {
  const { elements } = indexedAttributes(view.span.attributes, 'gen_ai.tool.definitions');
  const definitions = elements.flatMap((members) => readToolDefinitions(Object.fromEntries(members)));
  return definitions.length === 0 ? undefined : definitions;
}
