import { z } from 'zod';
import type { Expectation, ExpectedCall } from '../model/expectation.js';
import type { Json, JsonObject } from '../model/json.js';
import { isJsonObject } from '../model/json.js';
import type { MadeCall } from './assess-tools.js';
import { UNNAMED } from './tool-correctness.js';

/** One turn of a dataset: what to match it by, and what should have happened. */
export interface DatasetTurn {
  /** Where it stands, for messages: `orders.jsonl:12 conversation[1]`. */
  readonly place: string;
  /** `qa_id`. */
  readonly caseId: string | null;
  /** `session_id`. */
  readonly conversationId: string | null;
  readonly assistantId: string | null;
  /** 0-based position in the dataset's conversation. */
  readonly turn: number;
  readonly query: string | null;
  readonly expectation: Expectation;
  /** The agent's own trace, where the dataset holds it; for the batch metric. */
  readonly recorded: RecordedTurn | null;
}

/** A turn as messages name it: `orders.jsonl:12 conversation[1] (session_id conversation-7, qa_id case-1)`. */
export function turnName({ place, conversationId, caseId }: TurnName): string {
  const ids = [
    ...(conversationId === null ? [] : [`session_id ${shown(conversationId)}`]),
    ...(caseId === null ? [] : [`qa_id ${shown(caseId)}`]),
  ];
  return ids.length === 0 ? place : `${place} (${ids.join(', ')})`;
}

/** What a turn of a dataset is called by. */
export type TurnName = Pick<DatasetTurn, 'place' | 'conversationId' | 'caseId'>;

export interface RecordedTurn {
  /** Also empty, when that is what the agent said; null: not recorded. */
  readonly answer: string | null;
  readonly calls: readonly MadeCall[];
  /** As the data declares; absent: it does not. */
  readonly resultsUsed?: boolean;
}

/** Something in a dataset that cannot be used. Names the place and what was expected, never the content. */
export interface DatasetFault {
  readonly place: string;
  readonly problem: string;
  /** Of the system's error (`ENOENT`), where it gave no text to read: reading again may help. */
  readonly code?: string;
}

export interface Datasets {
  readonly turns: readonly DatasetTurn[];
  readonly faults: readonly DatasetFault[];
}

const text = z.string();
const optionalText = text.nullish();
const id = z.union([text, z.number().transform(String)]).nullish();
// As deep as attribute values are read. What compares them calls itself for each level, and must not run out of stack.
const MAX_DEPTH = 100;
const notTooDeep = (value: unknown): boolean => !isDeeper(value, MAX_DEPTH);
const tooDeep = `nested at most ${MAX_DEPTH} deep expected`;

const jsonObject = z.custom<JsonObject>(isJsonObject, 'an object expected').refine(notTooDeep, tooDeep);
const names = z.array(text.min(1)).nullish();

const expectedTool = z.strictObject({
  tool_name: text.min(1),
  parameters: jsonObject.nullish(),
  step: z.number().nullish(),
  optional: z.boolean().nullish(),
  // Written by hand beside the call and not compared.
  result: z.unknown().optional(),
  description: z.unknown().optional(),
});

const groundTruth = z.strictObject({
  expected_tools: z.array(expectedTool).nullish(),
  tool_sequence_matters: z.boolean().nullish(),
  allowed_tools: names,
  forbidden_tools: names,
  expected_tools_mode: z.enum(['exact_order', 'in_order', 'any_order', 'subset', 'superset']).nullish(),
  expected_arguments_match: z.enum(['exact', 'subset', 'superset', 'ignore']).nullish(),
});

const usedTool = z.looseObject({
  tool_name: optionalText,
  parameters: z
    .custom<Json | undefined>(() => true)
    .refine(notTooDeep, tooDeep)
    .optional(),
  step: z.number().nullish(),
});

const agentic = z.looseObject({
  tools_used: z.array(usedTool).nullish(),
  final_answer_uses_tools: z.boolean().nullish(),
});

const batch = z.looseObject({
  qa_id: id,
  query: optionalText,
  assistant: optionalText,
  ground_truth_assistant: optionalText,
  agentic: agentic.nullish(),
  ground_truth_agentic: groundTruth.nullish(),
});

const dataset = z.looseObject({
  session_id: id,
  assistant_id: id,
  language: optionalText,
  context: optionalText,
  conversation: z.array(z.unknown()),
});

/** What people write for a key of the ground truth. */
const MEANT: Readonly<Record<string, string>> = {
  name: 'tool_name',
  tool: 'tool_name',
  arguments: 'parameters',
  args: 'parameters',
  input: 'parameters',
  input_parameters: 'parameters',
  params: 'parameters',
  tools: 'expected_tools',
  sequence_matters: 'tool_sequence_matters',
  mode: 'expected_tools_mode',
};

