import { isCutJson } from '../model/json-text.js';
import { isJsonObject, type Json } from '../model/json.js';
import type { RecordedArguments } from '../model/message.js';
import { jsonish, looksLikeJson, ownJson, parseJson } from './jsonish.js';
import { isPlaceholder } from './placeholders.js';
import { pythonLiteral } from './python-literal.js';
import { sharedByText, WITHIN_A_TURN } from './shared-by-text.js';

/** `model`: the text stands in a model's own output; `recorder`: an instrumentation wrote it down. */
export type Origin = 'model' | 'recorder';

const NOT_CAPTURED: RecordedArguments = { status: 'not_captured' };
/** Python's json.dumps writes these without being asked; no model does. */
const NON_FINITE = /(?<=[[,:]\s*)-?(?:NaN|Infinity)(?=\s*[\],}])/g;

/** Says what a recorded value is worth as a tool's arguments. Only a model's own text can be malformed. */
export function recordedArguments(value: Json | undefined, origin: Origin): RecordedArguments {
  if (value === undefined || value === null) return NOT_CAPTURED;
  return typeof value === 'string' ? argumentsIn[origin](value) : captured(value);
}

const argumentsIn: Readonly<Record<Origin, (text: string) => RecordedArguments>> = {
  model: sharedByText(WITHIN_A_TURN, (text) => argumentsInText(text, 'model')),
  recorder: sharedByText(WITHIN_A_TURN, (text) => argumentsInText(text, 'recorder')),
};

function argumentsInText(whole: string, origin: Origin): RecordedArguments {
  const text = whole.trim();
  if (text === '' || text === 'null') return { status: 'empty' };
  if (isPlaceholder(text)) return NOT_CAPTURED;
  const parsed = jsonish(text);
  if (typeof parsed !== 'string') return captured(parsed);
  if (parsed !== text) return { status: 'captured', value: parsed };
  if (isCutJson(text)) return { status: 'truncated', text };
  if (looksLikeJson(text) && parseJson(text.replace(NON_FINITE, 'null')) !== undefined) {
    return { status: 'garbled', text };
  }
  const scalar = parseJson(text);
  if (scalar !== undefined) return captured(scalar);
  if (origin === 'model') return { status: 'malformed', text };
  const literal = looksLikeJson(text) ? pythonLiteral(text) : undefined;
  return literal === undefined || typeof literal === 'string' ? { status: 'garbled', text } : captured(literal);
}

function captured(value: Json): RecordedArguments {
  const own = ownJson(value);
  return own === undefined ? NOT_CAPTURED : { status: 'captured', value: own };
}

const WRAPPER_KEYS = new Set(['args', 'kwargs', 'sanitize_inputs_outputs']);

/**
 * Takes the keyword arguments out of a recorded Python call: `{"kwargs": {...}}`, `{"args": [], "kwargs": {...}}`
 * (with smolagents' flag), or out of LangChain's `{"input": "<JSON object>"}`. Positional arguments stay wrapped:
 * their names are not recorded.
 */
export function unwrapCall(value: Json): Json {
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === 'input' && typeof value.input === 'string') {
    const inner = jsonish(value.input);
    return isJsonObject(inner) ? inner : value;
  }
  if (!keys.includes('kwargs') || !keys.every((key) => WRAPPER_KEYS.has(key))) return value;
  const args = value.args;
  const positional = Array.isArray(args) ? args.length : 0;
  return positional === 0 && isJsonObject(value.kwargs) ? value.kwargs : value;
}

/** As `recordedArguments`, for the input of a recorded function call. */
export function recordedCall(value: Json | undefined): RecordedArguments {
  const recorded = recordedArguments(value, 'recorder');
  return recorded.status === 'captured' ? { status: 'captured', value: unwrapCall(recorded.value) } : recorded;
}
