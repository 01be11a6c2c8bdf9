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
  const flags: CoverageFlag[] = [];
  const flag = (name: CoverageFlag, holds: boolean) => {
    if (holds) flags.push(name);
  };
  flag('root_missing', turn.root === null);
  flag('open_top', turn.openTop);
  flag('query_not_captured', query.text === null && !query.cut);
  flag('query_truncated', query.text === null && query.cut);
  flag('answer_not_captured', answer.text === null && !answer.cut);
  flag('answer_truncated', answer.text === null && answer.cut);
  flag(
    'arguments_not_captured',
    calls.some((call) => call.argumentsStatus === 'not_captured'),
  );
  flag(
    'arguments_truncated',
    calls.some((call) => call.argumentsStatus === 'truncated'),
  );
  flag(
    'results_not_captured',
    calls.some((call) => call.resultStatus === 'not_captured' && !call.failed && !call.pending),
  );
  flag(
    'results_truncated',
    calls.some((call) => call.resultStatus === 'truncated'),
  );
  flag(
    'tool_definitions_not_captured',
    calls.some((call) => call.offer.kind === 'unknown' && !call.providerExecuted),
  );
  flag('tool_calls_not_captured', covered.callsIncomplete);
  flag('agent_not_captured', !covered.agentCaptured);
  flag('conversation_id_synthetic', !covered.conversationRecorded);
  flag(
    'attributes_dropped',
    claimed.some(({ span }) => span.droppedAttributes > 0),
  );
  flag('unended_spans', unended);
  // The run broke off: its end was not seen, and neither was an answer.
  flag('truncated', unended && answer.text === null);
  flag('cut_at_bound', turn.cut);
  flag('decided_early', turn.early);
  flag('split_by_silence', turn.split);
  return flags;
}
