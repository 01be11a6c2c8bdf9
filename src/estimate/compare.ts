import type { BetaPrior } from '../model/estimate.js';
import type { BetaQuantile } from './beta.js';
import { betaCdf, betaQuantile, lnBeta } from './beta.js';
import { assertK } from './pass.js';

/** Mass of a posterior, at each of its ends, that is not integrated over. Less, and 1 - TAIL would be 1. */
const TAIL = 1e-15;
/** Where an end cuts the density, the integrand falls as e^-|u| towards it. */
const FAR = 40;
const FIRST_INTERVALS = 64;
/** Never reached over the fixture; it ends the loop in shapes where rounding is coarser than the agreement. */
const MAX_INTERVALS = 2 ** 13;
/** Of two rounds. Convergence is exponential, so the error of the finer one is about the square of this. */
const AGREEMENT = 1e-10;

/**
 * P(pass^K of B < pass^K of A - d) for independent success rates p_A ~ Beta(a_A, b_A) and p_B ~ Beta(a_B, b_B), with F
 * their distribution functions and f their densities:
 *
 *   = int f_B(y) (1 - F_A((y^K + d)^(1/K))) dy over 0 < y < (1-d)^(1/K)
 *   = int f_A(x) F_B((x^K - d)^(1/K)) dx over d^(1/K) < x < 1
 *
 * Taken by the narrower density. With y = y_0 + (y_1 - y_0)/(1 + e^-u) between the ends the integrand falls off at both
 * sides whatever the shapes, and there the trapezoidal rule converges exponentially (Trefethen and Weideman 2014, SIAM
 * Review 56); the points are doubled until two rounds agree. For d = 0 it is P(p_B < p_A), whatever K.
 *
 * Domain: shapes finite and >= 0.05, 0 <= d < 1, K a whole number >= 1; elsewhere RangeError.
 * Accuracy over test/fixtures/estimate/compare.json, error absolute: shapes up to 1e3 8e-13, up to 1e5 4e-10.
 */
export function probabilityOfDrop(ofA: BetaPrior, ofB: BetaPrior, k: number, d: number): number {
  assertK(k);
  if (!(d >= 0 && d < 1)) throw new RangeError(`d must be >= 0 and < 1, got ${d}`);
  for (const [name, shape] of Object.entries({ 'A.a': ofA.a, 'A.b': ofA.b, 'B.a': ofB.a, 'B.b': ofB.b })) {
    if (!(shape >= 0.05 && Number.isFinite(shape)))
      throw new RangeError(`${name} must be finite and >= 0.05, got ${shape}`);
  }
  const probability =
    spread(ofB) <= spread(ofA)
      ? integrate(ofB, { low: 0, highComplement: root(mirrored(share(d)), k).complement }, (y) => {
          const x = root(plus(power(y, k), d), k);
          return betaCdf(mirrored(x), ofA.b, ofA.a);
        })
      : integrate(ofA, { low: root(share(d), k).value, highComplement: 0 }, (x) =>
          betaCdf(root(plus(power(x, k), -d), k), ofB.a, ofB.b),
        );
  return Math.min(1, Math.max(0, probability));
}

/** Variance of the log odds of a Beta(a, b) variable, nearly. */
function spread({ a, b }: BetaPrior): number {
  return 1 / a + 1 / b;
}

interface Ends {
  readonly low: number;
  /** 1 - high. */
  readonly highComplement: number;
}

/** Integral of `weight` over the ends with the density of Beta(a, b); `weight` within 0..1. */
function integrate({ a, b }: BetaPrior, { low, highComplement }: Ends, weight: (p: BetaQuantile) => number): number {
  const width = 1 - low - highComplement;
  // The log odds of a place between the ends.
  const placeOf = ({ value, complement }: BetaQuantile): number =>
    Math.log(Math.max(0, value - low)) - Math.log(Math.max(0, complement - highComplement));
  const lowest = placeOf(betaQuantile(TAIL, a, b));
  const highest = placeOf(mirrored(betaQuantile(TAIL, b, a)));
  const from = low > 0 ? Math.max(lowest, -FAR) : lowest;
  const to = highComplement > 0 ? Math.min(highest, FAR) : highest;
  if (!(from < to)) return 0;

  const lnB = lnBeta(a, b);
  const integrand = (u: number): number => {
    const falling = Math.exp(-Math.abs(u));
    const small = falling / (1 + falling);
    const [above, below] = u < 0 ? [small, 1 - small] : [1 - small, small];
    const p = { value: low + width * above, complement: highComplement + width * below };
    if (p.value === 0 || p.complement === 0) return 0;
    const density = Math.exp((a - 1) * Math.log(p.value) + (b - 1) * Math.log(p.complement) - lnB);
    return density * width * above * below * weight(p);
  };

  let intervals = FIRST_INTERVALS;
  let step = (to - from) / intervals;
  let sum = (integrand(from) + integrand(to)) / 2;
  for (let i = 1; i < intervals; i += 1) sum += integrand(from + i * step);
  for (;;) {
    let between = 0;
    for (let i = 0; i < intervals; i += 1) between += integrand(from + (i + 0.5) * step);
    const before = sum * step;
    sum += between;
    intervals *= 2;
    step /= 2;
    if (Math.abs(sum * step - before) <= AGREEMENT || intervals >= MAX_INTERVALS) return sum * step;
  }
}

function share(value: number): BetaQuantile {
  return { value, complement: 1 - value };
}

function mirrored({ value, complement }: BetaQuantile): BetaQuantile {
  return { value: complement, complement: value };
}

/** ln of a probability, exact near 0 and near 1. */
function ln({ value, complement }: BetaQuantile): number {
  return value < 0.5 ? Math.log(value) : Math.log1p(-complement);
}

function power(p: BetaQuantile, k: number): BetaQuantile {
  const log = k * ln(p);
  return { value: Math.exp(log), complement: -Math.expm1(log) };
}

function root(p: BetaQuantile, k: number): BetaQuantile {
  return power(p, 1 / k);
}

/** p + d, kept within 0..1 against rounding. */
function plus({ value, complement }: BetaQuantile, d: number): BetaQuantile {
  return { value: Math.min(1, Math.max(0, value + d)), complement: Math.min(1, Math.max(0, complement - d)) };
}
