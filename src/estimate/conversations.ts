import type { Conversation, ConversationVerdict, JudgedTurn, Trial } from '../model/estimate.js';

export interface ConversationRules {
  /** A conversation closes when no turn came for this long, in milliseconds, > 0. */
  readonly idleMs: number;
  /** The judgement of a conversation with these turns. */
  readonly verdictOf: (turns: readonly JudgedTurn[]) => ConversationVerdict;
}

/**
 * The conversation that these interactions make, as it stands at `nowMs` (the tick's stream time); null without any.
 *
 * It first closes at the end of its turns before the first gap >= `idleMs`, plus that time. Resumed later, it stays the
 * one conversation in the series of its first turn, closed, and is judged over all of its turns. Its trial is the
 * verdict over the turns up to its first close; where that is none (nothing to judge, or outstanding), over those up to
 * the next one, and so on: so it does not depend on when ticks came. The order of `turns` does not matter.
 */
export function conversationOf(
  turns: readonly JudgedTurn[],
  nowMs: number,
  rules: ConversationRules,
): Conversation | null {
  const ordered = [...turns].sort(byStart);
  const first = ordered[0];
  if (first === undefined) return null;
  const closes = closesOf(ordered, rules.idleMs);
  const firstClosedAtMs = closes[0]?.atMs ?? Infinity;
  const { conversationId, assistantId, agentVersion, environment, task, policy } = first;

  return {
    conversationId,
    series: { assistantId, agentVersion, environment, task, policy },
    startedAtMs: first.startedAtMs,
    endedAtMs: latestEnd(ordered),
    interactionIds: ordered.map(({ interactionId }) => interactionId),
    firstClosedAtMs,
    closed: firstClosedAtMs <= nowMs,
    verdict: rules.verdictOf(ordered),
    judged: ordered.some(({ judged }) => judged),
    trial: trialOf(ordered, closes, firstClosedAtMs, nowMs, rules),
  };
}

interface Close {
  /** How many turns came before. */
  readonly turns: number;
  readonly atMs: number;
}

/** Every close of a conversation, were nothing to come any more: at least one. */
function closesOf(ordered: readonly JudgedTurn[], idleMs: number): readonly Close[] {
  const closes: Close[] = [];
  let endMs = -Infinity;
  ordered.forEach(({ startedAtMs, endedAtMs }, turns) => {
    if (turns > 0 && startedAtMs - endMs >= idleMs) closes.push({ turns, atMs: endMs + idleMs });
    // Turns may overlap, and clocks may put an end before its start.
    endMs = Math.max(endMs, startedAtMs, endedAtMs);
  });
  return [...closes, { turns: ordered.length, atMs: endMs + idleMs }];
}

function trialOf(
  ordered: readonly JudgedTurn[],
  closes: readonly Close[],
  firstClosedAtMs: number,
  nowMs: number,
  rules: ConversationRules,
): Trial | null {
  for (const { turns, atMs } of closes) {
    if (atMs > nowMs) return null;
    const { counts, label } = rules.verdictOf(ordered.slice(0, turns));
    const { conversationId } = ordered[0] as JudgedTurn;
    if (counts) return { conversationId, firstClosedAtMs, correct: label === 'correct' };
  }
  return null;
}

function latestEnd(ordered: readonly JudgedTurn[]): number {
  return ordered.reduce((latest, { startedAtMs, endedAtMs }) => Math.max(latest, startedAtMs, endedAtMs), -Infinity);
}

function byStart(a: JudgedTurn, b: JudgedTurn): number {
  return a.startedAtMs - b.startedAtMs || (a.interactionId < b.interactionId ? -1 : 1);
}
