import type { Expectation } from '../model/expectation.js';
import type { Graded } from '../model/graded.js';
import type { ArgumentsStatus, CoverageFlag, Interaction, ToolCall, ToolOffer } from '../model/interaction.js';
import type { Json } from '../model/json.js';
import { isJsonObject } from '../model/json.js';
import type { AbstainReason, Criterion, DecidedBy, Score, Verdict, VerdictLabel } from '../model/score.js';

/** A column and how its value is taken from the noun. */
type Column<T> = readonly [name: string, value: (of: T) => unknown];

/** Exclusive. Beyond it ClickHouse's DateTime (TTL) and Date (sorting key) come to their ends. */
const END_OF_TIME_MS = Date.UTC(2100, 0, 1);

const UINT32_MAX = 2 ** 32 - 1;

const CALL_COLUMNS: readonly Column<ToolCall>[] = [
  ['position', (call) => whole(call.position)],
  ['call_id', (call) => call.callId],
  ['name', (call) => call.name],
  ['arguments', (call) => (call.argumentsStatus === 'not_captured' ? null : jsonText(call.arguments))],
  ['arguments_status', (call) => call.argumentsStatus],
  ['result', (call) => (call.resultStatus === 'not_captured' ? null : jsonText(call.result))],
  ['result_status', (call) => call.resultStatus],
  ['error', (call) => call.error],
  ['failed', (call) => call.failed],
  ['pending', (call) => call.pending],
  ['owner', (call) => call.owner],
  ['by_root', (call) => call.byRoot],
  ['started_at', (call) => timeOrNull(call.startedAtMs)],
  ['ended_at', (call) => timeOrNull(call.endedAtMs)],
  ['offer', (call) => call.offer.kind],
  ['schema', (call) => ('schema' in call.offer ? schemaText(call.offer.schema ?? null) : null)],
  ['free_text', (call) => call.offer.kind === 'offered' && call.offer.freeText],
  ['provider_executed', (call) => call.providerExecuted],
];

const INTERACTION_COLUMNS: readonly Column<Interaction>[] = [
  ['interaction_id', (turn) => turn.interactionId],
  ['trace_id', (turn) => turn.traceId],
  ['root_span_id', (turn) => turn.rootSpanId],
  ['conversation_id', (turn) => turn.conversationId],
  ['conversation_id_source', (turn) => turn.conversationIdSource],
  ['conversation_aliases', (turn) => turn.conversationAliases],
  ['user_id', (turn) => turn.userId],
  ['assistant_id', (turn) => turn.assistantId],
  ['agent_version', (turn) => turn.agentVersion],
  ['environment', (turn) => turn.environment],
  ['task', (turn) => turn.task],
  ['case_id', (turn) => turn.caseId],
  ['model', (turn) => turn.model],
  ['dialect', (turn) => turn.dialect],
  ['started_at', (turn) => Math.trunc(turn.startedAtMs)],
  ['ended_at', (turn) => Math.trunc(turn.endedAtMs)],
  ['revision', (turn) => revisionOf(turn)],
  ['open_top', (turn) => turn.openTop],
  ['input_tokens', (turn) => whole(turn.inputTokens)],
  ['output_tokens', (turn) => whole(turn.outputTokens)],
  ['query', (turn) => turn.query],
  ['answer', (turn) => turn.answer],
  ['earlier_turns.query', (turn) => turn.earlierTurns.map((earlier) => earlier.query)],
  ['earlier_turns.answer', (turn) => turn.earlierTurns.map((earlier) => earlier.answer)],
  ['interrupted', (turn) => turn.interrupted],
  ...nested('tool_calls', CALL_COLUMNS, (turn: Interaction) => turn.toolCalls),
  ['handoffs.from', (turn) => turn.handoffs.map((handoff) => handoff.from)],
  ['handoffs.to', (turn) => turn.handoffs.map((handoff) => handoff.to)],
  ['coverage', (turn) => turn.coverage],
  ['expectation', (turn) => (turn.expectation === null ? null : jsonText(turn.expectation as Json))],
];

