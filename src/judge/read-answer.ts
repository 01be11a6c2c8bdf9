import type { z } from 'zod';
import type { AskedParts, JudgeAnswer } from './answer-schema.js';
import { answerSchema } from './answer-schema.js';

/** What a model gave back: its text, or what its structured output was parsed to. */
export type AnswerContent = { readonly text: string } | { readonly structured: unknown };

export type ReadAnswer =
  | { readonly kind: 'accepted'; readonly answer: JudgeAnswer }
  /** `reason` says what and where; it quotes nothing of the answer and nothing that was judged. */
  | { readonly kind: 'rejected'; readonly reason: string };

const MAX_REASON_CHARS = 500;
const MAX_NAME_CHARS = 64;
const MAX_FINDINGS = 50;

/**
 * Reads a model's answer to `asked`. It is accepted when it is one JSON object of the schema, each asked call has exactly
 * one verdict, no other call has one, and every value is a number in its range.
 *
 * A reasoning block before the object (`<think>...</think>`) and a code fence around it are taken off. An object inside
 * prose is not looked for: what stands there may be a quotation of what was judged. Nothing is repaired: `"0.9"`, `90` on a
 * scale that ends at 1, a cut object and verdicts without ids are rejected. Members that nobody asked for are ignored, and
 * reasons are shortened.
 */
export function readAnswer(content: AnswerContent, asked: AskedParts): ReadAnswer {
  const value = 'structured' in content ? content.structured : parse(content.text);
  if (value === undefined) {
    return reject(
      'text' in content && content.text.trim() === '' ? 'the answer is empty' : 'the answer is not one JSON object',
    );
  }
  const read = answerSchema(asked).safeParse(value);
  if (!read.success) return reject(describe(read.error.issues[0]));
  const fault = idFault(
    (read.data.arguments ?? []).map(({ call_id }) => call_id),
    asked.arguments,
  );
  return fault === null ? { kind: 'accepted', answer: shortened(read.data) } : reject(fault);
}

function reject(reason: string): ReadAnswer {
  return { kind: 'rejected', reason };
}

const REASONING = /^<(think|thinking|reasoning)>[^]*?<\/\1>/;
const FENCED = /^```(?:json)?[ \t]*\r?\n([^]*?)\r?\n?```$/;

function parse(text: string): unknown {
  const bare = text.trim().replace(REASONING, '').trim();
  const inside = FENCED.exec(bare)?.[1] ?? bare;
  try {
    const value: unknown = JSON.parse(inside);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Where and what was expected: zod's own messages may hold the value. Keys are the schema's, numbers are places. */
function describe(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'the answer has another shape';
  const at = issue.path.length === 0 ? 'the answer' : issue.path.map(String).join('.');
  switch (issue.code) {
    case 'invalid_type':
      return `${at}: ${issue.expected} expected`;
    case 'too_big':
    case 'too_small':
      return `${at}: a number from 0 to 1 expected, got one outside`;
    case 'invalid_value':
      return `${at}: one of ${issue.values.map(String).join(', ')} expected`;
    default:
      return `${at}: another shape expected`;
  }
}

function idFault(given: readonly string[], asked: readonly string[]): string | null {
  const wanted = new Set(asked);
  const distinct = new Set(given);
  const others = [...distinct].filter((id) => !wanted.has(id)).length;
  const missing = asked.filter((id) => !distinct.has(id)).length;
  const twice = given.length - distinct.size;
  if (others + missing + twice === 0) return null;
  return `arguments: one verdict for each of ${asked.length} calls expected; ${missing} missing, ${twice} repeated, ${others} for calls that were not asked`;
}

function shortened(answer: JudgeAnswer): JudgeAnswer {
  const short = <T extends { readonly reason: string }>(part: T): T => ({
    ...part,
    reason: cut(part.reason, MAX_REASON_CHARS),
  });
  return {
    ...(answer.arguments && {
      arguments: answer.arguments.map((verdict) => ({
        ...short(verdict),
        parameters: verdict.parameters.slice(0, MAX_FINDINGS).map((parameter) => ({
          name: cut(parameter.name, MAX_NAME_CHARS),
          finding: cut(parameter.finding, MAX_REASON_CHARS),
          correct: parameter.correct,
        })),
      })),
    }),
    ...(answer.answer && { answer: short(answer.answer) }),
    ...(answer.completion && { completion: short(answer.completion) }),
    ...(answer.utilization && { utilization: short(answer.utilization) }),
  };
}

function cut(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars - 1).toWellFormed()}…` : text.toWellFormed();
}
