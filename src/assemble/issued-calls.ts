import type { AgentSpan } from '../model/agent-span.js';
import type { Message, ToolCallPart, ToolResultPart } from '../model/message.js';
import { lastUserText, lastUserTextIndex, messageText } from '../model/message-text.js';
import { sameJson } from '../model/json.js';
import { argumentsKey } from './arguments-key.js';
import { inOrder } from './in-order.js';
import { compareBigint, type ModelCall } from './model-calls.js';
import type { ToolRun } from './tool-runs.js';

/** A call as messages tell it: asked for in a model's output, or seen only in a later history. */
export class IssuedCall {
  /** The same call wherever it says something new, the model's own output first. */
  readonly parts: ToolCallPart[] = [];
  private readonly keys: string[] = [];
  private keyedParts = 0;
  readonly runs: ToolRun[] = [];
  name = '';
  id: string | undefined;
  result: ToolResultPart | undefined;

  constructor(
    /** The model call that asked for it, if it was recorded. */
    readonly by: ModelCall | null,
    readonly agent: AgentSpan | null,
    /** Place in the order of issue. */
    readonly orderNano: bigint,
    readonly orderIndex: number,
    /** Asked for by an attempt that failed: it counts only when it was carried out. */
    readonly tentative: boolean,
  ) {}

  /** The arguments in `parts` as comparable texts, each once. Made when asked for: an id mostly says enough. */
  get argumentsKeys(): readonly string[] {
    for (; this.keyedParts < this.parts.length; this.keyedParts += 1) {
      const key = argumentsKey((this.parts[this.keyedParts] as ToolCallPart).arguments);
      if (key !== null && !this.keys.includes(key)) this.keys.push(key);
    }
    return this.keys;
  }
}

/** Something new that a part tells of a call. */
interface Lesson {
  readonly call: IssuedCall;
  readonly part: ToolCallPart;
  /** The name that the call then had, and whether it is new. */
  readonly name: string;
  readonly named: boolean;
}

/** The calls of a turn by what a copy of one elsewhere may still show without an id: arguments, or only the name. */
class CallIndex {
  readonly byName = new Map<string, IssuedCall[]>();
  readonly withoutArguments = new Map<string, IssuedCall[]>();
  private readonly byArguments = new Map<string, IssuedCall[]>();
  private readonly keysOf = new Map<IssuedCall, Set<string>>();

  add({ call, part, name, named }: Lesson): void {
    if (named) append(this.byName, name, call);
    if (part === call.parts[0] && part.arguments.status !== 'captured') append(this.withoutArguments, name, call);
    const key = argumentsKey(part.arguments);
    const known = this.keysOf.get(call) ?? new Set();
    if (key === null || known.has(key)) return;
    this.keysOf.set(call, known.add(key));
    append(this.byArguments, `${name}\n${key}`, call);
  }

  withArguments(name: string, key: string): readonly IssuedCall[] | undefined {
    return this.byArguments.get(`${name}\n${key}`);
  }
}

/** The calls of a turn. A copy of one elsewhere is found by its id, else by what else it shows. */
class IssuedCalls {
  readonly all: IssuedCall[] = [];
  private readonly byId = new Map<string, IssuedCall[]>();
  /** Made when asked for: an id mostly says enough. */
  private index: CallIndex | null = null;
  /** What the index has not been told of yet. */
  private lessons: Lesson[] = [];

  issue(call: IssuedCall, part: ToolCallPart): IssuedCall {
    this.all.push(call);
    this.learn(call, part);
    return call;
  }

  /** Adds what a copy of the call tells beyond what is known. */
  learn(call: IssuedCall, part: ToolCallPart): void {
    const newId = call.id === undefined && part.id !== undefined;
    const issued = call.parts.length === 0;
    if (!issued && !newId && !tellsArguments(call, part)) return;
    call.parts.push(part);
    const named = issued || call.name === '';
    if (named) call.name = part.name;
    if (newId) {
      call.id = part.id;
      append(this.byId, part.id, call);
    }
    this.lessons.push({ call, part, name: call.name, named });
  }

  private indexed(): CallIndex {
    this.index ??= new CallIndex();
    for (const lesson of this.lessons) this.index.add(lesson);
    this.lessons = [];
    return this.index;
  }

