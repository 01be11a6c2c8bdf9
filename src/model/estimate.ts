import type { Interaction } from './interaction.js';
import type { Verdict, VerdictLabel } from './score.js';

/** The prior of the success rate: Beta(a, b), a > 0 and b > 0. */
export interface BetaPrior {
  readonly a: number;
  readonly b: number;
}

/** Counts of the closed conversations of a series in a window. 0 <= correct <= trials. */
export interface Counts {
  /** Conversations that count. */
  readonly trials: number;
  readonly correct: number;
  /** Conversations with something outstanding; they never enter the posterior. */
  readonly outstanding: number;
  /** Of the outstanding ones, those that are incorrect whatever comes. */
  readonly outstandingIncorrect: number;
}

/** A stretch of a series, in order of close. */
export type Window =
  /** What closed within `spanMs` before the tick: after at - spanMs, and not after at. */
  | { readonly name: string; readonly kind: 'time'; readonly spanMs: number }
  /** The last `trials` conversations that count, and whatever else closed since the first of them. */
  | { readonly name: string; readonly kind: 'count'; readonly trials: number };

/** What closed in a window. `trials` + `unscored` + `leftOut` are all of it. */
export interface WindowCounts extends Counts {
  /** No trial although nothing left them out: outstanding, or nothing to judge. */
  readonly unscored: number;
  /** Sampling or budget left them out, whatever their rules say. */
  readonly leftOut: number;
  /** An expectation or a judge decided a criterion of one of them. */
  readonly judged: boolean;
  /** The conversations with a task label, label by label; empty when none has one. */
  readonly tasks: ReadonlyMap<string, Counts>;
}

/** `rules_only`: neither an expectation nor a judge decided anything, so the figures say only that no rule objected. */
export type Assessment = 'reliable' | 'inconsistent' | 'needs_improvement' | 'not_enough_evidence' | 'rules_only';

/** pass@K or pass^K of a series. `lower`..`upper` is the equal-tailed interval; null in frequentist mode. */
export interface Estimate {
  readonly metric: 'pass_at_k' | 'pass_pow_k';
  readonly k: number;
  /** null when it is undefined (frequentist without trials). */
  readonly mean: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** What the figure would be if all outstanding conversations turned out worst, or best. */
  readonly boundLower: number | null;
  readonly boundUpper: number | null;
}

/** What is estimated together. A conversation belongs to the series of its first turn. */
export interface Series {
  readonly assistantId: string;
  readonly agentVersion: string | null;
  readonly environment: string | null;
  /** null: of all tasks, and of conversations without a task label. */
  readonly task: string | null;
  readonly policy: string;
}

/** One interaction of a conversation with its verdict, as it stands in the store. */
export interface JudgedTurn
  extends
    Pick<
      Interaction,
      | 'interactionId'
      | 'conversationId'
      | 'assistantId'
      | 'agentVersion'
      | 'environment'
      | 'task'
      | 'startedAtMs'
      | 'endedAtMs'
    >,
    Pick<Verdict, 'policy' | 'label' | 'neutral' | 'leftOut' | 'outstanding'> {
  /** An expectation or a judge decided one of its criteria. */
  readonly judged: boolean;
}

/** The judgement of a conversation, from its interactions' verdicts. */
export interface ConversationVerdict {
  readonly label: VerdictLabel;
  /** It has a label, nothing outstanding and nothing left out. */
  readonly counts: boolean;
  /** Sampling or budget left it out. */
  readonly leftOut: boolean;
  /** Criteria outstanding, over its interactions. */
  readonly outstanding: number;
  /** Incorrect whatever the outstanding criteria will say. */
  readonly incorrectWhateverComes: boolean;
}

