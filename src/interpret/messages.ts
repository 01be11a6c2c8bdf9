import { isCutJson } from '../model/json-text.js';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import type { Message, MessagePart, Messages, Role, ToolCallPart } from '../model/message.js';
import { finishReason } from './finish-reason.js';
import { looseJson } from './jsonish.js';
import { contentParts, encodedContentParts, textParts, toolCallParts, toolResultPart } from './message-parts.js';
import { callId, isPlaceholder } from './placeholders.js';

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['instruction', 'system'],
  ['user', 'user'],
  ['human', 'user'],
  ['customer', 'user'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['choice', 'assistant'],
  ['tool-call', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
  ['tool-response', 'tool'],
]);

/** The role that a sender's word means; undefined for a word that is none. */
export function roleOf(word: unknown): Role | undefined {
  if (typeof word !== 'string' || word === '') return undefined;
  const exact = ROLES.get(word);
  if (exact !== undefined) return exact;
  const plain = word.trim().toLowerCase();
  return ROLES.get(plain) ?? ROLES.get(plain.replace(/^.*[.:]/, ''));
}

/**
 * Reads a list of messages: a value, JSON text, or a list of JSON texts, in any of the dialects of section 0.4.
 * Undefined when there is nothing to read. Text that is no JSON is one message of `fallbackRole`; JSON that was cut
 * is an incomplete list.
 */
export function readMessages(value: Json | undefined, fallbackRole: Role): Messages | undefined {
  if (value === undefined || value === null) return undefined;
  const parsed = looseJson(value);
  if (typeof parsed === 'string') {
    if (isPlaceholder(parsed)) return undefined;
    if (isCutJson(parsed)) return { messages: [], complete: false };
    return { messages: [{ role: fallbackRole, parts: textParts(parsed) }], complete: true };
  }
  const items = messageItems(parsed);
  if (items === undefined) return undefined;
  const messages: Message[] = [];
  for (const item of items) {
    const message = readMessage(typeof item === 'string' ? looseJson(item) : item, fallbackRole);
    if (message !== undefined) messages.push(message);
  }
  return messages.length === 0 ? undefined : { messages, complete: true };
}

/** A list of messages, LangChain's list of one list, a list of bare parts, or a single message. */
function messageItems(value: Json): readonly Json[] | undefined {
  if (isJsonObject(value)) return isMessage(value) ? [value] : undefined;
  if (!Array.isArray(value)) return undefined;
  const list = value as readonly Json[];
  return list.length === 1 && Array.isArray(list[0]) ? (list[0] as readonly Json[]) : list;
}

/** Is this an object that some dialect writes as a message? */
export function isMessage(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  if (value.lc !== undefined && isJsonObject(value.kwargs)) return true;
  if (typeof value.role === 'string' && value.role !== '') return true;
  return typeof value.type === 'string' && (roleOf(value.type) !== undefined || RESPONSES_ITEMS.has(value.type));
}

const RESPONSES_ITEMS = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
]);

/** One message; undefined for what is none. */
export function readMessage(value: Json, fallbackRole: Role): Message | undefined {
  if (typeof value === 'string') return { role: fallbackRole, parts: textParts(value) };
  if (!isJsonObject(value)) return undefined;
  if (value.lc !== undefined && isJsonObject(value.kwargs)) return readLangChain(value);
  const type = typeof value.type === 'string' ? value.type : '';
  if (type === 'function_call' || type === 'custom_tool_call')
    return { role: 'assistant', parts: toolCallParts(value) };
  if (type === 'function_call_output' || type === 'custom_tool_call_output') {
    return { role: 'tool', parts: [toolResultPart(value)] };
  }
  if (type === 'reasoning' && value.role === undefined) return { role: 'assistant', parts: contentParts([value]) };
  const role = roleOf(value.role) ?? roleOf(type) ?? fallbackRole;
  // LangChain's older dicts keep everything under `data`.
  const body = isJsonObject(value.data) && value.content === undefined ? value.data : value;
  return readBody(body, role);
}

function readLangChain(value: JsonObject): Message | undefined {
  const kwargs = value.kwargs as JsonObject;
  const path = Array.isArray(value.id) ? (value.id as readonly Json[]) : [];
  const className = path[path.length - 1];
  const named =
    typeof className === 'string' ? /^(Human|AI|System|Tool|Function|Chat)Message/.exec(className)?.[1] : undefined;
  const role = named === 'Chat' ? roleOf(kwargs.role) : (roleOf(named) ?? roleOf(kwargs.type));
  return role === undefined ? undefined : readBody(kwargs, role);
}

function readBody(body: JsonObject, role: Role): Message {
  const reason = finishReason(body.finish_reason ?? body.finishReason);
  const parts = bodyParts(body, role);
  return reason === undefined ? { role, parts } : { role, parts, finishReason: reason };
}

function bodyParts(body: JsonObject, role: Role): readonly MessagePart[] {
  if (role === 'tool' && body.parts === undefined) {
    return toolContent(body, callId(body.tool_call_id ?? body.toolCallId ?? body.tool_use_id));
  }
  const parts = body.parts === undefined ? encodedParts(body.content) : contentParts(looseJson(body.parts));
  return withCalls(parts, callsBeside(body));
}

function encodedParts(content: Json | undefined): MessagePart[] {
  return typeof content === 'string' ? encodedContentParts(content) : contentParts(content);
}

/** The content of a tool message is the result, unless it is a list of result blocks with ids of their own. */
function toolContent(body: JsonObject, id: string | undefined): readonly MessagePart[] {
  const content = body.content ?? body.response ?? body.result ?? body.output;
  const blocks = contentParts(looseJson(content ?? null));
  const results = blocks.filter((part) => part.type === 'tool_result');
  if (results.length > 0) return results;
  return [toolResultPart(body, content ?? null, id ?? body.id)];
}

/** Calls that stand beside the content: OpenAI's `tool_calls`, its legacy `function_call`, LangChain's copies. */
function callsBeside(body: JsonObject): ToolCallPart[] {
  const extra = isJsonObject(body.additional_kwargs) ? body.additional_kwargs : undefined;
  for (const list of [body.tool_calls, body.toolCalls, extra?.tool_calls]) {
    const parsed = list === undefined || list === null ? undefined : looseJson(list);
    if (Array.isArray(parsed) && parsed.length > 0) {
      return (parsed as readonly Json[])
        .map((call) => looseJson(call))
        .filter(isJsonObject)
        .flatMap(toolCallParts);
    }
  }
  const legacy = body.function_call ?? extra?.function_call;
  return isJsonObject(legacy) ? toolCallParts(legacy) : [];
}

/** Some recorders write a call both as a part and beside the parts; an id, or else name and order, tells. */
export function withCalls(parts: readonly MessagePart[], beside: readonly ToolCallPart[]): readonly MessagePart[] {
  if (beside.length === 0) return parts;
  const known = parts.filter((part) => part.type === 'tool_call');
  if (known.length === 0) return parts.length === 0 ? beside : [...parts, ...beside];
  const unmatched = [...known];
  const extra = beside.filter((call) => {
    const at = unmatched.findIndex((part) =>
      part.id !== undefined && call.id !== undefined ? part.id === call.id : part.name === call.name,
    );
    if (at >= 0) unmatched.splice(at, 1);
    return at < 0;
  });
  return [...parts, ...extra];
}