  /** The known call that a part seen elsewhere is a copy of; none that `used` holds. */
  find(part: ToolCallPart, used: ReadonlySet<IssuedCall>, agent: AgentSpan | null): IssuedCall | undefined {
    const named = (call: IssuedCall) => call.name === part.name || call.name === '' || part.name === '';
    // Two different ids say that these are two calls, unless their arguments say otherwise.
    const noOtherId = (call: IssuedCall) => part.id === undefined || call.id === undefined || call.id === part.id;
    const pick = (list: readonly IssuedCall[] | undefined, test: (call: IssuedCall) => boolean) =>
      list === undefined ? undefined : pickFree(list, used, agent, test);
    const sameId = part.id === undefined ? undefined : this.byId.get(part.id);
    // Only where ids repeat do arguments have to choose.
    const only = sameId?.length === 1 ? pick(sameId, named) : undefined;
    if (only !== undefined) return only;
    const index = this.indexed();
    const key = argumentsKey(part.arguments);
    const sameKey = (call: IssuedCall) => key !== null && call.argumentsKeys.includes(key);
    const sameArguments = key === null ? undefined : index.withArguments(part.name, key);
    return (
      pick(sameId, (call) => named(call) && sameKey(call)) ??
      pick(sameId, named) ??
      pick(sameArguments, noOtherId) ??
      pick((key === null ? index.byName : index.withoutArguments).get(part.name), noOtherId) ??
      pick(sameArguments, () => true)
    );
  }
}

/** Has a copy of a call arguments that are not known? */
function tellsArguments(call: IssuedCall, { arguments: args }: ToolCallPart): boolean {
  if (args.status !== 'captured') return false;
  return !call.parts.some(({ arguments: known }) => known.status === 'captured' && sameJson(known.value, args.value));
}

function append(map: Map<string, IssuedCall[]>, key: string, call: IssuedCall): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [call]);
  else list.push(call);
}

/** The first free call that passes, preferably of the same agent and not of a failed attempt. */
function pickFree(
  list: readonly IssuedCall[],
  used: ReadonlySet<IssuedCall>,
  agent: AgentSpan | null,
  test: (call: IssuedCall) => boolean,
): IssuedCall | undefined {
  let best: IssuedCall | undefined;
  let bestScore = -1;
  for (const call of list) {
    if (used.has(call) || !test(call)) continue;
    const score = (call.agent === agent ? 1 : 0) + (call.tentative ? 0 : 2);
    if (score === 3) return call;
    if (score > bestScore) {
      best = call;
      bestScore = score;
    }
  }
  return best;
}

/** All calls of a turn that its messages tell of. */
export function issuedCalls(calls: readonly ModelCall[], agents: readonly AgentSpan[]): readonly IssuedCall[] {
  const issued = new IssuedCalls();
  for (const call of inOrder(calls, (a, b) => compareBigint(a.endNano, b.endNano))) readOutput(call, issued);
  readHistories(calls, issued);
  for (const agent of agents) readAgentMessages(agent, issued);
  return issued.all;
}

/** The calls in a model's output, with the results of those that the provider ran itself. */
function readOutput(call: ModelCall, issued: IssuedCalls): void {
  const waiting: Waiting[] = [];
  let index = 0;
  for (const message of call.output?.messages ?? []) {
    for (const part of message.parts) {
      if (part.type === 'tool_call' && !isGlued(part, call)) {
        const made = new IssuedCall(call, call.agent, call.endNano, index, call.failed);
        waiting.push({ part, call: issued.issue(made, part) });
        index += 1;
      } else if (part.type === 'tool_result') {
        const answered = takeWaiting(part, waiting);
        if (answered !== undefined) answered.result ??= part;
      }
    }
  }
}

/**
 * Several calls that a recorder glued into one: broken arguments under a name that is made of names of offered tools.
 * The tool spans and later histories show the calls themselves.
 */
function isGlued(part: ToolCallPart, call: ModelCall): boolean {
  if (part.arguments.status !== 'malformed') return false;
  const offered = (call.read('toolDefinitions') ?? []).map(({ name }) => name);
  if (offered.length === 0 || offered.includes(part.name)) return false;
  return part.name !== '' && madeOf(part.name, offered);
}

/** Is a text one or more of the names, one behind the other? */
function madeOf(text: string, names: readonly string[]): boolean {
  if (text.length > MAX_GLUED_LENGTH) return false;
  const reachable = new Set([0]);
  for (const at of reachable) {
    for (const name of names) if (name !== '' && text.startsWith(name, at)) reachable.add(at + name.length);
  }
  return reachable.has(text.length);
}

