import { judgeRequestOf } from './judge/request.js';
import type { Expectation } from './model/expectation.js';
import type { Graded } from './model/graded.js';
import type { Interaction } from './model/interaction.js';
import type { Judgement, JudgeRequest, PartJudgement } from './model/judge.js';
import type { LeftOut, Score, Verdict } from './model/score.js';
import type { TraceId } from './model/span.js';
import { effectiveExpectation, type ExpectationIndex, type ExpectationMatch } from './score/expectations.js';
import { CRITERIA, policyHash, type ScoringPolicy } from './score/policy.js';
import { leftOut, type SamplingRules } from './score/sampling.js';
import { assess, type Assessment } from './score/score-interaction.js';

/** What grading needs of a judge. */
export interface JudgePort {
  /** A word on all that was asked. Never rejects. */
  judge(request: JudgeRequest): Promise<Judgement>;
  /** The day's tokens are spent. */
  readonly budgetSpent: boolean;
  /** What a question would have come to just now; null: an answer. */
  standing(): JudgeFailure | null | Promise<JudgeFailure | null>;
}

type JudgeFailure = Pick<Extract<PartJudgement<never>, { kind: 'failed' }>, 'abstained' | 'reason'>;

/** Who judges what rules leave open, and of which conversations. */
export interface Judging {
  readonly judge: JudgePort;
  readonly sampling: SamplingRules;
}

export interface GradeEvents {
  /**
   * A fault of ours. The interaction is kept with what can be said of it: nothing captured, or not scored. One trace
   * that we cannot bear must not stop all others, nor come back with every restart.
   */
  gradingFailed(fault: {
    readonly traceId: TraceId;
    readonly stage: 'built' | 'scored';
    readonly error: unknown;
  }): void;
  /** Ground truth on the spans that is cut or of another shape: nothing is graded against it. */
  expectationUnreadable(interaction: Interaction, members: readonly string[]): void;
  /** Several turns of the datasets with different ground truth fit; none was guessed. */
  expectationAmbiguous(interaction: Interaction, match: Extract<ExpectationMatch, { kind: 'ambiguous' }>): void;
  /** `modelCalls`: answers of the model that it took. */
  interactionJudged?(event: { readonly modelCalls: number }): void;
}

export interface GradeDeps {
  readonly expectations: ExpectationIndex;
  readonly events: GradeEvents;
  /** null exactly when the policy has no judge. */
  readonly judging: Judging | null;
}

/** An interaction graded by rules, and by the judge when its word comes. */
export interface Grading {
  /** What the rules leave open is `pending`, or left out. */
  readonly graded: Graded;
  /** With the judge's word; null: nothing waits for it. Never rejects. */
  readonly judged: Promise<Graded> | null;
}

/**
 * Grades one interaction and asks the judge for what the rules leave open. Whether its conversation is left out is decided
 * before anything of it is looked at. `turn`: its place in its conversation, where that is known.
 *
 * What rules settle alone shares the fate of the question that was put to the judge last: while the judge does not answer
 * it is outstanding as well. Else only such interactions would count during an outage, and they are others than the rest:
 * a call that a schema objects to, a tool that was not called.
 */
export function grade(
  interaction: Interaction,
  turn: number | undefined,
  policy: ScoringPolicy,
  deps: GradeDeps,
): Grading {
  const { judging, events } = deps;
  try {
    const out = judging === null ? null : leftOutOf(interaction, judging);
    const expectation = expectationFor(interaction, turn, deps);
    const assessment = assess(interaction, expectation, policy);
    const graded = { interaction, verdict: assessment.verdict({ judgement: null, leftOut: out }) };
    if (judging === null || out !== null) return { graded, judged: null };
    if (assessment.open === null) return settledByRules(graded, assessment, judging.judge);
    const expectedAnswer = expectation?.answer ?? null;
    const request = judgeRequestOf(interaction, {
      policy: policyHash(policy),
      expectedAnswer,
      asked: assessment.open,
    });
    const judged = judging.judge.judge(request).then((judgement) => withWord(graded, assessment, judgement, events));
    return { graded, judged };
  } catch (error) {
    events.gradingFailed({ traceId: interaction.traceId, stage: 'scored', error });
    return { graded: { interaction, verdict: unscored(interaction, policy) }, judged: null };
  }
}

function settledByRules(graded: Graded, assessment: Assessment, judge: JudgePort): Grading {
  const { interaction, verdict } = graded;
  if (verdict.neutral) return { graded, judged: null };
  const outstanding = (failure: JudgeFailure): Graded => ({ interaction, verdict: assessment.withoutJudge(failure) });
  const standing = judge.standing();
  if (standing === null) return { graded, judged: null };
  if (!(standing instanceof Promise)) return { graded: outstanding(standing), judged: null };
  const judged = standing.then((failure) => (failure === null ? graded : outstanding(failure)));
  return { graded: outstanding({ abstained: 'pending', reason: 'the judge has not answered yet' }), judged };
}

/** Sampling and the day's budget. */
function leftOutOf({ conversationId }: Interaction, { judge, sampling }: Judging): LeftOut | null {
  return leftOut(conversationId, sampling, judge.budgetSpent);
}

function withWord(graded: Graded, assessment: Assessment, judgement: Judgement, events: GradeEvents): Graded {
  const { interaction } = graded;
  events.interactionJudged?.({ modelCalls: judgement.modelCalls });
  try {
    return { interaction, verdict: assessment.verdict({ judgement, leftOut: null }) };
  } catch (error) {
    events.gradingFailed({ traceId: interaction.traceId, stage: 'scored', error });
    return graded;
  }
}

function expectationFor(
  interaction: Interaction,
  turn: number | undefined,
  { expectations, events }: GradeDeps,
): Expectation | null {
  const match = expectations.match(interaction, turn);
  if (match.kind === 'ambiguous') events.expectationAmbiguous(interaction, match);
  const inFile = match.kind === 'matched' ? match.expectation : null;
  const expectation = effectiveExpectation(interaction.expectation, inFile);
  if (expectation?.unreadable !== undefined) events.expectationUnreadable(interaction, expectation.unreadable);
  return expectation;
}

function unscored({ interactionId }: Interaction, policy: ScoringPolicy): Verdict {
  const criteria = CRITERIA.filter((criterion) => policy.enabled[criterion]);
  const scores = criteria.map((criterion): Score => ({
    kind: 'abstained',
    criterion,
    abstained: 'undecidable',
    reason: 'a fault of Tracegrade; see its log',
    details: {},
  }));
  const common = { interactionId, policy: policyHash(policy), neutral: false, leftOut: false };
  return { ...common, label: 'unscored', outstanding: scores.length, scores };
}
