import { canonicalJson, type Json } from '../../src/model/json.js';
import type { CoverageFlag, Interaction, ToolCall } from '../../src/model/interaction.js';

/** A tool call in an `expect.json`. `result` absent: the call failed; null: not captured. */
interface ExpectedTool {
  readonly name: string;
  readonly arguments: Json;
  readonly result?: Json;
  readonly error?: string | null;
  /** Generic text that was recorded in place of the tool's own error. */
  readonly error_as_recorded?: string;
  readonly failed?: boolean;
  readonly pending?: boolean;
  readonly owner?: string;
}

/** A turn in an `expect.json`; null = not captured. */
interface ExpectedInteraction {
  readonly query: string | null;
  readonly answer: string | null;
  readonly tools: readonly ExpectedTool[] | null;
  readonly interrupted?: boolean;
}

/** One conversation of an `expect.json`. */
interface ExpectedConversation {
  /** null: none was recorded, so each trace is a conversation of its own. */
  readonly conversation_id: string | null;
  readonly interactions: readonly ExpectedInteraction[];
  readonly agent: string | null;
  readonly model: string | null;
  readonly handoffs?: readonly { readonly from: string | null; readonly to: string | null }[];
  readonly coverage?: readonly string[];
  readonly tokens?: { readonly input: number; readonly output: number } | null;
  /** Recorded so badly that "not captured" is right too; wrong values are not. */
  readonly weak?: string;
}

export interface Expected extends Partial<ExpectedConversation> {
  readonly conversations?: readonly ExpectedConversation[];
}

function expectedConversations(expected: Expected): readonly ExpectedConversation[] {
  if (expected.conversations !== undefined) return expected.conversations;
  return expected.interactions === undefined ? [] : [expected as ExpectedConversation];
}

export type Field = 'count' | 'conversation' | 'query' | 'answer' | 'tools' | 'agent' | 'model' | 'other';

export interface Difference {
  readonly field: Field;
  readonly text: string;
}

/** What differs between the interactions that were found and what an `expect.json` says, one line each. */
export function compareConversations(actual: readonly Interaction[], expected: Expected): string[] {
  return differences(actual, expected).map(({ field, text }) => `${field}: ${text}`);
}

/** As `compareConversations`, by field. */
export function differences(actual: readonly Interaction[], expected: Expected): Difference[] {
  const conversations = expectedConversations(expected);
  const found: Difference[] = [];
  const left = new Set([...actual].sort((a, b) => a.startedAtMs - b.startedAtMs));
  for (const [at, conversation] of conversations.entries()) {
    const named = (item: Interaction) => item.conversationId === conversation.conversation_id;
    // With a single conversation a wrong id is one difference, not a missing interaction.
    const mine = [...left].filter((item) => (conversations.length === 1 ? true : named(item)));
    for (const item of mine) left.delete(item);
    found.push(...compareConversation(mine, conversation).map((difference) => prefixed(difference, conversations, at)));
  }
  for (const item of left) found.push({ field: 'count', text: `unexpected interaction of ${item.conversationId}` });
  return found;
}

function prefixed(difference: Difference, conversations: readonly unknown[], at: number): Difference {
  return conversations.length === 1 ? difference : { ...difference, text: `[${at}] ${difference.text}` };
}

function compareConversation(actual: readonly Interaction[], expected: ExpectedConversation): Difference[] {
  const found: Difference[] = [];
  const add = (field: Field, ...texts: readonly string[]) => found.push(...texts.map((text) => ({ field, text })));
  const weak = expected.weak !== undefined;
  if (actual.length !== expected.interactions.length) {
    add('count', `${expected.interactions.length} interactions expected, got ${actual.length}`);
  }
  for (const [at, turn] of expected.interactions.entries()) {
    const item = actual[at];
    if (item === undefined) continue;
    add('query', ...compareText(item, 'query', turn.query, weak, at));
    add('answer', ...compareText(item, 'answer', turn.answer, weak, at));
    add('tools', ...compareTools(item, turn.tools, weak).map((text) => `turn ${at}: ${text}`));
    if (turn.interrupted === true && !item.interrupted) add('other', `turn ${at}: interrupted expected`);
    if (expected.conversation_id === null) {
      if (item.conversationIdSource !== 'synthetic') add('conversation', `none expected, got ${item.conversationId}`);
    } else if (item.conversationId !== expected.conversation_id) {
      add('conversation', `${expected.conversation_id} expected, got ${item.conversationId}`);
    }
    if (expected.agent !== null) {
      if (item.assistantId !== expected.agent) add('agent', `${expected.agent} expected, got ${item.assistantId}`);
      else if (item.coverage.includes('agent_not_captured')) add('agent', 'flagged as not captured');
    }
    const mayLack = item.model === null && weak;
    if (item.model !== expected.model && !mayLack) add('model', `${expected.model} expected, got ${item.model}`);
  }
  add('other', ...compareRest(actual, expected));
  return found;
}

const NOT_CAPTURED: Readonly<Record<'query' | 'answer', readonly CoverageFlag[]>> = {
  query: ['query_not_captured', 'query_truncated'],
  answer: ['answer_not_captured', 'answer_truncated'],
};

