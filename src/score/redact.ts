import type { Expectation } from '../model/expectation.js';
import type { Interaction } from '../model/interaction.js';
import type { JudgedCall, JudgedOutcome, JudgeRequest } from '../model/judge.js';
import type { Json } from '../model/json.js';
import { isJsonObject, REDACTED } from '../model/json.js';
import { boundedPattern } from './bounded-pattern.js';

export interface RedactionRules {
  /** Names of members whose values are taken out wherever they stand, in any case of letters. */
  readonly keys: readonly string[];
  /** Regular expressions; what they match is taken out of every text. Bounded, see `compileRedaction`. */
  readonly patterns: readonly string[];
}

export interface Redaction {
  /** The same with every secret replaced by `[REDACTED]`. */
  readonly request: (request: JudgeRequest) => JudgeRequest;
  /** Of all that was said, called and returned; ids and names stay. */
  readonly interaction: (interaction: Interaction) => Interaction;
  readonly value: (value: Json) => Json;
  /** As `value`, also inside of text that is a JSON object or list. */
  readonly text: (text: string) => string;
}

/** Patterns look at so much text at once, and twice at what lies on a border, so a match is at most `OVERLAP` long. */
const WINDOW = 2_048;
const OVERLAP = 512;
const MAX_DEPTH = 64;

/**
 * Throws RangeError that lists every pattern which is no regular expression, can backtrack without bound, or would be
 * slow on a text of 2048 characters: content is hostile, and redaction must not be what stops the stream.
 */
export function compileRedaction({ keys, patterns }: RedactionRules): Redaction {
  const faults: string[] = [];
  const compiled = patterns.map((source) => {
    const bounded = boundedPattern(source);
    if (bounded === null || bounded('a'.repeat(WINDOW)) === undefined) {
      faults.push(
        `redact.patterns: ${source.slice(0, 64)} must be a regular expression that cannot backtrack without bound`,
      );
      return /(?!)/g;
    }
    return globalOf(source);
  });
  if (faults.length > 0) throw new RangeError(faults.join('; '));
  return redactionOf(new Set(keys.map((key) => key.toLowerCase())), compiled);
}

function globalOf(source: string): RegExp {
  try {
    return new RegExp(source, 'gu');
  } catch {
    // Patterns from other languages are often valid only without the unicode flag.
    return new RegExp(source, 'g');
  }
}

function redactionOf(secret: ReadonlySet<string>, patterns: readonly RegExp[]): Redaction {
  const plain = (text: string) => patterns.reduce((rest, pattern) => replaced(rest, pattern), text);
  const written = writtenMembers(secret);

  function text(given: string): string {
    const inside = secret.size > 0 && /^\s*[[{]/.test(given) ? parse(given) : undefined;
    if (inside !== undefined) return JSON.stringify(walk(inside, 0));
    return plain(written === null ? given : given.replace(written, `$1${REDACTED}`));
  }

  function walk(value: Json, depth: number): Json {
    if (depth > MAX_DEPTH) return REDACTED;
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => walk(item, depth + 1));
    if (!isJsonObject(value)) return value;
    const out = Object.create(null) as Record<string, Json>;
    for (const [key, member] of Object.entries(value)) {
      out[plain(key)] = secret.has(key.toLowerCase()) ? REDACTED : walk(member, depth + 1);
    }
    return out;
  }

  /** A schema names keys and holds no values of theirs; what patterns match goes. */
  function schema(given: Json, depth = 0): Json {
    if (depth > MAX_DEPTH) return REDACTED;
    if (typeof given === 'string') return plain(given);
    if (Array.isArray(given)) return (given as readonly Json[]).map((item) => schema(item, depth + 1));
    if (!isJsonObject(given)) return given;
    const out = Object.create(null) as Record<string, Json>;
    for (const [key, member] of Object.entries(given)) out[plain(key)] = schema(member, depth + 1);
    return out;
  }

  const value = (given: Json) => walk(given, 0);
  const maybe = (given: string | null) => (given === null ? null : text(given));
  return {
    text,
    value,
    interaction: (interaction) => ({
      ...interaction,
      query: maybe(interaction.query),
      answer: maybe(interaction.answer),
      earlierTurns: interaction.earlierTurns.map((turn) => ({ query: maybe(turn.query), answer: maybe(turn.answer) })),
      toolCalls: interaction.toolCalls.map((call) => ({
        ...call,
        arguments: value(call.arguments),
        result: value(call.result),
        error: maybe(call.error),
      })),
      expectation: interaction.expectation === null ? null : (value(interaction.expectation as Json) as Expectation),
    }),
    request: (request) => ({
      ...request,
      earlier: request.earlier.map((turn) => ({ query: maybe(turn.query), answer: maybe(turn.answer) })),
      query: maybe(request.query),
      answer: maybe(request.answer),
      expectedAnswer: maybe(request.expectedAnswer),
      calls: request.calls.map((call): JudgedCall => ({
        ...call,
        ...(call.schema === undefined ? {} : { schema: schema(call.schema) }),
        ...(call.arguments === undefined ? {} : { arguments: value(call.arguments) }),
        outcome: redactedOutcome(call.outcome),
      })),
    }),
  };

  function redactedOutcome(outcome: JudgedOutcome): JudgedOutcome {
    if (outcome.kind === 'result') return { kind: 'result', value: value(outcome.value) };
    return outcome.kind === 'error' ? { kind: 'error', message: text(outcome.message) } : outcome;
  }
}

/** `key: value`, `key=value` and the like in text that is no JSON, or was cut; null without keys. */
function writtenMembers(keys: ReadonlySet<string>): RegExp | null {
  if (keys.size === 0) return null;
  const names = [...keys].map((key) => key.replace(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)).join('|');
  const value = String.raw`(?:\\?"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?|[^\s,;}\]]+)`;
  return new RegExp(String.raw`((?<!\w)(?:${names})\\?["']?\s{0,8}[:=]\s{0,8})${value}`, 'gi');
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** All matches of at most OVERLAP characters, found window by window, replaced. */
function replaced(text: string, pattern: RegExp): string {
  let out = '';
  let done = 0;
  for (let from = 0; from < text.length; from += WINDOW - OVERLAP) {
    for (const match of text.slice(from, from + WINDOW).matchAll(pattern)) {
      const start = Math.max(from + match.index, done);
      const end = from + match.index + match[0].length;
      if (end <= done || match[0] === '') continue;
      // The rest of what another window found the beginning of needs no second mark.
      out += text.slice(done, start) + (start === done && out.endsWith(REDACTED) ? '' : REDACTED);
      done = end;
    }
  }
  return out + text.slice(done);
}
