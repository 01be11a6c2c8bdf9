/** The interactions that the crash tests send, and what is true of them: made from a seed, the same in every run. */
import { createHash } from 'node:crypto';

/**
 * @typedef {object} Interaction
 * @property {number} number
 * @property {string} interactionId
 * @property {string} traceId
 * @property {readonly object[]} toolSpans OTLP/JSON.
 * @property {readonly object[]} otherSpans Models and agents; the root is the last.
 * @property {string} rootSpanId
 * @property {Truth} truth
 *
 * @typedef {object} Truth What the row of the interaction says, by how it was made.
 * @property {number} calls
 * @property {string} query
 * @property {string} answer
 * @property {number} revision
 * @property {number} tokens In and out.
 * @property {string} verdict
 */

/** mulberry32: numbers in [0, 1) */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Fisher and Yates; the list stays as it is. */
export function shuffled(list, random) {
  const result = [...list];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j], result[i]];
  }
  return result;
}

/**
 * Turn `n` has n mod 4 calls of a tool; in some the last is made by a sub-agent. What it was expected to do changes from
 * turn to turn, so that all verdicts occur.
 *
 * @param {string} seed
 * @param {number} count
 * @returns {readonly Interaction[]}
 */
export function interactions(seed, count) {
  const startNano = BigInt(Math.floor(Date.now() / 1000)) * 1_000_000_000n;
  return Array.from({ length: count }, (_, number) => interaction(seed, number, startNano));
}

function interaction(seed, number, startNano) {
  const hex = (name, length) => createHash('sha256').update(`${seed}/${number}/${name}`).digest('hex').slice(0, length);
  const traceId = hex('trace', 32);
  const at = (ms) => String(startNano + BigInt(number + ms) * 1_000_000n);
  const span = (id, parent, [from, to], name, attributes) => ({
    traceId,
    spanId: hex(id, 16),
    ...(parent === null ? {} : { parentSpanId: hex(parent, 16) }),
    name,
    kind: 1,
    startTimeUnixNano: at(from),
    endTimeUnixNano: at(to),
    attributes: Object.entries({ 'gen_ai.conversation.id': `conversation-${number}`, ...attributes }).map(attribute),
  });

  const calls = number % 4;
  const bySubAgent = calls > 1 && number % 3 === 0 ? 1 : 0;
  const { expectation, answer, verdict } = expected(number, calls);
  const query = `Question ${number}?`;
  const own = range(0, calls - bySubAgent);
  const toolSpans = range(0, calls).map((k) =>
    span(`tool ${k}`, k < own.length ? 'root' : 'helper', [10 + k, 11 + k], 'execute_tool look', {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.call.id': callId(k),
      'gen_ai.tool.call.arguments': JSON.stringify({ at: k }),
      'gen_ai.tool.call.result': 'seen',
    }),
  );
  const chat = (id, parent, from, asks) =>
    span(id, parent, [from, from + 1], 'chat m', {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.usage.input_tokens': 10 + (number % 7),
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.input.messages': text('user', query),
      'gen_ai.output.messages': JSON.stringify([
        { role: 'assistant', parts: asks.map(callPart), finish_reason: 'tool_call' },
      ]),
    });
  const agent = (id, parent, times, name, more) =>
    span(id, parent, times, `invoke_agent ${name}`, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': name,
      'gen_ai.input.messages': text('user', query),
      'gen_ai.output.messages': text('assistant', answer),
      ...more,
    });
  const otherSpans = [
    ...(own.length > 0 ? [chat('chat', 'root', 1, own)] : []),
    ...(bySubAgent > 0
      ? [chat('helper chat', 'helper', 5, range(own.length, calls)), agent('helper', 'root', [4, 50], 'helper', {})]
      : []),
    agent('root', null, [0, 100], 'crash-agent', expectation),
  ];
  const chats = (own.length > 0 ? 1 : 0) + bySubAgent;
  return {
    number,
    traceId,
    rootSpanId: hex('root', 16),
    interactionId: `${traceId}-${hex('root', 16)}`,
    toolSpans,
    otherSpans,
    truth: {
      calls,
      query,
      answer,
      // Two for each span that has ended.
      revision: 2 * (toolSpans.length + otherSpans.length),
      tokens: chats * (10 + (number % 7) + 5),
      verdict,
    },
  };
}

/** What the turn is held against, and what comes of it. */
function expected(number, calls) {
  const answer = `Answer ${number}.`;
  const tools = range(0, calls).map((k) => ({ name: 'look', arguments: { at: k } }));
  const kind = number % 5;
  if (kind === 4) {
    const right = number % 10 === 4;
    const expectation = { 'tracegrade.eval.expected_output': String(right ? number : number + 1) };
    return { expectation, answer: String(number), verdict: right ? 'correct' : 'incorrect' };
  }
  // A root by itself does not tell that no tool was called, so nothing can be judged.
  if (calls === 0) return { expectation: {}, answer, verdict: 'unscored' };
  if (kind < 2) return { expectation: {}, answer, verdict: 'correct' };
  const list = kind === 2 ? tools : [...tools, { name: 'ask', arguments: {} }];
  const expectation = { 'tracegrade.eval.expected_tools': JSON.stringify(list) };
  return { expectation, answer, verdict: kind === 2 ? 'correct' : 'incorrect' };
}

const range = (from, to) => Array.from({ length: to - from }, (_, k) => from + k);
const callId = (k) => `call_${k}`;
const callPart = (k) => ({ type: 'tool_call', id: callId(k), name: 'look', arguments: { at: k } });
const text = (role, content) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }], ...(role === 'user' ? {} : { finish_reason: 'stop' }) }]);
const attribute = ([key, value]) => ({
  key,
  value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
});

/** One ExportTraceServiceRequest as OTLP/JSON. */
export function jsonRequest(spans) {
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
}
