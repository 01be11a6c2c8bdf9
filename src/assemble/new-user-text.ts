import type { AgentSpan } from '../model/agent-span.js';
import type { Message } from '../model/message.js';

/** What the input of a model call says about the turn that the call belongs to. */
export interface TurnInput {
  /** The last text of the user; null when none was recorded. */
  readonly userText: string | null;
  /** How many messages of the user have text. */
  readonly userTexts: number;
  /** The input ends in text of the user, and what stands before that text is an answer without tool calls. */
  readonly afterAnswer: boolean;
}

/** Reading messages is the dearest part of grouping, and a trace may be grouped many times. */
const read = new WeakMap<AgentSpan, TurnInput>();

export function turnInput(call: AgentSpan): TurnInput {
  let input = read.get(call);
  if (input === undefined) {
    input = readTurnInput(call);
    read.set(call, input);
  }
  return input;
}

function readTurnInput(call: AgentSpan): TurnInput {
  const messages = (call.read('inputMessages')?.value.messages ?? []).filter((message) => message.role !== 'system');
  let userText: string | null = null;
  let userTexts = 0;
  for (const message of messages) {
    const text = textOfUser(message);
    if (text === null) continue;
    userText = text;
    userTexts += 1;
  }
  let end = messages.length;
  while (end > 0 && textOfUser(messages[end - 1] as Message) !== null) end -= 1;
  const before = messages[end - 1];
  const afterAnswer =
    end < messages.length &&
    before?.role === 'assistant' &&
    before.parts.some((part) => part.type === 'text') &&
    !before.parts.some((part) => part.type === 'tool_call');
  return { userText, userTexts, afterAnswer };
}

/**
 * Does `next` begin a turn of its own after the turn that began with `first`? It does when its own history says that
 * the user wrote again after an answer. A chain of prompts that only pass text on has no such history and stays one
 * turn; so does a repeated attempt, which ends in the same text.
 */
export function startsTurn(next: TurnInput, first: TurnInput): boolean {
  if (!next.afterAnswer) return false;
  return next.userText !== first.userText || next.userTexts > first.userTexts;
}

/** A message of the user with text; some recorders give tool results the role of the user. */
function textOfUser(message: Message): string | null {
  if (message.role !== 'user') return null;
  const text = message.parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n')
    .trim();
  return text === '' ? null : text;
}