function compareText(
  item: Interaction,
  field: 'query' | 'answer',
  expected: string | null,
  weak: boolean,
  at: number,
): string[] {
  const text = item[field];
  const flagged = NOT_CAPTURED[field].some((flag) => item.coverage.includes(flag));
  if (text === null && (expected === null || weak))
    return flagged ? [] : [`turn ${at}: ${field} is null without a flag`];
  return text?.trim() === expected?.trim() ? [] : [`turn ${at}: ${quote(expected)} expected, got ${quote(text)}`];
}

function compareTools(item: Interaction, expected: readonly ExpectedTool[] | null, weak: boolean): string[] {
  if (weak && item.toolCalls.length === 0) return [];
  if (expected === null) {
    if (item.toolCalls.length > 0) return [`no calls expected, got ${item.toolCalls.length}`];
    return item.coverage.includes('tool_calls_not_captured') ? [] : ['no calls, without a flag'];
  }
  const names = item.toolCalls.map((call) => call.name);
  if (names.length !== expected.length)
    return [`${expected.length} calls expected, got ${names.length} (${names.join(', ')})`];
  return expected.flatMap((tool, at) =>
    compareTool(item.toolCalls[at] as ToolCall, tool).map((text) => `call ${at}: ${text}`),
  );
}

function compareTool(call: ToolCall, expected: ExpectedTool): string[] {
  const found: string[] = [];
  if (call.name !== expected.name) found.push(`${expected.name} expected, got ${call.name}`);
  if (expected.arguments === null) {
    if (!['not_captured', 'truncated'].includes(call.argumentsStatus))
      found.push(`arguments are ${call.argumentsStatus}`);
  } else if (call.argumentsStatus !== 'captured' || !sameValue(call.arguments, expected.arguments)) {
    found.push(`arguments ${quote(expected.arguments)} expected, got ${call.argumentsStatus} ${quote(call.arguments)}`);
  }
  if (expected.result === null) {
    if (call.result !== null) found.push(`no result expected, got ${quote(call.result)}`);
  } else if (expected.result !== undefined && !sameValue(call.result, expected.result)) {
    found.push(`result ${quote(expected.result)} expected, got ${quote(call.result)}`);
  }
  const fails = expected.failed ?? (expected.result === undefined && expected.pending !== true);
  if (call.failed !== fails) found.push(`failed ${fails} expected, got ${call.failed} (${quote(call.error)})`);
  if (call.pending !== (expected.pending ?? false)) found.push(`pending ${expected.pending ?? false} expected`);
  const told = `${call.error ?? ''}\n${typeof call.result === 'string' ? call.result : ''}`;
  for (const text of [expected.error, expected.error_as_recorded]) {
    if (typeof text === 'string' && !told.includes(text))
      found.push(`error ${quote(text)} expected, got ${quote(told)}`);
  }
  return found;
}

/** Equal as JSON; a text and the value that it is the JSON of count as equal. */
function sameValue(actual: Json, expected: Json): boolean {
  if (canonicalJson(actual) === canonicalJson(expected)) return true;
  return typeof actual === 'string' && typeof expected !== 'string' && parses(actual, expected);
}

function parses(text: string, expected: Json): boolean {
  try {
    return canonicalJson(JSON.parse(text) as Json) === canonicalJson(expected);
  } catch {
    return false;
  }
}

/** The spelling of flags is the reader's own. */
const FLAG_NAMES: Readonly<Record<string, CoverageFlag>> = { result_truncated: 'results_truncated' };

function compareRest(actual: readonly Interaction[], expected: ExpectedConversation): string[] {
  const found: string[] = [];
  for (const name of expected.coverage ?? []) {
    const flag = FLAG_NAMES[name] ?? name;
    if (!actual.some((item) => (item.coverage as readonly string[]).includes(flag)))
      found.push(`flag ${flag} expected`);
  }
  if (expected.handoffs !== undefined) {
    const handoffs = actual.flatMap((item) => item.handoffs);
    if (canonicalJson(handoffs) !== canonicalJson(expected.handoffs)) found.push(`handoffs: got ${quote(handoffs)}`);
  }
  if (expected.tokens !== undefined) {
    const sum = (key: 'inputTokens' | 'outputTokens') =>
      actual.some((item) => item[key] !== null) ? actual.reduce((total, item) => total + (item[key] ?? 0), 0) : null;
    const [input, output] = [sum('inputTokens'), sum('outputTokens')];
    if (input !== (expected.tokens?.input ?? null) || output !== (expected.tokens?.output ?? null)) {
      found.push(`tokens ${quote(expected.tokens)} expected, got ${input}/${output}`);
    }
  }
  for (const [turn, item] of actual.entries()) {
    for (const [at, tool] of (expected.interactions[turn]?.tools ?? []).entries()) {
      const owner = item.toolCalls[at]?.owner;
      if (tool.owner !== undefined && owner !== tool.owner) found.push(`owner ${tool.owner} expected, got ${owner}`);
    }
  }
  return found;
}

function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
