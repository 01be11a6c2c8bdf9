import { isJsonObject } from '../model/json.js';
import type { RecordedArguments } from '../model/message.js';

/** How frameworks name the call that passes control to another agent. */
const HANDOFF_NAME = /^(?:transfer_(?:back_)?to_(.+)|handoff to (.+)|handoff_to_(.+))$/;

/** What such a call may carry; anything else is work, as in `transfer_to_account` with an amount. */
const HANDOFF_ARGUMENTS = new Set([
  'agent_name',
  'agent',
  'reason',
  'message',
  'input',
  'task',
  'task_description',
  'state',
  'tool_call_id',
]);

/** The agent that control passes to, if a call of this name and these arguments is a handoff; else undefined. */
export function handoffTarget(name: string, args: RecordedArguments | undefined): string | undefined {
  const match = HANDOFF_NAME.exec(name);
  if (match === null) return undefined;
  const value = args?.status === 'captured' ? args.value : null;
  if (isJsonObject(value) && !Object.keys(value).every((key) => HANDOFF_ARGUMENTS.has(key))) return undefined;
  const named = isJsonObject(value) ? (value.agent_name ?? value.agent) : undefined;
  return typeof named === 'string' ? named : (match[1] ?? match[2] ?? match[3]);
}
