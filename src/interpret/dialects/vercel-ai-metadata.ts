import type { Expectation } from '../../model/expectation.js';
import type { Json } from '../../model/json.js';
import type { Attributes } from '../../model/span.js';
import { argumentsMatch, expectedAnswer, expectedTools, nameList, sequenceMode, stated } from '../expectations.js';
import type { SpanView } from '../span-view.js';

/*
 * What an application attaches itself: `metadata` of the telemetry settings up to v6, `runtimeContext` in v7. The SDK
 * lets it choose the names, so they are compared without regard to case and separators: `sessionId`, `session_id` and
 * `session.id` are one name.
 */

export const METADATA = 'ai.telemetry.metadata.';
export const CONTEXT = 'ai.settings.context.';

type Prefix = typeof METADATA | typeof CONTEXT;

/** Attribute keys by prefix and plain name; by the list of keys, which spans of one instrumentation share. */
const KEYS = new WeakMap<readonly string[], ReadonlyMap<string, string>>();

function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

function keyOf(attributes: Attributes, prefix: Prefix, name: string): string | undefined {
  const keys = attributes.keys();
  let known = KEYS.get(keys);
  if (known === undefined) {
    known = plainKeys(keys);
    KEYS.set(keys, known);
  }
  return known.get(`${prefix}${name}`);
}

function plainKeys(keys: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const key of keys) {
    const prefix = key.startsWith(METADATA) ? METADATA : key.startsWith(CONTEXT) ? CONTEXT : undefined;
    if (prefix === undefined) continue;
    const plain = `${prefix}${plainName(key.slice(prefix.length))}`;
    if (!found.has(plain)) found.set(plain, key);
  }
  return found;
}

/** The first of the names (plain: lower case, without separators) that has a text. */
export function attachedText(view: SpanView, prefix: Prefix, names: readonly string[]): string | undefined {
  for (const name of names) {
    const key = keyOf(view.span.attributes, prefix, name);
    const text = key === undefined ? undefined : view.text(key);
    if (text !== undefined) return text;
  }
  return undefined;
}

function attached(view: SpanView, prefix: Prefix, names: readonly string[]): Json | undefined {
  for (const name of names) {
    const key = keyOf(view.span.attributes, prefix, name);
    const value = key === undefined ? undefined : view.get(key);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/** A name as it may be written where any name may be: as our own attribute, with `eval.` alone, perhaps plain. */
const own = (name: string): readonly string[] => [`tracegradeeval${name}`, `eval${name}`];
const ownOrPlain = (name: string): readonly string[] => [...own(name), name];

export const CASE_ID = own('caseid');
export const DATASET = own('dataset');
export const RUN_ID = own('runid');
export const TASK = ownOrPlain('task');

const ANSWER = [...ownOrPlain('expectedoutput'), 'groundtruth', 'reference'];
const TOOLS = ownOrPlain('expectedtools');
const MODE = ownOrPlain('expectedtoolsmode');
const MATCH = ownOrPlain('expectedargumentsmatch');
const FORBIDDEN = own('forbiddentools');
const ALLOWED = own('allowedtools');
const RESULTS_USED = own('resultsused');

/** Ground truth among what the application attached. */
export function attachedExpectation(view: SpanView, prefix: Prefix): Expectation | undefined {
  const resultsUsed = attached(view, prefix, RESULTS_USED);
  return stated({
    answer: expectedAnswer(attached(view, prefix, ANSWER)),
    tools: expectedTools(attached(view, prefix, TOOLS)),
    mode: sequenceMode(attachedText(view, prefix, MODE)),
    argumentsMatch: argumentsMatch(attachedText(view, prefix, MATCH)),
    forbiddenTools: nameList(attached(view, prefix, FORBIDDEN)),
    allowedTools: nameList(attached(view, prefix, ALLOWED)),
    resultsUsed: typeof resultsUsed === 'boolean' ? resultsUsed : undefined,
  });
}
