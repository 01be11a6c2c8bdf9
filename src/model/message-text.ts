import type { Message } from './message.js';

/** The text parts of a message, one a line; empty when it has none. */
export function messageText(message: Message): string {
  let text = '';
  for (const part of message.parts) {
    if (part.type === 'text' && part.text.trim() !== '') text = text === '' ? part.text : `${text}\n${part.text}`;
  }
  return text;
}

/** Index of the last user message that has text; -1 when there is none. Tool results under the user's role have none. */
export function lastUserTextIndex(messages: readonly Message[]): number {
  return messages.findLastIndex((message) => message.role === 'user' && messageText(message) !== '');
}

/** The text of the last user message that has text; undefined when there is none. */
export function lastUserText(messages: readonly Message[]): string | undefined {
  const message = messages[lastUserTextIndex(messages)];
  return message === undefined ? undefined : messageText(message);
}

/** Does the message ask for a tool that its provider does not run itself? */
export function asksForTool(message: Message): boolean {
  return message.parts.some((part) => part.type === 'tool_call' && !part.providerExecuted);
}

/**
 * The text of a list's last message, if it is an assistant's and asks for no tool: what a run that ended says. In a
 * run that stopped at a tool call, an earlier assistant text belongs to an earlier turn.
 */
export function finalAssistantText(messages: readonly Message[]): string | undefined {
  const last = messages[messages.length - 1];
  if (last?.role !== 'assistant' || asksForTool(last)) return undefined;
  const text = messageText(last);
  return text === '' ? undefined : text;
}