const SCORE_COLUMNS: readonly Column<Score>[] = [
  ['criterion', (score) => score.criterion],
  ['value', (score) => (score.kind === 'scored' && Number.isFinite(score.value) ? score.value : null)],
  ['passed', (score) => (score.kind === 'scored' ? score.passed : null)],
  ['decided_by', (score) => (score.kind === 'scored' ? score.decidedBy : null)],
  ['abstained', (score) => (score.kind === 'abstained' ? score.abstained : null)],
  ['reason', (score) => score.reason],
  ['details', (score) => jsonText(score.details)],
];

const VERDICT_COLUMNS: readonly Column<Graded>[] = [
  ['interaction_id', ({ verdict }) => verdict.interactionId],
  ['policy', ({ verdict }) => verdict.policy],
  ['version', ({ interaction, verdict }) => verdictVersion(interaction, verdict)],
  ['revision', ({ interaction }) => revisionOf(interaction)],
  ['verdict', ({ verdict }) => verdict.label],
  ['neutral', ({ verdict }) => verdict.neutral],
  ['left_out', ({ verdict }) => verdict.leftOut],
  ['outstanding', ({ verdict }) => Math.min(verdict.outstanding, 255)],
  ...nested('scores', SCORE_COLUMNS, ({ verdict }: Graded) => verdict.scores),
  ['assistant_id', ({ interaction }) => interaction.assistantId],
  ['agent_version', ({ interaction }) => interaction.agentVersion],
  ['environment', ({ interaction }) => interaction.environment],
  ['task', ({ interaction }) => interaction.task],
  ['model', ({ interaction }) => interaction.model],
  ['conversation_id', ({ interaction }) => interaction.conversationId],
  ['trace_id', ({ interaction }) => interaction.traceId],
  ['started_at', ({ interaction }) => Math.trunc(interaction.startedAtMs)],
  ['ended_at', ({ interaction }) => Math.trunc(interaction.endedAtMs)],
  ['open_top', ({ interaction }) => interaction.openTop],
];

export const INTERACTION_COLUMN_NAMES = INTERACTION_COLUMNS.map(([name]) => name);
export const VERDICT_COLUMN_NAMES = VERDICT_COLUMNS.map(([name]) => name);

/**
 * The version of a verdict: revision x 256 + (255 - outstanding criteria). More evidence beats less, and of equal
 * evidence the verdict with fewer open questions wins, so a replayed outage never beats a score. One that was left out
 * counts as all open: read again when the day's tokens are spent, what was judged stays judged.
 */
export function verdictVersion(interaction: Interaction, verdict: Verdict): number {
  const open = verdict.leftOut ? 255 : Math.min(verdict.outstanding, 255);
  return revisionOf(interaction) * 256 + (255 - open);
}

/** One line of JSONCompactEachRow, values in the order of `INTERACTION_COLUMN_NAMES`. Any interaction gives valid text. */
export function interactionLine(interaction: Interaction): string {
  return line(INTERACTION_COLUMNS, interaction);
}

/** One line of JSONCompactEachRow, values in the order of `VERDICT_COLUMN_NAMES`. */
export function verdictLine(graded: Graded): string {
  return line(VERDICT_COLUMNS, graded);
}

/** The partition of both rows, as the tables compute it: `YYYYMM` in UTC. */
export function partitionOf(interaction: Interaction): string {
  const started = new Date(interaction.startedAtMs);
  return String(100 * started.getUTCFullYear() + started.getUTCMonth() + 1).padStart(6, '0');
}