// At the outer levels other keys are allowed, but not one that was meant as ground truth.
const LOOKS_LIKE_GROUND_TRUTH = /ground|truth|expect|forbid|allowed/i;

/** One dataset as JSON and where it stands (`orders.jsonl:12`, `orders.json [3]`), or why the text is none. */
export type DatasetItem = { readonly place: string; readonly dataset: Json } | { readonly fault: DatasetFault };

/** The datasets of a text that holds one, or a list of them. */
export function splitDatasets(content: string, source: string): readonly DatasetItem[] {
  const value = parseJson(content, source);
  if ('fault' in value) return [value];
  if (!Array.isArray(value.json)) return [{ place: source, dataset: value.json }];
  return (value.json as readonly Json[]).map((dataset, i) => ({ place: `${source} [${i}]`, dataset }));
}

/** The dataset of one line of a JSONL file; none of an empty line. `lineNumber` counts from 1. */
export function splitDatasetLine(line: string, source: string, lineNumber: number): readonly DatasetItem[] {
  if (line.trim() === '') return [];
  const place = `${source}:${lineNumber}`;
  const value = parseJson(line, place);
  return 'fault' in value ? [value] : [{ place, dataset: value.json }];
}

/** What stands before the path inside a dataset: `orders.jsonl:12 `, `orders.json [3].`. */
export function pathPrefix(place: string): string {
  return place === '' ? '' : `${place}${/ \[\d+\]$|^\[\d+\]$/.test(place) ? '.' : ' '}`;
}

/** Parses a file that holds one dataset, or a list of them, in Gaussia's JSON. */
export function parseDatasets(content: string, source: string): Datasets {
  return joined(splitDatasets(content, source).map(turnsOf));
}

/** Parses one line of a JSONL file; an empty line is nothing. `lineNumber` counts from 1. */
export function parseDatasetLine(line: string, source: string, lineNumber: number): Datasets {
  return joined(splitDatasetLine(line, source, lineNumber).map(turnsOf));
}

export function turnsOf(item: DatasetItem): Datasets {
  return 'fault' in item ? { turns: [], faults: [item.fault] } : readDataset(item.dataset, pathPrefix(item.place));
}

export function joined(parts: readonly Datasets[]): Datasets {
  return { turns: parts.flatMap((part) => part.turns), faults: parts.flatMap((part) => part.faults) };
}

// Calls read from spans are made well-formed; what they are compared with must be as well.
const HIDDEN_SURROGATE = /\\ud[89a-f]/i;

function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function parseJson(content: string, place: string): { readonly json: Json } | { readonly fault: DatasetFault } {
  const withoutMark = content.startsWith('\uFEFF') ? content.slice(1) : content;
  try {
    return {
      json: JSON.parse(withoutMark.toWellFormed(), HIDDEN_SURROGATE.test(content) ? wellFormed : undefined) as Json,
    };
  } catch (error) {
    const position = faultPosition(withoutMark, error);
    if (position === null) return { fault: { place, problem: 'not JSON (cut off?)' } };
    const before = withoutMark.slice(0, position);
    const line = before.split('\n').length;
    const column = before.length - before.lastIndexOf('\n');
    return { fault: { place, problem: `not JSON at line ${line}, column ${column}` } };
  }
}

const JSON_TOKEN = /\s+|[{}[\]:]|,(?!\s*[}\]])|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null/y;

/** The engine's message quotes the content, and only sometimes holds the position: else the first thing that is no token. */
function faultPosition(content: string, error: unknown): number | null {
  const stated = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
  if (stated !== undefined) return Number(stated);
  JSON_TOKEN.lastIndex = 0;
  let end = 0;
  while (JSON_TOKEN.test(content)) end = JSON_TOKEN.lastIndex;
  return end < content.length ? end : null;
}

/**
 * One dataset in Gaussia's shape. A turn with a fault is left out and named; the others keep their numbers. Keys of the
 * ground truth that nobody knows are faults: a misspelt one would otherwise expect nothing, and pass.
 */
export function readDataset(value: Json, prefix: string): Datasets {
  const { turns, faults } = readConversation(value, prefix);
  return { turns, faults };
}

/** A dataset with its ids, which are null when they are blank or missing. */
export interface DatasetConversation extends Datasets {
  readonly sessionId: string | null;
  readonly assistantId: string | null;
}

