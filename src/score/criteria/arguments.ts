import type { Interaction, ToolCall } from '../../model/interaction.js';
import type { Json } from '../../model/json.js';
import type { Score } from '../../model/score.js';
import { THRESHOLD_TOLERANCE } from '../assess-tools.js';
import { callKey } from '../call-key.js';
import { abstain, brief, decided } from '../make-score.js';
import type { ScoringPolicy } from '../policy.js';
import { checkSchema } from '../schema-check.js';
import { isTransient } from '../transient.js';

type ArgumentRule = 'not_json' | 'not_offered' | 'schema' | 'repeated_failure';

interface CallVerdict {
  readonly call: ToolCall;
  readonly verdict: 'correct' | 'incorrect' | 'left_out';
  /** The rule that objected. */
  readonly rule: ArgumentRule | null;
  readonly problem: string | null;
}

/**
 * Criterion `arguments`, rule part: of the calls with captured arguments, the share that no rule objects to.
 *
 * A rule objects to text that is no JSON (unless the tool takes free text), to a tool that the issuing model call was not
 * offered (those that the provider or the application carried out apart), to arguments that are invalid against the recorded schema, and to the third
 * identical call after two that failed for a reason that will not pass. Calls whose arguments were cut or not captured,
 * and calls that wait for a person, are left out.
 *
 * Rules can only reject, so without a judge and without `acceptByRules` nothing is decided. Details: `calls` (per call its
 * verdict, the rule and the problem), `correct`, `incorrect`, `left_out`.
 */
export function scoreArguments(interaction: Interaction, policy: ScoringPolicy): Score {
  if (!policy.enabled.arguments) return abstain('arguments', 'disabled', 'switched off');
  const { threshold, acceptByRules, owners, noCalls } = policy.arguments;
  const calls = interaction.toolCalls.filter((call) => owners === 'all' || call.byRoot);
  if (calls.length === 0) {
    if (interaction.coverage.includes('tool_calls_not_captured')) {
      return abstain('arguments', 'not_captured', 'tool calls were not captured');
    }
    if (noCalls === 1) return decided('arguments', 1, true, 'no tool calls (counted as correct)', {});
    return abstain('arguments', 'no_tool_calls', 'no tool calls');
  }
  const verdicts = judgeByRules(calls);
  const correct = verdicts.filter(({ verdict }) => verdict === 'correct').length;
  const incorrect = verdicts.filter(({ verdict }) => verdict === 'incorrect').length;
  const details = {
    calls: verdicts.map(describeCall),
    correct,
    incorrect,
    left_out: verdicts.length - correct - incorrect,
  };
  if (correct + incorrect === 0) {
    if (calls.every((call) => call.pending)) return abstain('arguments', 'interrupted', 'waits for a person', details);
    return abstain('arguments', 'not_captured', 'no arguments were captured', details);
  }
  if (!acceptByRules)
    return abstain('arguments', 'no_judge', 'rules can only reject, and no judge is configured', details);
  const value = correct / (correct + incorrect);
  return decided('arguments', value, value >= threshold - THRESHOLD_TOLERANCE, reasonOf(verdicts), details);
}

function judgeByRules(calls: readonly ToolCall[]): readonly CallVerdict[] {
  const failures = new Map<string, ToolCall[]>();
  return calls.map((call) => {
    // Without a failure so far there is nothing to find, and nothing to remember of a call that did not fail.
    const key = failures.size > 0 || call.failed ? callKey(call) : null;
    const earlier = key === null ? [] : (failures.get(key) ?? []);
    const verdict = judgeCall(call, earlier);
    if (key !== null) remember(failures, key, call);
    return verdict;
  });
}

/** Failures of equal calls since the last that did not fail. */
function remember(failures: Map<string, ToolCall[]>, key: string, call: ToolCall): void {
  if (!call.failed && !call.pending) failures.delete(key);
  else if (call.failed && call.error !== null && !isTransient(call.error)) {
    failures.set(key, [...(failures.get(key) ?? []), call]);
  }
}

function judgeCall(call: ToolCall, earlierFailures: readonly ToolCall[]): CallVerdict {
  const { offer } = call;
  const objection = (rule: ArgumentRule, problem: string): CallVerdict => ({
    call,
    verdict: 'incorrect',
    rule,
    problem,
  });
  const leftOut = (problem: string): CallVerdict => ({ call, verdict: 'left_out', rule: null, problem });
  if (call.pending) return leftOut('waits for a person');
  if (call.argumentsStatus === 'not_captured') return leftOut('arguments not captured');
  if (call.argumentsStatus === 'truncated') return leftOut('arguments truncated by a recorder');
  const freeText = offer.kind === 'offered' && offer.freeText;
  if (call.argumentsStatus === 'malformed' && !freeText) return objection('not_json', 'the arguments are no JSON');
  if (offer.kind === 'not_offered' && !call.providerExecuted && !wasCarriedOut(call)) {
    return objection('not_offered', 'the tool was not offered to the model');
  }
  if (offer.kind === 'offered' && offer.schema !== undefined && !freeText) {
    // A null where an object belongs is how recorders write "none".
    const none = call.arguments === null;
    const check = checkSchema(offer.schema, none ? {} : call.arguments);
    if (check.kind === 'invalid') {
      return none ? leftOut('arguments not captured') : objection('schema', check.problem);
    }
  }
  if (earlierFailures.filter((failure) => knownBefore(failure, call)).length >= 2) {
    return objection('repeated_failure', 'the same call had failed twice before');
  }
  return { call, verdict: 'correct', rule: null, problem: null };
}

/** A tool that ran without a fault existed: then the recorded definitions were not all that was offered. */
function wasCarriedOut(call: ToolCall): boolean {
  return call.endedAtMs !== null && !call.failed;
}

/** Calls that were made in parallel could not know of each other. */
function knownBefore(failure: ToolCall, call: ToolCall): boolean {
  return failure.endedAtMs === null || call.startedAtMs === null || failure.endedAtMs <= call.startedAtMs;
}

function describeCall({ call, verdict, rule, problem }: CallVerdict): { readonly [key: string]: Json } {
  return { position: call.position, call_id: call.callId, name: call.name, verdict, rule, problem };
}

function reasonOf(verdicts: readonly CallVerdict[]): string {
  const wrong = verdicts.filter(({ verdict }) => verdict === 'incorrect');
  if (wrong.length === 0) return 'no rule objects; nobody judged the meaning';
  const shown = wrong.slice(0, 3).map(({ call, problem }) => `${brief(call.name)}: ${problem ?? 'objected'}`);
  return wrong.length > 3 ? `${shown.join('; ')}; and ${wrong.length - 3} more` : shown.join('; ');
}
