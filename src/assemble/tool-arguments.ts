import type { ArgumentsStatus, ToolOffer } from '../model/interaction.js';
import { isJsonObject, type Json } from '../model/json.js';
import type { RecordedArguments } from '../model/message.js';

export interface ResolvedArguments {
  readonly arguments: Json;
  readonly status: ArgumentsStatus;
}

const NOT_CAPTURED: ResolvedArguments = { arguments: null, status: 'not_captured' };

/**
 * The arguments of a call from all the places where they stand, best first. A value beats text, whatever spoilt the
 * text; a model's own broken text is malformed only where no other place has the value.
 */
export function resolveArguments(recorded: readonly RecordedArguments[], offer: ToolOffer): ResolvedArguments {
  const captured = recorded.find((args) => args.status === 'captured');
  if (captured !== undefined) return { arguments: captured.value, status: 'captured' };
  const malformed = textOf(recorded, 'malformed');
  const text = malformed ?? textOf(recorded, 'garbled');
  if (text !== undefined && takesText(offer, text)) return { arguments: text, status: 'captured' };
  const truncated = textOf(recorded, 'truncated');
  if (truncated !== undefined) return { arguments: truncated, status: 'truncated' };
  if (malformed !== undefined) return { arguments: malformed, status: 'malformed' };
  if (recorded.some((args) => args.status === 'empty') && requiresNothing(offer)) {
    return { arguments: Object.create(null) as Json, status: 'captured' };
  }
  return NOT_CAPTURED;
}

function textOf(recorded: readonly RecordedArguments[], status: RecordedArguments['status']): string | undefined {
  const found = recorded.find((args) => args.status === status);
  return found !== undefined && 'text' in found ? found.text : undefined;
}

/** May this text be what the tool takes? A tool of free text takes any; one without a schema all but broken JSON. */
function takesText(offer: ToolOffer, text: string): boolean {
  if (offer.kind === 'offered' && offer.freeText) return true;
  if (offer.kind === 'offered' && offer.schema !== undefined) return false;
  return !/^\s*[[{]/.test(text);
}

function requiresNothing(offer: ToolOffer): boolean {
  if (offer.kind !== 'offered' || offer.schema === undefined || !isJsonObject(offer.schema)) return false;
  const required = offer.schema.required;
  return !Array.isArray(required) || required.length === 0;
}
