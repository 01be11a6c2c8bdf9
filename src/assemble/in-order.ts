/** As `toSorted`; a list that is in order already, as most are, comes back as it is. */
export function inOrder<T>(list: readonly T[], compare: (a: T, b: T) => number): readonly T[] {
  for (let at = 1; at < list.length; at += 1) {
    if (compare(list[at - 1] as T, list[at] as T) > 0) return list.toSorted(compare);
  }
  return list;
}
