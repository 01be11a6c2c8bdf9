import type { AgentSpan, AgentSpanKind, Fact, Ranked, SpanFacts } from '../model/agent-span.js';
import type { Span } from '../model/span.js';
import type { Dialect, Source } from './dialect.js';
import { mergeDialects, type FactRow, type FactRows, type MergedDialects, type Plan } from './merged-dialects.js';
import { DIALECTS } from './dialects/index.js';
import { SpanView } from './span-view.js';

const MERGED = mergeDialects(DIALECTS);

/** Scopes of Tracegrade's own judge. */
const JUDGE_SCOPES = new Set(['tracegrade', 'tracegrade.judge']);
const JUDGE_KEY = 'tracegrade.judge';

/** Reads a span by all dialects. Only its kind is told now; facts are read when asked for, once. */
export function interpret(span: Span): AgentSpan {
  return interpretWith(MERGED, span);
}

/** As `interpret`, with dialects of the caller's choice. */
export function interpretWith(dialects: MergedDialects, span: Span): AgentSpan {
  const plan = dialects.planFor(span);
  const { kind, dialect } = classify(plan, span);
  return new InterpretedSpan(span, kind, dialect, plan);
}

interface Classification {
  readonly kind: AgentSpanKind;
  readonly dialect: Dialect | undefined;
}

function classify(plan: Plan, span: Span): Classification {
  let transparent: Dialect | undefined;
  for (const source of plan.kinds) {
    if (source.guess === true && transparent !== undefined) continue;
    const kind = source.read(span.attributes.get(source.key), span);
    if (kind === 'transparent') transparent ??= source.dialect;
    else if (kind !== undefined) return { kind, dialect: source.dialect };
  }
  return { kind: 'other', dialect: transparent };
}

const NOTHING: readonly never[] = [];

/** A reading, with the place of its source in the row. */
interface Found<F extends Fact> extends Ranked<SpanFacts[F]> {
  readonly at: number;
  /** The next best; null: there is none; undefined: the sources behind this one have not been tried. */
  next: Found<F> | null | undefined;
}

class InterpretedSpan implements AgentSpan {
  private rows: FactRows | null = null;
  private view: SpanView | null = null;
  /** The best reading by the place of the fact; null: there is none; undefined: not asked yet. */
  private found: (Found<Fact> | null | undefined)[] | null = null;

  constructor(
    readonly span: Span,
    readonly kind: AgentSpanKind,
    private readonly owner: Dialect | undefined,
    private readonly plan: Plan,
  ) {}

  get dialect(): string | null {
    return this.owner?.name ?? null;
  }

  get ownJudge(): boolean {
    return JUDGE_SCOPES.has(this.span.scope.name) || this.span.attributes.has(JUDGE_KEY);
  }

  get pseudoTool(): boolean {
    if (this.kind !== 'tool' || this.owner?.pseudoTools === undefined) return false;
    const name = this.read('toolName')?.value;
    return name !== undefined && this.owner.pseudoTools(name, this.span);
  }

  readings<F extends Fact>(fact: F): readonly Ranked<SpanFacts[F]>[] {
    const row = this.row(fact);
    const best = row && this.best(row);
    if (row === null || best === null) return NOTHING;
    const all = [best];
    for (let next = this.after(best, row); next !== null; next = this.after(next, row)) all.push(next);
    return all;
  }

  read<F extends Fact>(fact: F): Ranked<SpanFacts[F]> | undefined {
    const row = this.row(fact);
    return row === null ? undefined : (this.best(row) ?? undefined);
  }

  forget(): void {
    this.view = null;
    this.found = null;
  }

  /** null when no source can be on this span. */
  private row<F extends Fact>(fact: F): FactRow<F> | null {
    this.rows ??= this.plan.rowsFor(this.kind, this.span.events.length > 0);
    return this.rows.row(fact);
  }

  private best<F extends Fact>(row: FactRow<F>): Found<F> | null {
    this.found ??= new Array<undefined>((this.rows as FactRows).size);
    let best = this.found[row.place] as Found<F> | null | undefined;
    if (best === undefined) {
      best = this.find(row, 0);
      this.found[row.place] = best;
    }
    return best;
  }

  private after<F extends Fact>(found: Found<F>, row: FactRow<F>): Found<F> | null {
    if (found.next === undefined) found.next = this.find(row, found.at + 1);
    return found.next;
  }

  /** The first source from `from` on that says something. */
  private find<F extends Fact>(row: FactRow<F>, from: number): Found<F> | null {
    this.view ??= new SpanView(this.span, this.kind);
    for (let at = from; at < row.sources.length; at += 1) {
      const source = row.sources[at] as Source<F>;
      const value = source.read(this.view);
      if (value !== undefined) return { rank: source.rank, value, source: source.source, at, next: undefined };
    }
    return null;
  }
}
