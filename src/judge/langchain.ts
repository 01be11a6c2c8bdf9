import { AsyncLocalStorage } from 'node:async_hooks';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { answerJsonSchema, perForm, type AskedParts } from './answer-schema.js';
import { JudgeTrouble, type JudgeModel, type ModelAnswer } from './judge-model.js';
import { troubleOf } from './model-trouble.js';
import type { JudgeMessage } from './prompt.js';
import type { AnswerContent } from './read-answer.js';

/** How a LangChain chat model is asked. */
export interface LangChainRules {
  /** false: the answer is asked for, and read, as JSON text. */
  readonly useStructuredOutput: boolean;
  /** How structure is asked for, in LangChain's words; absent: the model class's own choice. */
  readonly method?: 'jsonSchema' | 'functionCalling' | 'jsonMode';
}

export interface OpenAiConfig {
  readonly model: string;
  /** Of any server with OpenAI's API, up to `/v1`. The environment never changes it. */
  readonly baseUrl: string;
  /** Absent: servers that want none get a placeholder. */
  readonly apiKey?: string;
  /** null: not sent, for models that refuse it. */
  readonly temperature: number | null;
  /** Of the answer; null: the server's own limit. */
  readonly maxOutputTokens: number | null;
  readonly useStructuredOutput: boolean;
}

/** OpenAI's models from before structured outputs; LangChain refuses to ask them by schema. */
const WITHOUT_JSON_SCHEMA = /^gpt-(?:3|4-|4$)/;

/**
 * OpenAI's chat completions, or those of another server with the same API. The client is loaded only here, because that
 * takes longer than the rest of a start.
 */
export async function openAiModel(config: OpenAiConfig, deps: { nowMs(): number }): Promise<JudgeModel> {
  const { ChatOpenAI, ChatOpenAICompletions } = await import('@langchain/openai');
  const fields: ConstructorParameters<typeof ChatOpenAI>[0] = {
    model: config.model,
    apiKey: config.apiKey ?? 'none',
    ...(config.temperature === null ? {} : { temperature: config.temperature }),
    ...(config.maxOutputTokens === null ? {} : { maxTokens: config.maxOutputTokens }),
    // Retries, with their pauses and their limit in all, are the judge's.
    maxRetries: 0,
    streaming: false,
    configuration: {
      baseURL: config.baseUrl,
      // Else the client takes them from the environment; and its debug log holds prompts.
      organization: null,
      project: null,
      logLevel: 'off',
    },
    __includeRawResponse: true,
  };
  // With a schema, LangChain has the client parse the text: it fails on a reasoning block before our reading begins.
  const completions = new ChatOpenAICompletions(fields);
  const create = (request: never, options: Parameters<typeof completions._getClientOptions>[0]) => {
    const clientOptions = completions._getClientOptions(options);
    return completions.client.chat.completions.create(request, clientOptions);
  };
  completions.completionWithRetry = create as unknown as typeof completions.completionWithRetry;
  const model = new ChatOpenAI({ ...fields, completions });
  const method = WITHOUT_JSON_SCHEMA.test(config.model) ? 'functionCalling' : 'jsonSchema';
  return langChainModel(model, { useStructuredOutput: config.useStructuredOutput, method }, deps);
}

/**
 * A chat model class of another package, made with the operator's settings (`maxRetries: 0` unless they say otherwise).
 * Throws when the module or the class is not there, with their names.
 */
