import type { Tracer } from '@opentelemetry/api';

/**
 * Three sample agents and what users ask them. Each conversation is a script: what the model would have called, what
 * the tools gave back, what was answered, and what should have been called. Some scripts hold the mistakes that real
 * agents make, so that the demo has something to find. Nothing here is random: the demo's numbers are always the same.
 */

interface ScriptedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: string;
}

interface ScriptedTurn {
  readonly query: string;
  readonly calls: readonly ScriptedCall[];
  readonly answer: string;
  readonly expected: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[];
}

export interface DemoConversation {
  readonly id: string;
  readonly agent: string;
  readonly version: string;
  readonly turns: readonly ScriptedTurn[];
}

const TOOLS = [
  tool('get_weather', { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } }),
  tool('lookup_order', { order_id: { type: 'string' } }),
  tool('refund_order', { order_id: { type: 'string' }, amount: { type: 'number' } }),
  tool('find_train', { from: { type: 'string' }, to: { type: 'string' }, date: { type: 'string', format: 'date' } }),
];

function tool(name: string, properties: Record<string, unknown>) {
  const parameters = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
  return { type: 'function', name, parameters };
}

const CITIES = ['Oslo', 'Lima', 'Porto', 'Quito', 'Turin', 'Kyoto', 'Bergen', 'Ghent'];

const pick = (list: readonly string[], i: number): string => list[i % list.length] as string;

const SCRIPTS = [weatherConversation, orderConversation, travelConversation];

export const DEMO_AGENTS = SCRIPTS.length;

/**
 * The n-th conversation in the order in which they happen, from 0 on; the agents take turns. From its conversation
 * `worseFrom` on (counted for each agent) the order desk is worse, under the same version: what changed is not recorded.
 */
export function demoConversation(n: number, worseFrom: number): DemoConversation {
  const script = SCRIPTS[n % DEMO_AGENTS] as (typeof SCRIPTS)[0];
  const i = Math.floor(n / DEMO_AGENTS);
  return script(i, i >= worseFrom);
}

/** Reliable: one slip in forty, a unit that nobody asked for. */
function weatherConversation(i: number): DemoConversation {
  const city = pick(CITIES, i);
  const degrees = 5 + (i % 20);
  const call = (unit: string): ScriptedCall => ({
    name: 'get_weather',
    args: { city, unit },
    result: { city, degrees, unit },
  });
  const right = { name: 'get_weather', arguments: { city, unit: 'celsius' } };
  const slip = i % 40 === 17;
  return {
    id: `weather-${i}`,
    agent: 'weather-helper',
    version: '1.4.0',
    turns: [
      {
        query: `How warm is it in ${city}, in celsius?`,
        calls: [call(slip ? 'fahrenheit' : 'celsius')],
        answer: `It is ${degrees} degrees in ${city}.`,
        expected: [right],
      },
    ],
  };
}

/**
 * Two turns. Now and then it answers without looking the order up, or sends the amount as text: 6 of 48 conversations go
 * wrong. When it is worse, it looks up two orders of three: 21 of 48.
 */
function orderConversation(i: number, worse: boolean): DemoConversation {
  const orderId = `A-${1000 + i}`;
  const lookup: ScriptedCall = {
    name: 'lookup_order',
    args: { order_id: orderId },
    result: { status: 'lost', total: 40 },
  };
  const refund: ScriptedCall = {
    name: 'refund_order',
    args: { order_id: orderId, amount: 40 },
    result: { refunded: 40 },
  };
  const skipsLookup = i % 12 === 5 || (worse && i % 3 === 1);
  const textAmount = i % 16 === 9;
  const refundMade: ScriptedCall = textAmount
    ? { ...refund, args: { order_id: orderId, amount: '40 euros' }, error: 'amount must be a number' }
    : refund;
  return {
    id: `order-${i}`,
    agent: 'order-desk',
    version: '2.0.1',
    turns: [
      {
        query: `Where is my order ${orderId}?`,
        calls: skipsLookup ? [] : [lookup],
        answer: skipsLookup ? 'It is on its way.' : `Order ${orderId} was lost, I am sorry.`,
        expected: [{ name: 'lookup_order', arguments: { order_id: orderId } }],
      },
      {
        query: 'Then give me my money back.',
        calls: [refundMade],
        answer: textAmount ? 'The refund did not go through.' : 'Done: 40 euros are on their way to you.',
        expected: [{ name: 'refund_order', arguments: { order_id: orderId, amount: 40 } }],
      },
    ],
  };
}