/** Why the store cannot hold an interaction's times, or null. The columns would wrap them around silently. */
export function timeFault(interaction: Interaction): string | null {
  for (const [name, ms] of [
    ['started_at', interaction.startedAtMs],
    ['ended_at', interaction.endedAtMs],
  ] as const) {
    if (!isTime(ms)) {
      return `interaction ${interaction.interactionId}: ${name} between 1970-01-01 and 2099-12-31 expected, got ${ms} ms since the epoch`;
    }
  }
  return null;
}

/** One row of `interactions_current` in JSONEachRow, as the noun that it was written from. */
export function interactionFromRow(row: Readonly<Record<string, unknown>>): Interaction {
  return {
    interactionId: text(row['interaction_id']),
    traceId: text(row['trace_id']),
    rootSpanId: text(row['root_span_id']),
    conversationId: text(row['conversation_id']),
    conversationIdSource: text(row['conversation_id_source']) as Interaction['conversationIdSource'],
    conversationAliases: list(row['conversation_aliases']).map(text),
    userId: textOrNull(row['user_id']),
    assistantId: text(row['assistant_id']),
    agentVersion: textOrNull(row['agent_version']),
    environment: textOrNull(row['environment']),
    task: textOrNull(row['task']),
    caseId: textOrNull(row['case_id']),
    model: textOrNull(row['model']),
    dialect: text(row['dialect']),
    startedAtMs: timeFrom(row['started_at']) ?? 0,
    endedAtMs: timeFrom(row['ended_at']) ?? 0,
    revision: Number(row['revision']),
    openTop: row['open_top'] === true,
    inputTokens: numberOrNull(row['input_tokens']),
    outputTokens: numberOrNull(row['output_tokens']),
    query: textOrNull(row['query']),
    answer: textOrNull(row['answer']),
    earlierTurns: unnested(row, 'earlier_turns', 'query').map((earlier) => ({
      query: textOrNull(earlier['query']),
      answer: textOrNull(earlier['answer']),
    })),
    interrupted: row['interrupted'] === true,
    toolCalls: unnested(row, 'tool_calls', 'position').map(callFromRow),
    handoffs: unnested(row, 'handoffs', 'from').map((handoff) => ({
      from: textOrNull(handoff['from']),
      to: textOrNull(handoff['to']),
    })),
    coverage: list(row['coverage']).map((flag) => text(flag) as CoverageFlag),
    expectation: row['expectation'] === null ? null : (jsonFrom(row['expectation']) as Expectation),
  };
}

/** One row of `verdicts_current` in JSONEachRow, as the noun that it was written from. */
export function verdictFromRow(row: Readonly<Record<string, unknown>>): Verdict {
  return {
    interactionId: text(row['interaction_id']),
    policy: text(row['policy']),
    label: text(row['verdict']) as VerdictLabel,
    neutral: row['neutral'] === true,
    leftOut: row['left_out'] === true,
    outstanding: Number(row['outstanding']),
    scores: unnested(row, 'scores', 'criterion').map(scoreFromRow),
  };
}

function callFromRow(row: Readonly<Record<string, unknown>>): ToolCall {
  return {
    position: Number(row['position']),
    callId: textOrNull(row['call_id']),
    name: text(row['name']),
    arguments: jsonFrom(row['arguments']),
    argumentsStatus: text(row['arguments_status']) as ArgumentsStatus,
    result: jsonFrom(row['result']),
    resultStatus: text(row['result_status']) as ToolCall['resultStatus'],
    error: textOrNull(row['error']),
    failed: row['failed'] === true,
    pending: row['pending'] === true,
    owner: textOrNull(row['owner']),
    byRoot: row['by_root'] === true,
    startedAtMs: timeFrom(row['started_at']),
    endedAtMs: timeFrom(row['ended_at']),
    offer: offerFromRow(row),
    providerExecuted: row['provider_executed'] === true,
  };
}

