import { RESOURCE_RANK, type AgentSpan } from '../model/agent-span.js';
import type { Expectation } from '../model/expectation.js';
import type { Turn } from '../model/turn.js';

/** Where ground truth stands: a test runner's spans above the turn, nearest first, then the turn's own. */
export function groundTruthSpans(turn: Turn): readonly AgentSpan[] {
  return turn.ancestors.length === 0 ? turn.spans : [...turn.ancestors.toReversed(), ...turn.spans];
}

/** What the spans of `groundTruthSpans` expect of their turn, each member from the first place that states it; null when none does. */
export function expectationOf(truth: readonly AgentSpan[]): Expectation | null {
  const readings = truth.flatMap((span) => span.readings('expectation'));
  if (readings.length === 0) return null;
  const onSpans = readings.filter(({ rank }) => rank < RESOURCE_RANK);
  const onResource = readings.filter(({ rank }) => rank >= RESOURCE_RANK);
  const members: { [key: string]: unknown } = {};
  const unreadable: string[] = [];
  for (const { value } of [...onSpans, ...onResource]) {
    const { unreadable: here = [], ...readable } = value;
    for (const [name, member] of Object.entries(readable)) {
      if (!(name in members) && !unreadable.includes(name)) members[name] = member;
    }
    unreadable.push(...here.filter((name) => !(name in members) && !unreadable.includes(name)));
  }
  return unreadable.length > 0 ? { ...members, unreadable } : members;
}
