import type { Interaction, ToolCall } from '../../model/interaction.js';
import type { CallJudgement, Judgement } from '../../model/judge.js';
import { callIdOf } from '../../model/judge.js';
import type { Json } from '../../model/json.js';
import { holdsRedacted, isJsonObject } from '../../model/json.js';
import type { DecidedBy, Score } from '../../model/score.js';
import { THRESHOLD_TOLERANCE } from '../assess-tools.js';
import { callKey } from '../call-key.js';
import { abstain, brief, decided } from '../make-score.js';
import type { OpenCriterion } from '../open-criterion.js';
import { decidedByAll, NOT_ASKED, withoutValue } from '../open-criterion.js';
import type { ScoringPolicy } from '../policy.js';
import { checkSchema } from '../schema-check.js';
import { isTransient } from '../transient.js';

type ArgumentRule = 'not_json' | 'not_offered' | 'schema' | 'repeated_failure';

interface CallVerdict {
  readonly call: ToolCall;
  /** `undecidable`: the judge cannot tell. Without a judge `unobjected` stands for the judge's word. */
  readonly verdict: 'correct' | 'incorrect' | 'left_out' | 'unobjected' | 'undecidable';
  /** The rule that decided. */
  readonly rule: ArgumentRule | 'no_arguments' | null;
  readonly problem: string | null;
  /** Absent until the judge had a word on it. */
  readonly judged?: CallJudgement;
}

/**
 * Criterion `arguments`: of the calls with captured arguments that were decided, the share that is correct.
 *
 * A rule objects to text that is no JSON (unless the tool takes free text), to a tool that the issuing model call was not
 * offered (those that the provider or the application carried out apart), to arguments that are invalid against the recorded schema, and to the third
 * identical call after two that failed for a reason that will not pass. Calls whose arguments were cut or not captured,
 * and calls that wait for a person, are left out. No arguments at all are correct where the schema allows them.
 *
 * The judge decides the other calls; what it cannot tell is left out (or correct, `policy.arguments.undecidable`). Rules
 * can only reject, so without a judge and without `acceptByRules` nothing is decided. Details: `calls` (per call its
 * verdict, the rule and the problem, and of the judge `decided_by`, `reason` and `parameters`), `correct`, `incorrect`,
 * `left_out`.
 */
export function scoreArguments(interaction: Interaction, policy: ScoringPolicy): Score | OpenCriterion {
  if (!policy.enabled.arguments) return abstain('arguments', 'disabled', 'switched off');
  const { acceptByRules, owners, noCalls } = policy.arguments;
  const calls = interaction.toolCalls.filter((call) => owners === 'all' || call.byRoot);
  if (calls.length === 0) {
    if (interaction.coverage.includes('tool_calls_not_captured')) {
      return abstain('arguments', 'not_captured', 'tool calls were not captured');
    }
    if (noCalls === 1) return decided('arguments', 1, true, 'no tool calls (counted as correct)', {});
    return abstain('arguments', 'no_tool_calls', 'no tool calls');
  }
  const byRules = judgeByRules(calls);
  if (byRules.every(({ verdict }) => verdict === 'left_out')) {
    const details = detailsOf(byRules);
    if (calls.every((call) => call.pending)) return abstain('arguments', 'interrupted', 'waits for a person', details);
    return abstain('arguments', 'not_captured', 'no arguments were captured', details);
  }
  if (acceptByRules) {
    return scoreOf(byRules.map(accepted), policy, 'no rule objects; nobody judged the meaning');
  }
  const details = detailsOf(byRules);
  if (policy.judge === null) {
    return abstain('arguments', 'no_judge', 'rules can only reject, and no judge is configured', details);
  }
  const open = byRules.filter(({ verdict }) => verdict === 'unobjected').map(({ call }) => call.position);
  if (interaction.query === null && interaction.earlierTurns.length === 0) {
    // Also where rules reject: else only what fails would be scored.
    return abstain('arguments', 'not_captured', 'query not captured, so that nobody can tell what was needed', details);
  }
  if (open.length === 0) return scoreOf(byRules, policy, 'as the schemas allow');
  const settle = (judgement: Judgement) => settleArguments(byRules, judgement, policy);
  return { kind: 'open', criterion: 'arguments', asks: { arguments: open }, details, settle };
}

/** The score when all calls have a word of the judge; else the first reason why one has none. */
function settleArguments(
  byRules: readonly CallVerdict[],
  { arguments: words }: Judgement,
  policy: ScoringPolicy,
): Score {
  const wordOn = new Map(words.map((word) => [word.id, word]));
  const verdicts = byRules.map((each): CallVerdict => {
    if (each.verdict !== 'unobjected') return each;
    const judged = wordOn.get(callIdOf(each.call.position));
    const word = judged?.verdict ?? NOT_ASKED;
    if (judged === undefined || word.kind === 'failed') return each;
    if (word.kind === 'decided') return { ...each, verdict: word.value, judged };
    return { ...each, verdict: policy.arguments.undecidable === 'correct' ? 'correct' : 'undecidable', judged };
  });
  const waiting = verdicts.find(({ verdict }) => verdict === 'unobjected');
  if (waiting !== undefined) {
    const word = wordOn.get(callIdOf(waiting.call.position))?.verdict ?? NOT_ASKED;
    if (word.kind !== 'decided') return withoutValue('arguments', word, detailsOf(verdicts));
  }
  return scoreOf(verdicts, policy, 'the values fit what was asked and known');
}

