import type { TroubleKind } from './judge-model.js';
import { JudgeTrouble } from './judge-model.js';

/**
 * What an error of a chat model's client means to us. Clients put whole responses, and parsers what they could not read,
 * into their messages: of the error only its class, status and code are kept, and only where these are plain words.
 */
export function troubleOf(error: unknown, nowMs: number): JudgeTrouble {
  if (error instanceof JudgeTrouble) return error;
  const { name, status, code, headers, retryAfterMs, caused } = fieldsOf(error);
  const said = [word(name) ?? 'error', status, word(code)].filter((part) => part !== undefined).join(' ');
  const wait = typeof retryAfterMs === 'number' ? retryAfterMs : retryAfter(headers, nowMs);
  return new JudgeTrouble(kindOf(name, status, code, caused), `its client says: ${said}`, wait);
}

const TIMEOUTS = /Timeout|Abort|TaskCancelled/;
const CUT_OR_FILTERED: Readonly<Record<string, TroubleKind>> = {
  LengthFinishReasonError: 'bad_answer',
  ContentFilterFinishReasonError: 'refused',
  ContextOverflowError: 'refused',
};
const MISREAD = /^(?:SyntaxError|TypeError|OutputParser)/;
const CREDIT = /insufficient_quota|billing|credit/i;

function kindOf(name: unknown, status: number | undefined, code: unknown, caused: boolean): TroubleKind {
  const class_ = String(name);
  const known = CUT_OR_FILTERED[class_];
  if (known !== undefined) return known;
  if (status === undefined) {
    if (TIMEOUTS.test(class_)) return 'timeout';
    // A client that trips over a response that is no JSON, or of another shape, throws one of these. A TypeError with a
    // cause is fetch's, for a connection that broke.
    return MISREAD.test(class_) && !caused ? 'bad_answer' : 'unreachable';
  }
  if (status === 429) return CREDIT.test(String(code)) || /QuotaExhausted/.test(class_) ? 'auth' : 'rate_limited';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 401 || status === 402 || status === 403 || status === 404) return 'auth';
  return status >= 400 && status < 500 && status !== 409 && status !== 425 ? 'refused' : 'unreachable';
}

interface ErrorFields {
  readonly name: unknown;
  readonly status: number | undefined;
  readonly code: unknown;
  readonly headers: unknown;
  readonly retryAfterMs: unknown;
  readonly caused: boolean;
}

function fieldsOf(error: unknown): ErrorFields {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const { status, constructor } = fields;
  // The class tells more than `name`, which many clients leave at "Error".
  const named = fields['name'] !== 'Error' && typeof fields['name'] === 'string';
  const name = named ? fields['name'] : (constructor as { name?: unknown } | undefined)?.name;
  const { code, headers, retryAfterMs } = fields;
  const caused = fields['cause'] !== undefined;
  return { name, status: typeof status === 'number' ? status : undefined, code, headers, retryAfterMs, caused };
}

/** `Retry-After` (seconds or an HTTP date) and `retry-after-ms`, in ms from now; null when absent or unreadable. */
function retryAfter(headers: unknown, nowMs: number): number | null {
  const ms = Number(header(headers, 'retry-after-ms') ?? NaN);
  if (ms >= 0) return ms;
  const text = header(headers, 'retry-after');
  if (text === undefined) return null;
  const seconds = Number(text);
  if (seconds >= 0) return seconds * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

function header(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = (headers as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.-]{1,60}$/.test(value) ? value : undefined;
}
