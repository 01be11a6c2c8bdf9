import { createHash } from 'node:crypto';
import type { SequenceMode } from '../model/expectation.js';
import type { Json, JsonObject } from '../model/json.js';
import { canonicalJson } from '../model/json.js';
import type { Criterion } from '../model/score.js';
import type { ArgumentRules } from './argument-match.js';
import type { ToolWeights } from './assess-tools.js';
import { boundedPattern } from './bounded-pattern.js';
import { EQUAL_WEIGHTS, weightFaults } from './tool-correctness.js';

/** Raised whenever the same facts under the same settings may get another verdict than before. */
export const RULES_VERSION = 1;

export const CRITERIA: readonly Criterion[] = ['tools', 'arguments', 'answer', 'completion', 'policy'];

/** Whose calls count: those of sub-agents as well, or only those of the turn root's agent. */
export type Owners = 'all' | 'root';

/** Everything that decides a verdict except expectations. Made by `resolvePolicy`. */
export interface ScoringPolicy {
  readonly enabled: Readonly<Record<Criterion, boolean>>;
  /** null: tools, arguments, answer, and policy where the user (or the ground truth) configured one. */
  readonly required: readonly Criterion[] | null;
  readonly tools: {
    readonly threshold: number;
    readonly weights: ToolWeights;
    /** Where the expectation states none. */
    readonly mode: SequenceMode;
    readonly owners: Owners;
    /** Where the ground truth does not say whether the results were used, a rule may find that they were. */
    readonly utilizationByRule: boolean;
  } & { readonly arguments: ArgumentRules };
  readonly arguments: {
    readonly threshold: number;
    /** A call that no rule objects to is correct, although nobody judged its meaning. */
    readonly acceptByRules: boolean;
    readonly owners: Owners;
    /** Score of an interaction without calls; null: it abstains. */
    readonly noCalls: 1 | null;
    /** A call of which the judge cannot tell. */
    readonly undecidable: 'left_out' | 'correct';
  };
  readonly answer: {
    readonly threshold: number;
    /** Sets of labels of which an answer names one (yes/no and true/false are always sets). */
    readonly labels: readonly (readonly string[])[];
  };
  readonly completion: { readonly threshold: number };
  readonly policy: {
    /** Names, or prefixes ending in `*`. null: everything that is not denied. */
    readonly allow: readonly string[] | null;
    readonly deny: readonly string[];
    /** So many calls with equal name, arguments and outcome are a loop; 0: never. */
    readonly loopCalls: number;
  };
  /** Settings of the judge that decide its verdicts; null: none is configured. */
  readonly judge: JsonObject | null;
}

type Partially<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** What an operator writes; all of it has defaults. */
export interface ScoringOptions {
  readonly enabled?: Partially<ScoringPolicy['enabled']> | undefined;
  readonly required?: readonly Criterion[] | null | undefined;
  readonly tools?:
    Partially<Omit<ScoringPolicy['tools'], 'arguments'> & { arguments: Partially<ArgumentRules> }> | undefined;
  readonly arguments?: Partially<ScoringPolicy['arguments']> | undefined;
  readonly answer?: Partially<ScoringPolicy['answer']> | undefined;
  readonly completion?: Partially<ScoringPolicy['completion']> | undefined;
  readonly policy?: Partially<ScoringPolicy['policy']> | undefined;
  readonly judge?: JsonObject | null | undefined;
}

/**
 * The policy with every default filled in and equal policies made equal: weights sum to 1, lists are sorted.
 *
 * Throws RangeError that lists every fault: thresholds outside 0..1, weights, unsafe patterns, empty names, ...
 */
export function resolvePolicy(options: ScoringOptions = {}): ScoringPolicy {
  const { tools, policy } = options;
  const judge = options.judge ?? null;
  const weights = tools?.weights ?? EQUAL_WEIGHTS;
  const resolved: ScoringPolicy = {
    enabled: {
      tools: options.enabled?.tools ?? true,
      arguments: options.enabled?.arguments ?? true,
      answer: options.enabled?.answer ?? true,
      completion: options.enabled?.completion ?? false,
      policy: options.enabled?.policy ?? true,
    },
    required: options.required === undefined || options.required === null ? null : ordered(options.required),
    tools: {
      threshold: tools?.threshold ?? 1,
      weights,
      mode: tools?.mode ?? 'in_order',
      owners: tools?.owners ?? 'all',
      utilizationByRule: tools?.utilizationByRule ?? true,
      arguments: {
        match: tools?.arguments?.match ?? 'exact',
        coerce: tools?.arguments?.coerce ?? false,
        overrides: tools?.arguments?.overrides ?? {},
      },
    },
    arguments: {
      threshold: options.arguments?.threshold ?? 1,
      acceptByRules: options.arguments?.acceptByRules ?? judge === null,
      owners: options.arguments?.owners ?? 'all',
      noCalls: options.arguments?.noCalls ?? null,
      undecidable: options.arguments?.undecidable ?? 'left_out',
    },
    answer: { threshold: options.answer?.threshold ?? 0.7, labels: (options.answer?.labels ?? []).map(sortedNames) },
    completion: { threshold: options.completion?.threshold ?? 0.7 },
    policy: {
      allow: policy?.allow === undefined || policy.allow === null ? null : sortedNames(policy.allow),
      deny: sortedNames(policy?.deny ?? []),
      loopCalls: policy?.loopCalls ?? DEFAULT_LOOP_CALLS,
    },
    judge,
  };
  const faults = faultsOf(resolved);
  if (faults.length > 0) throw new RangeError(faults.join('; '));
  return { ...resolved, tools: { ...resolved.tools, weights: normalised(weights) } };
}

