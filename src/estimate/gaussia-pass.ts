import type { PassFigures, StatisticalMode } from './statistical-mode.js';
import { BayesianMode, FrequentistMode } from './statistical-mode.js';

/**
 * pass@K and pass^K as Gaussia v1.0.0 computes them from c successes in n trials, for figures that are compared with
 * older ones: no success is 0 (also of no trials), nothing but successes is 1, and no K and no count is refused.
 */
export function gaussiaPass(trials: number, correct: number, k: number): { pass_at_k: number; pass_pow_k: number } {
  if (correct === 0) return { pass_at_k: 0, pass_pow_k: 0 };
  if (correct >= trials) return { pass_at_k: 1, pass_pow_k: 1 };
  const p = correct / trials;
  return { pass_at_k: 1 - (1 - p) ** k, pass_pow_k: p ** k };
}

/**
 * The mode as Gaussia has it: the frequentist figures of `gaussiaPass`; the Bayesian ones are certain zeros without
 * trials, and else exact, which Gaussia's 5000 draws come near to. A mode of the user's own stays as it is.
 */
export function asGaussia(mode: StatisticalMode): StatisticalMode {
  if (mode instanceof FrequentistMode) {
    return {
      name: mode.name,
      figures(trials, correct, k): PassFigures {
        const { pass_at_k, pass_pow_k } = gaussiaPass(trials, correct, k);
        return {
          pass_at_k: { mean: pass_at_k, low: null, high: null },
          pass_pow_k: { mean: pass_pow_k, low: null, high: null },
        };
      },
    };
  }
  if (!(mode instanceof BayesianMode)) return mode;
  const zero = { mean: 0, low: 0, high: 0 };
  return {
    name: mode.name,
    figures: (trials, correct, k) =>
      trials <= 0 ? { pass_at_k: zero, pass_pow_k: zero } : mode.figures(trials, correct, k),
  };
}
