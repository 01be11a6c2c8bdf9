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

/** How far the sources of a fact were tried. */
interface Progress<F extends Fact> {
  next: number;
  found: readonly Ranked<SpanFacts[F]>[];
}

class InterpretedSpan implements AgentSpan {
  private rows: FactRows | null = null;
  private view: SpanView | null = null;
  /** By the place of the fact. */
  private progress: (Progress<Fact> | undefined)[] | null = null;

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
    return this.advance(fact, Number.POSITIVE_INFINITY);
  }

  read<F extends Fact>(fact: F): Ranked<SpanFacts[F]> | undefined {
    return this.advance(fact, 1)[0];
  }

  forget(): void {
    this.view = null;
    this.progress = null;
  }

  private advance<F extends Fact>(fact: F, wanted: number): readonly Ranked<SpanFacts[F]>[] {
    this.rows ??= this.plan.rowsFor(this.kind, this.span.events.length > 0);
    const row = this.rows.row(fact);
    if (row === null) return NOTHING;
    this.progress ??= new Array<Progress<Fact> | undefined>(this.rows.size);
    let progress = this.progress[row.place] as Progress<F> | undefined;
    if (progress === undefined) {
      progress = { next: 0, found: NOTHING };
      this.progress[row.place] = progress;
    }
    while (progress.found.length < wanted && progress.next < row.sources.length) {
      const source = row.sources[progress.next] as Source<F>;
      progress.next += 1;
      this.view ??= new SpanView(this.span, this.kind);
      const value = source.read(this.view);
      if (value === undefined) continue;
      const reading = { rank: source.rank, value, source: source.source };
      // Mostly the only one: an array that is pushed to has room for 17.
      progress.found = progress.found.length === 0 ? [reading] : [...progress.found, reading];
    }
    return progress.found;
  }
}
