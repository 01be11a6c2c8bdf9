import type { Expectation, ExpectedCall } from '../../model/expectation.js';
import type { Interaction, ToolCall } from '../../model/interaction.js';
import { saysCut } from '../../model/json-text.js';
import type { Judgement } from '../../model/judge.js';
import { holdsRedacted, type Json } from '../../model/json.js';
import type { DecidedBy, Score } from '../../model/score.js';
import { comparisonOf, differingKeys } from '../argument-match.js';
import type { MadeCall, ToolAssessment, ToolRules } from '../assess-tools.js';
import { assessTools, withResultsUsed } from '../assess-tools.js';
import { partialFlag, waitsForPerson } from '../coverage.js';
import { abstain, brief, briefly, decided } from '../make-score.js';
import type { OpenCriterion } from '../open-criterion.js';
import { NOT_ASKED, withoutValue } from '../open-criterion.js';
import type { ScoringPolicy } from '../policy.js';
import { UNNAMED } from '../tool-correctness.js';
import type { ResultUse } from '../utilization.js';
import { resultUses } from '../utilization.js';
import { violationsOf } from './policy.js';

/**
 * Criterion `tools`: the calls that were made against the expected ones (`assessTools`).
 *
 * Details: `selection`, `parameters`, `sequence`, `utilization` (0..1, null: does not apply), `missing` and `extra`
 * (how many calls) with `missing_tools` and `extra_tools` (their names, as often as they occur), `mode`, and `matches` (per expected call: the position of the made
 * call, its similarity, the keys that differ). Where the ground truth does not say whether the results were used,
 * `result_uses` says what a rule can tell of each call (`ResultUse`). Where it finds no use the judge is asked; without a
 * judge utilization is then 1 or does not apply.
 *
 * What was not captured is never wrong. An interaction recorded in part abstains, unless something forbidden was done;
 * one whose tool calls were not all captured abstains when calls are missing; so does one in which arguments that were
 * not captured decide the value.
 */
export function scoreTools(
  interaction: Interaction,
  expectation: Expectation | null,
  policy: ScoringPolicy,
): Score | OpenCriterion {
  if (!policy.enabled.tools) return abstain('tools', 'disabled', 'switched off');
  const expected = expectation?.tools;
  if (expected === undefined) {
    const unreadable = expectation?.unreadable?.includes('tools') ?? false;
    const why = unreadable ? 'the expected tools cannot be read' : 'nobody said which tools are expected';
    return abstain('tools', 'no_expectation', why);
  }

  const calls = interaction.toolCalls.filter((call) => policy.tools.owners === 'all' || call.byRoot);
  const made = calls.map(madeCall);
  const mode = expectation?.mode ?? policy.tools.mode;
  const match = expectation?.argumentsMatch ?? policy.tools.arguments.match;
  const rules: ToolRules = { ...policy.tools, mode, arguments: { ...policy.tools.arguments, match } };
  const stated = assessTools(made, expected, rules, expectation?.resultsUsed);
  const uses = stated.utilization === null ? usesOf(interaction, calls, policy) : [];
  const used = uses.includes('used');
  // Without a judge behind it the rule may not decide.
  const byRule = policy.judge === null ? withResultsUsed : () => assessTools(made, expected, rules, true);
  const assessment = used ? byRule(stated, rules) : stated;
  const differing = differingOf(assessment, made, expected, rules);
  const details = {
    ...detailsOf(assessment, calls, mode, differing),
    ...(uses.length > 0 ? { result_uses: uses } : {}),
  };

  const part = partialFlag(interaction);
  if (part !== undefined) {
    const forbidden = violationsOf(interaction, expectation, policy).map(({ tool }) => tool);
    if (forbidden.length > 0) {
      const reason = `forbidden: ${briefly([...new Set(forbidden)])}; recorded only in part (${part})`;
      return decided('tools', 0, false, reason, details);
    }
    return abstain('tools', 'not_captured', `recorded only in part (${part}), so nothing absent is wrong`, details);
  }
  if (waitsForPerson(interaction)) return abstain('tools', 'interrupted', 'waits for a person', details);
  if (assessment.missing.length > 0 && interaction.coverage.includes('tool_calls_not_captured')) {
    return abstain(
      'tools',
      'not_captured',
      `not seen, but tool calls were not all captured: ${briefly(assessment.missing)}`,
      details,
    );
  }
  if (assessment.undecided && rules.weights.parameters > 0) {
    return abstain('tools', 'not_captured', 'the arguments of an expected call were not captured', details);
  }
  const conclude = (final: ToolAssessment, decidedBy: DecidedBy = 'rule', word?: string): Score => {
    const known = {
      ...details,
      utilization: final.utilization,
      ...(word === undefined ? {} : { utilization_reason: word }),
    };
    if (final.overall === null) return abstain('tools', 'not_captured', 'no part that has a weight applies', known);
    return decided('tools', final.overall, final.passed, reasonOf(final, calls, mode, differing), known, decidedBy);
  };
  if (!asksOfUse(interaction, calls, policy) || used || stated.utilization !== null) return conclude(assessment);
  const settle = ({ utilization: word }: Judgement): Score => {
    if (word === null || word.kind === 'failed') return withoutValue('tools', word ?? NOT_ASKED, details);
    // What it cannot tell does not apply, as without a judge.
    const final = word.kind === 'decided' ? assessTools(made, expected, rules, word.value === 'used') : stated;
    return conclude(final, word.decidedBy, word.reason);
  };
  return { kind: 'open', criterion: 'tools', asks: { utilization: true }, details, settle };
}

