import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, type Json, type JsonObject } from '../model/json.js';

/** What one request to the model asks. */
export interface AskedParts {
  /** Ids of the calls, each once. */
  readonly arguments: readonly string[];
  readonly answer: boolean;
  readonly completion: boolean;
  readonly utilization: boolean;
}

// A reason stands before its verdict everywhere: models write in the order of the schema, and a verdict that comes first
// is defended instead of derived.
const parameterFinding = z.object({
  name: z.string().describe('Name of the argument.'),
  finding: z.string().describe('What speaks for or against its value, in one sentence.'),
  correct: z.boolean(),
});

const callVerdict = z.object({
  call_id: z.string().describe('Id of the call, exactly as it was asked.'),
  parameters: z.array(parameterFinding).describe('One entry an argument of the call; empty when it has none.'),
  reason: z.string().describe('Why, in one or two sentences.'),
  verdict: z.enum(['correct', 'incorrect', 'undecidable']),
});

const graded = z.object({
  reason: z.string().describe('Why, in one or two sentences.'),
  value: z.number().min(0).max(1).nullable().describe('From 0 (wrong) to 1 (right); null when it cannot be told.'),
});

const usage = z.object({
  reason: z.string().describe('Why, in one or two sentences.'),
  verdict: z.enum(['used', 'unused', 'undecidable']),
});

const parts = { arguments: z.array(callVerdict), answer: graded, completion: graded, utilization: usage };

/** The model's whole answer. A part is there exactly when it was asked. */
export interface JudgeAnswer {
  readonly arguments?: readonly z.infer<typeof callVerdict>[] | undefined;
  readonly answer?: z.infer<typeof graded> | undefined;
  readonly completion?: z.infer<typeof graded> | undefined;
  readonly utilization?: z.infer<typeof usage> | undefined;
}

/** Equal for requests whose answers have the same schema; there are 16. */
function formOf(asked: AskedParts): string {
  const names = (['answer', 'completion', 'utilization'] as const).filter((name) => asked[name]);
  return [...(asked.arguments.length > 0 ? ['arguments'] : []), ...names].join(' ');
}

/** One value a form: schemas are costly to make and are needed for every question. */
export function perForm<T>(make: (asked: AskedParts) => T): (asked: AskedParts) => T {
  const made = new Map<string, T>();
  return (asked) => {
    const form = formOf(asked);
    let value = made.get(form);
    if (value === undefined) made.set(form, (value = make(asked)));
    return value;
  };
}

/** The schema of the answer to a request. Call ids are no part of it, so that there are few and providers can keep them. */
export const answerSchema = perForm((asked): z.ZodType<JudgeAnswer> => {
  const shape: Partial<typeof parts> = {
    ...(asked.arguments.length > 0 && { arguments: parts.arguments }),
    ...(asked.answer && { answer: parts.answer }),
    ...(asked.completion && { completion: parts.completion }),
    ...(asked.utilization && { utilization: parts.utilization }),
  };
  return z.object(shape as typeof parts);
});

// What a provider's strict mode may refuse is checked by us instead.
const LEFT_TO_US = ['minimum', 'maximum', '$schema'] as const;

/** The same as JSON Schema: every property required, nothing additional, no bounds on numbers. */
export const answerJsonSchema = perForm((asked): JsonObject => {
  const schema = z.toJSONSchema(answerSchema(asked), {
    override: ({ jsonSchema }) => {
      for (const keyword of LEFT_TO_US) delete jsonSchema[keyword];
    },
  });
  delete schema.$schema;
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
});

/** Changes when what is asked of the model's answer does. */
export function answerSchemaHash(): string {
  const all: Json = answerJsonSchema({ arguments: ['call_0'], answer: true, completion: true, utilization: true });
  return createHash('sha256').update(canonicalJson(all)).digest('hex').slice(0, 12);
}
