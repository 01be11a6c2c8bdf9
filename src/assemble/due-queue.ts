/** Something that has to be looked at again at `dueMs`; `name` orders those of one moment. */
export interface Due {
  dueMs: number;
  readonly name: string;
}

/** What was scheduled for one time. */
interface Moment<T> {
  readonly atMs: number;
  readonly items: T[];
  /** By name, the last one first. */
  sorted: boolean;
}

/**
 * The times at which items are due, each once, as a binary min-heap; the spans of a request mostly share one. An item may
 * stand in it more than once: an entry counts only while its time still equals the item's own `dueMs`, the others are
 * skipped when they surface. O(log n) an operation in the number of times, and in that of the items of one time.
 */
export class DueQueue<T extends Due> {
  private readonly heap: Moment<T>[] = [];
  private readonly moments = new Map<number, Moment<T>>();

  /** Sets the item's time; Infinity means never. */
  schedule(item: T, atMs: number): void {
    item.dueMs = atMs;
    if (atMs === Infinity) return;
    let moment = this.moments.get(atMs);
    if (moment === undefined) {
      moment = { atMs, items: [], sorted: true };
      this.moments.set(atMs, moment);
      this.heap.push(moment);
      this.up(this.heap.length - 1);
    }
    moment.items.push(item);
    moment.sorted = false;
  }

  /** The least time, or null when nothing is due ever. */
  nextMs(): number | null {
    for (let first = this.heap[0]; first !== undefined; first = this.heap[0]) {
      const { items, atMs } = first;
      while (items.length > 0 && items[items.length - 1]?.dueMs !== atMs) items.pop();
      if (items.length > 0) return atMs;
      this.removeFirst(first);
    }
    return null;
  }

  /** Takes the first item that is due at `nowMs`; its own time becomes Infinity. */
  take(nowMs: number): { readonly item: T; readonly atMs: number } | undefined {
    for (let first = this.heap[0]; first !== undefined && first.atMs <= nowMs; first = this.heap[0]) {
      const { items, atMs } = first;
      if (!first.sorted) {
        items.sort(lastFirst);
        first.sorted = true;
      }
      const item = items.pop();
      if (item === undefined) {
        this.removeFirst(first);
      } else if (item.dueMs === atMs) {
        item.dueMs = Infinity;
        return { item, atMs };
      }
    }
    return undefined;
  }

  private removeFirst(first: Moment<T>): void {
    this.moments.delete(first.atMs);
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
    return (this.heap[a] as Moment<T>).atMs < (this.heap[b] as Moment<T>).atMs;
  }

  private swap(a: number, b: number): void {
    const kept = this.heap[a] as Moment<T>;
    this.heap[a] = this.heap[b] as Moment<T>;
    this.heap[b] = kept;
  }
}

function lastFirst(a: Due, b: Due): number {
  return a.name < b.name ? 1 : a.name > b.name ? -1 : 0;
}
