import type { AssembleRules } from './assemble/rules.js';
import { DEFAULT_ASSEMBLE_RULES } from './assemble/rules.js';
import { DatasetError } from './batch/agentic.js';
import type { Graded } from './model/graded.js';
import type { Rejection } from './model/rejection.js';
import { createOfflineGrader, type PipelineEvents } from './pipeline.js';
import { decodeTraces } from './receive/decode.js';
import { turnsOf, type DatasetItem, type TurnName } from './score/datasets.js';
import { buildExpectationIndex } from './score/expectations.js';
import { resolvePolicy, type ScoringOptions } from './score/policy.js';
import { trackExpectations } from './score/tracked-expectations.js';

export interface GradeTracesOptions {
  /** Criteria, thresholds, weights, lists; every one has its default. */
  readonly scoring?: ScoringOptions;
  /** Ground truth, matched by case id, conversation id and turn, or query. */
  readonly datasets?: Iterable<DatasetItem>;
  /** Bounds of the reducer. */
  readonly assemble?: Partial<AssembleRules>;
}

export interface GradedTraces {
  /** In order of start. */
  readonly interactions: readonly Graded[];
  /** What could not be read, and where; the rest was graded. */
  readonly rejections: readonly Rejection[];
  /** Ids of interactions that fit several turns of the datasets; none was guessed. */
  readonly ambiguous: readonly string[];
  /** Turns of the datasets that no interaction fits, by their names. */
  readonly unmatched: readonly TurnName[];
  /** Faults of Tracegrade itself; the interaction concerned is unscored. Please report them. */
  readonly errors: readonly unknown[];
}

/**
 * Grades OTLP traces without a server, a store or a clock: each body is one ExportTraceServiceRequest, JSON (text, or
 * bytes that begin with `{`) or protobuf. All bodies are read before anything is decided, so a trace may be spread over
 * several; every conversation counts as closed.
 *
 * Any bytes give a value. Throws DatasetError for datasets that cannot be used, RangeError for unusable options.
 */
export function gradeTraces(bodies: Iterable<Uint8Array | string>, options: GradeTracesOptions = {}): GradedTraces {
  const policy = resolvePolicy(options.scoring ?? {});
  const truths = [...(options.datasets ?? [])].map(turnsOf);
  const faults = truths.flatMap((truth) => truth.faults);
  if (faults.length > 0) throw new DatasetError(faults);

  const rejections: Rejection[] = [];
  const errors: unknown[] = [];
  const ambiguous: string[] = [];
  const events: PipelineEvents = {
    spansCounted() {},
    interactionGraded() {},
    gradingFailed({ error }) {
      errors.push(error);
    },
    expectationUnreadable({ interactionId }, members) {
      const detail = `interaction ${interactionId}: its ground truth cannot be read (${members.join(', ')})`;
      rejections.push({ reason: 'invalid_expectation', detail, spans: 0 });
    },
    expectationAmbiguous({ interactionId }) {
      ambiguous.push(interactionId);
    },
  };
  const expectations = trackExpectations(buildExpectationIndex(truths.flatMap((truth) => truth.turns)));
  const rules = { assemble: { ...DEFAULT_ASSEMBLE_RULES, ...options.assemble }, policy };
  const grader = createOfflineGrader(rules, { expectations, events, judging: null });
  for (const body of bodies) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const json = typeof body === 'string' || bytes[0] === OPEN_BRACE;
    const result = decodeTraces(bytes, json ? 'json' : 'protobuf');
    if (result.kind === 'malformed') {
      rejections.push(result.rejection);
      continue;
    }
    rejections.push(...result.batch.rejections);
    grader.receive(result.batch.spans);
  }
  const interactions = grader.finish();
  const unmatched = expectations
    .unmatched()
    .map(({ place, conversationId, caseId }) => ({ place, conversationId, caseId }));
  return { interactions, rejections, ambiguous, unmatched, errors };
}

const OPEN_BRACE = 0x7b;
