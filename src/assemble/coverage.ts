import type { CoverageFlag, ToolCall } from '../model/interaction.js';
import type { Turn } from '../model/turn.js';
import type { FoundText } from './query-answer.js';

export interface Covered {
  readonly query: FoundText;
  readonly answer: FoundText;
  readonly calls: readonly ToolCall[];
  readonly callsIncomplete: boolean;
  readonly agentCaptured: boolean;
  readonly conversationRecorded: boolean;
}

/** What the record of a turn lacks, in the order of the type. */
export function coverageOf(turn: Turn, covered: Covered): readonly CoverageFlag[] {
  const { query, answer, calls } = covered;
  const claimed = turn.spans.filter((span) => span.dialect !== null);
  const unended = claimed.some(({ span }) => span.endUnixNano === 0n);
  const flags: readonly (readonly [CoverageFlag, boolean])[] = [
    ['root_missing', turn.root === null],
    ['open_top', turn.openTop],
    ['query_not_captured', query.text === null && !query.cut],
    ['query_truncated', query.text === null && query.cut],
    ['answer_not_captured', answer.text === null && !answer.cut],
    ['answer_truncated', answer.text === null && answer.cut],
    ['arguments_not_captured', calls.some((call) => call.argumentsStatus === 'not_captured')],
    ['arguments_truncated', calls.some((call) => call.argumentsStatus === 'truncated')],
    [
      'results_not_captured',
      calls.some((call) => call.resultStatus === 'not_captured' && !call.failed && !call.pending),
    ],
    ['results_truncated', calls.some((call) => call.resultStatus === 'truncated')],
    ['tool_definitions_not_captured', calls.some((call) => call.offer.kind === 'unknown' && !call.providerExecuted)],
    ['tool_calls_not_captured', covered.callsIncomplete],
    ['agent_not_captured', !covered.agentCaptured],
    ['conversation_id_synthetic', !covered.conversationRecorded],
    ['attributes_dropped', claimed.some(({ span }) => span.droppedAttributes > 0)],
    ['unended_spans', unended],
    // The run broke off: its end was not seen, and neither was an answer.
    ['truncated', unended && answer.text === null],
    ['cut_at_bound', turn.cut],
    ['decided_early', turn.early],
    ['split_by_silence', turn.split],
  ];
  return flags.filter(([, holds]) => holds).map(([flag]) => flag);
}