export async function loadChatModel(
  module: string,
  className: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<BaseChatModel> {
  const exported = (await import(module)) as Record<string, unknown>;
  const Model = exported[className];
  if (typeof Model !== 'function') throw new TypeError(`judge: ${module} exports no class ${className}`);
  const made: unknown = new (Model as new (settings: object) => unknown)({ maxRetries: 0, ...settings });
  if (typeof (made as BaseChatModel).invoke !== 'function') {
    throw new TypeError(`judge: ${className} of ${module} is no chat model of LangChain`);
  }
  return made as BaseChatModel;
}

/** Any chat model of LangChain as a JudgeModel. LangSmith's tracing is off for it, whatever the environment says. */
export function langChainModel(model: BaseChatModel, rules: LangChainRules, deps: { nowMs(): number }): JudgeModel {
  const invoke = invoker(model, rules);
  return {
    async ask(messages, asked, signal) {
      try {
        signal.throwIfAborted();
        const message = await untraced(() => invoke(messages, asked, signal));
        return modelAnswer(message);
      } catch (error) {
        throw signal.aborted ? new JudgeTrouble('timeout', 'no answer in time') : troubleOf(error, deps.nowMs());
      }
    },
  };
}

const ANSWER_NAME = 'judgement';

/** What we read of LangChain's AIMessage; other packages may bring their own copy of its class. */
interface ModelMessage {
  readonly content: string | readonly { readonly type: string; readonly text?: unknown }[];
  readonly tool_calls?: readonly { readonly name: string; readonly args: unknown }[];
  readonly usage_metadata?: { readonly input_tokens?: number; readonly output_tokens?: number };
  readonly additional_kwargs?: Readonly<Record<string, unknown>>;
  readonly response_metadata?: Readonly<Record<string, unknown>>;
}

type Invoke = (messages: readonly JudgeMessage[], asked: AskedParts, signal: AbortSignal) => Promise<ModelMessage>;

function invoker(model: BaseChatModel, rules: LangChainRules): Invoke {
  if (!rules.useStructuredOutput) {
    return async (messages, _asked, signal) =>
      (await model.invoke(asInput(messages), { signal })) as unknown as ModelMessage;
  }
  const structured = perForm((asked) =>
    model.withStructuredOutput<Record<string, unknown>>(
      { title: ANSWER_NAME, ...answerJsonSchema(asked) },
      {
        name: ANSWER_NAME,
        includeRaw: true,
        ...(rules.method === undefined ? {} : { method: rules.method }),
        ...(rules.method === 'jsonSchema' ? { strict: true } : {}),
      },
    ),
  );
  return async (messages, asked, signal) => {
    // What LangChain parsed is not used: it completes JSON that was cut.
    const { raw } = await structured(asked).invoke(asInput(messages), { signal });
    return raw;
  };
}

function asInput(messages: readonly JudgeMessage[]) {
  return messages.map(({ role, content }) => ({ role, content }));
}

function modelAnswer(message: ModelMessage): ModelAnswer {
  if (refused(message)) throw new JudgeTrouble('refused', 'the model refused to answer');
  const finish = message.response_metadata?.['finish_reason'] ?? message.response_metadata?.['stop_reason'];
  if (finish === 'length' || finish === 'max_tokens') {
    throw new JudgeTrouble('bad_answer', 'the answer was cut at the limit of output tokens');
  }
  if (finish === 'content_filter')
    throw new JudgeTrouble('refused', "the provider's content filter stopped the answer");
  return {
    content: contentOf(message),
    inputTokens: message.usage_metadata?.input_tokens ?? null,
    outputTokens: message.usage_metadata?.output_tokens ?? null,
  };
}

/** OpenAI's own member of a message, which LangChain leaves out of what it makes of it. */
function refused({ additional_kwargs: more }: ModelMessage): boolean {
  const raw = more?.['__raw_response'] as { choices?: { message?: { refusal?: unknown } }[] } | undefined;
  return Boolean(more?.['refusal'] ?? raw?.choices?.[0]?.message?.refusal);
}

/** The arguments of the answer's call where structure was asked for by one, else the text; reasoning is no text. */
function contentOf({ content, tool_calls: calls = [] }: ModelMessage): AnswerContent {
  const call = calls.find(({ name }) => name === ANSWER_NAME);
  if (call !== undefined && calls.length === 1) return { structured: call.args };
  if (typeof content === 'string') return { text: content };
  let text = '';
  for (const block of content) if (block.type === 'text' && typeof block.text === 'string') text += block.text;
  return { text };
}

/** Runs where LangSmith finds a run tree that is switched off, which goes before its environment variables. */
async function untraced<T>(run: () => Promise<T>): Promise<T> {
  const { AsyncLocalStorageProviderSingleton: contexts } = await import('@langchain/core/singletons');
  // Without effect where another part of the process has set one.
  contexts.initializeGlobalInstance(new AsyncLocalStorage());
  return contexts.getInstance().run({ tracingEnabled: false }, run);
}