/** Unreliable, and no worse than it ever was: every third conversation swaps the direction or forgets the return trip. */
function travelConversation(i: number): DemoConversation {
  const from = pick(CITIES, i);
  const to = pick(CITIES, i + 3);
  const date = `2026-12-${String(1 + (i % 28)).padStart(2, '0')}`;
  const train = (a: string, b: string): ScriptedCall => ({
    name: 'find_train',
    args: { from: a, to: b, date },
    result: { departs: '09:12', arrives: '13:40' },
  });
  const out = train(from, to);
  const back = train(to, from);
  const swaps = i % 6 === 1;
  const forgets = i % 6 === 4;
  const expected = [out, back].map(({ name, args }) => ({ name, arguments: args }));
  return {
    id: `travel-${i}`,
    agent: 'travel-planner',
    version: '0.9.3',
    turns: [
      {
        query: `Find me trains from ${from} to ${to} and back on ${date}.`,
        calls: swaps ? [back, back] : forgets ? [out] : [out, back],
        answer: `Out at 09:12, arriving 13:40${forgets ? '' : '; the way back at the same times'}.`,
        expected,
      },
    ],
  };
}

const json = JSON.stringify;

/**
 * Emits the spans of a conversation by OpenTelemetry's GenAI conventions: `invoke_agent` over `chat` and
 * `execute_tool`, one trace a turn. `startMs` is when the conversation begins; gives when it ends.
 */
export async function emitConversation(
  conversation: DemoConversation,
  startMs: number,
  tracer: Tracer,
): Promise<number> {
  const { context, ROOT_CONTEXT, SpanStatusCode, trace } = await import('@opentelemetry/api');
  let now = startMs;
  let callNumber = 0;
  for (const turn of conversation.turns) {
    const common = { 'gen_ai.conversation.id': conversation.id, 'gen_ai.provider.name': 'demo' };
    const history: unknown[] = [{ role: 'user', parts: [{ type: 'text', content: turn.query }] }];
    const agent = tracer.startSpan(
      `invoke_agent ${conversation.agent}`,
      {
        startTime: now,
        attributes: {
          ...common,
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': conversation.agent,
          'gen_ai.agent.version': conversation.version,
          'gen_ai.input.messages': json(history),
          'gen_ai.output.messages': json([
            { role: 'assistant', parts: [{ type: 'text', content: turn.answer }], finish_reason: 'stop' },
          ]),
          'tracegrade.eval.expected_tools': json(turn.expected),
        },
      },
      ROOT_CONTEXT,
    );
    const inside = trace.setSpan(context.active(), agent);
    const chat = (output: readonly unknown[], finishReason: string) => {
      const span = tracer.startSpan(
        'chat demo-model',
        {
          startTime: now,
          attributes: {
            ...common,
            'gen_ai.operation.name': 'chat',
            'gen_ai.request.model': 'demo-model',
            'gen_ai.response.model': 'demo-model',
            'gen_ai.usage.input_tokens': 60 + 20 * history.length,
            'gen_ai.usage.output_tokens': 24,
            'gen_ai.input.messages': json(history),
            'gen_ai.output.messages': json([{ role: 'assistant', parts: output, finish_reason: finishReason }]),
            'gen_ai.tool.definitions': json(TOOLS),
          },
        },
        inside,
      );
      now += 400;
      span.end(now);
      history.push({ role: 'assistant', parts: output });
    };
    for (const call of turn.calls) {
      const id = `call_${++callNumber}`;
      chat([{ type: 'tool_call', id, name: call.name, arguments: call.args }], 'tool_call');
      const span = tracer.startSpan(
        `execute_tool ${call.name}`,
        {
          startTime: now,
          attributes: {
            ...common,
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': call.name,
            'gen_ai.tool.call.id': id,
            'gen_ai.tool.call.arguments': json(call.args),
            ...(call.error === undefined
              ? { 'gen_ai.tool.call.result': json(call.result) }
              : { 'error.type': 'ToolError' }),
          },
        },
        inside,
      );
      if (call.error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: call.error });
      now += 120;
      span.end(now);
      history.push({ role: 'tool', parts: [{ type: 'tool_call_response', id, response: call.error ?? call.result }] });
    }
    chat([{ type: 'text', content: turn.answer }], 'stop');
    agent.end(now);
    now += 5_000;
  }
  return now;
}
