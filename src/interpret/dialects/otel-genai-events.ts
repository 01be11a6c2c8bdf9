import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { Message, Messages } from '../../model/message.js';
import type { SpanEvent } from '../../model/span.js';
import { looseJson } from '../jsonish.js';
import { readMessage, readMessages, roleOf } from '../messages.js';
import { pythonOrText } from '../python-literal.js';
import type { SpanView } from '../span-view.js';

/** The event that carries message attributes of its own, since semantic conventions 1.37. */
export const DETAILS = 'gen_ai.client.inference.operation.details';

/** `gen_ai.user.message` and its siblings, one event a message, up to conventions 1.36. */
const MESSAGE_EVENT = /^gen_ai\.(system|user|assistant|tool)\.message$/;
export const CHOICE = 'gen_ai.choice';

/** Events of these names in order of time; events of one time keep the sender's order. */
function ordered(view: SpanView, wanted: (name: string) => boolean): readonly SpanEvent[] {
  const { events } = view.span;
  if (events.length === 0) return events;
  return events
    .filter((event) => wanted(event.name))
    .sort((a, b) => (a.timeUnixNano < b.timeUnixNano ? -1 : a.timeUnixNano > b.timeUnixNano ? 1 : 0));
}

/** Messages in the details events; input and output may stand in separate events, and each event may add some. */
export function detailMessages(
  view: SpanView,
  key: 'gen_ai.input.messages' | 'gen_ai.output.messages',
): Messages | undefined {
  if (view.span.events.length === 0) return undefined;
  const lists = ordered(view, (name) => name === DETAILS).flatMap((event) => {
    const read = readMessages(event.attributes.get(key), key === 'gen_ai.input.messages' ? 'user' : 'assistant');
    return read === undefined ? [] : [read];
  });
  if (lists.length === 0) return undefined;
  return { messages: lists.flatMap((list) => list.messages), complete: lists.every((list) => list.complete) };
}

/** The input of a model call as one event a message. */
export function eventInput(view: SpanView): Messages | undefined {
  return fromEvents(ordered(view, (name) => MESSAGE_EVENT.test(name)));
}

/** The output of a model call as `gen_ai.choice` events. */
export function eventOutput(view: SpanView): Messages | undefined {
  return fromEvents(ordered(view, (name) => name === CHOICE));
}

function fromEvents(events: readonly SpanEvent[]): Messages | undefined {
  if (events.length === 0) return undefined;
  const messages = events.flatMap((event) => {
    const message = eventMessage(event);
    return message === undefined ? [] : [message];
  });
  return messages.length === 0 ? undefined : { messages, complete: true };
}

/** The body of an event: its attributes, or the one attribute that holds them all as JSON. */
function eventBody(event: SpanEvent): JsonObject {
  const whole = looseJson(event.attributes.get('gen_ai.event.content') ?? null);
  if (isJsonObject(whole)) return whole;
  const body: Record<string, Json> = {};
  for (const key of ['content', 'role', 'id', 'tool_calls', 'message', 'finish_reason', 'name', 'parts']) {
    const value = event.attributes.get(key);
    if (value !== undefined) body[key] = value;
  }
  return body;
}

function eventMessage(event: SpanEvent): Message | undefined {
  const body = eventBody(event);
  const named = MESSAGE_EVENT.exec(event.name)?.[1];
  const role = roleOf(named) ?? 'assistant';
  const inner = looseJson(body.message ?? null);
  const base: JsonObject = isJsonObject(inner) ? inner : inner === null ? body : { content: inner };
  const toolCalls = base.tool_calls ?? body.tool_calls;
  return readMessage(
    {
      ...base,
      // The name of the event is the role, unless the body says otherwise.
      role: roleOf(base.role ?? body.role) === undefined ? role : (base.role ?? body.role ?? role),
      ...(toolCalls === undefined ? {} : { tool_calls: looseJson(toolCalls) }),
      ...(body.finish_reason === undefined ? {} : { finish_reason: body.finish_reason }),
      ...(role === 'tool' && body.id !== undefined ? { tool_call_id: body.id } : {}),
    },
    role,
  );
}

/** On tool spans: what `gen_ai.tool.message` (arguments) or `gen_ai.choice` (result) holds. */
export function toolEvent(view: SpanView, name: string): { readonly id?: Json; readonly value: Json } | undefined {
  const event = view.span.events.find((candidate) => candidate.name === name);
  if (event === undefined) return undefined;
  const body = eventBody(event);
  const value = body.content ?? body.message;
  if (value === undefined) return undefined;
  return body.id === undefined ? { value } : { id: body.id, value };
}

/** `gen_ai.content.prompt` and `gen_ai.content.completion`: one JSON text each, or Python's repr, up to conventions 1.27. */
export function contentEvent(view: SpanView, event: string, key: string): Json | undefined {
  return pythonOrText(view.span.events.find((candidate) => candidate.name === event)?.attributes.get(key));
}
