import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { newMap } from '../model/null-map.js';
import type { ToolDefinition } from '../model/message.js';
import type { Attributes } from '../model/span.js';
import { jsonish, looseJson, ownJson } from './jsonish.js';
import { sharedByText, WITHIN_AN_AGENT } from './shared-by-text.js';

const SCHEMA_KEYS = [
  'parameters',
  'input_schema',
  'inputSchema',
  'parameters_json_schema',
  'parametersJsonSchema',
  'args_schema',
  'json_schema',
];

/**
 * Reads tool definitions in any of the shapes that providers and frameworks use: OpenAI (`{type, function: {...}}` or
 * flat), Anthropic (`input_schema`), Bedrock (`toolSpec.inputSchema.json`), Gemini (`function_declarations`, types in
 * upper case), AI SDK (`inputSchema`), names alone; as values, JSON text, or a list of JSON texts.
 */
export function readToolDefinitions(value: Json | undefined): readonly ToolDefinition[] {
  if (value === undefined || value === null) return [];
  return definitionsIn(typeof value === 'string' ? value : JSON.stringify(value));
}

/** As `readToolDefinitions`, for an attribute: what all calls of an agent repeat is not even decoded again. */
export function toolDefinitionsAt(attributes: Attributes, key: string): readonly ToolDefinition[] {
  const encoded = attributes.encoded?.(key);
  if (encoded === undefined) return readToolDefinitions(attributes.get(key));
  return definitionsEncoded(encoded, () => attributes.get(key));
}

const definitionsEncoded = sharedByText(WITHIN_AN_AGENT, (_encoded, decode: () => Json | undefined) =>
  readToolDefinitions(decode()),
);

/** Shared, so that each agent's schemas are the same objects in all of its calls: what is compiled from them is, too. */
const definitionsIn = sharedByText(WITHIN_AN_AGENT, (text): readonly ToolDefinition[] => {
  const parsed = looseJson(text);
  const items: readonly Json[] = Array.isArray(parsed) ? (parsed as readonly Json[]) : [parsed];
  return items.flatMap((item) => readOne(typeof item === 'string' ? looseJson(item) : item));
});

function readOne(item: Json): ToolDefinition[] {
  if (typeof item === 'string') return item.trim() === '' || item.includes('{') ? [] : [named(item.trim())];
  if (!isJsonObject(item)) return [];
  const declarations = item.function_declarations ?? item.functionDeclarations;
  if (Array.isArray(declarations)) return (declarations as readonly Json[]).flatMap(readOne);
  if (item.json_schema !== undefined && item.name === undefined) return readOne(looseJson(item.json_schema));
  const inner = [item.function, item.toolSpec, item.custom].find(isJsonObject);
  const body: JsonObject = inner ?? item;
  const name = typeof body.name === 'string' ? body.name : typeof item.type === 'string' ? item.type : undefined;
  if (name === undefined || name === '') return [];
  const freeText = item.type === 'custom' || isJsonObject(item.custom);
  const schema = readSchema(body);
  return [schema === undefined ? { name, freeText } : { name, schema, freeText: false }];
}

function named(name: string): ToolDefinition {
  return { name, freeText: false };
}

function readSchema(body: JsonObject): Json | undefined {
  for (const key of SCHEMA_KEYS) {
    const value = body[key];
    if (value === undefined || value === null) continue;
    const parsed = jsonish(value);
    if (!isJsonObject(parsed)) continue;
    const schema = isJsonObject(parsed.json) && Object.keys(parsed).length === 1 ? parsed.json : parsed;
    const own = ownJson(schema);
    if (own !== undefined) return lowerCaseTypes(own);
  }
  return undefined;
}

const GEMINI_TYPES = new Set(['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL']);
/** Members that hold values, not schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'example', 'examples', 'required']);

function lowerCaseTypes(schema: Json): Json {
  if (!isJsonObject(schema) || typeof schema.type !== 'string' || !GEMINI_TYPES.has(schema.type)) return schema;
  return lowered(schema);
}

function lowered(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(lowered);
  if (!isJsonObject(value)) return value;
  const copy = newMap();
  for (const [key, member] of Object.entries(value)) {
    if (key === 'type' && typeof member === 'string' && GEMINI_TYPES.has(member)) copy[key] = member.toLowerCase();
    else copy[key] = VALUES.has(key) ? member : lowered(member);
  }
  return copy;
}

/** Is this a JSON Schema of an object, rather than arguments? */
export function isSchemaLike(value: Json): boolean {
  return isJsonObject(value) && (isJsonObject(value.properties) || value.type === 'object' || '$schema' in value);
}
