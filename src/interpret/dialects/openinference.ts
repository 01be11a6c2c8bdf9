import type { RecordedText, SpanFacts } from '../../model/agent-span.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { Message, MessagePart, Messages, Role, ToolCallPart, ToolDefinition } from '../../model/message.js';
import { countSources, textSource, textSources, type Dialect, type KindReading } from '../dialect.js';
import { finishReason } from '../finish-reason.js';
import { indexedAttributes, type Members } from '../indexed-attributes.js';
import { jsonish, looseJson } from '../jsonish.js';
import {
  contentParts,
  encodedContentParts,
  plainCallParts,
  plainResultPart,
  resultValue,
  textParts,
} from '../message-parts.js';
import { readMessage, readMessages, roleOf, withCalls } from '../messages.js';
import { answerIn, isPythonRepr, opaqueMessages, questionIn } from '../opaque.js';
import { callId, isPlaceholder } from '../placeholders.js';
import type { SpanView } from '../span-view.js';
import { recordedArguments, recordedCall } from '../tool-arguments.js';
import { isSchemaLike, readToolDefinitions } from '../tool-definitions.js';

const KINDS: Readonly<Record<string, KindReading>> = {
  LLM: 'llm',
  EMBEDDING: 'embedding',
  CHAIN: 'workflow',
  RETRIEVER: 'retriever',
  RERANKER: 'transparent',
  TOOL: 'tool',
  AGENT: 'agent',
  GUARDRAIL: 'guardrail',
  EVALUATOR: 'evaluator',
  PROMPT: 'transparent',
};

/** The OpenAI Agents SDK writes a handoff as a tool of this name. */
const HANDOFF = /^handoff to (.+)$/;

function spanKind(value: Json | undefined, name: string): KindReading {
  const word = typeof value === 'string' ? looseJson(value) : value;
  if (typeof word !== 'string') return undefined;
  const key = word.trim().toUpperCase();
  const kind = Object.hasOwn(KINDS, key) ? KINDS[key] : undefined;
  return kind === 'tool' && HANDOFF.test(name) ? 'handoff' : kind;
}

/** A flattened list of messages, or the whole list as one attribute, which then wins. */
function messages(view: SpanView, prefix: string, role: Role): Messages | undefined {
  if (view.has(prefix)) {
    const whole = view.messages(prefix, role);
    if (whole !== undefined) return whole;
  }
  const { elements, capped } = indexedAttributes(view.span.attributes, prefix);
  const list = elements.map((members) => message(members, role));
  if (list.length === 0) return undefined;
  return view.flattened({ messages: list, complete: !capped });
}

function message(members: Members, fallbackRole: Role): Message {
  const role = roleOf(members.get('message.role')) ?? fallbackRole;
  const content = members.get('message.content');
  const id = callId(members.get('message.tool_call_id'));
  const name = members.get('message.name');
  const blocks = members.list('message.contents').elements;
  if (role === 'tool') {
    const texts = blocks.map((block) => block.get('message_content.text')).filter((text) => typeof text === 'string');
    const result = content ?? texts.join('\n');
    return { role, parts: [plainResultPart(id, name, result)] };
  }
  const calls = toolCalls(members).concat(legacyCall(members));
  // The list of blocks and the plain content say the same; the plain one is a summary.
  const parts =
    blocks.length > 0
      ? blocks.flatMap(contentBlock)
      : typeof content === 'string'
        ? encodedContentParts(content)
        : contentParts(content);
  return { role, parts: withCalls(parts, calls) };
}

function contentBlock(block: Members): MessagePart[] {
  const type = block.get('message_content.type');
  const text = block.get('message_content.text');
  const calls = toolCall(block);
  if (calls !== undefined) return calls;
  if (type === 'reasoning') return [{ type: 'reasoning', text: typeof text === 'string' ? text.toWellFormed() : '' }];
  if (typeof text === 'string') return textParts(text);
  return [{ type: type === 'image' || type === 'audio' ? 'media' : 'other' }];
}

function toolCalls(members: Members): ToolCallPart[] {
  return members.list('message.tool_calls').elements.flatMap((call) => toolCall(call) ?? []);
}

