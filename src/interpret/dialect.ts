import type { AgentSpanKind, Fact, SpanFacts } from '../model/agent-span.js';
import type { Json } from '../model/json.js';
import type { Span } from '../model/span.js';
import type { SpanView } from './span-view.js';

/** One place where a fact may stand. */
export interface Source<F extends Fact> {
  /**
   * Its place in the fact's row of the merged precedence table; lower is tried first. Places are spaced, so that a
   * new dialect slots its own in between without touching the others.
   */
  readonly rank: number;
  /** The attribute or event, for explanations. */
  readonly source: string;
  /**
   * Only spans with one of these attributes are asked; one that ends in a dot is the prefix of a flattened list.
   * Absent: the source is no attribute, and every span is asked. Most sources of a row are on no span of an
   * instrumentation, and spans of one share their list of keys: so they are left out once for all of them.
   */
  readonly keys?: readonly string[];
  /** Where `keys` stand; absent: on the span. `events`: spans without events are not asked. */
  readonly on?: 'resource' | 'events';
  /** Only spans of these kinds are asked; absent: all. */
  readonly kinds?: readonly AgentSpanKind[];
  /** undefined: not here. */
  read(view: SpanView): SpanFacts[F] | undefined;
}

/** A kind; or `transparent`: the value is known and says that the span is none of our kinds. */
export type KindReading = AgentSpanKind | 'transparent' | undefined;

/** An attribute that tells what a span is. */
export interface KindSource {
  /** Its place in the order of classification; lower is asked first, the first kind wins. */
  readonly order: number;
  /** Only spans with this attribute are asked. */
  readonly key: string;
  /** Guesses from the mere presence of attributes: not asked where a value has said `transparent`. */
  readonly guess?: boolean;
  read(value: Json | undefined, span: Span): KindReading;
}

/** How one instrumentation writes its spans: data first, code where it must be. */
export interface Dialect {
  /** As it appears in the column `dialect`. */
  readonly name: string;
  readonly kinds: readonly KindSource[];
  readonly facts: { readonly [F in Fact]?: readonly Source<F>[] };
  /** Tool names that are helpers of the framework itself, on spans that this dialect classified. */
  readonly pseudoTools?: (name: string, span: Span) => boolean;
}

/** A source that is one attribute holding a text. */
export function textSource<F extends Fact>(
  rank: number,
  key: string,
  convert?: (text: string) => SpanFacts[F] | undefined,
): Source<F> {
  return {
    rank,
    source: key,
    keys: [key],
    read: (view) => {
      const text = view.text(key);
      return text === undefined ? undefined : convert ? convert(text) : (text as SpanFacts[F]);
    },
  };
}

/** Sources of one row for several attributes, in the order given, from `rank` on. */
export function textSources<F extends Fact>(rank: number, ...keys: readonly string[]): Source<F>[] {
  return keys.map((key, at) => textSource<F>(rank + at, key));
}

export function countSources<F extends 'inputTokens' | 'outputTokens'>(
  rank: number,
  ...keys: readonly string[]
): Source<F>[] {
  return keys.map((key, at) => ({
    rank: rank + at,
    source: key,
    keys: [key],
    read: (view: SpanView) => view.count(key),
  }));
}
