import type { ArgumentsMatch, ExpectedCall, SequenceMode } from '../model/expectation.js';
import type { ArgumentRules } from './argument-match.js';
import type { MadeCall, ToolAssessment, ToolWeights } from './assess-tools.js';
import { assessTools } from './assess-tools.js';

/** The batch metric's input: one interaction's calls, and the ground truth's. */
export interface ToolCorrectnessInput {
  readonly used: readonly MadeCall[];
  readonly expected: readonly ExpectedCall[];
  /** Default true. The short form of mode `in_order` (true) and `any_order` (false). */
  readonly sequenceMatters?: boolean;
  /** Stands above `sequenceMatters`. */
  readonly mode?: SequenceMode;
  /** How arguments are compared; default `exact`. */
  readonly argumentsMatch?: ArgumentsMatch;
  /** The answer uses the tools' results; absent: nobody said. */
  readonly utilization?: boolean;
  /** Default 0.25 each. */
  readonly weights?: ToolWeights;
  /** Default 1. */
  readonly threshold?: number;
}

/** Gaussia's ToolCorrectnessScore, field for field. A part is null when it does not apply; the others are renormalised. */
export interface ToolCorrectness {
  readonly tool_selection_correct: number;
  readonly parameter_accuracy: number | null;
  readonly sequence_correct: number | null;
  readonly result_utilization: number | null;
  readonly overall_correctness: number | null;
  /** null when arguments that were not captured decide it. */
  readonly is_correct: boolean | null;
  readonly reasoning: string;
  /** Expected calls that were not made, and calls beyond the expected ones, by name; Gaussia has neither. */
  readonly missing: readonly string[];
  readonly extra: readonly string[];
}

export const EQUAL_WEIGHTS: ToolWeights = { selection: 0.25, parameters: 0.25, sequence: 0.25, utilization: 0.25 };

const STRICT_ARGUMENTS: ArgumentRules = { match: 'exact', coerce: false, overrides: {} };

/** The name of a call that has none; it is never an expected one. */
export const UNNAMED = '<unnamed>';

/** Every fault of tool weights, as sentences; empty when they can be used. */
export function weightFaults(weights: unknown): string[] {
  const given = typeof weights === 'object' && weights !== null ? (weights as Record<string, unknown>) : {};
  const parts = Object.keys(EQUAL_WEIGHTS);
  const faults = parts
    .filter((part) => !(typeof given[part] === 'number' && given[part] >= 0 && Number.isFinite(given[part])))
    .map((part) => `weights.${part} must be a number >= 0, got ${String(given[part])}`);
  for (const key of Object.keys(given)) {
    if (!parts.includes(key)) faults.push(`weights.${key} is none of ${parts.join(', ')}`);
  }
  if (faults.length === 0 && parts.every((part) => given[part] === 0)) faults.push('weights must not all be 0');
  return faults;
}

/**
 * Tool correctness of one interaction with the fields, defaults and wording of Gaussia's metric.
 *
 * Throws RangeError for weights that are missing, negative or all 0, and for a threshold outside 0..1.
 */
export function toolCorrectness(input: ToolCorrectnessInput): ToolCorrectness {
  const { weights = EQUAL_WEIGHTS, threshold = 1, sequenceMatters = true } = input;
  if (weights !== EQUAL_WEIGHTS) {
    const faults = weightFaults(weights);
    if (faults.length > 0) throw new RangeError(faults.join('; '));
  }
  if (!(threshold >= 0 && threshold <= 1)) throw new RangeError(`threshold must be 0..1, got ${threshold}`);
  const mode = input.mode ?? (sequenceMatters ? 'in_order' : 'any_order');
  const match = input.argumentsMatch ?? 'exact';
  const rules = {
    weights,
    threshold,
    mode,
    arguments: match === 'exact' ? STRICT_ARGUMENTS : { ...STRICT_ARGUMENTS, match },
  };
  const assessment = assessTools(input.used, input.expected, rules, input.utilization);
  return {
    tool_selection_correct: assessment.selection,
    parameter_accuracy: assessment.undecided ? null : assessment.parameters,
    sequence_correct: assessment.sequence,
    result_utilization: assessment.utilization,
    overall_correctness: assessment.undecided ? null : assessment.overall,
    is_correct: assessment.undecided ? null : assessment.passed,
    reasoning: reasoningOf(assessment, { used: input.used, expected: counted(input) }, mode !== 'any_order'),
    missing: assessment.missing,
    extra: assessment.extra,
  };
}

/** Without the optional calls of tools that were not called: nobody misses them. */
function counted({ used, expected }: ToolCorrectnessInput): readonly ExpectedCall[] {
  return expected.filter(({ name, optional }) => !optional || used.some((call) => call.name === name));
}

type Parts = Pick<ToolAssessment, 'selection' | 'parameters' | 'sequence' | 'utilization' | 'undecided'>;

/** The parts in Gaussia's words. */
export function reasoningOf(
  parts: Parts,
  calls: { readonly used: readonly { name: string }[]; readonly expected: readonly { name: string }[] },
  sequenceMatters: boolean,
): string {
  return [
    selectionText(
      parts,
      calls.used.map(({ name }) => name),
      calls.expected.map(({ name }) => name),
    ),
    parametersText(parts),
    sequenceText(parts, sequenceMatters),
    parts.utilization === null
      ? '– Utilization: not stated'
      : parts.utilization === 1
        ? '✓ Utilization: tools used in answer'
        : '✗ Utilization: tools not used in answer',
  ].join('; ');
}

function selectionText({ selection }: Parts, usedNames: readonly string[], expectedNames: readonly string[]): string {
  if (selection === 1) return '✓ Tool selection: correct';
  const used = new Set(usedNames);
  const expected = new Set(expectedNames);
  const missing = [...expected].filter((name) => !used.has(name));
  const extra = [...used].filter((name) => !expected.has(name));
  if (extra.length === 0) return `⚠ Tool selection: missing ${setText(missing)}`;
  if (missing.length === 0) return `⚠ Tool selection: extra tools ${setText(extra)}`;
  return `✗ Tool selection: used ${setText(used)}, expected ${setText(expected)}`;
}

function parametersText({ parameters, undecided }: Parts): string {
  if (undecided) return '– Parameters: not captured';
  if (parameters === null) return '– Parameters: nothing expected';
  if (parameters === 1) return '✓ Parameters: correct';
  if (parameters > 0.7) return `⚠ Parameters: mostly correct (${parameters.toFixed(2)})`;
  return `✗ Parameters: incorrect (${parameters.toFixed(2)})`;
}

function sequenceText({ sequence }: Parts, matters: boolean): string {
  if (!matters) return '✓ Sequence: not required';
  if (sequence === null) return '– Sequence: nothing expected';
  return sequence === 1 ? '✓ Sequence: correct' : `✗ Sequence: incorrect (${sequence.toFixed(2)})`;
}

/** As Python writes a set, but in order. */
function setText(names: Iterable<string>): string {
  return `{${[...names]
    .sort()
    .map((name) => `'${name}'`)
    .join(', ')}}`;
}