function toolCall(members: Members): ToolCallPart[] | undefined {
  const id = members.get('tool_call.id');
  const name = members.get('tool_call.function.name');
  const args = members.get('tool_call.function.arguments');
  if (id === undefined && name === undefined && args === undefined) return undefined;
  return plainCallParts(id, name, args);
}

function legacyCall(members: Members): ToolCallPart[] {
  const name = members.get('message.function_call_name');
  const args = members.get('message.function_call_arguments_json');
  return typeof name === 'string' ? plainCallParts(undefined, name, args) : [];
}

/** The completions API: bare texts. */
function completions(view: SpanView, prefix: string, key: string, role: Role): Messages | undefined {
  const { elements, capped } = indexedAttributes(view.span.attributes, prefix);
  const list = elements.flatMap((members) => {
    const text = members.get(key);
    return typeof text === 'string' ? [{ role, parts: textParts(text) }] : [];
  });
  return list.length === 0 ? undefined : view.flattened({ messages: list, complete: !capped });
}

/** What a library printed as the input or output of a model call; its own objects' print is for nobody. */
function printed(view: SpanView, key: string, role: Role): Messages | undefined {
  const value = view.json(key);
  const read = opaqueMessages(value, role);
  if (read !== undefined || typeof value !== 'string') return read;
  return isPythonRepr(value) ? undefined : readMessages(value, role);
}

const question = (view: SpanView) => (view.has('input.value') ? questionIn(view.json('input.value')) : undefined);
const answer = (view: SpanView) => (view.has('output.value') ? answerIn(view.json('output.value')) : undefined);

/** The id that heads an answer of OpenAI's APIs; found without decoding the rest. */
function responseId(view: SpanView): string | undefined {
  const value = view.get('output.value');
  return typeof value === 'string' ? callId(/^\s*\{\s*"id"\s*:\s*"([^"\\]+)"/.exec(value)?.[1]) : undefined;
}

/** CrewAI's inputs are named by the application: a single text among them is the question. */
function crewInputs(view: SpanView): RecordedText | undefined {
  const inputs = view.has('crew_inputs') ? view.json('crew_inputs') : undefined;
  if (inputs === undefined || !isJsonObject(inputs)) return undefined;
  const texts = Object.values(inputs).filter((value) => typeof value === 'string' && !isPlaceholder(value));
  return texts.length === 1 ? { text: (texts[0] as string).toWellFormed() } : undefined;
}

/** The LangChain message that a tool's output is wrapped in, if it is. */
function toolMessage(view: SpanView): JsonObject | undefined {
  const value = view.json('output.value');
  if (value === undefined || !isJsonObject(value)) return undefined;
  const inner = isJsonObject(value.output) && Object.keys(value).length === 1 ? value.output : value;
  if (isJsonObject(inner.kwargs) && inner.lc !== undefined) return inner.kwargs;
  return typeof inner.tool_call_id === 'string' && inner.content !== undefined ? inner : undefined;
}

/** LlamaIndex writes its ToolOutput whole: what the tool returned is its `raw_output`. */
function toolOutput(view: SpanView): JsonObject | undefined {
  const value = view.json('output.value');
  if (value === undefined || !isJsonObject(value)) return undefined;
  return Array.isArray(value.blocks) && typeof value.tool_name === 'string' ? value : undefined;
}

/** Google ADK's function response: `{id, name, response}`. */
function functionResponse(view: SpanView): JsonObject | undefined {
  const value = view.json('output.value');
  if (value === undefined || !isJsonObject(value) || value.response === undefined) return undefined;
  return Object.keys(value).every((key) => ['id', 'name', 'response'].includes(key)) ? value : undefined;
}

function toolResult(view: SpanView): Json | undefined {
  const wrapped = toolMessage(view);
  if (wrapped !== undefined) return resultValue(wrapped.content ?? null) ?? undefined;
  const output = toolOutput(view);
  if (output !== undefined) return resultValue(output.raw_output ?? output.blocks ?? null) ?? undefined;
  const recorded = functionResponse(view)?.response ?? view.get('output.value');
  return recorded === undefined || recorded === null ? undefined : (resultValue(recorded) ?? undefined);
}

function resultFailure(view: SpanView): SpanFacts['toolFailure'] | undefined {
  const wrapped = toolMessage(view);
  const output = toolOutput(view);
  if (wrapped?.status !== 'error' && output?.is_error !== true) return undefined;
  const text = resultValue(wrapped?.content ?? output?.raw_output ?? null);
  return { message: typeof text === 'string' ? text : null, interrupt: false };
}

