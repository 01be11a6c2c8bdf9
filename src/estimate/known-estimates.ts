import type { Counts, Estimate } from '../model/estimate.js';
import type { EstimateRules } from './pass.js';
import { estimate } from './pass.js';

/** As `estimate`. */
export type EstimateOf = (counts: Counts, rules: EstimateRules) => readonly Estimate[];

/** Some kilobytes each. */
const MOST_KNOWN = 10_000;

/**
 * `estimate`, computed once for the same counts: windows by count hold few different ones, and most of the time goes
 * into the ends of intervals. For rules that differ in nothing but their mode.
 */
export function knownEstimates(): EstimateOf {
  const known = new Map<string, readonly Estimate[]>();
  return (counts, rules) => {
    const { trials, correct, outstanding, outstandingIncorrect } = counts;
    const key = `${rules.mode} ${trials} ${correct} ${outstanding} ${outstandingIncorrect}`;
    const figures = known.get(key) ?? estimate(counts, rules);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(key, figures);
    return figures;
  };
}
