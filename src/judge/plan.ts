import type { JudgedCall, JudgeRequest } from '../model/judge.js';
import type { AskedParts } from './answer-schema.js';
import { tokensOf } from './fit.js';

export interface PlanRules {
  /** Tokens of one request to the model, instructions and data together (estimated as `tokensOf` does). */
  readonly maxPromptTokens: number;
  /** Calls asked in one request. */
  readonly maxCallsPerRequest: number;
  /**
   * `known`: calls are asked together only when they were made with the same results known, so that no request shows an
   * asked call's own result or a later call. `turn`: all calls of a turn together, told to be judged by what each knew:
   * fewer requests for agents that call one tool after another, but the judge has the results before its eyes.
   */
  readonly together: 'known' | 'turn';
}

/** One request to the model: what it asks, and which facts it shows. */
export interface Part {
  readonly asked: AskedParts;
  readonly askedCalls: readonly JudgedCall[];
  /** Calls shown with their outcomes, in order of issue. */
  readonly shownCalls: readonly JudgedCall[];
  readonly showsAnswer: boolean;
  readonly showsExpectedAnswer: boolean;
}

/**
 * Which requests to the model a judge's request takes, with as few as can be: every asked call and every asked criterion
 * is in exactly one. A turn with one round of calls takes one.
 *
 * Calls go together as `rules.together` says, and are split where they would take more than half of the tokens. What
 * needs no results (the answer against the expected one) is asked beside the last calls; completion and utilization need
 * all results, which the judge of a call must not see, so they are asked apart, the answer with them.
 */
export function planParts(request: JudgeRequest, rules: PlanRules): readonly Part[] {
  const { asked, calls } = request;
  const wanted = new Set(asked.arguments);
  const askedCalls = calls.filter(({ id }) => wanted.has(id));
  const groups = groupsOf(askedCalls, rules.together).flatMap((group) => chunks(group, rules));
  const parts = groups.map((group) => argumentsPart(group, calls));

  const needsResults = asked.completion || asked.utilization;
  if (!needsResults && !asked.answer) return parts;
  const outcome: Part = {
    asked: { arguments: [], answer: asked.answer, completion: asked.completion, utilization: asked.utilization },
    askedCalls: [],
    shownCalls: needsResults ? calls : [],
    showsAnswer: true,
    showsExpectedAnswer: asked.answer,
  };
  const last = parts.at(-1);
  if (last === undefined || (needsResults && rules.together === 'known')) return [...parts, outcome];
  return [...parts.slice(0, -1), joined(last, outcome)];
}

function argumentsPart(group: readonly JudgedCall[], calls: readonly JudgedCall[]): Part {
  const known = new Set(group.flatMap(({ knownBefore }) => knownBefore));
  return {
    asked: { arguments: group.map(({ id }) => id), answer: false, completion: false, utilization: false },
    askedCalls: group,
    shownCalls: calls.filter(({ id }) => known.has(id)),
    showsAnswer: false,
    showsExpectedAnswer: false,
  };
}

function joined(calls: Part, outcome: Part): Part {
  const shown = new Set([...calls.shownCalls, ...outcome.shownCalls]);
  return {
    ...outcome,
    asked: { ...outcome.asked, arguments: calls.asked.arguments },
    askedCalls: calls.askedCalls,
    shownCalls: outcome.shownCalls.length > 0 ? outcome.shownCalls : [...shown],
  };
}

function groupsOf(calls: readonly JudgedCall[], together: PlanRules['together']): readonly (readonly JudgedCall[])[] {
  if (together === 'turn') return calls.length > 0 ? [calls] : [];
  const groups = new Map<string, JudgedCall[]>();
  for (const call of calls) {
    const known = call.knownBefore.join(' ');
    const group = groups.get(known);
    if (group === undefined) groups.set(known, [call]);
    else group.push(call);
  }
  return [...groups.values()];
}

/** Runs of calls that fit one request beside what else it shows; a call that is larger by itself stands alone. */
function chunks(calls: readonly JudgedCall[], rules: PlanRules): readonly (readonly JudgedCall[])[] {
  const room = rules.maxPromptTokens / 2;
  const runs: JudgedCall[][] = [];
  let used = 0;
  for (const call of calls) {
    const need = tokensOf(JSON.stringify([call.name, call.schema ?? null, call.arguments ?? null]));
    const run = runs.at(-1);
    if (run === undefined || used + need > room || run.length >= rules.maxCallsPerRequest) {
      runs.push([call]);
      used = need;
    } else {
      run.push(call);
      used += need;
    }
  }
  return runs;
}
