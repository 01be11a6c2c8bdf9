import type { ExpectedCall, SequenceMode } from '../model/expectation.js';
import type { Json } from '../model/json.js';
import { canonicalJson } from '../model/json.js';
import type { ArgumentRules, Comparison } from './argument-match.js';
import { alike, comparisonOf, similarity } from './argument-match.js';
import { assign } from './assignment.js';
import { waysToCount } from './optional-calls.js';
import { commonOrder } from './sequence.js';

/** A call that was made. */
export interface MadeCall {
  readonly name: string;
  /** `undefined`: not captured, so nothing can be said about them. */
  readonly arguments: Json | undefined;
  readonly step?: number;
}

/** Each >= 0, not all 0. They need not sum to 1: the parts that apply are renormalised. */
export interface ToolWeights {
  readonly selection: number;
  readonly parameters: number;
  readonly sequence: number;
  readonly utilization: number;
}

export interface ToolRules {
  readonly weights: ToolWeights;
  /** 0..1; compared with a tolerance of 1e-9. */
  readonly threshold: number;
  readonly mode: SequenceMode;
  readonly arguments: ArgumentRules;
}

/** An expected call and the made one that it was paired with. */
export interface CallMatch {
  /** Index in the expected calls. */
  readonly expected: number;
  /** Index in the made calls; null: not made. */
  readonly made: number | null;
  /** 0..1; null: the made call's arguments were not captured. */
  readonly similarity: number | null;
}

/** Parts are 0..1; null: the part does not apply. */
export interface ToolAssessment {
  readonly selection: number;
  readonly parameters: number | null;
  readonly sequence: number | null;
  readonly utilization: number | null;
  /** Weighted mean of the parts that apply; null when all of their weights are 0. */
  readonly overall: number | null;
  readonly passed: boolean;
  /** Names of expected calls that were not made, once each time. */
  readonly missing: readonly string[];
  /** Names of made calls beyond the expected ones, once each time. */
  readonly extra: readonly string[];
  readonly matches: readonly CallMatch[];
  /** Arguments that were not captured decide the value of `parameters`: it must not be used. */
  readonly undecided: boolean;
}

export const THRESHOLD_TOLERANCE = 1e-9;

// Pairs of calls of one tool; past this, equal calls are paired and the rest in order (a lower bound).
const MAX_PAIRS = 100_000;

/**
 * Compares the calls that were made with those that were expected, after Gaussia's ToolCorrectnessScore:
 *
 * - selection: |names made and expected| / |names made or expected|, as sets; mode `subset` leaves names that were not
 *   made out of the union, `superset` those that were not expected.
 * - parameters: the best one-to-one pairing of made and expected calls of the same tool, summed / expected calls. An
 *   expected call without arguments is matched by its name. Nothing expected: does not apply.
 * - sequence: longest common subsequence of names / expected calls; 1 under `any_order`. Nothing expected: does not apply.
 * - utilization: as stated; does not apply without a statement or without a call (but see `withResultsUsed`).
 *
 * Under `subset`, parameters and sequence look only at as many expected calls as were made of each tool.
 * `exact_order` also needs sequence 1 and no extra call to pass.
 * An optional call that was not made is not expected; made, it counts as the others do. Of several optional calls of one
 * tool those count that fit best.
 */
export function assessTools(
  made: readonly MadeCall[],
  expected: readonly ExpectedCall[],
  rules: ToolRules,
  resultsUsed?: boolean,
): ToolAssessment {
  if (!expected.some((call) => call.optional)) return assessCalls(made, expected, rules, resultsUsed);
  let best: ToolAssessment | undefined;
  for (const way of waysToCount(made, expected)) {
    const counted = way.map((i) => expected[i] as ExpectedCall);
    const found = assessCalls(made, counted, rules, resultsUsed);
    if (best !== undefined && rankOf(found) <= rankOf(best)) continue;
    best = { ...found, matches: found.matches.map((match) => ({ ...match, expected: way[match.expected] as number })) };
    if (found.passed && found.overall === 1) break;
  }
  return best as ToolAssessment;
}

/** What passes, then what might, then the higher mean: under `exact_order` that may be one that does not pass. */
function rankOf({ passed, undecided, overall }: ToolAssessment): number {
  return (passed ? 4 : undecided ? 2 : 0) + (overall ?? 0);
}

