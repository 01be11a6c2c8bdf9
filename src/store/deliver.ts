import { randomUUID } from 'node:crypto';

import type { Backoff, Failure } from './retry.js';
import { backoffMs, readFailure } from './retry.js';

/** Tables that the writer fills. */
export type WrittenTable = 'interactions' | 'verdicts' | 'rejections';

/** Inserts lines of JSONCompactEachRow; returned means stored. Sent again with the same token they are stored once. */
export type InsertLines = (
  table: WrittenTable,
  columns: readonly string[],
  lines: readonly string[],
  token: string,
) => Promise<void>;

export interface DeliveryRules {
  readonly backoff: Backoff;
  /** How often a failure that nobody knows is tried before it counts as a refusal. */
  readonly unknownAttempts: number;
  /** An insert without an answer for so long makes the store unavailable. */
  readonly stalledMs: number;
}

export interface DeliveryDeps {
  readonly insert: InsertLines;
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Calls `wake` once after `ms`; the result takes that back. */
  after(ms: number, wake: () => void): () => void;
  /** Uniform in [0, 1). */
  chance(): number;
  readonly on?: Partial<DeliveryEvents>;
}

/** What happened, for logs and metrics. Errors are as the client threw them: they may quote rows. */
export interface DeliveryEvents {
  batchStored(event: { table: WrittenTable; rows: number; ms: number }): void;
  /** Nothing is lost; it will be tried again. */
  batchRetried(event: { table: WrittenTable; rows: number; attempt: number; error: unknown }): void;
  /** No row gets in from now on, ... */
  storeUnavailable(error: unknown): void;
  /** ... until now. */
  storeRecovered(): void;
}

/** The writer closed while rows were on their way; whether they are stored is unknown. */
export class DeliveryEndedError extends Error {
  override readonly name = 'DeliveryEndedError';
}

/**
 * One insert at a time, for as long as it takes.
 *
 * `send` tries the same lines with the same token until the engine has taken or refused them. While the engine is away
 * it waits between attempts; `end` cuts the wait short and ends every later attempt.
 */
export interface Delivery {
  /**
   * Null: stored. Else why the engine refuses the lines: a failure of kind `row`, or `unknown` after its attempts.
   * @throws DeliveryEndedError when `end` was or is called.
   */
  send(
    table: WrittenTable,
    columns: readonly string[],
    lines: readonly string[],
    unknownAttempts?: number,
  ): Promise<Failure | null>;
  /** @throws DeliveryEndedError when `end` was or is called. */
  pause(ms: number): Promise<void>;
  /** Does the engine take rows, as far as is known? False while inserts fail or one hangs. */
  readonly available: boolean;
  end(): void;
}

export function createDelivery(deps: DeliveryDeps, rules: DeliveryRules): Delivery {
  const tokenPrefix = randomUUID();
  let sent = 0;
  let ended = false;
  let away = false;
  let cutShort: () => void = () => undefined;

  function checkNotEnded(): void {
    if (ended) throw new DeliveryEndedError('the writer closed before the rows were stored');
  }

  function goneAway(error: unknown): void {
    if (!away) deps.on?.storeUnavailable?.(error);
    away = true;
  }

  function answered(): void {
    if (away) deps.on?.storeRecovered?.();
    away = false;
  }

  async function pause(ms: number): Promise<void> {
    checkNotEnded();
    await new Promise<void>((resolve) => {
      const cancel = deps.after(ms, resolve);
      cutShort = () => {
        cancel();
        resolve();
      };
    });
    checkNotEnded();
  }

  /** Null: stored. */
  async function attempt(
    table: WrittenTable,
    columns: readonly string[],
    lines: readonly string[],
    token: string,
  ): Promise<{ readonly error: unknown } | null> {
    checkNotEnded();
    const sinceMs = deps.nowMs();
    const answerInTime = deps.after(rules.stalledMs, () =>
      goneAway(new Error(`insert into ${table}: an answer within ${rules.stalledMs} ms expected, got none yet`)),
    );
    try {
      await deps.insert(table, columns, lines, token);
    } catch (error) {
      return { error };
    } finally {
      answerInTime();
    }
    answered();
    deps.on?.batchStored?.({ table, rows: lines.length, ms: deps.nowMs() - sinceMs });
    return null;
  }

  return {
    async send(table, columns, lines, unknownAttempts = rules.unknownAttempts) {
      sent += 1;
      const token = `${tokenPrefix}-${sent}`;
      for (let tries = 1; ; tries += 1) {
        const failed = await attempt(table, columns, lines, token);
        if (failed === null) return null;

        const failure = readFailure(failed.error, columns);
        if (failure.kind === 'row') answered();
        else goneAway(failed.error);
        if (failure.kind === 'row' || (failure.kind === 'unknown' && tries >= unknownAttempts)) return failure;

        deps.on?.batchRetried?.({ table, rows: lines.length, attempt: tries, error: failed.error });
        await pause(backoffMs(tries, rules.backoff, deps.chance()));
      }
    },
    pause,
    get available() {
      return !away;
    },
    end() {
      ended = true;
      cutShort();
    },
  };
}
