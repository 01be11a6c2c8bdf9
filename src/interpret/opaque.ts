import { isCutJson } from '../model/json-text.js';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import type { RecordedText } from '../model/agent-span.js';
import { finalAssistantText, lastUserText } from '../model/message-text.js';
import type { Messages, Role } from '../model/message.js';
import { looksLikeJson, looseJson } from './jsonish.js';
import { isMessage, readMessages } from './messages.js';
import { isPlaceholder } from './placeholders.js';

/** `Name(key=...`, `<Name object at ...`, `[Name(...`: what Python prints for an object. Not for people. */
const PYTHON_REPR = /^\[?<?[A-Za-z_][\w.]*(?:\(\)|\([A-Za-z_]\w*=|\(<| object at 0x|\(\*)/;

export function isPythonRepr(text: string): boolean {
  return PYTHON_REPR.test(text.trimStart());
}

/** Members under which frameworks keep the question in what they record as an input. */
const QUESTION_KEYS = ['input', 'query', 'question', 'prompt', 'message', 'messages', 'task', 'user_input', 'user_msg'];
/** Members under which they keep the answer in what they record as an output. */
const ANSWER_KEYS = ['output', 'answer', 'response', 'content', 'text', 'raw', 'result', 'final_output', 'messages'];
/** Members that wrap all the others. */
const WRAPPERS = ['kwargs', 'inputs', 'outputs', 'data', 'input', 'output', 'response', 'result'];

const MAX_NESTING = 4;

/** The question in an input of unknown shape: text, messages, or an object that keeps it under a usual name. */
export function questionIn(value: Json | undefined): RecordedText | undefined {
  return textIn(value, QUESTION_KEYS, (messages) => lastUserText(messages.messages), 'user');
}

/** The answer in an output of unknown shape. */
export function answerIn(value: Json | undefined): RecordedText | undefined {
  return textIn(value, ANSWER_KEYS, (messages) => finalAssistantText(messages.messages), 'assistant');
}

function textIn(
  value: Json | undefined,
  keys: readonly string[],
  pick: (messages: Messages) => string | undefined,
  role: Role,
): RecordedText | undefined {
  if (value === undefined || value === null) return undefined;
  const parsed = looseJson(value);
  if (typeof parsed === 'string') {
    if (looksLikeJson(parsed) && isCutJson(parsed)) return { cut: true };
    return plain(parsed);
  }
  const text = search(parsed, keys, pick, role, 0);
  return text === undefined ? undefined : plain(text);
}

function plain(text: string): RecordedText | undefined {
  return isPlaceholder(text) || isPythonRepr(text) ? undefined : { text: text.toWellFormed() };
}

function search(
  value: Json,
  keys: readonly string[],
  pick: (messages: Messages) => string | undefined,
  role: Role,
  depth: number,
): string | undefined {
  if (depth > MAX_NESTING) return undefined;
  if (typeof value === 'string') {
    const parsed = looseJson(value);
    if (typeof parsed !== 'string') return search(parsed, keys, pick, role, depth + 1) ?? value;
    return isPlaceholder(parsed) || isPythonRepr(parsed) ? undefined : parsed;
  }
  const messages = opaqueMessages(value, role);
  if (messages !== undefined) return pick(messages);
  if (!isJsonObject(value)) return undefined;
  for (const key of keys) {
    const member = value[key];
    if (typeof member === 'string' || isJsonObject(member) || Array.isArray(member)) {
      const text = search(member, keys, pick, role, depth + 1);
      if (text !== undefined) return text;
    }
  }
  for (const key of WRAPPERS) {
    const text = isJsonObject(value[key]) ? search(value[key], keys, pick, role, depth + 1) : undefined;
    if (text !== undefined) return text;
  }
  return undefined;
}

/**
 * Messages in a request or an answer as some library prints it: a list, `{messages}`, `{contents}` (Gemini), `{input}`
 * and `{output}` (Responses API), `{choices}` (Chat Completions), `{generations}` (LangChain), `{message}`, or a single
 * message. Undefined when the value is nothing of the kind.
 */
export function opaqueMessages(value: Json | undefined, role: Role): Messages | undefined {
  if (value === undefined || value === null) return undefined;
  const parsed = looseJson(value);
  if (Array.isArray(parsed)) return messageList(parsed as readonly Json[], role);
  if (!isJsonObject(parsed)) return undefined;
  if (isMessage(parsed)) return readMessages(parsed, role);
  for (const key of ['messages', 'contents', 'input', 'output'] as const) {
    const member = parsed[key];
    const found = Array.isArray(member) ? messageList(member as readonly Json[], role) : undefined;
    if (found !== undefined) return found;
  }
  if (Array.isArray(parsed.choices)) return fromChoices(parsed.choices as readonly Json[]);
  if (Array.isArray(parsed.generations)) return fromGenerations(parsed.generations as readonly Json[]);
  if (isJsonObject(parsed.message)) return readMessages([parsed.message], role);
  // Anthropic's answer is itself the message; Bedrock and Gemini put it one or two levels down.
  if (isJsonObject(parsed.content) && Array.isArray(parsed.content.parts)) return readMessages([parsed.content], role);
  if (isJsonObject(parsed.output)) return opaqueMessages(parsed.output, role);
  return undefined;
}

function messageList(list: readonly Json[], role: Role): Messages | undefined {
  const flat = list.length === 1 && Array.isArray(list[0]) ? (list[0] as readonly Json[]) : list;
  const items = flat.map((item) => (typeof item === 'string' ? looseJson(item) : item));
  return items.length > 0 && items.every(isMessage) ? readMessages(items, role) : undefined;
}

function fromChoices(choices: readonly Json[]): Messages | undefined {
  const items = choices.filter(isJsonObject).flatMap((choice): JsonObject[] => {
    if (isJsonObject(choice.message)) return [{ ...choice.message, finish_reason: choice.finish_reason ?? null }];
    return typeof choice.text === 'string' ? [{ role: 'assistant', content: choice.text }] : [];
  });
  return items.length === 0 ? undefined : readMessages(items.slice(0, 1), 'assistant');
}

function fromGenerations(generations: readonly Json[]): Messages | undefined {
  const flat = generations.flatMap((item) => (Array.isArray(item) ? (item as readonly Json[]) : [item]));
  const first = flat.find(isJsonObject);
  if (first === undefined) return undefined;
  if (isJsonObject(first.message)) return readMessages([first.message], 'assistant');
  return typeof first.text === 'string'
    ? readMessages([{ role: 'assistant', content: first.text }], 'assistant')
    : undefined;
}
