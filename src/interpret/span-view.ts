import type { AgentSpanKind } from '../model/agent-span.js';
import type { Json } from '../model/json.js';
import type { Messages, Role } from '../model/message.js';
import type { Attributes, Span } from '../model/span.js';
import { looseJson } from './jsonish.js';
import { readMessages } from './messages.js';
import { isPlaceholder } from './placeholders.js';

/** A span as the dialects see it: typed reads of single attributes, each JSON text decoded once. */
export class SpanView {
  private decoded: Map<string, Json | undefined> | undefined;
  private lists: Map<string, Messages | undefined> | undefined;

  constructor(
    readonly span: Span,
    readonly kind: AgentSpanKind,
  ) {}

  has(key: string): boolean {
    return this.span.attributes.has(key);
  }

  get(key: string): Json | undefined {
    return this.span.attributes.get(key);
  }

  /** The attribute decoded, for reading members out of; see `looseJson`. */
  json(key: string): Json | undefined {
    this.decoded ??= new Map();
    if (!this.decoded.has(key)) {
      const value = this.span.attributes.get(key);
      this.decoded.set(key, value === undefined ? undefined : looseJson(value));
    }
    return this.decoded.get(key);
  }

  /** A text that says something: not blank, no placeholder. Numbers give their decimal text. */
  text(key: string): string | undefined {
    return textOf(this.span.attributes, key);
  }

  resourceText(key: string): string | undefined {
    return textOf(this.span.resource.attributes, key);
  }

  /** A count; negative (some write -1 for unknown) and non-finite ones are none. */
  count(key: string): number | undefined {
    const value = this.span.attributes.get(key);
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
  }

  /** A list of messages in one attribute; several facts are read out of it. An attribute has one role to fall back to. */
  messages(key: string, fallbackRole: Role): Messages | undefined {
    this.lists ??= new Map();
    if (!this.lists.has(key)) {
      const value = this.span.attributes.get(key);
      this.lists.set(key, value === undefined ? undefined : readMessages(value, fallbackRole));
    }
    return this.lists.get(key);
  }

  /** A list spread over many attributes cannot be whole once attributes were dropped. */
  flattened(messages: Messages | undefined): Messages | undefined {
    if (messages === undefined || this.span.droppedAttributes === 0) return messages;
    return { messages: messages.messages, complete: false };
  }
}

/** As `SpanView.text`, for any attributes. Exporters that encode every value as JSON are seen through. */
export function textOf(attributes: Attributes, key: string): string | undefined {
  const value = attributes.get(key);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return undefined;
  const plain = value.length > 1 && value.startsWith('"') && value.endsWith('"') ? looseJson(value) : value;
  const text = typeof plain === 'string' ? plain : value;
  return isPlaceholder(text) ? undefined : text.toWellFormed();
}
