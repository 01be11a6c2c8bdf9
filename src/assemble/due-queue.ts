/** Something that has to be looked at again at `dueMs`; `name` orders those of one moment. */
export interface Due {
  dueMs: number;
  readonly name: string;
}

interface Entry<T> {
  readonly atMs: number;
  readonly item: T;
}

/**
 * A binary min-heap of the times at which items are due. An item may stand in it more than once: an entry counts only
 * while it still equals the item's own `dueMs`, the others are skipped when they surface. O(log n) an operation.
 */
export class DueQueue<T extends Due> {
  private readonly heap: Entry<T>[] = [];

  /** Sets the item's time; Infinity means never. */
  schedule(item: T, atMs: number): void {
    item.dueMs = atMs;
    if (atMs === Infinity) return;
    this.heap.push({ atMs, item });
    this.up(this.heap.length - 1);
  }

  /** The least time, or null when nothing is due ever. */
  nextMs(): number | null {
    this.skipStale();
    return this.heap[0]?.atMs ?? null;
  }

  /** Takes the first item that is due at `nowMs`; its own time becomes Infinity. */
  take(nowMs: number): { readonly item: T; readonly atMs: number } | undefined {
    this.skipStale();
    const first = this.heap[0];
    if (first === undefined || first.atMs > nowMs) return undefined;
    this.pop();
    first.item.dueMs = Infinity;
    return first;
  }

  private skipStale(): void {
    for (let first = this.heap[0]; first !== undefined && first.atMs !== first.item.dueMs; first = this.heap[0]) {
      this.pop();
    }
  }

  private pop(): void {
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return;
    this.heap[0] = last;
    this.down(0);
  }

  private up(index: number): void {
    let at = index;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.before(at, above)) return;
      this.swap(at, above);
      at = above;
    }
  }

  private down(index: number): void {
    let at = index;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = at;
      if (left < this.heap.length && this.before(left, least)) least = left;
      if (right < this.heap.length && this.before(right, least)) least = right;
      if (least === at) return;
      this.swap(at, least);
      at = least;
    }
  }

  private before(a: number, b: number): boolean {
    const left = this.heap[a] as Entry<T>;
    const right = this.heap[b] as Entry<T>;
    return left.atMs < right.atMs || (left.atMs === right.atMs && left.item.name < right.item.name);
  }

  private swap(a: number, b: number): void {
    const kept = this.heap[a] as Entry<T>;
    this.heap[a] = this.heap[b] as Entry<T>;
    this.heap[b] = kept;
  }
}
