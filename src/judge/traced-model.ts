import { SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { JudgeTrouble, type JudgeModel } from './judge-model.js';

/** Name of the tracer to make the judge's spans with: workers know them by it, or by the attribute, and grade none. */
export const JUDGE_SCOPE = 'tracegrade.judge';
const JUDGE_ATTRIBUTE = 'tracegrade.judge';

/**
 * The same model, with one span a request under OpenTelemetry's GenAI names. It is a root, so that it joins no other
 * trace, and holds neither prompt nor answer.
 */
export function tracedModel(model: JudgeModel, of: { readonly model: string }, tracer: Tracer): JudgeModel {
  return {
    async ask(messages, asked, signal) {
      const span = tracer.startSpan(`chat ${of.model}`, {
        root: true,
        kind: SpanKind.CLIENT,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': of.model,
          [JUDGE_ATTRIBUTE]: true,
        },
      });
      try {
        const answer = await model.ask(messages, asked, signal);
        if (answer.inputTokens !== null) span.setAttribute('gen_ai.usage.input_tokens', answer.inputTokens);
        if (answer.outputTokens !== null) span.setAttribute('gen_ai.usage.output_tokens', answer.outputTokens);
        return answer;
      } catch (error) {
        span.setAttribute('error.type', error instanceof JudgeTrouble ? error.kind : '_OTHER');
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
  };
}
