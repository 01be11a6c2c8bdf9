import type { AnySchema, ErrorObject, Options, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import type { Json, JsonObject } from '../model/json.js';
import { canonicalJson, isJsonObject } from '../model/json.js';
import { boundedPattern } from './bounded-pattern.js';

/** What a recorded schema says of a call's arguments. `unknown`: the schema cannot be used, so it objects to nothing. */
export type SchemaCheck =
  { readonly kind: 'valid' | 'unknown' } | { readonly kind: 'invalid'; readonly problem: string };

// Schemas are written by whoever sends spans, so they are bounded; real ones are a few kB.
const MAX_SCHEMA_CHARS = 65_536;
const MAX_CACHED = 500;
// Evaluations of `$ref` in one check; a chain of doubling references would need 2^n.
const MAX_REFERENCES_FOLLOWED = 20_000;
const FUEL = 'x-tracegrade-fuel';
// Under these, a pattern that is passed over could turn valid into invalid.
const TURNS_AROUND = /"(?:not|oneOf|if|patternProperties|maxContains|minContains)":/;

interface Compiled {
  readonly validate: ValidateFunction;
  readonly fuel: { left: number };
}

const byIdentity = new WeakMap<object, Compiled | null>();
const byText = new Map<string, Compiled | null>();

/**
 * Validates arguments against the schema that was recorded with the tool: JSON Schema draft-07, or 2019-09 and 2020-12
 * when `$schema` says so. Formats of dates, times, mail addresses, ids and URIs are asserted, times without a zone pass.
 *
 * Never throws. `unknown` for a schema that is itself invalid, refers to something outside itself, is longer than
 * 65536 characters as canonical JSON, or needs more work than the bounds allow. Compiled schemas are kept, at most 500.
 */
export function checkSchema(schema: Json, value: Json): SchemaCheck {
  if (!isJsonObject(schema)) return { kind: 'unknown' };
  const compiled = compiledOf(schema);
  if (compiled === null) return { kind: 'unknown' };
  try {
    const error = firstError(compiled, value);
    if (error === null || firstError(compiled, withBigIntegers(value)) === null) return { kind: 'valid' };
    return { kind: 'invalid', problem: describe(error) };
  } catch {
    // Too deep, out of fuel, or a text too long for its pattern.
    return { kind: 'unknown' };
  }
}

function firstError({ validate, fuel }: Compiled, value: Json): ErrorObject | null {
  fuel.left = MAX_REFERENCES_FOLLOWED;
  return validate(value) ? null : (validate.errors?.[0] ?? null);
}

function compiledOf(schema: JsonObject): Compiled | null {
  const known = byIdentity.get(schema);
  if (known !== undefined) return known;
  const compiled = compiledOfText(schema);
  byIdentity.set(schema, compiled);
  return compiled;
}

function compiledOfText(schema: JsonObject): Compiled | null {
  let text: string;
  try {
    text = canonicalJson(schema);
  } catch {
    return null;
  }
  if (text.length > MAX_SCHEMA_CHARS) return null;
  let compiled = byText.get(text);
  if (compiled === undefined) {
    compiled = compile(schema, text);
    if (byText.size >= MAX_CACHED) byText.delete(byText.keys().next().value as string);
  } else {
    byText.delete(text);
  }
  byText.set(text, compiled);
  return compiled;
}

type Dialect = 'draft-07' | '2019-09' | '2020-12';

function compile(schema: JsonObject, text: string): Compiled | null {
  const { $schema, ...rest } = schema;
  const dialect = dialectOf($schema);
  const fuel = { left: 0 };
  try {
    if (metaSchema(dialect).validateSchema(rest) !== true) return null;
    // An instance of its own: its memory goes with the cache entry, and equal `$id`s of two tools do not meet.
    // `code.process` and `code.source` stay unset: with them Ajv writes `$id` into a comment of the code it runs.
    const ajv = newAjv(dialect, {
      meta: false,
      validateSchema: false,
      inlineRefs: false,
      ownProperties: true,
      code: { regExp: patternEngine(TURNS_AROUND.test(text)), optimize: false },
    });
    for (const format of LENIENT_FORMATS) ajv.addFormat(format.name, ajvFormats.default.get(format.as));
    ajv.addKeyword({
      keyword: FUEL,
      before: '$ref',
      validate: () => {
        fuel.left -= 1;
        if (fuel.left < 0) throw new RangeError('too many references followed');
        return true;
      },
    });
    ajv.removeKeyword('uniqueItems');
    ajv.addKeyword({
      keyword: 'uniqueItems',
      type: 'array',
      error: { message: 'must NOT have duplicate items' },
      // Ajv compares every pair.
      validate: (wanted: unknown, items: readonly Json[]) =>
        wanted !== true || new Set(items.map(canonicalJson)).size === items.length,
    });
    return { validate: ajv.compile(fuelled(rest) as AnySchema), fuel };
  } catch {
    return null;
  }
}

function dialectOf($schema: Json | undefined): Dialect {
  if (typeof $schema !== 'string') return 'draft-07';
  if ($schema.includes('2020-12')) return '2020-12';
  return $schema.includes('2019-09') ? '2019-09' : 'draft-07';
}

function newAjv(dialect: Dialect, options: Options): Ajv {
  const all: Options = { strict: false, logger: false, ...options };
  if (dialect === '2020-12') return new Ajv2020(all);
  if (dialect === '2019-09') return new Ajv2019(all);
  return new Ajv(all);
}

const metaSchemas = new Map<Dialect, Ajv>();

function metaSchema(dialect: Dialect): Ajv {
  const known = metaSchemas.get(dialect) ?? newAjv(dialect, {});
  metaSchemas.set(dialect, known);
  return known;
}

// Tools' own parsers take a local time, and JSON Schema leaves the assertion of formats open.
const LENIENT_FORMATS = [
  { name: 'date', as: 'date' },
  { name: 'time', as: 'iso-time' },
  { name: 'date-time', as: 'iso-date-time' },
  { name: 'email', as: 'email' },
  { name: 'uuid', as: 'uuid' },
  { name: 'uri', as: 'uri' },
  { name: 'ipv4', as: 'ipv4' },
  { name: 'ipv6', as: 'ipv6' },
] as const;

/** Patterns that may run away, or are of another language, are passed over; where that could object, they throw. */
function patternEngine(strict: boolean): NonNullable<NonNullable<Options['code']>['regExp']> {
  const engine = (source: string) => {
    const pattern = boundedPattern(source);
    if (pattern === null && strict) throw new RangeError('pattern cannot be used');
    return {
      test: (text: string) => {
        const matched = pattern?.(text);
        if (matched === undefined && strict) throw new RangeError('text too long for its pattern');
        return matched ?? true;
      },
      toString: () => source,
    };
  };
  return Object.assign(engine, { code: 'boundedPattern' });
}

/** The schema with a counter beside each reference. */
function fuelled(schema: Json): Json {
  if (Array.isArray(schema)) return (schema as readonly Json[]).map(fuelled);
  if (!isJsonObject(schema)) return schema;
  const copy: Record<string, Json> = {};
  for (const [key, value] of Object.entries(schema)) {
    const item = key === 'enum' && Array.isArray(value) ? value : fuelled(value);
    Object.defineProperty(copy, key, { value: item, enumerable: true, writable: true, configurable: true });
  }
  const refers = ['$ref', '$dynamicRef', '$recursiveRef'].some((key) => typeof schema[key] === 'string');
  if (refers) copy[FUEL] = true;
  return copy;
}

/** An int64 beyond 2^53 reaches us as its decimal text; that is the recorder's way, not the agent's. */
function withBigIntegers(value: Json): Json {
  if (typeof value === 'string') {
    return /^-?\d{16,20}$/.test(value) && !Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map(withBigIntegers);
  if (!isJsonObject(value)) return value;
  const copy = Object.create(null) as Record<string, Json>;
  for (const [key, item] of Object.entries(value)) copy[key] = withBigIntegers(item);
  return copy;
}

/** Names the place and the rule, never the value. */
function describe(error: ErrorObject): string {
  const params = error.params as { additionalProperty?: string; unevaluatedProperty?: string };
  const surplus = params.additionalProperty ?? params.unevaluatedProperty;
  const place = error.instancePath === '' ? 'arguments' : error.instancePath;
  const text = `${place} ${error.message ?? 'invalid'}${surplus === undefined ? '' : ` (${surplus})`}`;
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
