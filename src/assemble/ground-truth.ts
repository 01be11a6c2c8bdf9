import { RESOURCE_RANK, type AgentSpan } from '../model/agent-span.js';
import type { Expectation } from '../model/expectation.js';
import type { Turn } from '../model/turn.js';

/** Where ground truth stands: a test runner's spans above the turn, nearest first, then the turn's own. */
export function groundTruthSpans(turn: Turn): readonly AgentSpan[] {
  return [...turn.ancestors.toReversed(), ...turn.spans];
}

/** What the spans of a turn expect of it, each member from the first place that states it; null when none does. */
export function expectationOf(turn: Turn): Expectation | null {
  const readings = groundTruthSpans(turn).flatMap((span) => span.readings('expectation'));
  if (readings.length === 0) return null;
  const onSpans = readings.filter(({ rank }) => rank < RESOURCE_RANK);
  const onResource = readings.filter(({ rank }) => rank >= RESOURCE_RANK);
  const members = [...onSpans, ...onResource].map(({ value }) => value);
  return Object.assign({}, ...members.reverse()) as Expectation;
}
