import { tracing } from '@opentelemetry/sdk-node';
import { expect, test } from 'vitest';
import { JudgeTrouble, type JudgeModel } from '../../../src/judge/judge-model.js';
import { JUDGE_SCOPE, tracedModel } from '../../../src/judge/traced-model.js';

const asked = { arguments: ['call_0'], answer: false, completion: false, utilization: false };
const messages = [{ role: 'user', content: 'a secret question' }] as const;

async function spansOf(model: JudgeModel) {
  const exporter = new tracing.InMemorySpanExporter();
  const provider = new tracing.BasicTracerProvider({ spanProcessors: [new tracing.SimpleSpanProcessor(exporter)] });
  const traced = tracedModel(model, { model: 'gpt-4o-mini' }, provider.getTracer(JUDGE_SCOPE));
  await traced.ask(messages, asked, new AbortController().signal).catch(() => undefined);
  return exporter.getFinishedSpans();
}

test('a request is one marked root span with its tokens, and no content', async () => {
  const [span] = await spansOf({
    ask: () => Promise.resolve({ content: { text: 'a secret answer' }, inputTokens: 12, outputTokens: 3 }),
  });

  expect(span?.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4o-mini',
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 3,
    'tracegrade.judge': true,
  });
  expect(span?.instrumentationScope.name).toBe('tracegrade.judge');
  expect(span?.parentSpanContext).toBeUndefined();
});

test('a failed request names its kind of trouble', async () => {
  const [span] = await spansOf({ ask: () => Promise.reject(new JudgeTrouble('timeout', 'no answer in time')) });

  expect(span?.attributes['error.type']).toBe('timeout');
  expect(span?.status.code).toBe(2);
});
