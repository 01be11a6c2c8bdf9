/**
 * Asks the judge again, now and then, about interactions of the last day that it had no word on: its outages, and what an
 * earlier process left. Workers that share a store share this work by chance; what one has healed the next finds healed.
 *
 * Idle -> healing (a page at a time, until nothing is left, the judge fails or is full, or it is stopped) -> idle for
 * `everyMs`. A page that is under way when it is stopped is not stored: the store still has it as it was.
 */
import type { Judge } from '../judge/judge.js';
import type { Outcome } from '../model/outcome.js';
import type { Graded } from '../model/graded.js';
import { rescore, type RescoreDeps } from '../rescore.js';
import type { ScoringPolicy } from '../score/policy.js';

const LOOK_BACK_MS = 24 * 60 * 60_000;

export interface HealerDeps extends RescoreDeps {
  readonly judge: Pick<Judge, 'full' | 'stats' | 'budgetSpent'>;
  readonly nowMs: () => number;
  readonly random: () => number;
  storeVerdict(graded: Graded): Promise<Outcome>;
  verdictHealed(): void;
  /** The store did not answer; it is tried again. */
  healingFailed(error: unknown): void;
}

export class Healer {
  private nextMs: number;
  private healing: Promise<void> | null = null;
  private stopped = false;

  constructor(
    private readonly everyMs: number,
    private readonly policy: ScoringPolicy,
    private readonly deps: HealerDeps,
  ) {
    // Not all workers at once, and not before the first answers can have come.
    this.nextMs = deps.nowMs() + everyMs * (0.5 + deps.random() / 2);
  }

  /** Begins when it is time. */
  tick(): void {
    const nowMs = this.deps.nowMs();
    if (this.everyMs === 0 || this.stopped || this.healing !== null || nowMs < this.nextMs) return;
    this.healing = this.heal(nowMs)
      .catch((error: unknown) => this.deps.healingFailed(error))
      .finally(() => {
        this.healing = null;
        this.nextMs = this.deps.nowMs() + this.everyMs;
      });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.healing;
  }

  private async heal(nowMs: number): Promise<void> {
    const range = {
      sinceMs: nowMs - LOOK_BACK_MS,
      untilMs: nowMs,
      assistantId: null,
      agentVersion: null,
      everything: false,
    };
    if (!this.mayAsk()) return;
    for await (const page of rescore(range, this.policy, this.deps)) {
      if (this.stopped) return;
      for (const { graded, outcome } of page) {
        if (outcome !== 'changed') continue;
        void this.deps.storeVerdict(graded);
        this.deps.verdictHealed();
      }
      if (!this.mayAsk()) return;
    }
  }

  private mayAsk(): boolean {
    const { judge } = this.deps;
    return !judge.full && !judge.budgetSpent && judge.stats().breaker !== 'open';
  }
}
