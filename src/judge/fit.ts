/**
 * How many tokens a text takes at most, without any model's vocabulary: a third of its bytes in UTF-8. Common
 * vocabularies take about a quarter of the bytes of English and JSON, and about one token a character of Chinese or Thai.
 */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text, 'utf8') / BYTES_PER_TOKEN);
}

const BYTES_PER_TOKEN = 3;

/** What stands in place of what was cut; the digits are the characters left out. */
export const CUT_MARK = /\[\.\.\. \d+ characters left out \.\.\.\]/;

/**
 * The same texts, cut so that they take at most `budget` tokens together (a cut text may take its mark on top, some 12
 * tokens). Short ones stay whole: the budget is filled like glasses with water, so that only those above the common level
 * are cut, to that level. A cut text keeps its head and its tail, and says in between how much is left out.
 */
export function fit(texts: readonly string[], budget: number): readonly string[] {
  const needs = texts.map(tokensOf);
  const level = commonLevel(needs, budget);
  return texts.map((text, i) => ((needs[i] as number) <= level ? text : cutTo(text, level)));
}

/** The greatest level for which the sum of min(need, level) is within the budget. */
function commonLevel(needs: readonly number[], budget: number): number {
  let left = Math.max(0, budget);
  let waiting = needs.length;
  for (const need of [...needs].sort((a, b) => a - b)) {
    const share = Math.floor(left / waiting);
    if (need > share) return share;
    left -= need;
    waiting -= 1;
  }
  return Infinity;
}

function cutTo(text: string, tokens: number): string {
  const bytes = tokens * BYTES_PER_TOKEN;
  const head = prefixWithin(text, Math.ceil(bytes * 0.7));
  const tail = suffixWithin(text.slice(head.length), bytes - Buffer.byteLength(head, 'utf8'));
  const left = text.length - head.length - tail.length;
  return left <= 0 ? text : `${head}[... ${left} characters left out ...]${tail}`;
}

/** At most so many bytes, and no half of a character. */
function prefixWithin(text: string, bytes: number): string {
  let end = 0;
  let room = bytes;
  while (end < text.length) {
    const code = text.codePointAt(end) as number;
    room -= bytesOf(code);
    if (room < 0) break;
    end += code > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

function suffixWithin(text: string, bytes: number): string {
  let start = text.length;
  let room = bytes;
  while (start > 0) {
    const low = text.charCodeAt(start - 1);
    const paired = low >= 0xdc00 && low <= 0xdfff && start > 1;
    const code = (paired ? text.codePointAt(start - 2) : low) as number;
    room -= bytesOf(code);
    if (room < 0) break;
    start -= code > 0xffff ? 2 : 1;
  }
  return text.slice(start);
}

function bytesOf(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