/** As `readDataset`, with the ids of the conversation, also of one without turns. */
export function readConversation(value: unknown, prefix: string): DatasetConversation {
  const outer = dataset.safeParse(value);
  if (!outer.success) return { sessionId: null, assistantId: null, turns: [], faults: faultsOf(outer.error, prefix) };
  const { session_id, assistant_id, conversation } = outer.data;
  const faults = misplaced(outer.data, Object.keys(dataset.shape), prefix);
  const turns: DatasetTurn[] = [];
  conversation.forEach((item, turn) => {
    const place = `${prefix}conversation[${turn}]`;
    const parsed = batch.safeParse(item);
    if (!parsed.success) {
      faults.push(...faultsOf(parsed.error, `${place}.`));
      return;
    }
    const problems = [
      ...misplaced(parsed.data, Object.keys(batch.shape), `${place}.`),
      ...contradictions(parsed.data.ground_truth_agentic, `${place}.`),
    ];
    const { qa_id, query } = parsed.data;
    if (blank(qa_id) && blank(session_id) && blank(query)) {
      problems.push({ place, problem: 'nothing to match it by: qa_id, session_id or query expected' });
    }
    faults.push(...problems);
    if (problems.length > 0) return;
    turns.push({
      place,
      caseId: orNull(qa_id),
      conversationId: orNull(session_id),
      assistantId: orNull(assistant_id),
      turn,
      query: orNull(query),
      expectation: expectationOf(parsed.data),
      recorded: recordedOf(parsed.data),
    });
  });
  return { sessionId: orNull(session_id), assistantId: orNull(assistant_id), turns, faults };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

function blank(value: string | null | undefined): boolean {
  return value === undefined || value === null || value.trim() === '';
}

function orNull(value: string | null | undefined): string | null {
  return blank(value) ? null : (value as string);
}

type Batch = z.infer<typeof batch>;

function expectationOf({ ground_truth_assistant, ground_truth_agentic: truth }: Batch): Expectation {
  const tools = truth?.expected_tools?.map(expectedCallOf);
  const mode = truth?.expected_tools_mode ?? (truth?.tool_sequence_matters === false ? 'any_order' : undefined);
  return present({
    answer: orNull(ground_truth_assistant),
    tools,
    mode: mode ?? (truth?.tool_sequence_matters === true ? 'in_order' : undefined),
    argumentsMatch: truth?.expected_arguments_match,
    forbiddenTools: truth?.forbidden_tools,
    allowedTools: truth?.allowed_tools,
  });
}

function expectedCallOf(tool: z.infer<typeof expectedTool>): ExpectedCall {
  const { tool_name: name, parameters, step, optional } = tool;
  return present({ name, arguments: parameters, step, optional: optional === true ? true : undefined });
}

function recordedOf({ assistant, agentic: trace }: Batch): RecordedTurn | null {
  if ((assistant === null || assistant === undefined) && !trace) return null;
  const calls = (trace?.tools_used ?? []).map((tool) =>
    present<MadeCall>({
      name: orNull(tool.tool_name) ?? UNNAMED,
      arguments: tool.parameters ?? {},
      step: tool.step,
    }),
  );
  return present({ answer: assistant ?? null, calls, resultsUsed: trace?.final_answer_uses_tools }, ['answer']);
}

/** Without the members that are null or undefined (but for `kept`). */
function present<T extends object>(
  members: { readonly [K in keyof T]: T[K] | null | undefined },
  kept: readonly string[] = [],
): T {
  const entries = Object.entries(members).filter(
    ([key, value]) => kept.includes(key) || (value !== null && value !== undefined),
  );
  return Object.fromEntries(entries) as T;
}

function contradictions(truth: Batch['ground_truth_agentic'], prefix: string): DatasetFault[] {
  const { tool_sequence_matters: matters, expected_tools_mode: mode } = truth ?? {};
  if (matters === undefined || matters === null || mode === undefined || mode === null) return [];
  if (matters === (mode !== 'any_order')) return [];
  const place = `${prefix}ground_truth_agentic.expected_tools_mode`;
  return [{ place, problem: `${mode} contradicts tool_sequence_matters: ${matters}` }];
}

function misplaced(value: object, known: readonly string[], prefix: string): DatasetFault[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key) && LOOKS_LIKE_GROUND_TRUTH.test(key))
    .map((key) => ({ place: `${prefix}${shown(key)}`, problem: `unknown key; known are ${known.join(', ')}` }));
}

/** The faults that zod found, each with its path behind `prefix`. */
export function faultsOf(error: z.ZodError, prefix: string): DatasetFault[] {
  return error.issues.flatMap((issue): DatasetFault[] => {
    const path = pathText(issue.path);
    if (issue.code !== 'unrecognized_keys') {
      return [
        { place: `${prefix}${path}`.replace(/[. ]+$/, ''), problem: issue.message.replace(/^Invalid input: /, '') },
      ];
    }
    return issue.keys.map((key) => {
      const meant = MEANT[key];
      const hint = meant === undefined ? '' : `; ${meant} was meant?`;
      return { place: `${prefix}${path}${path === '' ? '' : '.'}${shown(key)}`, problem: `unknown key${hint}` };
    });
  });
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return `${text}${text === '' ? '' : '.'}${String(step)}`;
  }, '');
}

function shown(key: string): string {
  return key.length > 40 ? `${key.slice(0, 39)}…` : key;
}