const MAX_GLUED_LENGTH = 1000;

/** Places of calls that only a history tells of: behind those that the model's own output lists. */
const AFTER_OUTPUT = 1_000_000;

/**
 * What later inputs say about this turn: the results, and calls that the recorder left out of the model's output.
 * Only messages after the turn's own question count; those before it are earlier turns.
 */
function readHistories(calls: readonly ModelCall[], issued: IssuedCalls): void {
  const conversations = new Map<
    AgentSpan | null,
    { asked: boolean; question?: string | undefined; last: ModelCall | null }
  >();
  for (const call of calls) {
    const input = call.input;
    let conversation = conversations.get(call.agent);
    if (conversation === undefined) {
      conversation = { asked: false, last: null };
      conversations.set(call.agent, conversation);
    }
    if (input?.complete === true) {
      if (!conversation.asked) {
        conversation.asked = true;
        conversation.question = lastUserText(input.messages);
      }
      const before = conversation.last;
      readHistory(
        input.messages,
        afterQuestion(input.messages, conversation.question),
        issued,
        call.agent,
        (index) => new IssuedCall(before, call.agent, before?.endNano ?? call.startNano, AFTER_OUTPUT + index, false),
      );
    }
    if (!call.failed) conversation.last = call;
  }
}

/** The messages of a whole run, as some frameworks put them on the agent's span. */
function readAgentMessages(agent: AgentSpan, issued: IssuedCalls): void {
  const output = agent.read('outputMessages')?.value;
  if (output?.messages.some((message) => message.parts.some(({ type }) => type === 'tool_call')) !== true) return;
  const question = lastUserText(agent.read('inputMessages')?.value.messages ?? []);
  const from = afterQuestion(output.messages, question);
  readHistory(
    output.messages,
    from,
    issued,
    agent,
    (index) => new IssuedCall(null, agent, agent.span.startUnixNano, index, false),
  );
}

/** Where this turn's own messages begin in a list that repeats the question. */
function afterQuestion(messages: readonly Message[], question: string | undefined): number {
  const at =
    question === undefined
      ? -1
      : messages.findLastIndex((message) => message.role === 'user' && messageText(message) === question);
  return (at >= 0 ? at : lastUserTextIndex(messages)) + 1;
}

interface Waiting {
  readonly part: ToolCallPart;
  readonly call: IssuedCall;
}

/** Each call in a history, from a message on, is one known call, at most one each, or a new one; each result goes to a call before it. */
function readHistory(
  messages: readonly Message[],
  from: number,
  issued: IssuedCalls,
  agent: AgentSpan | null,
  create: (index: number) => IssuedCall,
): void {
  if (from >= messages.length) return;
  const used = new Set<IssuedCall>();
  const waiting: Waiting[] = [];
  let created = 0;
  for (let at = from; at < messages.length; at += 1) {
    for (const part of (messages[at] as Message).parts) {
      if (part.type === 'tool_call') {
        let call = issued.find(part, used, agent);
        if (call === undefined) {
          call = issued.issue(create(created), part);
          created += 1;
        } else {
          issued.learn(call, part);
        }
        used.add(call);
        waiting.push({ part, call });
      } else if (part.type === 'tool_result') {
        const call = takeWaiting(part, waiting) ?? withoutResult(part, issued.all, used);
        if (call !== undefined) call.result ??= part;
      }
    }
  }
}

/** Takes the call that a result answers out of those that wait for one: by id, else by name, else in order. */
function takeWaiting(result: ToolResultPart, waiting: Waiting[]): IssuedCall | undefined {
  const byId = result.id === undefined ? -1 : waiting.findIndex(({ part }) => part.id === result.id);
  const comparable = ({ part, call }: Waiting) =>
    (result.id === undefined || part.id === undefined) && (result.name === undefined || result.name === call.name);
  const at = byId >= 0 ? byId : waiting.findIndex(comparable);
  return at < 0 ? undefined : waiting.splice(at, 1)[0]?.call;
}

/** A history may hold results without their calls. */
function withoutResult(
  result: ToolResultPart,
  issued: readonly IssuedCall[],
  used: ReadonlySet<IssuedCall>,
): IssuedCall | undefined {
  return issued.find(
    (call) =>
      call.result === undefined &&
      !call.tentative &&
      !used.has(call) &&
      (result.id === undefined ? result.name === undefined || call.name === result.name : call.id === result.id),
  );
}