function toolArguments(view: SpanView): SpanFacts['toolArguments'] | undefined {
  return view.has('input.value') ? recordedCall(view.get('input.value')) : undefined;
}

function parameters(view: SpanView): Json | undefined {
  const value = view.get('tool.parameters');
  return value === undefined || value === null ? undefined : jsonish(value);
}

/** The definition of a tool span's own tool. */
function ownDefinition(view: SpanView): readonly ToolDefinition[] | undefined {
  const name = view.text('tool.name') ?? view.span.name;
  for (const schema of [
    view.has('tool.json_schema') ? jsonish(view.get('tool.json_schema') ?? null) : undefined,
    parameters(view),
  ]) {
    if (schema === undefined) continue;
    if (isSchemaLike(schema)) return readToolDefinitions({ name, parameters: schema });
    const whole = readToolDefinitions(schema);
    if (whole.length === 1 && whole[0]?.schema !== undefined) return [{ ...whole[0], name }];
  }
  return undefined;
}

function llmTools(view: SpanView): readonly ToolDefinition[] | undefined {
  const { elements } = indexedAttributes(view.span.attributes, 'llm.tools');
  const definitions = elements.flatMap((members) =>
    readToolDefinitions(members.get('tool.json_schema') ?? { name: members.get('tool.name') ?? null }),
  );
  return definitions.length === 0 ? undefined : definitions;
}

/** Could a value have one of these members? Tells without decoding that most texts do not. */
function mayName(value: Json | undefined, ...members: readonly string[]): boolean {
  return typeof value !== 'string' || members.some((member) => value.includes(member));
}

/** Definitions in a printed request. */
const requestTools =
  (key: string) =>
  (view: SpanView): readonly ToolDefinition[] | undefined => {
    if (!mayName(view.get(key), 'tools', 'functions')) return undefined;
    const value = view.json(key);
    if (value === undefined || !isJsonObject(value)) return undefined;
    // Python prints its own objects: "<FunctionTool object>" is no name.
    const definitions = readToolDefinitions(value.tools ?? value.functions).filter(({ name }) => !isPythonRepr(name));
    return definitions.length === 0 ? undefined : definitions;
  };

/** Helpers of agent frameworks that look like tools. */
const PSEUDO_TOOLS: readonly { readonly scope: RegExp; readonly names: ReadonlySet<string> }[] = [
  { scope: /smolagents/, names: new Set(['final_answer']) },
  { scope: /dspy/, names: new Set(['finish']) },
  { scope: /google_adk/, names: new Set(['(merged tools)']) },
];

