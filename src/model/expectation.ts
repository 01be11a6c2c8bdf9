import type { Json } from './json.js';

/** One call that should be made. */
export interface ExpectedCall {
  readonly name: string;
  /** Absent or null: any arguments will do. `{}`: none. */
  readonly arguments?: { readonly [key: string]: Json } | null;
  /** May be left out without fault. */
  readonly optional?: boolean;
  /** Position in the order; equal steps in any order. Absent: order of the list. */
  readonly step?: number;
}

/** How the made calls have to follow the expected ones; `in_order` is the default. */
export type SequenceMode = 'exact_order' | 'in_order' | 'any_order' | 'subset' | 'superset';

/** How arguments are compared; `exact` is the default. */
export type ArgumentsMatch = 'exact' | 'subset' | 'superset' | 'ignore';

/**
 * Ground truth for one interaction. Each member is absent when nobody stated it; an empty list is a statement
 * ("no tool is expected", "no tool is allowed").
 */
export interface Expectation {
  readonly answer?: string;
  readonly tools?: readonly ExpectedCall[];
  readonly mode?: SequenceMode;
  readonly argumentsMatch?: ArgumentsMatch;
  readonly forbiddenTools?: readonly string[];
  readonly allowedTools?: readonly string[];
  /** Members that were stated in a way that cannot be read: cut, or of another shape. Nothing is graded against them. */
  readonly unreadable?: readonly string[];
  /** Stated by the ground truth's author: the final answer uses the tools' results. */
  readonly resultsUsed?: boolean;
}
