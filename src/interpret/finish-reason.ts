import type { Json } from '../model/json.js';
import { looseJson } from './jsonish.js';

const NORMAL: ReadonlyMap<string, string> = new Map([
  ['tool_call', 'tool_call'],
  ['tool_calls', 'tool_call'],
  ['tool_use', 'tool_call'],
  ['function_call', 'tool_call'],
  ['function_calls', 'tool_call'],
  ['stop', 'stop'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['completed', 'stop'],
  ['eos', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['content_filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['error', 'error'],
]);

/**
 * The reason why a model stopped: `tool_call`, `stop`, `length`, `content_filter`, `error`, or the sender's own word.
 * Takes a word, a list of words (a tool call among several choices decides), or either as JSON text.
 */
export function finishReason(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  const parsed = looseJson(value);
  if (Array.isArray(parsed)) {
    if (parsed.length === 1) return finishReason((parsed as readonly Json[])[0]);
    const reasons = (parsed as readonly Json[]).map(finishReason).filter((reason) => reason !== undefined);
    return reasons.find((reason) => reason === 'tool_call') ?? reasons[0];
  }
  if (typeof parsed !== 'string' || parsed.trim() === '') return undefined;
  const exact = NORMAL.get(parsed);
  if (exact !== undefined) return exact;
  // `[Stop]` and `FinishReason.STOP` are how enums of .NET and Python print themselves.
  const word = parsed
    .trim()
    .replace(/^\[|\]$/g, '')
    .replace(/^\w+\./, '');
  return NORMAL.get(word.toLowerCase().replaceAll('-', '_').replaceAll(' ', '_')) ?? word;
}
