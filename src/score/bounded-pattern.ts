/** A pattern whose worst case is bounded. `undefined`: the text is too long to be tried. */
export type BoundedPattern = (text: string) => boolean | undefined;

const MAX_SOURCE = 1000;
// About as many steps as V8 makes in 50 ms; what would need more is not tried.
const STEP_BUDGET = 1e7;

/**
 * Compiles a pattern that somebody else wrote (a tool's schema, an operator's matcher), or returns null when it is no
 * JavaScript pattern or could backtrack exponentially: a back reference, or a repeated group that itself holds a
 * variable repetition or an alternation. For the others the steps are at most
 *
 *   2^(optional parts) x product of (max - min + 1) x length^(unbounded repetitions + 1 if it may start anywhere)
 *
 * and a text whose length would break the budget is not tried.
 */
export function boundedPattern(source: string): BoundedPattern | null {
  if (source.length > MAX_SOURCE) return null;
  const cost = worstCase(source);
  if (cost === null) return null;
  const compiled = compile(source);
  if (compiled === null) return null;
  const maxLength = Math.floor((STEP_BUDGET / cost.factor) ** (1 / Math.max(1, cost.degree)));
  return (text) => (text.length > maxLength ? undefined : compiled.test(text));
}

function compile(source: string): RegExp | null {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags);
    } catch {
      // Patterns from other languages are often valid only without the unicode flag.
    }
  }
  return null;
}

interface Group {
  /** Holds a repetition whose count can vary, or an alternation. */
  ambiguous: boolean;
}

const QUANTIFIER = /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/;

function worstCase(source: string): { factor: number; degree: number } | null {
  const anchored = source.startsWith('^') && !topLevelAlternation(source);
  let factor = 1;
  let degree = anchored ? 0 : 1;
  const open: Group[] = [{ ambiguous: false }];
  let i = 0;
  while (i < source.length) {
    const at = source[i] as string;
    let closed: Group | null = null;
    if (at === '\\') {
      if (/^\\[1-9k]/.test(source.slice(i, i + 2))) return null;
      i += 2;
    } else if (at === '[') {
      i = classEnd(source, i);
    } else if (at === '(') {
      open.push({ ambiguous: false });
      i += /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(source.slice(i))?.[0].length ?? 1;
      continue;
    } else if (at === ')') {
      closed = open.pop() ?? null;
      if (closed === null || open.length === 0) return null;
      i += 1;
    } else if (at === '|') {
      for (const group of open) group.ambiguous = true;
      i += 1;
      continue;
    } else {
      i += 1;
    }
    const repeat = QUANTIFIER.exec(source.slice(i, i + 24));
    if (repeat !== null) {
      i += repeat[0].length;
      const range = repetition(repeat);
      if (closed?.ambiguous === true && range.max > 1) return null;
      if (range.max === Infinity) degree += 1;
      else factor *= range.max - range.min + 1;
      if (range.max !== range.min) for (const group of open) group.ambiguous = true;
    }
    if (closed?.ambiguous === true) for (const group of open) group.ambiguous = true;
  }
  return open.length === 1 ? { factor, degree } : null;
}

function repetition(match: RegExpExecArray): { min: number; max: number } {
  const [text, least, comma, most] = match;
  if (text.startsWith('?')) return { min: 0, max: 1 };
  if (text.startsWith('*') || text.startsWith('+')) return { min: 0, max: Infinity };
  const min = Number(least);
  if (comma === undefined) return { min, max: min };
  return { min, max: most === '' || most === undefined ? Infinity : Number(most) };
}

function classEnd(source: string, start: number): number {
  let i = start + 1;
  while (i < source.length && source[i] !== ']') i += source[i] === '\\' ? 2 : 1;
  return i + 1;
}

/** `^a|b` may match anywhere. */
function topLevelAlternation(source: string): boolean {
  let depth = 0;
  for (let i = 0; i < source.length; i += 1) {
    const at = source[i];
    if (at === '\\') i += 1;
    else if (at === '[') i = classEnd(source, i) - 1;
    else if (at === '(') depth += 1;
    else if (at === ')') depth -= 1;
    else if (at === '|' && depth === 0) return true;
  }
  return false;
}
