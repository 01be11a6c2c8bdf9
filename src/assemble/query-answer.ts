import type { AgentSpan, Fact, RecordedText } from '../model/agent-span.js';
import { isJsonObject } from '../model/json.js';
import { lastUserText } from '../model/message-text.js';
import { inOrder } from './in-order.js';
import { compareBigint, type ModelCall } from './model-calls.js';
import { pseudoToolNames } from './tool-runs.js';
import type { TurnTree } from './turn-tree.js';

/** A text of the turn, or why there is none. */
export interface FoundText {
  readonly text: string | null;
  /** Its place was recorded, and cut so that the text cannot be told. */
  readonly cut: boolean;
}

/** Looks through places in order, keeping in mind whether one was cut. */
class Search {
  private cut = false;

  /** The text of a place, if it has one. */
  take(place: RecordedText | undefined): FoundText | undefined {
    if (place === undefined) return undefined;
    if ('text' in place) return { text: place.text, cut: false };
    this.cut = true;
    return undefined;
  }

  takeAll(span: AgentSpan, fact: Extract<Fact, 'query' | 'answer'>): FoundText | undefined {
    for (const { value } of span.readings(fact)) {
      const found = this.take(value);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  get nothing(): FoundText {
    return { text: null, cut: this.cut };
  }
}

const isAgent = (span: AgentSpan) => span.kind === 'agent' || span.kind === 'workflow';

/**
 * What the user asked: the root's own input, else the first thing that an agent or a model of the turn was asked. A
 * sub-agent's question, below a tool, is not the user's.
 */
export function findQuery(
  root: AgentSpan | null,
  spans: readonly AgentSpan[],
  tree: TurnTree,
  models: readonly ModelCall[],
): FoundText {
  const search = new Search();
  const own = root === null || root.kind === 'llm' ? undefined : search.takeAll(root, 'query');
  if (own !== undefined) return own;
  const modelOf = new Map(models.flatMap((model) => model.spans.map((span) => [span, model] as const)));
  for (const span of spans) {
    if (tree.underTool(span)) continue;
    const model = modelOf.get(span);
    const found =
      model !== undefined
        ? search.take(questionTo(model))
        : span !== root && isAgent(span)
          ? search.takeAll(span, 'query')
          : undefined;
    if (found !== undefined) return found;
  }
  return search.nothing;
}

function questionTo(model: ModelCall): RecordedText | undefined {
  const input = model.input;
  if (input === undefined) return undefined;
  if (!input.complete) return { cut: true };
  const text = lastUserText(input.messages);
  return text === undefined ? undefined : { text };
}

/**
 * What was answered: the root's own output, else the text of its last model call, if that asked for no tool; else
 * what the last agent within says. Sub-agents below a tool answer their tool, not the user.
 */
export function findAnswer(
  root: AgentSpan | null,
  spans: readonly AgentSpan[],
  tree: TurnTree,
  models: readonly ModelCall[],
): FoundText {
  const search = new Search();
  const own = root === null || root.kind === 'llm' ? undefined : search.takeAll(root, 'answer');
  if (own !== undefined) return own;
  const candidates = models.filter((model) => !model.underTool && !model.failed);
  const byEnd = inOrder(candidates, (a, b) => compareBigint(a.endNano, b.endNano));
  const last = byEnd.findLast((model) => model.spoke || model.output?.complete === false);
  if (last !== undefined) {
    if (last.output?.complete === false) search.take({ cut: true });
    const text = last.answerText ?? structuredAnswer(last, spans);
    if (text !== undefined) return { text, cut: false };
  }
  for (const span of spans.toReversed()) {
    if (span === root || !isAgent(span) || tree.underTool(span)) continue;
    const found = search.takeAll(span, 'answer');
    if (found !== undefined) return found;
  }
  return search.nothing;
}

/** An answer that a framework has the model give through a helper tool (`final_answer`). */
function structuredAnswer(model: ModelCall, spans: readonly AgentSpan[]): string | undefined {
  const helpers = pseudoToolNames(spans);
  const call = model.calls.find((part) => helpers.has(part.name));
  if (call?.arguments.status !== 'captured' || model.calls.length > 1) return undefined;
  const value = call.arguments.value;
  if (typeof value === 'string') return value;
  const answer = isJsonObject(value) ? value.answer : undefined;
  return typeof answer === 'string' ? answer : JSON.stringify(value);
}
