import type { ObjectiveRule } from '../estimate/frozen-objective.js';
import type { JudgeRules } from '../estimate/judge-sight.js';
import type { SightRules } from '../estimate/sight.js';
import type { StreamRules } from '../estimate/stream-sight.js';
import type { Severity } from '../model/estimate.js';

/** What alerts are raised on. */
export interface AlertRules {
  readonly objectives: readonly WatchedObjective[];
  /** How long a detector waits for an outstanding conversation, in milliseconds after its close. */
  readonly waitMs: number;
  /** An alert is closed when its series had no conversation for so long and another one of its agent had. Milliseconds. */
  readonly supersededMs: number;
  readonly blind: SightRules & StreamRules & JudgeRules & { readonly severity: Severity };
}

/** An objective and the series that it is for; no names: all. */
export interface WatchedObjective extends ObjectiveRule {
  readonly assistants: readonly string[];
  readonly environments: readonly string[];
}
