/** Rows that the engine took, and those that it refused one by one. */
export interface Isolated<R, E> {
  readonly stored: readonly R[];
  readonly refused: readonly { readonly row: R; readonly failure: E }[];
}

/**
 * Sends `rows`; when they are refused, sends halves of them, down to single rows. So b bad rows among n cost about
 * 2 b log2 n sends, and every other row is stored. Order is kept within `stored` and within `refused`.
 *
 * @param send gives null when the rows are stored, else why they are refused; it retries by itself what will pass.
 */
export async function isolate<R, E>(
  rows: readonly R[],
  send: (rows: readonly R[]) => Promise<E | null>,
): Promise<Isolated<R, E>> {
  if (rows.length === 0) return { stored: [], refused: [] };

  const failure = await send(rows);
  if (failure === null) return { stored: rows, refused: [] };
  if (rows.length === 1) return { stored: [], refused: [{ row: rows[0] as R, failure }] };

  const middle = rows.length >> 1;
  const left = await isolate(rows.slice(0, middle), send);
  const right = await isolate(rows.slice(middle), send);
  return { stored: [...left.stored, ...right.stored], refused: [...left.refused, ...right.refused] };
}

/**
 * Parts `rows` so that no part touches more than `limit` partitions; order is kept within a partition. A flush of
 * years of interactions would otherwise be refused as a whole ("too many partitions for single INSERT block").
 */
export function splitByPartition<R>(rows: readonly R[], partitionOf: (row: R) => string, limit: number): R[][] {
  const partOf = new Map<string, number>();
  const parts: R[][] = [];
  for (const row of rows) {
    const partition = partitionOf(row);
    let part = partOf.get(partition);
    if (part === undefined) {
      part = Math.floor(partOf.size / limit);
      partOf.set(partition, part);
    }
    (parts[part] ??= []).push(row);
  }
  return parts;
}
