// Argument correctness of a recorded trace, by rules alone: node docs/examples/argument-correctness.mjs
import { gradeTraces } from 'tracegrade';

const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const tools = [
  { type: 'function', name: 'get_time', parameters: object({}) },
  { type: 'function', name: 'find_order', parameters: object({ id: { type: 'string' }, year: { type: 'integer' } }) },
  {
    type: 'function',
    name: 'refund',
    parameters: object({
      id: { type: 'string' },
      amount: { type: 'number' },
      currency: { enum: ['EUR', 'USD'] },
      reason: { type: 'string' },
    }),
  },
];
const calls = [
  { name: 'get_time', arguments: {} },
  { name: 'find_order', arguments: { id: 'A-17', year: 2026 } },
  { name: 'refund', arguments: { id: 'A-17', amount: 'forty', currency: 'EUR', reason: 'lost' } },
];

// One turn with three calls, and one without.
const bodies = [trace(1, calls), trace(2, [])];
const { interactions, rejections } = gradeTraces(bodies);
if (rejections.length > 0) throw new Error(rejections[0].detail);
for (const { verdict } of interactions) {
  const score = verdict.scores.find(({ criterion }) => criterion === 'arguments');
  console.log(score.kind === 'scored' ? score.value.toFixed(4) : score.abstained, `(${score.reason})`);
}

// DeepEval counts an answer without a call as correct.
const [, without] = gradeTraces(bodies, { scoring: { arguments: { noCalls: 1 } } }).interactions;
console.log(without.verdict.scores.find(({ criterion }) => criterion === 'arguments').value, '(as DeepEval)');

/** One turn as an OTLP/JSON request: an agent, and the model call that issued the tool calls. */
function trace(number, made) {
  const id = String(number).padStart(32, '0');
  const text = (value) => [{ type: 'text', content: value }];
  const parts = made.map((call, i) => ({ type: 'tool_call', id: `call_${i}`, ...call }));
  const said =
    parts.length > 0 ? { parts, finish_reason: 'tool_call' } : { parts: text('Done.'), finish_reason: 'stop' };
  const question = JSON.stringify([{ role: 'user', parts: text('Refund my lost order A-17 of 2026, please.') }]);
  const span = (spanId, name, seconds, attributes) => ({
    traceId: id,
    spanId,
    name,
    startTimeUnixNano: `${1_796_000_000 + seconds}000000000`,
    endTimeUnixNano: `${1_796_000_010 - seconds}000000000`,
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  });
  const agent = span('000000000000000a', 'invoke_agent desk', 0, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'desk',
    'gen_ai.input.messages': question,
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: text('Done.'), finish_reason: 'stop' }]),
  });
  const model = {
    ...span('000000000000000b', 'chat some-model', 1, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'some-model',
      'gen_ai.input.messages': question,
      'gen_ai.tool.definitions': JSON.stringify(tools),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', ...said }]),
    }),
    parentSpanId: '000000000000000a',
  };
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [agent, model] }] }] });
}
