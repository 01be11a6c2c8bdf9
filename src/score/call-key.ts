import type { ToolCall } from '../model/interaction.js';
import type { Json } from '../model/json.js';
import { canonicalJson } from '../model/json.js';

/**
 * Equal for calls of one tool with equal arguments (and equal `also`). null when the arguments were not captured, or nest
 * too deep to be written.
 */
export function callKey(call: ToolCall, also: Json = null): string | null {
  if (call.argumentsStatus !== 'captured' && call.argumentsStatus !== 'malformed') return null;
  try {
    return canonicalJson([call.name, call.arguments, also]);
  } catch {
    return null;
  }
}
