import { isJsonObject, type Json } from '../model/json.js';

/**
 * Does a result say itself that the tool failed? Frameworks feed an error back to the model and record success: MCP's
 * `isError`, `is_error`, `status: "error"`. Gives the error's text, null when only the fact is there, or undefined.
 */
export function failureInResult(result: Json | undefined): string | null | undefined {
  if (result === undefined || !isJsonObject(result)) return undefined;
  if (result.isError !== true && result.is_error !== true && result.status !== 'error') return undefined;
  return errorText(result);
}

/** The text of an error result. */
export function errorText(result: Json | undefined): string | null {
  if (typeof result === 'string') return result === '' ? null : result;
  if (result === undefined || !isJsonObject(result)) return null;
  for (const key of ['error', 'message', 'content', 'text', 'detail']) {
    const member = result[key];
    if (typeof member === 'string' && member !== '') return member;
    if (member !== undefined && isJsonObject(member) && typeof member.message === 'string') return member.message;
    if (Array.isArray(member)) {
      const texts = (member as readonly Json[]).flatMap((block) =>
        isJsonObject(block) && typeof block.text === 'string' ? [block.text] : [],
      );
      if (texts.length > 0) return texts.join('\n');
    }
  }
  return null;
}