function assessCalls(
  made: readonly MadeCall[],
  expected: readonly ExpectedCall[],
  rules: ToolRules,
  resultsUsed?: boolean,
): ToolAssessment {
  const { mode } = rules;
  const tools = byTool(made, expected);
  const selection = selectionOf(tools, mode);
  const missing: string[] = [];
  const extra: string[] = [];
  const matches: CallMatch[] = [];
  let counted = 0;
  let total = 0;
  let unknown = 0;
  for (const [name, tool] of tools) {
    const pairs = Math.min(tool.made.length, tool.expected.length);
    for (let i = pairs; i < tool.expected.length; i += 1) missing.push(name);
    for (let i = pairs; i < tool.made.length; i += 1) extra.push(name);
    counted += mode === 'subset' ? pairs : tool.expected.length;
    if (tool.expected.length === 0) continue;
    const paired = pairCalls(tool, new Calls(made, expected, comparisonOf(name, rules.arguments)));
    total += paired.total;
    unknown += paired.unknown;
    for (const match of paired.matches) matches.push(match);
  }
  const parameters = counted === 0 ? null : total / counted;
  const sequence = mode === 'any_order' ? 1 : counted === 0 ? null : commonOrder(made, expected) / counted;
  const utilization = made.length === 0 || resultsUsed === undefined ? null : resultsUsed ? 1 : 0;
  const overall = weightedMean(rules.weights, { selection, parameters, sequence, utilization });
  const inExactOrder = mode !== 'exact_order' || ((sequence ?? 1) === 1 && extra.length === 0);
  return {
    selection,
    parameters,
    sequence,
    utilization,
    overall,
    passed: overall !== null && inExactOrder && overall >= rules.threshold - THRESHOLD_TOLERANCE,
    missing,
    extra,
    matches: tools.size === 1 ? matches : matches.sort((a, b) => a.expected - b.expected),
    undecided: unknown > 0,
  };
}

/**
 * The assessment where a rule found that the answer uses the results: utilization is 1, and counts in the mean.
 *
 * A rule that can only accept must not decide, or agents whose answers happen to state values pass more often. So it
 * stays out where it alone would lift the mean to the threshold, or make a mean where there was none.
 */
export function withResultsUsed(assessment: ToolAssessment, { weights, threshold }: ToolRules): ToolAssessment {
  const least = threshold - THRESHOLD_TOLERANCE;
  const overall = weightedMean(weights, { ...assessment, utilization: 1 });
  if (assessment.overall === null || overall === null) return assessment;
  if (assessment.overall < least && overall >= least) return assessment;
  return { ...assessment, utilization: 1, overall };
}

interface CallsOfTool {
  readonly made: number[];
  readonly expected: number[];
}

function byTool(made: readonly MadeCall[], expected: readonly ExpectedCall[]): ReadonlyMap<string, CallsOfTool> {
  const tools = new Map<string, CallsOfTool>();
  for (let i = 0; i < expected.length; i += 1) callsOf(tools, (expected[i] as ExpectedCall).name).expected.push(i);
  for (let i = 0; i < made.length; i += 1) callsOf(tools, (made[i] as MadeCall).name).made.push(i);
  return tools;
}

function callsOf(tools: Map<string, CallsOfTool>, name: string): CallsOfTool {
  let known = tools.get(name);
  if (known === undefined) tools.set(name, (known = { made: [], expected: [] }));
  return known;
}

function selectionOf(tools: ReadonlyMap<string, CallsOfTool>, mode: SequenceMode): number {
  let both = 0;
  let onlyMade = 0;
  let onlyExpected = 0;
  for (const { made, expected } of tools.values()) {
    if (made.length > 0 && expected.length > 0) both += 1;
    else if (made.length > 0) onlyMade += 1;
    else onlyExpected += 1;
  }
  const either = both + (mode === 'superset' ? 0 : onlyMade) + (mode === 'subset' ? 0 : onlyExpected);
  return either === 0 ? 1 : both / either;
}

interface Paired {
  readonly total: number;
  /** By how much arguments that were not captured could raise the total. */
  readonly unknown: number;
  readonly matches: readonly CallMatch[];
}

/** The calls of one tool, compared by their indices. */
class Calls {
  constructor(
    private readonly made: readonly MadeCall[],
    private readonly expected: readonly ExpectedCall[],
    private readonly how: Comparison,
  ) {}

  alike(e: number, m: number): boolean {
    const wanted = this.expected[e]?.arguments;
    if (wanted === undefined || wanted === null) return true;
    const given = this.made[m]?.arguments;
    return given === undefined ? this.how.match === 'ignore' : alike(wanted, given, this.how);
  }

  /** 0..1; null when the made call's arguments were not captured and matter. */
  similarity(e: number, m: number): number | null {
    const wanted = this.expected[e]?.arguments;
    if (wanted === undefined || wanted === null) return 1;
    const given = this.made[m]?.arguments;
    if (given === undefined) return this.how.match === 'ignore' ? 1 : null;
    return similarity(wanted, given, this.how);
  }

