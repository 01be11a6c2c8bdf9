import type { Offset } from '../model/received.js';

/**
 * Which offset of one partition may be committed: the lowest that is still needed, or the next to be read when none
 * is. In Kafka's words it is the offset of the next record to read after a restart, never that of one already done.
 */
export interface LowWatermark {
  /** Null before anything is known of the partition. Never decreases. */
  readonly committable: Offset | null;
  /** Read and not released yet. */
  readonly held: number;
  /** The record at this offset was read and is needed until it is released. Offsets come in increasing order. */
  hold(offset: Offset): void;
  /** Nothing needs the record any more. Offsets come in any order; unknown ones are ignored. */
  release(offset: Offset): void;
  /** Everything below this offset was read, whether a record was given for it or not. */
  reached(next: Offset): void;
}

export function createLowWatermark(): LowWatermark {
  /** In order of reading, so that the first is the lowest. */
  const needed = new Set<Offset>();
  let next: Offset | null = null;
  return {
    get committable() {
      for (const lowest of needed) return lowest;
      return next;
    },
    get held() {
      return needed.size;
    },
    hold(offset) {
      needed.add(offset);
      if (next === null || offset >= next) next = offset + 1;
    },
    release(offset) {
      needed.delete(offset);
    },
    reached(offset) {
      if (next === null || offset > next) next = offset;
    },
  };
}