// Polling an unchanged status a few times is no loop.
const DEFAULT_LOOP_CALLS = 6;

function faultsOf(policy: ScoringPolicy): string[] {
  const faults = weightFaults(policy.tools.weights).map((fault) => `tools.${fault}`);
  for (const criterion of ['tools', 'arguments', 'answer', 'completion'] as const) {
    const { threshold } = policy[criterion];
    if (!(threshold >= 0 && threshold <= 1)) faults.push(`${criterion}.threshold must be 0..1, got ${threshold}`);
  }
  if (policy.required?.length === 0) faults.push('required must name at least one criterion');
  for (const criterion of policy.required ?? []) {
    if (!CRITERIA.includes(criterion)) faults.push(`required: ${String(criterion)} is none of ${CRITERIA.join(', ')}`);
    else if (!policy.enabled[criterion]) faults.push(`required: ${criterion} is not enabled`);
  }
  const { loopCalls } = policy.policy;
  if (!(Number.isInteger(loopCalls) && (loopCalls === 0 || loopCalls >= 2))) {
    faults.push(`policy.loopCalls must be 0 (never) or an integer >= 2, got ${loopCalls}`);
  }
  for (const list of ['allow', 'deny'] as const) {
    if (policy.policy[list]?.includes('') === true) faults.push(`policy.${list} must not hold an empty name`);
  }
  for (const [tool, { keys = {} }] of Object.entries(policy.tools.arguments.overrides)) {
    for (const [key, matcher] of Object.entries(keys)) {
      const place = `tools.arguments.overrides.${tool}.keys.${key}`;
      if ('regex' in matcher && boundedPattern(matcher.regex) === null) {
        faults.push(
          `${place}.regex must be a pattern that cannot backtrack without bound (no repeated group that holds a repetition or an alternative, no back reference)`,
        );
      }
      if ('tolerance' in matcher && !(matcher.tolerance >= 0)) {
        faults.push(`${place}.tolerance must be >= 0, got ${matcher.tolerance}`);
      }
    }
  }
  return faults;
}

function ordered(criteria: readonly Criterion[]): readonly Criterion[] {
  const unknown = criteria.filter((criterion) => !CRITERIA.includes(criterion));
  return [...CRITERIA.filter((criterion) => criteria.includes(criterion)), ...unknown];
}

function sortedNames(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

function normalised(weights: ToolWeights): ToolWeights {
  const { selection, parameters, sequence, utilization } = weights;
  const total = selection + parameters + sequence + utilization;
  // Twelve digits, so that 0.7/0.1/0.1/0.1 and 7/1/1/1 are one policy.
  const share = (weight: number) => Number((weight / total).toPrecision(12));
  return {
    selection: share(selection),
    parameters: share(parameters),
    sequence: share(sequence),
    utilization: share(utilization),
  };
}

/** Everything that decides a verdict except expectations, as it is stored beside the policy's hash. */
export function policySettings(policy: ScoringPolicy): Json {
  // Through JSON, so that a member that is undefined is the same as one that is absent.
  return JSON.parse(JSON.stringify({ rulesVersion: RULES_VERSION, ...policy })) as Json;
}

const hashes = new WeakMap<ScoringPolicy, string>();

/** First 12 hex digits of the SHA-256 of the settings as canonical JSON. A new policy starts a new series. */
export function policyHash(policy: ScoringPolicy): string {
  let hash = hashes.get(policy);
  if (hash === undefined) {
    hash = createHash('sha256')
      .update(canonicalJson(policySettings(policy)))
      .digest('hex')
      .slice(0, 12);
    hashes.set(policy, hash);
  }
  return hash;
}
