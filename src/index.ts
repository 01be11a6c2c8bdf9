/**
 * Tracegrade as a library: `import { createAgentic } from 'tracegrade'`. What is exported here is kept; everything else
 * of the package may change. Examples that run: docs/examples/.
 */

/** Gaussia's Agentic metric over conversations that were recorded in its JSON. */
export { createAgentic, DatasetError } from './batch/agentic.js';
export type { Agentic, AgenticOptions } from './batch/agentic.js';
export type {
  AgenticMetric,
  AgenticSummary,
  Batch,
  ConversationsAsTrials,
  Dataset,
  InteractionResult,
  InteractionVerdict,
  ToolCorrectnessScore,
} from './batch/agentic-metric.js';
export type { AnswerJudge, JudgeQuestion } from './batch/answer.js';

/** Files of datasets, one by one: JSON, or JSONL in bounded memory. */
export { streamDatasetFile as readDatasets } from './score/dataset-files.js';
export type { DatasetFault, DatasetItem, TurnName } from './score/datasets.js';

/** Tool correctness of one interaction. */
export { toolCorrectness } from './score/tool-correctness.js';
export type { ToolCorrectness, ToolCorrectnessInput } from './score/tool-correctness.js';
export type { MadeCall, ToolWeights } from './score/assess-tools.js';
export type { Expectation, ExpectedCall } from './model/expectation.js';

/** pass@K and pass^K. */
export { BayesianMode, FrequentistMode } from './estimate/statistical-mode.js';
export type { PassFigure, PassFigures, StatisticalMode } from './estimate/statistical-mode.js';
export { estimate } from './estimate/pass.js';
export type { EstimateRules } from './estimate/pass.js';
export { estimatePerTask } from './estimate/per-task.js';
export { unbiasedPassAtK, unbiasedPassPowK } from './estimate/unbiased.js';
export { assess } from './estimate/assessment.js';
export type { Assessment, BetaPrior, Counts, Estimate } from './model/estimate.js';

/** OTLP traces, graded without a server or a store. */
export { gradeTraces } from './grade-traces.js';
export type { GradedTraces, GradeTracesOptions } from './grade-traces.js';
export type { ScoringOptions } from './score/policy.js';
export type { Graded } from './model/graded.js';
export type { Interaction, ToolCall } from './model/interaction.js';
export type { Rejection } from './model/rejection.js';
export type { AbstainReason, Criterion, Score, Verdict } from './model/score.js';
