import type { BetaPrior } from '../model/estimate.js';
import type { EstimateRules } from './pass.js';
import { assertRules, estimate } from './pass.js';

/** A figure, 0..1, with the ends of its interval; null: the mode gives none. */
export interface PassFigure {
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

export interface PassFigures {
  readonly pass_at_k: PassFigure;
  readonly pass_pow_k: PassFigure;
}

/**
 * How pass@K and pass^K are made from counts. Gaussia's page calls this pluggable: write an object with these two
 * members for a mode of your own. `figures` is called with whole numbers, trials >= 1, 0 <= correct <= trials, k >= 1;
 * it must depend on nothing else, so that equal conversations get equal figures.
 */
export interface StatisticalMode {
  /** As reports name it. */
  readonly name: string;
  figures(trials: number, correct: number, k: number): PassFigures;
}

/** p = c/n, put into the formulas: a point without an interval. Undefined (null) without trials. */
export class FrequentistMode implements StatisticalMode {
  readonly name = 'frequentist';

  figures(trials: number, correct: number, k: number): PassFigures {
    return figuresOf(trials, correct, { ...UNIFORM_95, ks: [k], mode: 'frequentist' });
  }
}

/** Posterior mean and equal-tailed interval for p ~ Beta(a + c, b + n - c): exact, no draws. */
export class BayesianMode implements StatisticalMode {
  readonly name = 'bayesian';
  /** Mass of the interval. */
  readonly level: number;
  readonly prior: BetaPrior;

  /** Throws RangeError unless 0 < level < 1, a > 0 and b > 0. Default: 0.95 and Beta(1, 1). */
  constructor({ level, prior }: { readonly level?: number; readonly prior?: BetaPrior } = {}) {
    this.level = level ?? UNIFORM_95.level;
    this.prior = prior ?? UNIFORM_95.prior;
    assertRules({ ks: [], mode: 'bayesian', level: this.level, prior: this.prior });
  }

  figures(trials: number, correct: number, k: number): PassFigures {
    return figuresOf(trials, correct, { ks: [k], mode: 'bayesian', level: this.level, prior: this.prior });
  }
}

const UNIFORM_95 = { level: 0.95, prior: { a: 1, b: 1 } } as const;

function figuresOf(trials: number, correct: number, rules: EstimateRules): PassFigures {
  const [at, pow] = estimate({ trials, correct, outstanding: 0, outstandingIncorrect: 0 }, rules);
  const figure = (found: typeof at): PassFigure => ({
    mean: found?.mean ?? null,
    low: found?.lower ?? null,
    high: found?.upper ?? null,
  });
  return { pass_at_k: figure(at), pass_pow_k: figure(pow) };
}
