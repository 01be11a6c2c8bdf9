import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A chat completion request as the server received it. */
export interface ChatRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: {
    readonly model: string;
    readonly temperature?: number;
    readonly stream?: boolean;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly response_format?: { readonly type: string; readonly json_schema?: { readonly schema: object } };
    readonly tools?: readonly { readonly function: { readonly name: string } }[];
  };
  /** All messages, one after another. */
  readonly text: string;
}

/** What the server does with a request. */
export type Reply =
  | { readonly kind: 'text'; readonly text: string; readonly finishReason?: string }
  /** As text, or as the arguments of the tool when tools were offered. */
  | { readonly kind: 'json'; readonly value: unknown }
  /** Content blocks in place of a text. */
  | { readonly kind: 'blocks'; readonly blocks: readonly object[] }
  | { readonly kind: 'refusal' }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: object;
    }
  /** This instead of a completion's JSON, with status 200. */
  | { readonly kind: 'raw'; readonly body: string }
  /** The connection ends in the middle of the body. */
  | { readonly kind: 'cut' }
  /** Never answered. */
  | { readonly kind: 'silence' }
  /** Answered after `until`. */
  | { readonly kind: 'after'; readonly until: Promise<unknown>; readonly reply: Reply };

export type Script = (request: ChatRequest, index: number) => Reply;

export interface OpenAiServer {
  /** `http://127.0.0.1:port/v1` */
  readonly url: string;
  readonly requests: readonly ChatRequest[];
  script: Script;
  /** Resolves when so many requests have come. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A stand-in for a model's server on the loopback interface that answers as its script says. */
export async function startOpenAiServer(script: Script): Promise<OpenAiServer> {
  const requests: ChatRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer((incoming, response) => {
    void receive(incoming).then((request) => {
      const index = requests.push(request) - 1;
      for (const each of waiting.filter(({ count }) => requests.length >= count)) each.resolve();
      return answer(running.script(request, index), request, response);
    });
  });
  // A client must not meet a socket that is just being closed: that is another test's matter.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const running: OpenAiServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    script,
    received: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return running;
}

async function receive(incoming: IncomingMessage): Promise<ChatRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as ChatRequest['body'];
  const text = (body.messages ?? []).map(({ content }) => content).join('\n');
  return { path: incoming.url ?? '', headers: incoming.headers, body, text };
}

async function answer(reply: Reply, request: ChatRequest, response: ServerResponse): Promise<void> {
  switch (reply.kind) {
    case 'after':
      await reply.until;
      return answer(reply.reply, request, response);
    case 'status':
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(JSON.stringify(reply.body ?? { error: { message: request.text, type: 'scripted' } }));
      return;
    case 'raw':
      response.writeHead(200, { 'content-type': 'application/json' }).end(reply.body);
      return;
    case 'cut':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"choices":[');
      response.socket?.destroySoon();
      return;
    case 'silence':
      return;
    case 'json': {
      const [tool] = request.body.tools ?? [];
      const text = JSON.stringify(reply.value);
      if (tool === undefined) return complete({ content: text }, 'stop', request, response);
      const call = { id: 'call_of_model', type: 'function', function: { name: tool.function.name, arguments: text } };
      return complete({ content: null, tool_calls: [call] }, 'tool_calls', request, response);
    }
    case 'blocks':
      return complete({ content: reply.blocks }, 'stop', request, response);
    case 'refusal':
      return complete({ content: null, refusal: 'I cannot help with that.' }, 'stop', request, response);
    case 'text':
      return complete({ content: reply.text }, reply.finishReason ?? 'stop', request, response);
  }
}

/** Tokens are words here, so that a test can count them. */
function complete(message: object, finishReason: string, request: ChatRequest, response: ServerResponse): void {
  const usage = {
    prompt_tokens: words(request.text),
    completion_tokens: words(JSON.stringify(message)),
    total_tokens: words(request.text) + words(JSON.stringify(message)),
  };
  const common = { id: 'chatcmpl-1', created: 1, model: request.body.model };
  if (request.body.stream !== true) {
    const choice = { index: 0, finish_reason: finishReason, message: { role: 'assistant', ...message } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...common, object: 'chat.completion', choices: [choice], usage }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (choices: object[], more: object = {}) =>
    response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`);
  send([{ index: 0, delta: { role: 'assistant', ...message }, finish_reason: null }]);
  send([{ index: 0, delta: {}, finish_reason: finishReason }]);
  send([], { usage });
  response.end('data: [DONE]\n\n');
}

function words(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

/** The last line of the user message says what is asked: `Asked: arguments of call_0, call_1; answer.` */
export function askedIn(request: ChatRequest): {
  readonly calls: readonly string[];
  readonly parts: readonly string[];
} {
  const said = /Asked: (.*)\.$/m.exec(request.body.messages[1]?.content.split('\n').at(-1) ?? '')?.[1] ?? '';
  const parts = said.split('; ');
  const calls = parts.find((part) => part.startsWith('arguments of '))?.slice('arguments of '.length);
  return { calls: calls?.split(', ') ?? [], parts: parts.map((part) => part.split(' ')[0] as string) };
}

/** An answer to all that was asked; by default everything is right. */
export function answerTo(
  request: ChatRequest,
  given: { verdict?: (id: string) => string; answer?: unknown; completion?: unknown; utilization?: unknown } = {},
): Reply {
  const { calls, parts } = askedIn(request);
  const verdict = given.verdict ?? (() => 'correct');
  const entry = (id: string) => ({ call_id: id, parameters: [], reason: 'as asked', verdict: verdict(id) });
  return {
    kind: 'json',
    value: {
      ...(parts.includes('arguments') && { arguments: calls.map(entry) }),
      ...(parts.includes('answer') && { answer: { reason: 'alike', value: given.answer ?? 1 } }),
      ...(parts.includes('completion') && { completion: { reason: 'done', value: given.completion ?? 1 } }),
      ...(parts.includes('utilization') && { utilization: { reason: 'stated', verdict: given.utilization ?? 'used' } }),
    },
  };
}
