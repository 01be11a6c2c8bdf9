/** Small turns of an agent as OTLP JSON: trace `n` is conversation `c<n>`, its root span has id 1. */
export const hex = (n: number, digits: number) => n.toString(16).padStart(digits, '0');
export const textAttribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
const START = 1_796_020_000_000_000_000n;

interface SpanJson {
  readonly [key: string]: unknown;
}

function span(trace: number, id: number, parent: number | null, attributes: readonly unknown[]): SpanJson {
  return {
    traceId: hex(trace, 32),
    spanId: hex(id, 16),
    ...(parent === null ? {} : { parentSpanId: hex(parent, 16) }),
    name: `span ${id}`,
    kind: 1,
    startTimeUnixNano: String(START + BigInt(id) * 1_000_000n),
    endTimeUnixNano: String(START + 1_000_000_000_000n),
    attributes,
  };
}

export const agent = (trace: number) =>
  span(trace, 1, null, [
    textAttribute('gen_ai.operation.name', 'invoke_agent'),
    textAttribute('gen_ai.agent.name', 'helper'),
    textAttribute('gen_ai.conversation.id', `c${trace}`),
    textAttribute('gen_ai.input.messages', '[{"role":"user","parts":[{"type":"text","content":"Where?"}]}]'),
    textAttribute(
      'gen_ai.output.messages',
      '[{"role":"assistant","parts":[{"type":"text","content":"Here."}],"finish_reason":"stop"}]',
    ),
  ]);

export const tool = (trace: number, id: number) =>
  span(trace, id, 1, [
    textAttribute('gen_ai.operation.name', 'execute_tool'),
    textAttribute('gen_ai.tool.name', 'look'),
    textAttribute('gen_ai.tool.call.arguments', `{"at":${id}}`),
    textAttribute('gen_ai.tool.call.result', 'seen'),
  ]);

export const request = (...spans: readonly SpanJson[]) =>
  JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
