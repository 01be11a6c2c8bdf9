import type { ToolCall } from '../model/interaction.js';
import type { Json } from '../model/json.js';
import { canonicalJson, isJsonObject } from '../model/json.js';
import type { TextFacts, Value } from './text-facts.js';
import { factsOf, states } from './text-facts.js';

// Of a longer text only this much is read into facts; the rest of long arguments is searched as it stands.
const MAX_CHARS = 4_000;
const MAX_DEPTH = 24;

/** What was known before each call: the query, and the arguments of the call and of those before it. Read when asked for. */
export class KnownBefore {
  private askedFor: TextFacts | undefined;
  private readonly read = new Map<number, { readonly facts: TextFacts; readonly rest: string }>();

  constructor(
    private readonly calls: readonly ToolCall[],
    private readonly query: string,
  ) {}

  /** Was the value known before call `i`'s result? `text`: how it is written, for what was not read into facts. */
  hold(value: Value, i: number, text?: string): boolean {
    this.askedFor ??= factsOf(this.query.slice(0, MAX_CHARS));
    if (states(this.askedFor, value)) return true;
    for (let at = i; at >= 0; at -= 1) {
      const { facts, rest } = this.readArguments(at);
      if (states(facts, value) || (text !== undefined && rest !== '' && rest.includes(text))) return true;
    }
    return false;
  }

  argumentsOf(i: number): TextFacts {
    return this.readArguments(i).facts;
  }

  private readArguments(i: number): { readonly facts: TextFacts; readonly rest: string } {
    let known = this.read.get(i);
    if (known === undefined) {
      const given = (this.calls[i] as ToolCall).arguments;
      const texts: string[] = [];
      const left = gather(given, texts, MAX_CHARS, 0);
      known = { facts: factsOf(texts.join('\n')), rest: left > 0 ? '' : canonicalJson(given) };
      this.read.set(i, known);
    }
    return known;
  }
}

/** The texts and numbers of a value, as far as they fit; returns how many more characters would have. */
function gather(value: Json, into: string[], room: number, depth: number): number {
  if (room <= 0 || depth > MAX_DEPTH) return 0;
  if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value);
    into.push(text.slice(0, room));
    return room - text.length;
  }
  let left = room;
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) if ((left = gather(item, into, left, depth + 1)) <= 0) break;
  } else if (isJsonObject(value)) {
    for (const key in value) if ((left = gather(value[key] as Json, into, left, depth + 1)) <= 0) break;
  }
  return left;
}
