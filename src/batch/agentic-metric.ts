import type { Assessment } from '../model/estimate.js';
import type { AbstainReason } from '../model/score.js';

/** One conversation in Gaussia's JSON. Unknown keys are ignored, except in the ground truth, where they are faults. */
export interface Dataset {
  readonly session_id: string;
  readonly assistant_id?: string | null;
  readonly language?: string | null;
  readonly context?: string | null;
  readonly conversation: readonly Batch[];
}

/** One turn. */
export interface Batch {
  readonly qa_id?: string | null;
  readonly query?: string | null;
  /** What the agent answered; needed where `ground_truth_assistant` is given. */
  readonly assistant?: string | null;
  readonly ground_truth_assistant?: string | null;
  readonly agentic?: {
    readonly tools_used?: readonly { readonly tool_name: string; readonly [key: string]: unknown }[] | null;
    /** Declared by the data; absent: utilization does not apply. */
    readonly final_answer_uses_tools?: boolean | null;
  } | null;
  readonly ground_truth_agentic?: {
    /** Absent: nobody said; []: no tool is expected. `parameters` absent or null: any will do. */
    readonly expected_tools?:
      | readonly {
          readonly tool_name: string;
          readonly parameters?: object | null;
          readonly step?: number | null;
          /** May be left out without fault; made, it is an expected call. Not Gaussia's. */
          readonly optional?: boolean | null;
        }[]
      | null;
    /** Default true. */
    readonly tool_sequence_matters?: boolean | null;
    readonly allowed_tools?: readonly string[] | null;
    /** This and what follows are not Gaussia's. */
    readonly forbidden_tools?: readonly string[] | null;
    readonly expected_tools_mode?: 'exact_order' | 'in_order' | 'any_order' | 'subset' | 'superset' | null;
    readonly expected_arguments_match?: 'exact' | 'subset' | 'superset' | 'ignore' | null;
  } | null;
  readonly [key: string]: unknown;
}

/** Parts are 0..1; null: the part does not apply. */
export interface ToolCorrectnessScore {
  readonly tool_selection_correct: number | null;
  readonly parameter_accuracy: number | null;
  readonly sequence_correct: number | null;
  readonly result_utilization: number | null;
  /** Weighted mean of the parts that apply; null when only the scope was stated. */
  readonly overall_correctness: number | null;
  readonly is_correct: boolean | null;
  readonly reasoning: string | null;
  /** 1: a tool outside `allowed_tools` was called; null: nobody said what is allowed. */
  readonly scope_violation: 0 | 1 | null;
  readonly out_of_scope_tools: readonly string[];
  /** Names of expected calls that were not made, and of calls beyond the expected ones. Not Gaussia's. */
  readonly missing?: readonly string[];
  readonly extra?: readonly string[];
}

/**
 * `unscored`: something that should have been decided was not. `neutral`: there is no ground truth, so the turn counts
 * in nothing.
 */
export type InteractionVerdict = 'correct' | 'incorrect' | 'unscored' | 'neutral';

/** What became of one turn, beside Gaussia's lists. */
export interface InteractionResult {
  readonly qa_id: string | null;
  readonly verdict: InteractionVerdict;
  /** Who decided the answer; null: nobody. */
  readonly decided_by: 'rule' | 'judge' | null;
  /** Why the answer has no score. */
  readonly abstained: AbstainReason | null;
  /** One sentence; holds no content of the data but names of tools. */
  readonly reason: string;
  /** Share of calls with correct arguments; null without a schema or a judge to decide it. */
  readonly argument_correctness: number | null;
}

/**
 * Gaussia's AgenticMetric of one conversation, field for field, with null for what was not decided.
 *
 * pass_at_k and pass_pow_k are Gaussia's figure: its trials are the INTERACTIONS of this conversation, so they say how
 * reliable a turn is. Of conversations speaks `ConversationsAsTrials`.
 */
export interface AgenticMetric {
  readonly session_id: string;
  readonly assistant_id: string | null;
  readonly total_interactions: number;
  /** null while one is unscored. */
  readonly correct_interactions: number | null;
  /** null when undecided: nothing was incorrect and something unscored, or there was nothing to decide. */
  readonly is_fully_correct: boolean | null;
  readonly threshold: number;
  /** 0..1 an interaction; null: the answer was not scored. */
  readonly correctness_scores: readonly (number | null)[];
  /** 0-based positions of the correct interactions. */
  readonly correct_indices: readonly number[];
  readonly tool_correctness_scores: readonly (ToolCorrectnessScore | null)[];
  readonly k: number;
  readonly pass_at_k: number | null;
  readonly pass_at_k_ci_low: number | null;
  readonly pass_at_k_ci_high: number | null;
  readonly pass_pow_k: number | null;
  readonly pass_pow_k_ci_low: number | null;
  readonly pass_pow_k_ci_high: number | null;
  /** What follows is not Gaussia's. */
  readonly unscored_interactions: number;
  readonly interactions: readonly InteractionResult[];
}

/** pass@K and pass^K whose trials are whole CONVERSATIONS: of the next k conversations, one or all fully correct. */
export interface ConversationsAsTrials {
  readonly trial: 'conversation';
  readonly k: number;
  readonly statistical_mode: string;
  /** Conversations that count: everything about them was decided. */
  readonly n: number;
  /** Of these, fully correct. */
  readonly c: number;
  /** Conversations with something undecided. They are in no figure but the bounds. */
  readonly outstanding: number;
  /** null without a trial. */
  readonly pass_at_k: number | null;
  readonly pass_at_k_ci_low: number | null;
  readonly pass_at_k_ci_high: number | null;
  readonly pass_pow_k: number | null;
  readonly pass_pow_k_ci_low: number | null;
  readonly pass_pow_k_ci_high: number | null;
  /** The observed figure if all that is outstanding turned out worst, or best; null without conversations. */
  readonly pass_at_k_bounds: readonly [number, number] | null;
  readonly pass_pow_k_bounds: readonly [number, number] | null;
  readonly assessment: Assessment;
}

/** The whole data set. Only counts and sums are kept while it is read. */
export interface AgenticSummary {
  /** null when there were several. */
  readonly assistant_id: string | null;
  readonly conversations: {
    readonly total: number;
    readonly correct: number;
    readonly incorrect: number;
    readonly unscored: number;
    /** For a fault in the data; not in `total`. */
    readonly left_out: number;
  };
  readonly interactions: {
    readonly total: number;
    readonly correct: number;
    readonly incorrect: number;
    readonly unscored: number;
    readonly neutral: number;
  };
  readonly answers: {
    readonly scored: number;
    readonly mean: number | null;
    /** Answers without a score, by reason. */
    readonly abstained: Readonly<Partial<Record<AbstainReason, number>>>;
  };
  /** Argument correctness of the turns that have one. */
  readonly arguments: { readonly scored: number; readonly mean: number | null };
  readonly tools: {
    readonly scored: number;
    readonly correct: number;
    readonly mean: number | null;
    /** Interactions whose allowed tools were stated, and those of them that called another. */
    readonly scope_checked: number;
    readonly scope_violations: number;
  };
  readonly conversations_as_trials: ConversationsAsTrials;
}
