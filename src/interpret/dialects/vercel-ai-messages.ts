import type { RecordedText } from '../../model/agent-span.js';
import { isCutJson } from '../../model/json-text.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import { asksForTool, lastUserText, messageText } from '../../model/message-text.js';
import type { Message, MessagePart, Messages, ToolCallPart, ToolDefinition } from '../../model/message.js';
import { finishReason } from '../finish-reason.js';
import { looseJson } from '../jsonish.js';
import { encodedContentParts, textParts, toolCallParts } from '../message-parts.js';
import { readMessages } from '../messages.js';
import { isPlaceholder } from '../placeholders.js';
import type { SpanView } from '../span-view.js';
import { readToolDefinitions } from '../tool-definitions.js';

const CUT: Messages = { messages: [], complete: false };

/** Part types that ask a person for leave, or give it: no content of the conversation. */
const APPROVALS = new Set(['tool-approval-request', 'tool-approval-response']);
const MENTIONS_APPROVAL = /"(?:tool-approval-re|execution-denied")/;

/** The messages as they were given to the model. */
export function promptMessages(view: SpanView): Messages | undefined {
  const value = view.get('ai.prompt.messages');
  return readPrompt(value) ?? view.messages('ai.prompt.messages', 'user');
}

/** Only prompts that speak of approvals need more than the common reading. */
function readPrompt(value: Json | undefined): Messages | undefined {
  if (typeof value !== 'string' || !MENTIONS_APPROVAL.test(value)) return undefined;
  const parsed = looseJson(value);
  return Array.isArray(parsed) ? readMessages(withoutApprovals(parsed as readonly Json[]), 'user') : undefined;
}

/**
 * Takes the parts that ask for approval out, and gives a denied call the result `{denied: true, reason?}`, as v7 does:
 * what a person refuses is no failure of the tool.
 */
function withoutApprovals(messages: readonly Json[]): readonly Json[] {
  return messages.flatMap((message): readonly Json[] => {
    if (!isJsonObject(message) || !Array.isArray(message.content)) return [message];
    const content = (message.content as readonly Json[]).flatMap((part): readonly Json[] => {
      if (!isJsonObject(part)) return [part];
      if (typeof part.type === 'string' && APPROVALS.has(part.type)) return [];
      return [isJsonObject(part.output) && part.output.type === 'execution-denied' ? denied(part, part.output) : part];
    });
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

function denied(part: JsonObject, { reason }: JsonObject): JsonObject {
  const value: JsonObject = typeof reason === 'string' ? { denied: true, reason } : { denied: true };
  return { ...part, output: { type: 'json', value } };
}

/** What a call of the SDK was given: `{system?, prompt?, messages?}`, where the prompt is a text or messages, too. */
export function callInput(view: SpanView): Messages | undefined {
  const input = view.json('ai.prompt');
  if (typeof input === 'string') return isCutJson(input) ? CUT : undefined;
  if (input === undefined || !isJsonObject(input)) return undefined;
  const { prompt, messages } = input;
  if (typeof prompt === 'string') {
    const parts = textParts(prompt);
    return parts.length === 0 ? undefined : { messages: [{ role: 'user', parts }], complete: true };
  }
  return readMessages([prompt, messages].find(Array.isArray) ?? null, 'user');
}

export function question(view: SpanView): RecordedText | undefined {
  const input = callInput(view);
  if (input === undefined) return undefined;
  if (!input.complete) return { cut: true };
  const text = lastUserText(input.messages);
  return text === undefined ? undefined : { text };
}

/** The attributes of an output: since v4, and in v3. */
interface OutputKeys {
  readonly text: string;
  readonly toolCalls: string;
  readonly object: string;
  readonly reasoning?: string;
}

export const RESPONSE: OutputKeys = {
  text: 'ai.response.text',
  toolCalls: 'ai.response.toolCalls',
  object: 'ai.response.object',
  reasoning: 'ai.response.reasoning',
};
export const RESULT: OutputKeys = {
  text: 'ai.result.text',
  toolCalls: 'ai.result.toolCalls',
  object: 'ai.result.object',
};

export function stopReason(view: SpanView): string | undefined {
  return finishReason(view.get('ai.response.finishReason') ?? view.get('ai.finishReason'));
}

/** What a model call, or the last one of a run, said. */
export function outputMessages(view: SpanView, keys: OutputKeys): Messages | undefined {
  const reasoning = keys.reasoning === undefined ? undefined : view.text(keys.reasoning);
  const text = view.text(keys.text);
  const object = view.text(keys.object);
  const calls = view.has(keys.toolCalls) ? toolCalls(view, keys.toolCalls) : [];
  const parts: MessagePart[] = [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning } as const]),
    ...(text === undefined ? [] : textParts(text)),
    ...(calls ?? []),
    ...(object === undefined ? [] : textParts(object)),
  ];
  const cut = calls === undefined || [object, text].some((said) => said !== undefined && isCut(said));
  if (parts.length === 0) return cut ? CUT : undefined;
  const reason = stopReason(view);
  // Where attributes were dropped, the calls may be among them, unless the reason for stopping says that there are none.
  const lost =
    view.span.droppedAttributes > 0 && calls?.length === 0 && (reason === undefined || reason === 'tool_call');
  const message: Message = { role: 'assistant', parts, ...(reason === undefined ? {} : { finishReason: reason }) };
  return { messages: [message], complete: !cut && !lost };
}

