import { z } from 'zod';
import type { Expectation } from '../model/expectation.js';
import type { JsonObject } from '../model/json.js';
import { isJsonObject } from '../model/json.js';
import type { MadeCall } from '../score/assess-tools.js';
import type { DatasetFault } from '../score/datasets.js';
import { faultsOf, pathPrefix, readConversation } from '../score/datasets.js';
import { UNNAMED } from '../score/tool-correctness.js';

/** One turn as the metric needs it. */
export interface TurnInput {
  readonly place: string;
  readonly qaId: string | null;
  readonly query: string;
  /** null: not recorded. */
  readonly answer: string | null;
  readonly expectation: Expectation;
  readonly calls: readonly MadeCall[];
  readonly resultsUsed?: boolean;
  /** `agentic` and `ground_truth_agentic` as they stand; only Gaussia's own algorithm reads them. */
  readonly raw?: { readonly agentic: JsonObject; readonly truth: JsonObject };
}

export interface ConversationInput {
  /** Empty when it is missing, which is a fault. */
  readonly sessionId: string;
  readonly assistantId: string | null;
  readonly turns: readonly TurnInput[];
  readonly faults: readonly DatasetFault[];
}

/** Reads one dataset strictly: what is misspelt or of a wrong type is a fault, with its place. */
export function readStrictly(dataset: unknown, place: string): ConversationInput {
  const prefix = pathPrefix(place);
  const read = readConversation(dataset, prefix);
  const faults = [...read.faults];
  if (read.sessionId === null && faults.length === 0) faults.push(noSessionId(prefix));
  const turns = read.turns.map((turn): TurnInput => {
    const { recorded, expectation } = turn;
    if (expectation.answer !== undefined && (recorded?.answer ?? null) === null) {
      faults.push({ place: `${turn.place}.assistant`, problem: 'expected string: the answer to compare' });
    }
    return {
      place: turn.place,
      qaId: turn.caseId,
      query: turn.query ?? '',
      answer: recorded?.answer ?? null,
      expectation,
      calls: recorded?.calls ?? [],
      ...(recorded?.resultsUsed === undefined ? {} : { resultsUsed: recorded.resultsUsed }),
    };
  });
  return { sessionId: read.sessionId ?? '', assistantId: read.assistantId, turns, faults };
}

const object = z.custom<JsonObject>(isJsonObject, 'expected object').nullish();
const text = z.string().nullish();

const looseDataset = z.looseObject({
  session_id: z.string(),
  assistant_id: text,
  conversation: z.array(
    z.looseObject({
      qa_id: text,
      query: text,
      assistant: text,
      ground_truth_assistant: text,
      agentic: object,
      ground_truth_agentic: object,
    }),
  ),
});

/** Reads one dataset as Gaussia does: whatever stands in `agentic` and `ground_truth_agentic` is taken as it is. */
export function readLoosely(dataset: unknown, place: string): ConversationInput {
  const prefix = pathPrefix(place);
  const parsed = looseDataset.safeParse(dataset);
  if (!parsed.success) {
    return { sessionId: '', assistantId: null, turns: [], faults: faultsOf(parsed.error, prefix) };
  }
  const { session_id, assistant_id, conversation } = parsed.data;
  const turns = conversation.map((batch, i): TurnInput => {
    const agentic = batch.agentic ?? {};
    const truth = batch.ground_truth_agentic ?? {};
    const expected = batch.ground_truth_assistant;
    const allowed = truth['allowed_tools'];
    return {
      place: `${prefix}conversation[${i}]`,
      qaId: batch.qa_id ?? null,
      query: batch.query ?? '',
      answer: batch.assistant ?? null,
      expectation: {
        ...(expected === null || expected === undefined ? {} : { answer: expected }),
        ...(Array.isArray(allowed) ? { allowedTools: allowed.map(String) } : {}),
      },
      calls: listOf(agentic['tools_used']).map((call) => ({ name: nameOf(call), arguments: undefined })),
      raw: { agentic, truth },
    };
  });
  return { sessionId: session_id, assistantId: assistant_id ?? null, turns, faults: [] };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function nameOf(call: unknown): string {
  const name = isJsonObject(call) ? call['tool_name'] : undefined;
  return typeof name === 'string' && name !== '' ? name : UNNAMED;
}

function noSessionId(prefix: string): DatasetFault {
  return { place: `${prefix}session_id`, problem: 'expected string: the metric is reported under it' };
}
