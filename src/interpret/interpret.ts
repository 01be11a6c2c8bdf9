import type { AgentSpan, AgentSpanKind, Fact, Ranked, SpanFacts } from '../model/agent-span.js';
import type { Span } from '../model/span.js';
import type { Dialect, Source } from './dialect.js';
import { mergeDialects, type FactRows, type MergedDialects, type Plan } from './merged-dialects.js';
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

class InterpretedSpan implements AgentSpan {
  private rows: FactRows | null = null;
  private view: SpanView | null = null;
  /** What was read, by the place of the fact; null: no source tells it. */
  private known: (Ranked<SpanFacts[Fact]> | null | undefined)[] | null = null;

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
    const row = this.factRows().row(fact);
    if (row === null) return NOTHING;
    const found: Ranked<SpanFacts[F]>[] = [];
    for (const source of row.sources) {
      const reading = this.readFrom(source);
      if (reading !== null) found.push(reading);
    }
    return found;
  }

  read<F extends Fact>(fact: F): Ranked<SpanFacts[F]> | undefined {
    const rows = this.factRows();
    const row = rows.row(fact);
    if (row === null) return undefined;
    this.known ??= new Array<Ranked<SpanFacts[Fact]> | null | undefined>(rows.size);
    let best = this.known[row.place] as Ranked<SpanFacts[F]> | null | undefined;
    if (best === undefined) {
      best = null;
      for (const source of row.sources) {
        best = this.readFrom(source);
        if (best !== null) break;
      }
      this.known[row.place] = best;
    }
    return best ?? undefined;
  }

  forget(): void {
    this.view = null;
    this.known = null;
  }

  private factRows(): FactRows {
    this.rows ??= this.plan.rowsFor(this.kind, this.span.events.length > 0);
    return this.rows;
  }

  private readFrom<F extends Fact>(source: Source<F>): Ranked<SpanFacts[F]> | null {
    this.view ??= new SpanView(this.span, this.kind);
    const value = source.read(this.view);
    return value === undefined ? null : { rank: source.rank, value, source: source.source };
  }
}