function scoreOf(verdicts: readonly CallVerdict[], policy: ScoringPolicy, whenRight: string): Score {
  const details = detailsOf(verdicts);
  const { correct, incorrect } = details;
  if (correct + incorrect === 0) {
    return abstain('arguments', 'undecidable', 'the judge cannot tell of any call', details);
  }
  const value = correct / (correct + incorrect);
  const passed = value >= policy.arguments.threshold - THRESHOLD_TOLERANCE;
  return decided(
    'arguments',
    value,
    passed,
    reasonOf(verdicts, whenRight),
    details,
    decidedByAll(verdicts.map(decider)),
  );
}

function accepted(each: CallVerdict): CallVerdict {
  return each.verdict === 'unobjected' ? { ...each, verdict: 'correct' } : each;
}

function decider({ judged }: CallVerdict): DecidedBy {
  return judged === undefined || judged.verdict.kind === 'failed' ? 'rule' : judged.verdict.decidedBy;
}

function detailsOf(verdicts: readonly CallVerdict[]) {
  const count = (...of: readonly CallVerdict['verdict'][]) =>
    verdicts.filter(({ verdict }) => of.includes(verdict)).length;
  return {
    calls: verdicts.map(describeCall),
    correct: count('correct'),
    incorrect: count('incorrect'),
    left_out: count('left_out', 'undecidable'),
  };
}

function judgeByRules(calls: readonly ToolCall[]): readonly CallVerdict[] {
  const failures = new Map<string, ToolCall[]>();
  return calls.map((call) => {
    // Without a failure so far there is nothing to find, and nothing to remember of a call that did not fail.
    const key = failures.size > 0 || call.failed ? callKey(call) : null;
    const earlier = key === null ? [] : (failures.get(key) ?? []);
    const verdict = byRule(call, earlier);
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

function byRule(call: ToolCall, earlierFailures: readonly ToolCall[]): CallVerdict {
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
    // What redaction left in the store is no fault of the agent: graded again, such a call is for the judge.
    if (check.kind === 'invalid' && !holdsRedacted(call.arguments)) {
      return none ? leftOut('arguments not captured') : objection('schema', check.problem);
    }
  }
  if (earlierFailures.filter((failure) => knownBefore(failure, call)).length >= 2) {
    return objection('repeated_failure', 'the same call had failed twice before');
  }
  if (needsNothing(call)) return { call, verdict: 'correct', rule: 'no_arguments', problem: null };
  return { call, verdict: 'unobjected', rule: null, problem: null };
}

/** Made without arguments, and its schema, which allows that, is known. */
function needsNothing({ arguments: given, offer }: ToolCall): boolean {
  const empty = given === null || (isJsonObject(given) && Object.keys(given).length === 0);
  return (
    empty && offer.kind === 'offered' && isJsonObject(offer.schema) && checkSchema(offer.schema, {}).kind === 'valid'
  );
}

/** A tool that ran without a fault existed: then the recorded definitions were not all that was offered. */
function wasCarriedOut(call: ToolCall): boolean {
  return call.endedAtMs !== null && !call.failed;
}

/** Calls that were made in parallel could not know of each other. */
function knownBefore(failure: ToolCall, call: ToolCall): boolean {
  return failure.endedAtMs === null || call.startedAtMs === null || failure.endedAtMs <= call.startedAtMs;
}

function describeCall({ call, verdict, rule, problem, judged }: CallVerdict): { readonly [key: string]: Json } {
  const known = { position: call.position, call_id: call.callId, name: call.name, verdict, rule, problem };
  if (judged === undefined || judged.verdict.kind === 'failed') return known;
  const { decidedBy, reason } = judged.verdict;
  const parameters = judged.parameters.map(({ name, correct, finding }) => ({ name, correct, finding }));
  return { ...known, decided_by: decidedBy, reason, parameters };
}

function reasonOf(verdicts: readonly CallVerdict[], whenRight: string): string {
  const wrong = verdicts.filter(({ verdict }) => verdict === 'incorrect');
  if (wrong.length === 0) return whenRight;
  const shown = wrong.slice(0, 3).map((each) => `${brief(each.call.name)}: ${objectionOf(each)}`);
  return wrong.length > 3 ? `${shown.join('; ')}; and ${wrong.length - 3} more` : shown.join('; ');
}

function objectionOf({ problem, judged }: CallVerdict): string {
  if (judged === undefined || judged.verdict.kind === 'failed') return problem ?? 'objected';
  return judged.verdict.reason;
}
