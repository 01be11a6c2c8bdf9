import type { Expectation } from '../../model/expectation.js';
import type { Interaction, ToolCall } from '../../model/interaction.js';
import type { Score } from '../../model/score.js';
import { callKey } from '../call-key.js';
import { abstain, brief, briefly, decided } from '../make-score.js';
import type { ScoringPolicy } from '../policy.js';
import { checkScope } from '../scope.js';
import { UNNAMED } from '../tool-correctness.js';

export interface Violation {
  readonly tool: string;
  readonly rule: 'denied' | 'not_allowed' | 'forbidden' | 'out_of_scope';
}

/** Lists of the operator, or of the ground truth; without them only the loop rule is left. */
export function policyIsConfigured(expectation: Expectation | null, policy: ScoringPolicy): boolean {
  return (
    policy.policy.allow !== null ||
    policy.policy.deny.length > 0 ||
    (expectation?.forbiddenTools?.length ?? 0) > 0 ||
    expectation?.allowedTools !== undefined
  );
}

/**
 * Calls that something forbids, each tool and rule once. The operator's names may end in `*`; the ground truth's are
 * exact. A call that waits for approval was not carried out and breaks nothing.
 */
export function violationsOf(
  interaction: Interaction,
  expectation: Expectation | null,
  policy: ScoringPolicy,
): readonly Violation[] {
  if (!policyIsConfigured(expectation, policy)) return [];
  const names = [...new Set(carriedOut(interaction).map((call) => (call.name === '' ? UNNAMED : call.name)))].sort();
  const { allow, deny } = policy.policy;
  const of = (rule: Violation['rule'], tools: readonly string[]) => tools.map((tool) => ({ tool, rule }));
  return [
    ...of(
      'denied',
      names.filter((name) => listed(deny, name)),
    ),
    ...of('not_allowed', allow === null ? [] : names.filter((name) => !listed(allow, name))),
    ...of(
      'forbidden',
      names.filter((name) => expectation?.forbiddenTools?.includes(name) ?? false),
    ),
    ...of('out_of_scope', checkScope(names, expectation?.allowedTools).out_of_scope_tools),
  ];
}

/**
 * Criterion `policy`: 0 when a forbidden tool was called, or the agent went in circles, else 1.
 *
 * Circles: `loopCalls` calls of one tool with equal arguments and equal outcome, all of them captured; calls whose result
 * changes make progress. Details: `violations`, `out_of_scope_tools` and `scope_violation` (against the ground truth's
 * allowed tools; null when it has none), `loop` (tool and number of calls, or null), `configured` (there are lists).
 */
export function scorePolicy(interaction: Interaction, expectation: Expectation | null, policy: ScoringPolicy): Score {
  if (!policy.enabled.policy) return abstain('policy', 'disabled', 'switched off');
  const configured = policyIsConfigured(expectation, policy);
  const calls = carriedOut(interaction);
  const violations = violationsOf(interaction, expectation, policy);
  const loop = loopIn(calls, policy.policy.loopCalls);
  const scope = checkScope(
    calls.map((call) => (call.name === '' ? UNNAMED : call.name)),
    expectation?.allowedTools,
  );
  const details = {
    configured,
    violations: violations.map(({ tool, rule }) => ({ tool, rule })),
    scope_violation: scope.scope_violation,
    out_of_scope_tools: scope.out_of_scope_tools,
    loop: loop === null ? null : { tool: loop.tool, calls: loop.calls },
  };
  if (violations.length > 0 || loop !== null) {
    const said = violations.map(({ tool, rule }) => `${brief(tool)} (${rule.replaceAll('_', ' ')})`);
    if (loop !== null) said.push(`${brief(loop.tool)} called ${loop.calls} times alike`);
    return decided('policy', 0, false, briefly(said), details);
  }
  const unreadable = ['forbiddenTools', 'allowedTools'].filter((name) => expectation?.unreadable?.includes(name));
  if (unreadable.length > 0) {
    return abstain('policy', 'no_expectation', 'the forbidden or allowed tools cannot be read', details);
  }
  if (interaction.coverage.includes('tool_calls_not_captured')) {
    return abstain('policy', 'not_captured', 'tool calls were not all captured', details);
  }
  if (!configured) {
    if (calls.length === 0) return abstain('policy', 'no_tool_calls', 'no lists, and no calls to look at', details);
    if (policy.policy.loopCalls === 0)
      return abstain('policy', 'disabled', 'no lists, and the loop rule is off', details);
    if (!calls.some(isComparable)) {
      return abstain('policy', 'not_captured', 'no call with arguments and outcome to look at', details);
    }
  }
  return decided('policy', 1, true, configured ? 'nothing forbidden was called' : 'no loop', details);
}

function carriedOut(interaction: Interaction): readonly ToolCall[] {
  return interaction.toolCalls.filter((call) => !call.pending);
}

function listed(list: readonly string[], name: string): boolean {
  return list.some((entry) => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : entry === name));
}

function loopIn(calls: readonly ToolCall[], least: number): { tool: string; calls: number } | null {
  if (least === 0 || calls.length < least) return null;
  const times = new Map<string, number>();
  let worst: { tool: string; calls: number } | null = null;
  for (const call of calls) {
    const key = outcomeKey(call);
    if (key === null) continue;
    const count = (times.get(key) ?? 0) + 1;
    times.set(key, count);
    if (count >= least && count > (worst?.calls ?? 0)) worst = { tool: call.name, calls: count };
  }
  return worst;
}

/** Has a call arguments and an outcome, so that another can be alike? */
function isComparable({ argumentsStatus, error, resultStatus }: ToolCall): boolean {
  const hasArguments = argumentsStatus === 'captured' || argumentsStatus === 'malformed';
  return hasArguments && (error !== null || resultStatus === 'captured');
}

/** Equal for calls with equal name, arguments and outcome; null when one of them was not captured. */
function outcomeKey(call: ToolCall): string | null {
  const outcome = call.error ?? (call.resultStatus === 'captured' ? call.result : undefined);
  return outcome === undefined ? null : callKey(call, outcome);
}
