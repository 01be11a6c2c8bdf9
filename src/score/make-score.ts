import type { Json } from '../model/json.js';
import type { AbstainReason, Criterion, DecidedBy, Score } from '../model/score.js';

type Details = { readonly [key: string]: Json };

export function decided(
  criterion: Criterion,
  value: number,
  passed: boolean,
  reason: string,
  details: Details,
  decidedBy: DecidedBy = 'rule',
): Score {
  return { kind: 'scored', criterion, value, passed, decidedBy, reason, details };
}

export function abstain(criterion: Criterion, abstained: AbstainReason, reason: string, details: Details = {}): Score {
  return { kind: 'abstained', criterion, abstained, reason, details };
}

/** A name as a sentence may hold it: names come from outside and can be of any length. */
export function brief(name: string): string {
  return name.length > 64 ? `${name.slice(0, 63)}…` : name;
}

/** At most five names, then how many more. */
export function briefly(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(brief).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}
