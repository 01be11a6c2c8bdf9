import { createRequire } from 'node:module';
import type * as Cephes from 'cephes' with { 'resolution-mode': 'require' };

/**
 * Quantiles of Beta(a, b), on the incomplete beta function of the Cephes library.
 *
 * Its own inverse `incbi` is off by up to 0.04 for shapes around 1e6; hence the one below. Measurements of this and of
 * the other libraries that were tried: test/fixtures/estimate/README.md.
 */

let library: typeof Cephes | undefined;

/**
 * Loaded when first asked, because loading compiles WebAssembly (about 40 ms). Its CommonJS build, because the other one
 * compiles behind a promise.
 */
function cephes(): typeof Cephes {
  library ??= createRequire(import.meta.url)('cephes') as typeof Cephes;
  return library;
}

/** A quantile and its distance from 1. The error of the smaller of the two is small beside itself. */
export interface BetaQuantile {
  readonly value: number;
  /** 1 - value, not computed by that subtraction. */
  readonly complement: number;
}

/**
 * The x with I_x(a, b) = p.
 *
 * Domain: a, b > 0 and 0 < p < 1; elsewhere RangeError.
 * I_x is the regularised incomplete beta function, the probability of at most x (NIST DLMF 8.17.2).
 * Measured over test/fixtures/estimate/beta.json (p from 1e-6 to 1 - 1e-6, shapes from 0.5), error absolute, and
 * relative to the smaller of x and 1 - x: shapes up to 1e3 1.6e-12, 6.6e-12; up to 1e4 1.6e-12, 4.2e-11; up to 1e6
 * 4e-10, 3.8e-9.
 */
export function betaQuantile(p: number, a: number, b: number): BetaQuantile {
  assertShapes(a, b);
  if (!(p > 0 && p < 1)) throw new RangeError(`p must be > 0 and < 1, got ${p}`);

  // I_x(a, b) = 1 - I_{1-x}(b, a) (DLMF 8.17.4), so the smaller side is always the one that is solved for.
  if (cephes().incbet(a, b, 0.5) >= p) {
    const value = smallQuantile(p, a, b);
    return { value, complement: 1 - value };
  }
  const complement = smallQuantile(1 - p, b, a);
  return { value: 1 - complement, complement };
}

/**
 * I_x(a, b): the probability that a Beta(a, b) variable is at most x, 0 <= x <= 1.
 *
 * `x` comes with its complement, so that the digits of what is near 1 are not lost. RangeError unless a, b > 0.
 * Measured over test/fixtures/estimate/beta.json, error absolute: shapes up to 1e3 1.1e-12, up to 1e4
 * 1.1e-11, up to 1e5 1.7e-10, up to 1e6 4e-7.
 */
export function betaCdf({ value, complement }: BetaQuantile, a: number, b: number): number {
  assertShapes(a, b);
  return value < complement ? cephes().incbet(a, b, value) : 1 - cephes().incbet(b, a, complement);
}

/** ln B(a, b), a, b > 0. */
export function lnBeta(a: number, b: number): number {
  assertShapes(a, b);
  return cephes().lbeta(a, b);
}

const MIN_LOG = Math.log(Number.MIN_VALUE);
/** Relative to x. Finer than the incomplete beta function itself is for large shapes. */
const TOLERANCE = 1e-12;
/** Six on average over the fixture. */
const NEWTON_ROUNDS = 20;

/** The quantile when it is at most 1/2: Newton's method on the log odds of I over t = ln x, kept within a bracket. */
function smallQuantile(p: number, a: number, b: number): number {
  const { incbet, lbeta, ndtri } = cephes();
  const logBeta = lbeta(a, b);
  const target = Math.log(p / (1 - p));
  let low = MIN_LOG;
  let high = -Math.LN2;
  // A normal ln x with the right mean and spread (delta method) is near enough to start from.
  let t = Math.log(a / (a + b)) + ndtri(p) * Math.sqrt(b / (a * (a + b + 1)));
  if (!(t > low && t < high)) t = Math.min(Math.log(a / (a + b)), high);
  for (let round = 1; ; round += 1) {
    const x = Math.exp(t);
    const reached = incbet(a, b, x);
    if (reached < p) low = t;
    else high = t;
    const density = Math.exp(a * t + (b - 1) * Math.log1p(-x) - logBeta);
    const step = ((target - Math.log(reached / (1 - reached))) * reached * (1 - reached)) / density;
    if (Math.abs(step) <= TOLERANCE) return Math.exp(t + step);
    if (high - low <= TOLERANCE) return Math.exp(t);
    // Bisection ends the loop where Newton's method circles in the rounding noise of I.
    const next = t + step;
    t = round <= NEWTON_ROUNDS && next > low && next < high ? next : (low + high) / 2;
  }
}

function assertShapes(a: number, b: number): void {
  if (!(a > 0 && Number.isFinite(a))) throw new RangeError(`a must be finite and > 0, got ${a}`);
  if (!(b > 0 && Number.isFinite(b))) throw new RangeError(`b must be finite and > 0, got ${b}`);
}