/** OpenInference (Arize): one vocabulary for several dozen instrumentations. */
export const openinference: Dialect = {
  name: 'openinference',
  kinds: [
    { order: 200, key: 'openinference.span.kind', read: (value, span) => spanKind(value, span.name) },
    { order: 1510, key: 'tool.name', guess: true, read: () => 'tool' },
    { order: 1610, key: 'llm.model_name', guess: true, read: () => 'llm' },
  ],
  pseudoTools: (name, span) =>
    PSEUDO_TOOLS.some((pseudo) => pseudo.names.has(name) && pseudo.scope.test(span.scope.name)),
  facts: {
    agentName: [
      textSource(200, 'agent.name'),
      {
        rank: 800,
        source: 'graph.node.id',
        keys: ['graph.node.id'],
        kinds: ['agent'],
        read: (view) => view.text('graph.node.id'),
      },
    ],
    model: textSources(300, 'llm.response.model_name', 'llm.model_name', 'llm.request.model_name'),
    responseId: [{ rank: 500, source: 'output.value', keys: ['output.value'], kinds: ['llm'], read: responseId }],
    query: [
      { rank: 800, source: 'input.value', keys: ['input.value'], read: question },
      { rank: 850, source: 'crew_inputs', keys: ['crew_inputs'], read: crewInputs },
    ],
    answer: [{ rank: 600, source: 'output.value', keys: ['output.value'], read: answer }],
    inputMessages: [
      {
        rank: 300,
        source: 'llm.input_messages',
        keys: ['llm.input_messages', 'llm.input_messages.'],
        read: (view) => messages(view, 'llm.input_messages', 'user'),
      },
      {
        rank: 310,
        source: 'llm.prompts',
        keys: ['llm.prompts.'],
        read: (view) => completions(view, 'llm.prompts', 'prompt.text', 'user'),
      },
      {
        rank: 1500,
        source: 'input.value',
        keys: ['input.value'],
        read: (view) => printed(view, 'input.value', 'user'),
      },
    ],
    outputMessages: [
      {
        rank: 300,
        source: 'llm.output_messages',
        keys: ['llm.output_messages', 'llm.output_messages.'],
        read: (view) => messages(view, 'llm.output_messages', 'assistant'),
      },
      {
        rank: 310,
        source: 'llm.choices',
        keys: ['llm.choices.'],
        read: (view) => completions(view, 'llm.choices', 'completion.text', 'assistant'),
      },
      { rank: 320, source: 'llm.function_call', keys: ['llm.function_call'], read: functionCall },
      {
        rank: 1500,
        source: 'output.value',
        keys: ['output.value'],
        read: (view) => printed(view, 'output.value', 'assistant'),
      },
    ],
    finishReason: [
      {
        rank: 400,
        source: 'llm.finish_reason',
        keys: ['llm.finish_reason'],
        read: (view) => finishReason(view.get('llm.finish_reason')),
      },
    ],
    inputTokens: countSources(200, 'llm.token_count.prompt', 'llm.usage.prompt_tokens'),
    outputTokens: countSources(200, 'llm.token_count.completion', 'llm.usage.completion_tokens'),
    toolName: [textSource(200, 'tool.name')],
    toolCallId: [
      { rank: 200, source: 'tool.id', keys: ['tool.id'], read: (view) => callId(view.get('tool.id')) },
      { rank: 400, source: 'tool.call_id', keys: ['tool.call_id'], read: (view) => callId(view.get('tool.call_id')) },
      {
        rank: 900,
        source: 'output.value',
        keys: ['output.value'],
        kinds: ['tool'],
        read: (view) => callId(toolMessage(view)?.tool_call_id ?? functionResponse(view)?.id),
      },
    ],
    toolArguments: [
      { rank: 1100, source: 'input.value', keys: ['input.value'], kinds: ['tool'], read: toolArguments },
      {
        rank: 1500,
        source: 'tool.parameters',
        keys: ['tool.parameters'],
        kinds: ['tool'],
        read: (view) => {
          const value = parameters(view);
          return value === undefined || isSchemaLike(value) ? undefined : recordedArguments(value, 'recorder');
        },
      },
    ],
    toolResult: [{ rank: 1100, source: 'output.value', keys: ['output.value'], kinds: ['tool'], read: toolResult }],
    toolFailure: [{ rank: 800, source: 'output.value', keys: ['output.value'], kinds: ['tool'], read: resultFailure }],
    toolDefinitions: [
      { rank: 200, source: 'llm.tools', keys: ['llm.tools.'], kinds: ['llm'], read: llmTools },
      {
        rank: 1200,
        source: 'llm.invocation_parameters',
        keys: ['llm.invocation_parameters'],
        kinds: ['llm'],
        read: requestTools('llm.invocation_parameters'),
      },
      { rank: 1250, source: 'input.value', keys: ['input.value'], kinds: ['llm'], read: requestTools('input.value') },
      {
        rank: 1300,
        source: 'tool.json_schema, tool.parameters',
        keys: ['tool.json_schema', 'tool.parameters'],
        kinds: ['tool'],
        read: ownDefinition,
      },
    ],
    handoff: [
      {
        rank: 200,
        source: 'input.value, output.value',
        kinds: ['handoff'],
        read: (view) => ({
          from: view.text('input.value') ?? null,
          to: view.text('output.value') ?? HANDOFF.exec(view.span.name)?.[1] ?? null,
        }),
      },
    ],
  },
};

function functionCall(view: SpanView): Messages | undefined {
  const value = view.has('llm.function_call') ? view.json('llm.function_call') : undefined;
  if (value === undefined || !isJsonObject(value)) return undefined;
  const read = readMessage({ role: 'assistant', function_call: value }, 'assistant');
  return read === undefined ? undefined : { messages: [read], complete: true };
}