/** The calls of an output; undefined when their text was cut or spoilt. */
function toolCalls(view: SpanView, key: string): readonly ToolCallPart[] | undefined {
  const value = view.json(key);
  if (typeof value === 'string') return isPlaceholder(value) ? [] : undefined;
  if (!Array.isArray(value)) return [];
  const calls = (value as readonly Json[])
    .map((call) => looseJson(call))
    .filter(isJsonObject)
    .flatMap(toolCallParts);
  if (calls.length === 0 || stopReason(view) === 'tool_call') return calls;
  const provided = providerTools(view);
  return calls.map((call) => (provided.has(call.name) ? { ...call, providerExecuted: true } : call));
}

/**
 * Tools that the provider defines. It also runs some of them itself, which the recorded calls of most versions do not
 * say; a model that did not stop for its call shows it.
 */
function providerTools(view: SpanView): ReadonlySet<string> {
  const tools = view.json('ai.prompt.tools');
  if (!Array.isArray(tools)) return new Set();
  return new Set(
    (tools as readonly Json[])
      .map((tool) => looseJson(tool))
      .filter(isJsonObject)
      .flatMap(({ type, name }) => (typeof type === 'string' && type.startsWith('provider') ? [name] : []))
      .filter((name) => typeof name === 'string'),
  );
}

/** What a run answered: its object, or its text if it did not stop for a tool. */
export function answer(view: SpanView, keys: OutputKeys): RecordedText | undefined {
  const object = view.text(keys.object);
  if (object !== undefined) return isCut(object) ? { cut: true } : { text: objectText(object) };
  const text = view.text(keys.text);
  if (text === undefined) return undefined;
  const reason = stopReason(view);
  if (reason === 'tool_call') return undefined;
  if (reason === undefined && view.has(keys.toolCalls) && toolCalls(view, keys.toolCalls)?.length !== 0)
    return undefined;
  return isCut(text) ? { cut: true } : { text };
}

/**
 * By default v7 sums a run up in one message of OpenTelemetry's conventions: the final text, then the calls of all
 * steps. That the model stopped by itself says that the text is the answer.
 */
