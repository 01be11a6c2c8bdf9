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
  /** undefined: not here. */
  read(view: SpanView): SpanFacts[F] | undefined;
}

/** A kind; or `transparent`: the value is known and says that the span is none of our kinds. */
export type KindReading = AgentSpanKind | 'transparent' | undefined;

/** An attribute that tells what a span is. */
interface KindSource {
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

/** All dialects as one: what `interpret` asks. */
export interface MergedDialects {
  readonly kinds: readonly (KindSource & { readonly dialect: Dialect })[];
  readonly facts: { readonly [F in Fact]: readonly Source<F>[] };
}

/** Merges the sources of all dialects into one row a fact, by rank; equal ranks keep the order of the list. */
export function mergeDialects(dialects: readonly Dialect[]): MergedDialects {
  const kinds = dialects.flatMap((dialect) => dialect.kinds.map((kind) => ({ ...kind, dialect })));
  kinds.sort((a, b) => a.order - b.order);
  const facts: Partial<Record<Fact, Source<Fact>[]>> = {};
  for (const dialect of dialects) {
    for (const [fact, sources] of Object.entries(dialect.facts) as [Fact, readonly Source<Fact>[]][]) {
      facts[fact] = [...(facts[fact] ?? []), ...sources].sort((a, b) => a.rank - b.rank);
    }
  }
  return { kinds, facts: facts as MergedDialects['facts'] };
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
  return keys.map((key, at) => ({ rank: rank + at, source: key, read: (view: SpanView) => view.count(key) }));
}
