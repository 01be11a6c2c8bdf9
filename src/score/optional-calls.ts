import type { ExpectedCall } from '../model/expectation.js';
import { canonicalJson, type Json } from '../model/json.js';

// More ways than a person would write; past it only the likeliest is looked at, so that one turn cannot stop the others.
const MAX_WAYS = 100;

/** A call that was made; `undefined` arguments were not captured. */
interface Made {
  readonly name: string;
  readonly arguments: Json | undefined;
}

/**
 * The ways to read expected calls of which some are optional: each is the indices of the calls that count, ascending, the
 * likeliest first. All required calls count; of a tool's optional ones as many as calls were made beyond the required
 * ones, and the rest is not missed. Which of them were meant is for the caller to find: the way that fits best.
 *
 * One way when there are more than 100: optional calls with a made call's arguments go before the others.
 */
export function waysToCount(made: readonly Made[], expected: readonly ExpectedCall[]): readonly (readonly number[])[] {
  const required: number[] = [];
  const optional = new Map<string, number[]>();
  const spare = new Map<string, number>();
  for (const { name } of made) spare.set(name, (spare.get(name) ?? 0) + 1);
  expected.forEach((call, i) => {
    if (!call.optional) {
      required.push(i);
      spare.set(call.name, (spare.get(call.name) ?? 0) - 1);
    } else optional.set(call.name, [...(optional.get(call.name) ?? []), i]);
  });

  const perTool = [...optional].map(([name, indices]) => {
    const count = Math.min(indices.length, Math.max(0, spare.get(name) ?? 0));
    return { count, indices: count === indices.length ? indices : likelyFirst(indices, made, expected) };
  });
  const all = perTool.reduce((ways, { indices, count }) => ways * binomial(indices.length, count), 1);
  const ways = perTool.reduce<readonly (readonly number[])[]>(
    (before, { indices, count }) => {
      const picks = all > MAX_WAYS ? [indices.slice(0, count)] : combinations(indices, count);
      return before.flatMap((way) => picks.map((pick) => [...way, ...pick]));
    },
    [required],
  );
  return ways.map((way) => [...way].sort((a, b) => a - b));
}

function likelyFirst(indices: readonly number[], made: readonly Made[], expected: readonly ExpectedCall[]) {
  const texts = new Set(made.map((call) => `${call.name} ${canonicalJson(call.arguments ?? null)}`));
  const likely = (i: number) => texts.has(`${expected[i]?.name} ${canonicalJson(expected[i]?.arguments ?? null)}`);
  return [...indices.filter(likely), ...indices.filter((i) => !likely(i))];
}

/** n! / (k! (n - k)!), with no more exactness than a comparison with a small bound needs. */
function binomial(n: number, k: number): number {
  let ways = 1;
  for (let i = 1; i <= k; i += 1) ways = (ways * (n - k + i)) / i;
  return ways;
}

function combinations(items: readonly number[], count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]];
  return items
    .slice(0, items.length - count + 1)
    .flatMap((item, i) => combinations(items.slice(i + 1), count - 1).map((rest) => [item, ...rest]));
}
