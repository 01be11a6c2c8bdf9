import type { Json, JsonObject } from '../model/json.js';
import { isJsonObject } from '../model/json.js';
import type { ToolWeights } from './assess-tools.js';
import type { ToolCorrectness } from './tool-correctness.js';
import { EQUAL_WEIGHTS, reasoningOf, UNNAMED, weightFaults } from './tool-correctness.js';

/** Gaussia's ToolCorrectnessScore, field for field; every part is a number. */
export type GaussiaToolCorrectness = {
  readonly [K in Exclude<keyof ToolCorrectness, 'missing' | 'extra'>]: NonNullable<ToolCorrectness[K]>;
};

/** Every fault of weights that Gaussia cannot bear: as `weightFaults`, and a sum above 1, in its order of addition. */
export function gaussiaWeightFaults(weights: unknown): string[] {
  const faults = weightFaults(weights);
  if (faults.length > 0) return faults;
  const { selection, parameters, sequence, utilization } = weights as ToolWeights;
  const sum = selection + parameters + sequence + utilization;
  return sum > 1 ? [`weights sum to ${sum}, and Gaussia ends at a score above 1`] : [];
}

/**
 * Tool correctness as Gaussia v1.0.0 computes it, for figures that are compared with older ones. `agentic` and `truth`
 * are `agentic` and `ground_truth_agentic` as they stand in the data. What differs from `toolCorrectness`:
 *
 * - parameters: every expected call is compared with the FIRST made call of its tool, as Python compares (true = 1, a
 *   null value = a missing key); a tool that was not called adds one 0, however often it was expected.
 * - sequence: the absolute `step` labels of the i-th calls of each tool; the order of the lists is not read.
 * - utilization: whatever is truthy in Python; nothing stated is 0. Parts of nothing are 0.
 * - weights are not normalised, the threshold has no tolerance.
 *
 * Throws RangeError where Gaussia ends with an exception: unusable weights, compared parameters that are no object.
 */
export function gaussiaToolCorrectness(
  agentic: JsonObject,
  truth: JsonObject,
  { weights = EQUAL_WEIGHTS, threshold = 1 }: { readonly weights?: ToolWeights; readonly threshold?: number } = {},
): GaussiaToolCorrectness {
  const faults = weights === EQUAL_WEIGHTS ? [] : gaussiaWeightFaults(weights);
  if (faults.length > 0) throw new RangeError(faults.join('; '));

  const used = byName(agentic['tools_used']);
  const expected = byName(truth['expected_tools']);
  const both = [...expected.keys()].filter((name) => used.has(name)).length;
  const either = used.size + expected.size - both;
  const selection = either === 0 ? 1 : both / either;
  const matters = truth['tool_sequence_matters'];
  const sequenceMatters = matters === undefined || isTruthy(matters);
  const parameters: number[] = [];
  const sequence: number[] = [];
  for (const [name, wanted] of expected) {
    const made = used.get(name);
    if (made === undefined) {
      parameters.push(0);
      sequence.push(0);
      continue;
    }
    wanted.forEach((call, i) => {
      parameters.push(similarity(parametersOf(call), parametersOf(made[0] as JsonObject)));
      sequence.push(pythonEqual(call['step'] ?? null, made[i]?.['step'] ?? null) ? 1 : 0);
    });
  }
  const parts = {
    selection,
    parameters: mean(parameters),
    sequence: sequenceMatters ? mean(sequence) : 1,
    utilization: isTruthy(agentic['final_answer_uses_tools'] ?? null) ? 1 : 0,
  };
  const overall =
    weights.selection * parts.selection +
    weights.parameters * parts.parameters +
    weights.sequence * parts.sequence +
    weights.utilization * parts.utilization;
  return {
    tool_selection_correct: parts.selection,
    parameter_accuracy: parts.parameters,
    sequence_correct: parts.sequence,
    result_utilization: parts.utilization,
    overall_correctness: overall,
    is_correct: overall >= threshold,
    reasoning: reasoningOf(
      { ...parts, undecided: false },
      { used: named(used), expected: named(expected) },
      sequenceMatters,
    ),
  };
}

/** A call without a name is that of the tool `null`. */
type Calls = ReadonlyMap<string | null, readonly JsonObject[]>;

function byName(list: Json | undefined): Calls {
  const calls = new Map<string | null, JsonObject[]>();
  for (const item of Array.isArray(list) ? (list as readonly Json[]) : []) {
    const call = isJsonObject(item) ? item : {};
    const name = typeof call['tool_name'] === 'string' ? call['tool_name'] : null;
    const known = calls.get(name);
    if (known === undefined) calls.set(name, [call]);
    else known.push(call);
  }
  return calls;
}

function named(calls: Calls): readonly { name: string }[] {
  return [...calls.keys()].map((name) => ({ name: name ?? UNNAMED }));
}

function parametersOf(call: JsonObject): Json {
  return call['parameters'] === undefined ? {} : call['parameters'];
}

function similarity(expected: Json, used: Json): number {
  if (pythonEqual(expected, used)) return 1;
  if (!isJsonObject(expected) || !isJsonObject(used)) {
    throw new RangeError('parameters must be objects: Gaussia ends at other values');
  }
  const keys = new Set([...Object.keys(expected), ...Object.keys(used)]);
  const equal = [...keys].filter((key) => pythonEqual(valueOf(expected, key), valueOf(used, key)));
  return equal.length / keys.size;
}

function valueOf(values: JsonObject, key: string): Json {
  return Object.hasOwn(values, key) ? (values[key] as Json) : null;
}

/** Python's `==` of JSON values: booleans are the numbers 0 and 1. */
function pythonEqual(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => pythonEqual(item as Json, b[i] as Json));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && pythonEqual(a[key] as Json, b[key] as Json));
}

function isNumeric(value: Json): value is number | boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

/** Python's `bool()` of a JSON value. */
function isTruthy(value: Json): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isJsonObject(value) ? Object.keys(value).length > 0 : Boolean(value);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