/** Is there a judge who could tell whether the results were used: does the policy care, and is there anything to see? */
function asksOfUse({ answer, coverage }: Interaction, calls: readonly ToolCall[], policy: ScoringPolicy): boolean {
  if (policy.judge === null || policy.tools.weights.utilization === 0) return false;
  if (answer === null || coverage.includes('answer_truncated') || saysCut(answer)) return false;
  return calls.some((call) => call.failed || call.error !== null || call.resultStatus === 'captured');
}

/** By rule, where the ground truth does not say whether the results were used. */
function usesOf(interaction: Interaction, calls: readonly ToolCall[], { tools }: ScoringPolicy): readonly ResultUse[] {
  if (!tools.utilizationByRule || tools.weights.utilization === 0) return [];
  const { query, answer, coverage } = interaction;
  const answerIsWhole = answer !== null && !coverage.includes('answer_truncated') && !saysCut(answer);
  return resultUses(calls, { query, answer, answerIsWhole });
}

function madeCall(call: ToolCall): MadeCall {
  const told = call.argumentsStatus === 'captured' || call.argumentsStatus === 'malformed';
  // Read from the store again, what redaction took out is as good as not captured.
  const known = told && !holdsRedacted(call.arguments);
  return { name: call.name === '' ? UNNAMED : call.name, arguments: known ? call.arguments : undefined };
}

/** For each pair of calls, the keys that are not as expected. */
type Differing = readonly (readonly string[])[];

function differingOf(
  assessment: ToolAssessment,
  made: readonly MadeCall[],
  expected: readonly ExpectedCall[],
  rules: ToolRules,
): Differing {
  return assessment.matches.map((match) => {
    const call = match.made === null ? undefined : made[match.made];
    const wanted = expected[match.expected];
    if (match.similarity === 1 || call?.arguments === undefined || !wanted?.arguments) return [];
    return differingKeys(wanted.arguments, call.arguments, comparisonOf(wanted.name, rules.arguments));
  });
}

function detailsOf(
  assessment: ToolAssessment,
  calls: readonly ToolCall[],
  mode: string,
  differing: Differing,
): { readonly [key: string]: Json } {
  const { selection, parameters, sequence, utilization, missing, extra, undecided } = assessment;
  return {
    selection,
    parameters: undecided ? null : parameters,
    sequence,
    utilization,
    missing: missing.length,
    extra: extra.length,
    missing_tools: missing,
    extra_tools: extra,
    mode,
    matches: assessment.matches.map((match, i) => ({
      expected: match.expected,
      position: match.made === null ? null : (calls[match.made]?.position ?? null),
      similarity: match.similarity,
      differing: differing[i] ?? [],
    })),
  };
}

function reasonOf(assessment: ToolAssessment, calls: readonly ToolCall[], mode: string, differing: Differing): string {
  const said: string[] = [];
  if (assessment.missing.length > 0) said.push(`not called: ${briefly(assessment.missing)}`);
  if (assessment.extra.length > 0) said.push(`not expected: ${briefly(assessment.extra)}`);
  assessment.matches.forEach((match, i) => {
    const keys = differing[i] ?? [];
    if (match.made === null || keys.length === 0 || said.length > 4) return;
    said.push(`${brief(calls[match.made]?.name ?? UNNAMED)}: ${briefly(keys)} not as expected`);
  });
  if (assessment.sequence !== null && assessment.sequence < 1 && assessment.missing.length === 0) {
    said.push('called in another order');
  }
  if (assessment.utilization === 0) said.push('the answer does not use the results');
  if (said.length > 0) return mode === 'exact_order' ? `exact order required; ${said.join('; ')}` : said.join('; ');
  return calls.length === 0 ? 'no call expected, none made' : 'called as expected';
}
