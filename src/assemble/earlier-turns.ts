import type { AgentSpan } from '../model/agent-span.js';
import type { EarlierTurn } from '../model/interaction.js';
import type { Messages } from '../model/message.js';
import { asksForTool, lastUserTextIndex, messageText } from '../model/message-text.js';
import type { ModelCall } from './model-calls.js';

const MOST_TURNS = 6;
const MOST_CHARS = 2_000;

/**
 * The turns before this one that its own spans tell of: the history that was sent to the first model call whose input
 * was captured whole, up to this turn's question; else that of the root. At most the last 6, and of each text at most
 * 2000 characters, with a mark of how many were left out.
 *
 * From the spans alone, so that the same spans give the same turns whatever else is in the store, or is not there yet.
 */
export function findEarlierTurns(root: AgentSpan | null, models: readonly ModelCall[]): readonly EarlierTurn[] {
  for (const model of models) {
    if (model.underTool) continue;
    const { input } = model;
    if (input !== undefined && input.messages.length > 0) return turnsBefore(input);
  }
  const own = root?.read('inputMessages')?.value;
  return own === undefined ? [] : turnsBefore(own);
}

function turnsBefore({ messages, complete }: Messages): readonly EarlierTurn[] {
  // Of a list that was cut nobody can tell which question is this turn's.
  if (!complete) return [];
  const turns: EarlierTurn[] = [];
  let answer: string | null = null;
  for (let i = lastUserTextIndex(messages) - 1; i >= 0 && turns.length < MOST_TURNS; i -= 1) {
    const message = messages[i];
    if (message === undefined || (message.role !== 'user' && message.role !== 'assistant')) continue;
    const text = messageText(message);
    if (text === '') continue;
    // What stands beside a call for a tool is no answer, and of several texts the last one is.
    if (message.role === 'assistant') answer ??= asksForTool(message) ? null : cut(text);
    else {
      turns.push({ query: cut(text), answer });
      answer = null;
    }
  }
  // The history begins with something that the agent said.
  if (answer !== null && turns.length < MOST_TURNS) turns.push({ query: null, answer });
  return turns.reverse();
}

function cut(text: string): string {
  if (text.length <= MOST_CHARS) return text;
  const kept = text.slice(0, MOST_CHARS).toWellFormed();
  return `${kept}[... ${text.length - MOST_CHARS} characters left out ...]`;
}
