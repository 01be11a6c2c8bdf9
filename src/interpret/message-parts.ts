import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import type { MessagePart, RecordedArguments, ToolCallPart, ToolResultPart } from '../model/message.js';
import { concatenatedJson } from './concatenated-json.js';
import { jsonish, looseJson, ownJson } from './jsonish.js';
import { callId, isPlaceholder } from './placeholders.js';
import { pythonLiteral } from './python-literal.js';
import { sharedByText, WITHIN_A_TURN } from './shared-by-text.js';
import { recordedArguments } from './tool-arguments.js';

const OTHER: MessagePart = { type: 'other' };
const MEDIA: MessagePart = { type: 'media' };

const TEXT_TYPES = new Set(['text', 'input_text', 'output_text', 'refusal']);
const REASONING_TYPES = new Set(['reasoning', 'thinking', 'redacted_thinking', 'reasoning_text', 'summary_text']);
const CALL_TYPES = new Set(['tool_call', 'tool-call', 'tool_use', 'function', 'function_call', 'custom_tool_call']);
const SERVER_CALL_TYPES = new Set(['server_tool_call', 'server_tool_use']);
const RESULT_TYPES = new Set([
  'tool_call_response',
  'tool-result',
  'tool_result',
  'function_call_output',
  'custom_tool_call_output',
  'server_tool_call_response',
  'tool_return',
]);
const MEDIA_TYPES =
  /^(?:blob|uri|file|file_data|image|image_url|image-url|input_image|input_file|audio|video|document|binary|media)/;

/** Reads the content of a message: a text, a block, or a list of blocks, in any of the dialects of section 0.4. */
export function contentParts(content: Json | undefined): MessagePart[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return textParts(content);
  if (!Array.isArray(content)) return onePart(content);
  const parts: MessagePart[] = [];
  for (const item of content as readonly Json[]) {
    for (const part of typeof item === 'string' ? itemParts(item) : onePart(item)) parts.push(part);
  }
  return parts;
}

/** As `contentParts`, for recorders that write a list of blocks as JSON text. */
export function encodedContentParts(content: Json | undefined): MessagePart[] {
  if (typeof content !== 'string') return contentParts(content);
  const parsed = looseJson(content);
  const blocks: readonly Json[] | undefined = Array.isArray(parsed) ? (parsed as readonly Json[]) : undefined;
  return blocks !== undefined && blocks.length > 0 && blocks.every(isBlock)
    ? contentParts(parsed)
    : textParts(typeof parsed === 'string' ? parsed : content);
}

function isBlock(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  return (
    typeof value.type === 'string' ||
    typeof value.text === 'string' ||
    ['toolUse', 'toolResult', 'reasoningContent', 'function_call', 'function_response', 'image'].some(
      (key) => value[key] !== undefined,
    )
  );
}

function itemParts(item: string): MessagePart[] {
  const parsed = looseJson(item);
  return isJsonObject(parsed) && isBlock(parsed) ? onePart(parsed) : textParts(item);
}

export function textParts(text: string): MessagePart[] {
  return isPlaceholder(text) ? [] : [{ type: 'text', text: text.toWellFormed() }];
}

function onePart(block: Json): MessagePart[] {
  if (!isJsonObject(block)) return [];
  const type = typeof block.type === 'string' ? block.type : '';
  if (TEXT_TYPES.has(type)) return textOf(block);
  if (REASONING_TYPES.has(type)) return [{ type: 'reasoning', text: reasoningText(block) }];
  if (CALL_TYPES.has(type) || SERVER_CALL_TYPES.has(type)) return toolCallParts(block);
  if (RESULT_TYPES.has(type)) return [toolResultPart(block)];
  if (type !== '') return [MEDIA_TYPES.test(type) ? MEDIA : OTHER];
  for (const key of ['toolUse', 'function_call', 'functionCall'] as const) {
    if (isJsonObject(block[key])) return toolCallParts(block[key]);
  }
  for (const key of ['toolResult', 'function_response', 'functionResponse'] as const) {
    if (isJsonObject(block[key])) return [toolResultPart(block[key])];
  }
  if (isJsonObject(block.reasoningContent)) return [{ type: 'reasoning', text: reasoningText(block.reasoningContent) }];
  if (typeof block.text === 'string') return textOf(block);
  if (typeof block.content === 'string') return textParts(block.content);
  return [OTHER];
}

function textOf(block: JsonObject): MessagePart[] {
  const text = [block.content, block.text, block.refusal].find((value) => typeof value === 'string');
  if (typeof text === 'string') return textParts(text);
  // OpenAI's assistants nest it: {"text": {"value": "..."}}.
  return isJsonObject(block.text) && typeof block.text.value === 'string' ? textParts(block.text.value) : [];
}

function reasoningText(block: JsonObject): string {
  const text = [block.content, block.text, block.thinking, block.reasoning].find((value) => typeof value === 'string');
  return typeof text === 'string' ? text.toWellFormed() : '';
}

/**
 * A call in a model's output or history, flat or with its name and arguments under `function`. Recorders that glue the
 * streamed pieces of parallel calls of one tool together write several as one; they are parted again.
 */
export function toolCallParts(block: JsonObject): ToolCallPart[] {
  return parted(toolCallPart(block));
}

/** As `toolCallParts`, for a recorder that has one place for each member. */
export function plainCallParts(id: Json | undefined, name: Json | undefined, args: Json | undefined): ToolCallPart[] {
  return parted(callPart(callId(id), nameOf(name), recordedArguments(args, 'model'), false));
}