function offerFromRow(row: Readonly<Record<string, unknown>>): ToolOffer {
  if (row['offer'] !== 'offered') return { kind: row['offer'] === 'not_offered' ? 'not_offered' : 'unknown' };
  const freeText = row['free_text'] === true;
  return row['schema'] === null
    ? { kind: 'offered', freeText }
    : { kind: 'offered', freeText, schema: jsonFrom(row['schema']) };
}

function scoreFromRow(row: Readonly<Record<string, unknown>>): Score {
  const details = jsonFrom(row['details']);
  const common = {
    criterion: text(row['criterion']) as Criterion,
    reason: text(row['reason']),
    details: isJsonObject(details) ? details : {},
  };
  return row['abstained'] === null
    ? {
        kind: 'scored',
        ...common,
        value: Number(row['value']),
        passed: row['passed'] === true,
        decidedBy: text(row['decided_by']) as DecidedBy,
      }
    : { kind: 'abstained', ...common, abstained: text(row['abstained']) as AbstainReason };
}

/** Columns of a Nested: one array a column, all of one length. */
function nested<T, M>(prefix: string, columns: readonly Column<M>[], members: (of: T) => readonly M[]): Column<T>[] {
  return columns.map(([name, value]) => [`${prefix}.${name}`, (of: T) => members(of).map(value)]);
}

function unnested(
  row: Readonly<Record<string, unknown>>,
  prefix: string,
  anyColumn: string,
): Readonly<Record<string, unknown>>[] {
  const columns = Object.keys(row).filter((name) => name.startsWith(`${prefix}.`));
  return list(row[`${prefix}.${anyColumn}`]).map((_, index) =>
    Object.fromEntries(columns.map((name) => [name.slice(prefix.length + 1), list(row[name])[index]])),
  );
}

function line<T>(columns: readonly Column<T>[], of: T): string {
  return wellFormedText(columns.map(([, value]) => value(of)));
}

function jsonText(value: Json): string {
  return wellFormedText(value);
}

/** Texts of tool schemas, which all calls of an agent share. */
const SCHEMA_TEXTS = new WeakMap<object, string>();

function schemaText(schema: Json): string {
  if (typeof schema !== 'object' || schema === null) return jsonText(schema);
  let text = SCHEMA_TEXTS.get(schema);
  if (text === undefined) {
    text = jsonText(schema);
    SCHEMA_TEXTS.set(schema, text);
  }
  return text;
}

/**
 * JSON.stringify, but never with a lone surrogate: one of them and the engine refuses the whole insert
 * (CANNOT_PARSE_ESCAPE_SEQUENCE). JSON.stringify writes those as escapes, so text without one needs no second look.
 */
function wellFormedText(value: unknown): string {
  const written = JSON.stringify(value);
  return /\\ud[89a-f]/.test(written) ? JSON.stringify(wellFormed(value)) : written;
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]));
}

function revisionOf(interaction: Interaction): number {
  return Math.min(Math.max(Math.trunc(interaction.revision), 0), UINT32_MAX);
}

/** A count as the unsigned column takes it; null when it is none (negative, not finite, beyond 2^53). */
function whole(count: number | null): number | null {
  if (count === null) return null;
  const rounded = Math.round(count);
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded : null;
}

function isTime(ms: number): boolean {
  return ms >= 0 && ms < END_OF_TIME_MS;
}

function timeOrNull(ms: number | null): number | null {
  return ms !== null && isTime(ms) ? Math.trunc(ms) : null;
}

/** `2026-11-30 09:05:01.250`, UTC. */
function timeFrom(value: unknown): number | null {
  return typeof value === 'string' ? Date.parse(`${value.replace(' ', 'T')}Z`) : null;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Older servers write 64-bit integers as strings. */
function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function jsonFrom(value: unknown): Json {
  return typeof value === 'string' ? (JSON.parse(value, withoutPrototype) as Json) : null;
}

function withoutPrototype(_key: string, value: unknown): unknown {
  return isJsonObject(value) ? Object.assign(Object.create(null) as object, value) : value;
}
