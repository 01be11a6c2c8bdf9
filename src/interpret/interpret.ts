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

/** A reading, and the place of its source in the row: those after it have not been tried. */
interface Found<F extends Fact> extends Ranked<SpanFacts[F]> {
  readonly at: number;
}

class InterpretedSpan implements AgentSpan {
  private rows: FactRows | null = null;
  private view: SpanView | null = null;
  /** By the place of the fact: the best reading, or, once they were asked for, all; undefined: not asked yet. */
  private answers: (Found<Fact> | readonly Found<Fact>[] | undefined)[] | null = null;

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
    if (row === null) return NOTHING;
    const answer = this.best(row);
    if (Array.isArray(answer)) return answer as readonly Found<F>[];
    const all = [answer as Found<F>];
    for (let next = this.find(row, (answer as Found<F>).at + 1); next !== null; next = this.find(row, next.at + 1)) {
      all.push(next);
    }
    this.answersOf()[row.place] = all;
    return all;
  }

  read<F extends Fact>(fact: F): Ranked<SpanFacts[F]> | undefined {
    const row = this.row(fact);
    if (row === null) return undefined;
    const answer = this.best(row);
    return (Array.isArray(answer) ? answer[0] : answer) as Found<F> | undefined;
  }

  forget(): void {
    this.view = null;
    this.answers = null;
  }

  /** null when no source can be on this span. */
  private row<F extends Fact>(fact: F): FactRow<F> | null {
    this.rows ??= this.plan.rowsFor(this.kind, this.span.events.length > 0);
    return this.rows.row(fact);
  }

  private answersOf(): NonNullable<InterpretedSpan['answers']> {
    this.answers ??= new Array<undefined>((this.rows as FactRows).size);
    return this.answers;
  }

  /** The best reading, all readings where they are known, or an empty list. */
  private best<F extends Fact>(row: FactRow<F>): Found<Fact> | readonly Found<Fact>[] {
    const answers = this.answersOf();
    return (answers[row.place] ??= this.find(row, 0) ?? NOTHING);
  }

  /** The first source from `from` on that says something. */
  private find<F extends Fact>(row: FactRow<F>, from: number): Found<F> | null {
    this.view ??= new SpanView(this.span, this.kind);
    for (let at = from; at < row.sources.length; at += 1) {
      const source = row.sources[at] as Source<F>;
      const value = source.read(this.view);
      if (value !== undefined) return { rank: source.rank, value, source: source.source, at };
    }
    return null;
  }
}