  expectedText(e: number): string {
    return canonicalJson(this.expected[e]?.arguments ?? null);
  }

  madeText(m: number): string {
    return canonicalJson(this.made[m]?.arguments ?? null);
  }
}

function pairCalls(tool: CallsOfTool, calls: Calls): Paired {
  if (tool.expected.length === 1 && tool.made.length === 1) {
    const [e, m] = [tool.expected[0] as number, tool.made[0] as number];
    const found = calls.similarity(e, m);
    return {
      total: found ?? 0,
      unknown: found === null ? 1 : 0,
      matches: [{ expected: e, made: m, similarity: found }],
    };
  }
  const alikes = pairedAlike(tool, calls);
  if (alikes !== null) return alikes;
  if (tool.expected.length * tool.made.length > MAX_PAIRS) return pairMany(tool, calls);

  const [rows, columns] = [tool.expected.length, tool.made.length];
  const atLeast = new Float64Array(rows * columns);
  const unknownAt = new Set<number>();
  for (let i = 0; i < atLeast.length; i += 1) {
    const found = calls.similarity(tool.expected[Math.floor(i / columns)] as number, tool.made[i % columns] as number);
    if (found === null) unknownAt.add(i);
    else atLeast[i] = found;
  }
  const columnOf = assign(rows, columns, atLeast);
  const total = sum(columnOf, columns, atLeast);
  const matches = tool.expected.map((e, row): CallMatch => {
    const column = columnOf[row] as number;
    if (column < 0) return { expected: e, made: null, similarity: 0 };
    const at = row * columns + column;
    return {
      expected: e,
      made: tool.made[column] as number,
      similarity: unknownAt.has(at) ? null : (atLeast[at] as number),
    };
  });
  if (unknownAt.size === 0) return { total, unknown: 0, matches };
  const atMost = atLeast.map((known, i) => (unknownAt.has(i) ? 1 : known));
  const gap = sum(assign(rows, columns, atMost), columns, atMost) - total;
  return { total, unknown: gap > THRESHOLD_TOLERANCE ? gap : 0, matches };
}

/** The usual case: as many calls as can be paired have an equal partner of their own. No pairing is better. */
function pairedAlike(tool: CallsOfTool, calls: Calls): Paired | null {
  const pairs = Math.min(tool.expected.length, tool.made.length);
  if (pairs * tool.made.length > MAX_PAIRS) return null;
  const free = [...tool.made];
  const matches: CallMatch[] = [];
  for (const e of tool.expected) {
    const at = free.findIndex((m) => calls.alike(e, m));
    if (at < 0) {
      if (tool.expected.length === pairs) return null;
      matches.push({ expected: e, made: null, similarity: 0 });
    } else {
      matches.push({ expected: e, made: free[at] as number, similarity: 1 });
      free.splice(at, 1);
    }
  }
  const total = tool.made.length - free.length;
  return total === pairs ? { total, unknown: 0, matches } : null;
}

function pairMany(tool: CallsOfTool, calls: Calls): Paired {
  const free = new Map<string, number[]>();
  for (const m of [...tool.made].reverse()) {
    const text = calls.madeText(m);
    const known = free.get(text);
    if (known === undefined) free.set(text, [m]);
    else known.push(m);
  }
  const taken = new Set<number>();
  const equalTo = tool.expected.map((e) => {
    const m = free.get(calls.expectedText(e))?.pop();
    if (m !== undefined) taken.add(m);
    return m;
  });
  const rest = tool.made.filter((m) => !taken.has(m)).reverse();
  const matches = tool.expected.map((e, i): CallMatch => {
    const m = equalTo[i] ?? rest.pop();
    if (m === undefined) return { expected: e, made: null, similarity: 0 };
    return { expected: e, made: m, similarity: calls.similarity(e, m) };
  });
  return {
    total: matches.reduce((all, match) => all + (match.similarity ?? 0), 0),
    unknown: matches.filter((match) => match.similarity === null).length,
    matches,
  };
}

function sum(columnOf: readonly number[], columns: number, weights: Float64Array): number {
  return columnOf.reduce((all, column, row) => all + (column < 0 ? 0 : (weights[row * columns + column] as number)), 0);
}

function weightedMean(weights: ToolWeights, parts: Readonly<Record<keyof ToolWeights, number | null>>): number | null {
  let total = 0;
  let weight = 0;
  for (const part of ['selection', 'parameters', 'sequence', 'utilization'] as const) {
    const value = parts[part];
    if (value === null) continue;
    total += weights[part] * value;
    weight += weights[part];
  }
  return weight === 0 ? null : total / weight;
}
