/**
 * What happens when more is held than the rules allow. Nothing is thrown away undecided.
 *
 * Past a bound of all traces together, in this order until it fits: spans of traces that no dialect claims go; late
 * windows end early, oldest first; the oldest traces whose root has ended are decided (`early`); the oldest open ones
 * are cut (`cut`). Past a bound of one trace only that trace is touched, down to half the bound, so that a flood of
 * spans costs a constant time each: its late windows end, its giant is cut, then what has its root is decided, then
 * the rest is cut, largest first.
 */
import type { AssembleRules } from './rules.js';
import type { Assembly, Trace } from './state.js';
import type { Group } from './turns.js';

/**
 * What has to be decided before its time: nothing; the rest of the late windows; also what has its root; everything,
 * what lacks its root is then cut.
 */
export type Pressure = 'none' | 'windows' | 'rooted' | 'all';

/** What the reducer lends to this file. */
export interface Hands {
  readonly state: Assembly;
  readonly rules: AssembleRules;
  evaluate(trace: Trace, nowMs: number, pressure: Pressure): void;
  groups(trace: Trace): Group[];
  conclude(trace: Trace, group: Group, how: 'whole' | 'early' | 'cut'): void;
  drop(trace: Trace, group: Group): void;
  closeIfEmpty(trace: Trace): boolean;
}

export function overTrace(trace: Trace, rules: AssembleRules): boolean {
  return trace.spans.size > rules.maxSpansPerTrace || trace.bytes > rules.maxBytesPerTrace;
}

export function relieve(run: Hands): void {
  const { state, rules } = run;
  const unclaimed = reliefBy(run, state.unclaimed, 'all');
  const inWindow = reliefBy(run, state.inWindow, 'windows');
  const rootEnded = reliefBy(run, state.rootEnded, 'rooted');
  const oldest = reliefByOldest(run);
  // All are asked each time: what is evaluated may thereby come into its late window, or be found to be unclaimed.
  while (state.traces.size > rules.maxOpenTraces || state.heldBytes > rules.maxOpenBytes) {
    if (!(unclaimed() || inWindow() || rootEnded() || oldest())) return;
  }
}

/**
 * Evaluates the first of a set, which leaves the set; false when there is none. The set is walked once: asked anew for
 * its first, it passes over all that has left it before.
 */
function reliefBy(run: Hands, traces: Set<Trace>, pressure: Pressure): () => boolean {
  const walk = traces.values();
  return () => {
    // A walk that has come to an end does not go on, whatever is added then.
    if (traces.size === 0) return false;
    const { value } = walk.next();
    if (value === undefined) return false;
    traces.delete(value);
    run.evaluate(value, run.state.nowMs, pressure);
    return true;
  };
}

function reliefByOldest(run: Hands): () => boolean {
  const { state } = run;
  const walk = state.traces.values();
  let oldest: Trace | undefined;
  return () => {
    // One whose turn was due by itself is decided, and stays for its late window.
    if (oldest === undefined || !state.traces.has(oldest.name)) oldest = walk.next().value;
    if (oldest === undefined) return false;
    run.evaluate(oldest, state.nowMs, 'all');
    return true;
  };
}

/** An interaction that takes this share of its trace's bound is what the bound is for. */
const GIANT_SHARE = 0.25;

export function shrinkTrace(run: Hands, trace: Trace): void {
  const { state, rules } = run;
  const groups = run.groups(trace);
  const fits = (): boolean =>
    trace.spans.size <= rules.maxSpansPerTrace / 2 && trace.bytes <= rules.maxBytesPerTrace / 2;

  const rank = (group: Group): number => {
    if (group.kind !== 'turn') return 4;
    if (trace.reported.get(group.rootSpanId)?.windowEndMs != null) return 0;
    const share = Math.max(group.members.length / rules.maxSpansPerTrace, bytesOf(group) / rules.maxBytesPerTrace);
    if (share > GIANT_SHARE) return 1;
    return group.complete ? 2 : 3;
  };
  const ranked = groups.map((group) => ({ group, rank: rank(group), bytes: bytesOf(group) }));
  ranked.sort((a, b) => a.rank - b.rank || (a.rank === 2 ? a.group.firstMs - b.group.firstMs : b.bytes - a.bytes));
  for (const { group, rank: place } of ranked) {
    if (fits()) break;
    if (place === 0) run.conclude(trace, group, 'whole');
    else if (place === 2) run.conclude(trace, group, 'early');
    else if (place === 4) run.drop(trace, group);
    else run.conclude(trace, group, 'cut');
  }
  if (!run.closeIfEmpty(trace)) state.due.schedule(trace, state.nowMs);
}

function bytesOf(group: Group): number {
  return group.members.reduce((sum, held) => sum + held.span.span.bytes, 0);
}
