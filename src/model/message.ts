import type { Json } from './json.js';

/**
 * A tool's arguments as a source recorded them.
 *
 * - `captured`: a JSON value, or the plain text of a tool that takes free text.
 * - `empty`: an empty string; `{}` if the tool's schema requires nothing, else not captured.
 * - `truncated`: a proper prefix of JSON, cut by a recorder's limit.
 * - `garbled`: text that only the recorder spoilt (a Python repr, `NaN` inside JSON); never the agent's fault.
 * - `malformed`: text that is no JSON and stands in a model's own output.
 * - `not_captured`: nothing, or a placeholder such as `<REDACTED>`.
 */
export type RecordedArguments =
  | { readonly status: 'captured'; readonly value: Json }
  | { readonly status: 'empty' | 'not_captured' }
  | { readonly status: 'truncated' | 'garbled' | 'malformed'; readonly text: string };

export interface ToolCallPart {
  readonly type: 'tool_call';
  /** Trimmed; absent when the recorder gives none or a placeholder. */
  readonly id?: string;
  /** Empty when the recorder lost it. */
  readonly name: string;
  readonly arguments: RecordedArguments;
  /** The provider ran it itself (`server_tool_call`, built-in tools). */
  readonly providerExecuted: boolean;
}

export interface ToolResultPart {
  readonly type: 'tool_result';
  readonly id?: string;
  readonly name?: string;
  readonly result: Json;
  readonly isError: boolean;
}

export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | ToolCallPart
  | ToolResultPart
  | { readonly type: 'media' }
  | { readonly type: 'other' };

export type Role = 'system' | 'user' | 'assistant' | 'tool';

export interface Message {
  readonly role: Role;
  readonly parts: readonly MessagePart[];
  /** Normalised: `tool_call`, `stop`, `length`, `content_filter`, `error`, or the sender's own word. */
  readonly finishReason?: string;
}

/** A list of messages as recorded. `complete` is false when the text was cut or attributes were dropped. */
export interface Messages {
  readonly messages: readonly Message[];
  readonly complete: boolean;
}

/** A tool as it was offered to a model. */
export interface ToolDefinition {
  readonly name: string;
  /** JSON Schema of the arguments; absent when it was not recorded. */
  readonly schema?: Json;
  /** The tool takes any text (OpenAI's `custom` tools). */
  readonly freeText: boolean;
}
