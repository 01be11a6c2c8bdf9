/** A call as far as order is concerned. */
export interface Placed {
  readonly name: string;
  /** Equal steps are in no order among themselves. */
  readonly step?: number;
}

// n^2 steps per group of equal steps; past this the group is taken in the order of its list.
const MAX_TIED_WORK = 2e7;

/**
 * Length of the longest common subsequence of tool names, made against expected.
 *
 * When every call on both sides has a step, both are ordered by it. Otherwise both are taken in the order of their
 * lists; neighbours in the expected list that share a step still are in any order among themselves.
 *
 * Exact unless both sides have ties that overlap crosswise; then it is the better of two orders of the ties, a lower
 * bound. 0 <= result <= min(made, expected).
 */
export function commonOrder(made: readonly Placed[], expected: readonly Placed[]): number {
  if (sameOrder(made, expected)) return expected.length;
  const byStep =
    expected.length > 0 && made.every((c) => c.step !== undefined) && expected.every((c) => c.step !== undefined);
  if (byStep) {
    const [madeByStep, expectedByStep] = [sorted(made), sorted(expected)];
    if (sameOrder(madeByStep, expectedByStep)) return expected.length;
    return commonOfGroups(tied(madeByStep), tied(expectedByStep));
  }
  return commonOfGroups(
    made.map((call) => [call.name]),
    tied(expected),
  );
}

type Groups = readonly (readonly string[])[];

/** The usual case, told without building anything: equal names in both lists, which no steps reorder. */
function sameOrder(made: readonly Placed[], expected: readonly Placed[]): boolean {
  if (made.length !== expected.length) return false;
  let before: { made: number; expected: number } | undefined;
  for (let i = 0; i < made.length; i += 1) {
    const [m, e] = [made[i] as Placed, expected[i] as Placed];
    if (m.name !== e.name) return false;
    if (m.step === undefined || e.step === undefined) continue;
    if (before !== undefined && (m.step < before.made || e.step < before.expected)) return false;
    before = { made: m.step, expected: e.step };
  }
  return true;
}

function sorted(calls: readonly Placed[]): readonly Placed[] {
  return [...calls].sort((a, b) => (a.step as number) - (b.step as number));
}

function tied(calls: readonly Placed[]): Groups {
  const groups: string[][] = [];
  calls.forEach((call, i) => {
    if (i > 0 && call.step !== undefined && call.step === calls[i - 1]?.step) groups.at(-1)?.push(call.name);
    else groups.push([call.name]);
  });
  return groups;
}

function commonOfGroups(made: Groups, expected: Groups): number {
  const madeTies = made.some((group) => group.length > 1);
  const expectedTies = expected.some((group) => group.length > 1);
  if (!madeTies) return common(made.flat(), expected);
  if (!expectedTies) return common(expected.flat(), made);
  return Math.max(common(inOrderOf(made, expected), expected), common(inOrderOf(expected, made), made));
}

/** Each group's names in the order in which `model` has them. */
function inOrderOf(groups: Groups, model: Groups): readonly string[] {
  const places = new Map<string, number[]>();
  model.flat().forEach((name, place) => {
    const known = places.get(name);
    if (known === undefined) places.set(name, [place]);
    else known.push(place);
  });
  return groups.flatMap((group) =>
    group
      .map((name) => ({ name, place: places.get(name)?.shift() ?? Infinity }))
      .sort((a, b) => (a.place === b.place ? 0 : a.place - b.place))
      .map(({ name }) => name),
  );
}

/** best[i] = the longest common subsequence of the first i names of the list with the groups so far. */
function common(list: readonly string[], groups: Groups): number {
  if (groups.every((group, i) => group.length === 1 && group[0] === list[i])) return groups.length;
  const wanted = new Set(groups.flat());
  const names = list.filter((name) => wanted.has(name));
  const n = names.length;
  const inAnyOrder = n * n * groups.length <= MAX_TIED_WORK;
  let best = new Uint32Array(n + 1);
  for (const group of groups) {
    if (group.length === 1 || !inAnyOrder) for (const name of group) best = withOne(best, names, name);
    else best = withGroup(best, names, group);
  }
  return best[n] as number;
}

function withOne(best: Uint32Array, names: readonly string[], name: string): Uint32Array<ArrayBuffer> {
  const next = new Uint32Array(best.length);
  for (let i = 1; i < best.length; i += 1) {
    const matched = names[i - 1] === name ? (best[i - 1] as number) + 1 : 0;
    next[i] = Math.max(next[i - 1] as number, best[i] as number, matched);
  }
  return next;
}

function withGroup(best: Uint32Array, names: readonly string[], group: readonly string[]): Uint32Array<ArrayBuffer> {
  const next = new Uint32Array(best);
  for (let start = 0; start < names.length; start += 1) {
    const left = new Map<string, number>();
    for (const name of group) left.set(name, (left.get(name) ?? 0) + 1);
    let taken = 0;
    for (let i = start; i < names.length && taken < group.length; i += 1) {
      const count = left.get(names[i] as string) ?? 0;
      if (count > 0) {
        left.set(names[i] as string, count - 1);
        taken += 1;
      }
      next[i + 1] = Math.max(next[i + 1] as number, (best[start] as number) + taken);
    }
  }
  for (let i = 1; i < next.length; i += 1) next[i] = Math.max(next[i] as number, next[i - 1] as number);
  return next;
}