export function summedUpAnswer(view: SpanView): RecordedText | undefined {
  if (view.kind !== 'agent') return undefined;
  const messages = view.messages('gen_ai.output.messages', 'assistant')?.messages ?? [];
  const [only] = messages;
  if (only === undefined || messages.length > 1 || only.role !== 'assistant') return undefined;
  if (only.finishReason !== 'stop' || !asksForTool(only)) return undefined;
  const text = messageText(only);
  return text === '' ? undefined : { text };
}

/** An enumeration's value is a JSON string; other objects stay JSON. */
function objectText(object: string): string {
  const value = looseJson(object);
  return typeof value === 'string' ? value : object;
}

/** Structured output may stand in the text, too. Prose that opens with a quotation mark is not JSON that was cut. */
function isCut(text: string): boolean {
  return /^\s*[{[]/.test(text) && isCutJson(text);
}

/**
 * The tools of `ai.prompt.tools`: a list of JSON texts, of which a limit cuts each for itself. A cut one has its name
 * and no schema; without its name nothing can be said of the list, since a tool that seems not to be offered would be
 * held against the agent.
 */
export function offeredTools(view: SpanView): readonly ToolDefinition[] | undefined {
  const value = view.get('ai.prompt.tools');
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    return typeof value === 'string' && isCutJson(value) ? undefined : readToolDefinitions(value);
  }
  const items = value as readonly Json[];
  const whole = readToolDefinitions(items);
  if (whole.length === items.length) return whole;
  const definitions: ToolDefinition[] = [];
  for (const item of items) {
    const read = readToolDefinitions(item);
    const cut = read.length === 0 && typeof item === 'string' ? NAME_OF_CUT.exec(item)?.[1] : undefined;
    if (read.length === 0 && cut === undefined) return undefined;
    definitions.push(...read, ...(cut === undefined ? [] : [{ name: cut, freeText: false }]));
  }
  return definitions;
}

const NAME_OF_CUT = /^\{"type":"[^"\\]*",(?:"id":"[^"\\]*",)?"name":"([^"\\]+)"/;

/*
 * Traceloop's JavaScript SDK moves what the AI SDK wrote to `gen_ai.*` and spoils it on the way: content that is no
 * text becomes a text part with its JSON, and a call stands inside its part under `tool_call`.
 */

/** Undefined for what is as the conventions have it. */
export function rewrittenInput(view: SpanView): Messages | undefined {
  const read = view.has('ai.operationId') ? view.messages('gen_ai.input.messages', 'user') : undefined;
  if (read === undefined || !read.messages.some(holdsJson)) return undefined;
  return { ...read, messages: read.messages.map((message) => (holdsJson(message) ? decoded(message) : message)) };
}

const isBlocks = (part: MessagePart): boolean =>
  part.type === 'text' && part.text.startsWith('[{"type":"') && part.text.includes('"toolCallId":');

function holdsJson({ role, parts }: Message): boolean {
  return (role === 'assistant' || role === 'tool') && parts.some(isBlocks);
}

function decoded(message: Message): Message {
  const parts = message.parts.flatMap((part) =>
    part.type === 'text' && isBlocks(part) ? encodedContentParts(part.text) : [part],
  );
  return { ...message, parts };
}

/** Undefined for what is as the conventions have it. */
export function rewrittenOutput(view: SpanView): Messages | undefined {
  const value = view.has('ai.operationId') ? view.json('gen_ai.output.messages') : undefined;
  if (!Array.isArray(value)) return undefined;
  const parts = (value as readonly Json[])
    .filter(isJsonObject)
    .flatMap((message) => (Array.isArray(message.parts) ? (message.parts as readonly Json[]) : []))
    .filter(isJsonObject);
  const calls = parts.flatMap((part) => (isJsonObject(part.tool_call) ? toolCallParts(part.tool_call) : []));
  if (calls.length === 0) return undefined;
  // The calls replaced the text, which is left in the older place.
  const text = view.text('gen_ai.completion.0.content');
  const said = text === undefined ? [] : textParts(text);
  return { messages: [{ role: 'assistant', parts: [...said, ...calls] }], complete: true };
}
