import type { AgentSpan, AgentSpanKind, Fact, Ranked, SpanFacts } from '../model/agent-span.js';
import type { Span } from '../model/span.js';
import { mergeDialects, type Dialect, type MergedDialects, type Source } from './dialect.js';
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
  const { kind, dialect } = classify(dialects, span);
  return new InterpretedSpan(span, kind, dialect, dialects);
}

interface Classification {
  readonly kind: AgentSpanKind;
  readonly dialect: Dialect | undefined;
}

function classify(dialects: MergedDialects, span: Span): Classification {
  const attributes = span.attributes;
  let transparent: Dialect | undefined;
  for (const source of dialects.kinds) {
    if ((source.guess === true && transparent !== undefined) || !attributes.has(source.key)) continue;
    const kind = source.read(attributes.get(source.key), span);
    if (kind === 'transparent') transparent ??= source.dialect;
    else if (kind !== undefined) return { kind, dialect: source.dialect };
  }
  return { kind: 'other', dialect: transparent };
}

/** How far the sources of a fact were tried. */
interface Progress<F extends Fact> {
  next: number;
  readonly found: Ranked<SpanFacts[F]>[];
}

class InterpretedSpan implements AgentSpan {
  private readonly view: SpanView;
  private readonly progress: { [F in Fact]?: Progress<F> } = {};

  constructor(
    readonly span: Span,
    readonly kind: AgentSpanKind,
    private readonly owner: Dialect | undefined,
    private readonly dialects: MergedDialects,
  ) {
    this.view = new SpanView(span, kind);
  }

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

  private advance<F extends Fact>(fact: F, wanted: number): readonly Ranked<SpanFacts[F]>[] {
    const sources: readonly Source<F>[] = this.dialects.facts[fact] ?? [];
    const progress: Progress<F> = this.progress[fact] ?? { next: 0, found: [] };
    (this.progress as Record<Fact, unknown>)[fact] = progress;
    while (progress.found.length < wanted && progress.next < sources.length) {
      const source = sources[progress.next] as Source<F>;
      progress.next += 1;
      const value = source.read(this.view);
      if (value !== undefined) progress.found.push({ rank: source.rank, value, source: source.source });
    }
    return progress.found;
  }
}
