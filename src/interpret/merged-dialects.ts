import type { AgentSpanKind, Fact } from '../model/agent-span.js';
import type { Attributes, Span } from '../model/span.js';
import type { Dialect, KindSource, Source } from './dialect.js';

type KindSources = readonly (KindSource & { readonly dialect: Dialect })[];
type Rows = { readonly [F in Fact]?: readonly Source<F>[] };

/** All dialects as one: what `interpret` asks. */
export class MergedDialects {
  /** By the lists of keys of resource and span, which spans of one instrumentation share. */
  private readonly plans = new WeakMap<readonly string[], WeakMap<readonly string[], Plan>>();

  constructor(
    /** In order of classification. */
    private readonly kinds: KindSources,
    /** The precedence table: each row in order of rank. */
    private readonly rows: Rows,
  ) {}

  planFor(span: Span): Plan {
    const resourceKeys = keysOf(span.resource.attributes);
    const spanKeys = keysOf(span.attributes);
    let ofResource = this.plans.get(resourceKeys);
    if (ofResource === undefined) {
      ofResource = new WeakMap();
      this.plans.set(resourceKeys, ofResource);
    }
    let plan = ofResource.get(spanKeys);
    if (plan === undefined) {
      plan = new Plan(this.kinds, this.rows, new Set(spanKeys), new Set(resourceKeys));
      ofResource.set(spanKeys, plan);
    }
    return plan;
  }
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
  return new MergedDialects(kinds, facts as Rows);
}

const NO_KEYS: readonly string[] = [];

/** Without keys there may be no list to share. */
function keysOf(attributes: Attributes): readonly string[] {
  return attributes.size === 0 ? NO_KEYS : attributes.keys();
}

/** What is asked of spans with these keys: sources that cannot be on them are left out. */
export class Plan {
  readonly kinds: KindSources;
  private readonly withEvents = new Map<AgentSpanKind, FactRows>();
  private readonly withoutEvents = new Map<AgentSpanKind, FactRows>();

  constructor(
    kinds: KindSources,
    private readonly all: Rows,
    private readonly spanKeys: ReadonlySet<string>,
    private readonly resourceKeys: ReadonlySet<string>,
  ) {
    this.kinds = kinds.filter(({ key }) => spanKeys.has(key));
  }

  /** The rows for a span of this kind. */
  rowsFor(kind: AgentSpanKind, hasEvents: boolean): FactRows {
    const byKind = hasEvents ? this.withEvents : this.withoutEvents;
    let rows = byKind.get(kind);
    if (rows === undefined) {
      rows = new FactRows(this.all, (source) => this.mayHave(source, kind, hasEvents));
      byKind.set(kind, rows);
    }
    return rows;
  }

  private mayHave({ keys, on, kinds }: Source<Fact>, kind: AgentSpanKind, hasEvents: boolean): boolean {
    if (kinds?.includes(kind) === false) return false;
    if (on === 'events') return hasEvents;
    const present = on === 'resource' ? this.resourceKeys : this.spanKeys;
    return keys?.some((key) => (key.endsWith('.') ? someStartsWith(present, key) : present.has(key))) ?? true;
  }
}

/** The sources of a fact, best first, and the place of the fact among those that have any here. */
export interface FactRow<F extends Fact> {
  readonly place: number;
  readonly sources: readonly Source<F>[];
}

export class FactRows {
  private readonly rows = new Map<Fact, FactRow<Fact> | null>();
  /** How many facts have been found to have sources. */
  size = 0;

  constructor(
    private readonly all: Rows,
    private readonly isAsked: (source: Source<Fact>) => boolean,
  ) {}

  /** null when nothing can tell the fact. */
  row<F extends Fact>(fact: F): FactRow<F> | null {
    let row = this.rows.get(fact);
    if (row === undefined) {
      const sources = ((this.all[fact] ?? []) as readonly Source<Fact>[]).filter(this.isAsked);
      row = sources.length === 0 ? null : { place: this.size++, sources };
      this.rows.set(fact, row);
    }
    return row as FactRow<F> | null;
  }
}

function someStartsWith(keys: ReadonlySet<string>, prefix: string): boolean {
  for (const key of keys) if (key.startsWith(prefix)) return true;
  return false;
}
