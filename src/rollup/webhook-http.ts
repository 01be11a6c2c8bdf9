import { ConstantBackoff, handleAll, retry, timeout, TimeoutStrategy, wrap } from 'cockatiel';
import type { Outcome } from '../model/outcome.js';
import type { WebhookMessage } from './webhook-message.js';

/** Within one attempt; between attempts whole ticks pass. */
const RETRIES = 2;
const RETRY_MS = 500;

export interface WebhookRules {
  /** An answer takes at most this long. Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Posts a message. *ok*: the other side took it; *rejected*: it never will (4xx, but for 408 and 429); *retryable*: it may,
 * or nobody knows whether it did. Redirects are not followed. No cause holds the URL, which is a secret.
 */
export async function postWebhook(url: string, message: WebhookMessage, { timeoutMs }: WebhookRules): Promise<Outcome> {
  const policy = wrap(
    retry(handleAll, { maxAttempts: RETRIES, backoff: new ConstantBackoff(RETRY_MS) }),
    timeout(timeoutMs, TimeoutStrategy.Aggressive),
  );
  try {
    return await policy.execute(({ signal }) => post(url, message, signal));
  } catch (error) {
    const cause = error instanceof Unanswered ? error : new Unanswered(`no answer within ${timeoutMs} ms`);
    return { status: 'retryable', cause };
  }
}

class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

async function post(url: string, message: WebhookMessage, signal: AbortSignal): Promise<Outcome> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      redirect: 'manual',
      signal,
    });
  } catch (error) {
    throw new Unanswered(`no answer: ${codeOf(error)}`);
  }
  await response.body?.cancel();
  const { status } = response;
  if (response.ok) return { status: 'ok' };
  const cause = new Unanswered(`2xx expected, got ${status}`);
  if (status === 408 || status === 429 || status >= 500) throw cause;
  return { status: 'rejected', cause };
}

/** Node's code of a network error; its message may hold the host. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? code : 'no connection';
}
