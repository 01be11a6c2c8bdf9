import { createHash } from 'node:crypto';
import type { LeftOut } from '../model/score.js';

export interface SamplingRules {
  /** Share of the conversations that are judged, 0..1. */
  readonly rate: number;
  /** Changing it draws another sample. */
  readonly salt: string;
}

/**
 * Is a conversation left out, and why? null: it is judged. To be asked before anything of it is looked at and for every
 * conversation alike, also for those that rules alone could decide: a conversation that is left out is no trial whatever
 * its rules say, since else those that fail by rules alone would count more often than the others.
 *
 * Sampling goes by the hash of the conversation's id, so that all its turns, in whichever process and however often they
 * are read, are in or out together; what is in at one rate is in at every higher one. `budgetSpent` is the judge's word at
 * that time: of a conversation during which the budget ends, the later turns leave all of it out.
 */
export function leftOut(conversationId: string, rules: SamplingRules, budgetSpent: boolean): LeftOut | null {
  if (!(drawOf(conversationId, rules.salt) < rules.rate)) return 'sampled_out';
  return budgetSpent ? 'budget' : null;
}

/** Uniform in [0, 1) over conversation ids: the first 48 bits of a SHA-256. */
export function drawOf(conversationId: string, salt: string): number {
  const hash = createHash('sha256')
    .update(JSON.stringify([salt, conversationId]))
    .digest();
  return hash.readUIntBE(0, 6) / 2 ** 48;
}
