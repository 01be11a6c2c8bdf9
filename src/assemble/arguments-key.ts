import { canonicalJson } from '../model/json.js';
import type { RecordedArguments } from '../model/message.js';

/** Arguments as one comparable text; null when there is no value to compare. */
export function argumentsKey(args: RecordedArguments): string | null {
  return args.status === 'captured' ? canonicalJson(args.value) : null;
}