/** The interactions that share a conversation id and an assistant, as they stand at a tick. */
export interface Conversation {
  readonly conversationId: string;
  /** That of its first turn. Its task is the turn's own label. */
  readonly series: Series;
  /** Milliseconds since the Unix epoch. */
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** In order of start. */
  readonly interactionIds: readonly string[];
  /** When it first closes, unless a turn comes before. */
  readonly firstClosedAtMs: number;
  readonly closed: boolean;
  /** Over all of its turns; a resumed conversation is judged anew. */
  readonly verdict: ConversationVerdict;
  /** An expectation or a judge decided a criterion of it. */
  readonly judged: boolean;
  /** Its first settled verdict; null while there is none. */
  readonly trial: Trial | null;
}

/** A closed conversation as a Bernoulli trial: its first settled verdict. Written once. */
export interface Trial {
  readonly conversationId: string;
  /** Milliseconds since the Unix epoch. Trials are in order of this, then of the id. */
  readonly firstClosedAtMs: number;
  readonly correct: boolean;
}

/** `page`: the drop is larger than delta, with the certainty that the objective asks for. */
export type Severity = 'ticket' | 'page';

/** A change of an alert's state, decided by one trial. */
export interface Transition {
  readonly kind: 'opened' | 'upgraded' | 'closed';
  /** `firstClosedAtMs` and id of the trial that decided. */
  readonly atMs: number;
  readonly conversationId: string;
  readonly severity: Severity;
  /** Natural logarithm of the mean evidence: for the drop, or, when it closed, for the recovery. */
  readonly logEvidence: number;
  /** Natural logarithm of what the evidence had to reach. */
  readonly logThreshold: number;
  /** `firstClosedAtMs` of the first trial since the estimated change. */
  readonly changedAtMs: number;
  /** Trials since the estimated change, and how many of them are correct. */
  readonly trials: number;
  readonly correct: number;
  /** P(p < p0 - delta) of these trials, 0..1. */
  readonly certainty: number;
}

/** A row of `estimates`, under the names of its columns. */
export interface EstimateRow {
  readonly assistant_id: string;
  readonly agent_version: string | null;
  readonly environment: string | null;
  readonly task: string | null;
  readonly policy: string;
  readonly window: string;
  readonly k: number;
  /** The tick, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly metric: Estimate['metric'];
  readonly scope: 'pooled' | 'per_task';
  readonly mode: 'bayesian' | 'frequentist';
  readonly n: number;
  readonly c: number;
  /** Closed conversations that are no trial although nothing left them out: outstanding, or nothing to judge. */
  readonly unscored: number;
  /** Of the unscored, those that wait for something; they make the bounds. */
  readonly outstanding: number;
  readonly outstanding_incorrect: number;
  /** Closed conversations that sampling or the budget left out. n + unscored + left_out are all. */
  readonly left_out: number;
  readonly mean: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  readonly bound_lower: number | null;
  readonly bound_upper: number | null;
  readonly assessment: Assessment;
  readonly prior_a: number;
  readonly prior_b: number;
  readonly level: number;
}

/** A row of `comparisons`, under the names of its columns: pass^K of one side, and of the side before it. */
export interface ComparisonRow {
  /** `version`: the newest version and the one before it; `window`: a window and the stretch before it, as long. */
  readonly kind: 'version' | 'window';
  readonly assistant_id: string;
  readonly agent_version: string | null;
  readonly environment: string | null;
  readonly policy: string;
  readonly window: string;
  readonly k: number;
  /** The tick, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly n: number;
  readonly c: number;
  readonly mean: number;
  readonly lower: number;
  readonly upper: number;
  readonly before_version: string | null;
  readonly before_n: number;
  readonly before_c: number;
  readonly before_mean: number;
  readonly before_lower: number;
  readonly before_upper: number;
  /** mean - before_mean. */
  readonly difference: number;
  readonly margin: number;
  /** 0..1; null while a side has no trial. */
  readonly worse: number | null;
  readonly better: number | null;
  readonly prior_a: number;
  readonly prior_b: number;
  readonly level: number;
}