function nameOf(name: Json | undefined): string {
  return typeof name === 'string' ? name.trim() : '';
}

function parted(part: ToolCallPart): ToolCallPart[] {
  if (part.arguments.status !== 'malformed') return [part];
  const texts = concatenatedJson(part.arguments.text);
  if (texts === undefined) return [part];
  const name = repeatedUnit(part.name, texts.length);
  if (name === undefined) return [part];
  const size = (part.id?.length ?? 0) / texts.length;
  return texts.map((text, at) => ({
    ...part,
    ...(part.id !== undefined && Number.isInteger(size) ? { id: part.id.slice(at * size, (at + 1) * size) } : {}),
    name,
    arguments: recordedArguments(text, 'model'),
  }));
}

function toolCallPart(block: JsonObject): ToolCallPart {
  const type = typeof block.type === 'string' ? block.type : '';
  const inner = [block.function, block.custom, block.server_tool_call].find(isJsonObject);
  const body = inner ?? block;
  const id = callId(block.tool_call_id ?? block.toolCallId ?? block.toolUseId ?? block.call_id ?? block.id ?? body.id);
  const name = [body.name, body.toolName, body.tool_name, block.name].find((value) => typeof value === 'string');
  const args = [body.arguments, body.args, body.input, body.parameters, body.tool_kwargs].find(
    (value) => value !== undefined,
  );
  const providerExecuted = SERVER_CALL_TYPES.has(type) || block.providerExecuted === true || block.builtin === true;
  return callPart(id, nameOf(name), recordedArguments(args, 'model'), providerExecuted);
}

function callPart(
  id: string | undefined,
  name: string,
  args: RecordedArguments,
  providerExecuted: boolean,
): ToolCallPart {
  return id === undefined
    ? { type: 'tool_call', name, arguments: args, providerExecuted }
    : { type: 'tool_call', id, name, arguments: args, providerExecuted };
}

/** `ab` for `abab` and 2; undefined when the text is no such repetition. */
function repeatedUnit(text: string, times: number): string | undefined {
  const unit = text.slice(0, text.length / times);
  return unit !== '' && unit.repeat(times) === text ? unit : undefined;
}

/** A result in a history; some recorders keep its content or its id elsewhere than in the block. */
export function toolResultPart(block: JsonObject, content = block.content, blockId = block.id): ToolResultPart {
  const inner = isJsonObject(block.server_tool_call_response) ? block.server_tool_call_response : undefined;
  const id = callId(
    block.tool_call_id ?? block.toolCallId ?? block.tool_use_id ?? block.toolUseId ?? block.call_id ?? blockId,
  );
  const name = [block.name, block.toolName, block.tool_name].find((value) => typeof value === 'string');
  const recorded = [block.response, block.result, block.output, content, inner].find((v) => v !== undefined);
  const isError = block.is_error === true || block.isError === true || block.status === 'error';
  return plainResultPart(id, name, recorded ?? null, isError);
}

/** As `toolResultPart`, for a recorder that has one place for each member. */
export function plainResultPart(
  id: string | undefined,
  name: Json | undefined,
  recorded: Json,
  isError = false,
): ToolResultPart {
  const outputType = isJsonObject(recorded) && typeof recorded.type === 'string' ? recorded.type : '';
  const part = {
    type: 'tool_result' as const,
    result: resultValue(AI_SDK_OUTPUTS.has(outputType) ? ((recorded as JsonObject).value ?? null) : recorded),
    isError: isError || outputType.startsWith('error-') || outputType === 'execution-denied',
  };
  if (typeof name === 'string' && name !== '') return id === undefined ? { ...part, name } : { ...part, id, name };
  return id === undefined ? part : { ...part, id };
}

const AI_SDK_OUTPUTS = new Set(['text', 'json', 'error-text', 'error-json', 'content', 'execution-denied']);

/** What a tool gave back: JSON text and Python literals become values, a single text block becomes its text. */
export function resultValue(recorded: Json): Json {
  return typeof recorded === 'string' ? resultInText(recorded) : resultOf(recorded);
}

/** Shared, since histories repeat results. */
const resultInText = sharedByText(WITHIN_A_TURN, (text) => resultOf(looseJson(text)));

function resultOf(value: Json): Json {
  if (typeof value === 'string') return isPlaceholder(value) ? null : textValue(value);
  if (Array.isArray(value) && value.length > 0) {
    const texts = (value as readonly Json[]).map(blockText);
    if (texts.every((text) => text !== undefined)) return textValue(texts.join('\n'));
    const only = (value as readonly Json[])[0] as Json;
    if (value.length === 1 && isJsonObject(only) && only.json !== undefined && Object.keys(only).length === 1) {
      return ownJson(only.json) ?? null;
    }
  }
  return ownJson(value) ?? null;
}

function blockText(block: Json): string | undefined {
  if (!isJsonObject(block) || typeof block.text !== 'string') return undefined;
  const type = block.type;
  return type === undefined || (typeof type === 'string' && TEXT_TYPES.has(type)) ? block.text : undefined;
}

const PYTHON_CONTAINER = /^\s*[{[(]/;

function textValue(text: string): Json {
  const parsed = jsonish(text);
  if (typeof parsed !== 'string') return parsed;
  const literal = PYTHON_CONTAINER.test(parsed) ? pythonLiteral(parsed) : undefined;
  return literal === undefined || typeof literal !== 'object' ? parsed : literal;
}
