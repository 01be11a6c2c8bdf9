import fc from 'fast-check';

import type { SpanSketch } from '../../support/spans.js';

/** Letters of a generated tree: agents, workflows, calls, transparent spans, skeletons, server spans, other steps. */
const KINDS = ['agent', 'workflow', 'llm', 'llm', 'tool', 'tool', 'other', 'skeleton', 'server', 'retriever'] as const;

export interface GeneratedSpan {
  readonly sketch: SpanSketch;
  /** Index of the parent in the trace; null when it has none, or one that is never sent. */
  readonly parent: number | null;
}

/**
 * A trace whose times nest: each span lies within its parent, and neither siblings nor trees overlap. With `lossy`,
 * some spans name a parent that is never sent, some never end, some have a remote parent.
 */
export function traceArbitrary(options: {
  readonly lossy: boolean;
  /** Are there server spans and remote parents? Default true. */
  readonly borders?: boolean;
  readonly maxSpans?: number;
}): fc.Arbitrary<GeneratedSpan[]> {
  const borders = options.borders ?? true;
  const span = fc.record({
    kind: fc.constantFrom(...KINDS),
    /** How far up from the span before the parent is: 0 a child of it, 1 a sibling, ... */
    up: fc.nat({ max: 4 }),
    fate: fc.integer({ min: 0, max: 11 }),
  });
  return fc.array(span, { minLength: 1, maxLength: options.maxSpans ?? 14 }).map((spans) => {
    const parents: (number | null)[] = [];
    spans.forEach(({ up }, at) => {
      let parent: number | null = at === 0 ? null : at - 1;
      for (let steps = 0; steps < up && parent !== null; steps += 1) parent = parents[parent] ?? null;
      parents[at] = parent;
    });
    const ends = spans.map((_, at) => at * 100 + 50);
    for (let at = spans.length - 1; at >= 0; at -= 1) {
      const parent = parents[at] ?? null;
      if (parent !== null) ends[parent] = Math.max(ends[parent] as number, (ends[at] as number) + 1);
    }
    return spans.map(({ kind, up, fate }, at): GeneratedSpan => {
      const parent = parents[at] ?? null;
      const lost = options.lossy && fate === 0;
      const sketch: SpanSketch = {
        trace: 't',
        id: `s${String(at)}`,
        kind: kind === 'server' ? 'skeleton' : kind,
        otlpKind: kind === 'server' && borders ? 2 : 1,
        start: at * 100,
        end: options.lossy && fate === 1 ? 0 : (ends[at] as number),
        ...(lost ? { parent: `gone${String(up)}` } : parent === null ? {} : { parent: `s${String(parent)}` }),
        ...(options.lossy && borders && fate === 2 && parent !== null ? { remote: true } : {}),
      };
      return { sketch, parent: lost ? null : parent };
    });
  });
}

/** The same trace under another trace id. */
export function renamed(spans: readonly GeneratedSpan[], trace: string): SpanSketch[] {
  return spans.map(({ sketch }) => ({ ...sketch, trace }));
}

/** Cuts a list into pieces of the given lengths, the rest in the last one. */
export function cutUp<T>(items: readonly T[], lengths: readonly number[]): T[][] {
  const pieces: T[][] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(items.slice(at, at + length));
    at += length;
  }
  pieces.push(items.slice(at));
  return pieces;
}
