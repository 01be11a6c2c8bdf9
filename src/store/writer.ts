import type { Graded } from '../model/graded.js';
import type { Outcome } from '../model/outcome.js';
import type { Rejection } from '../model/rejection.js';
import type { DeliveryDeps, DeliveryEvents, DeliveryRules, WrittenTable } from './deliver.js';
import { createDelivery, DeliveryEndedError } from './deliver.js';
import { isolate, splitByPartition } from './isolate.js';
import type { Failure } from './retry.js';
import {
  INTERACTION_COLUMN_NAMES,
  interactionLine,
  partitionOf,
  timeFault,
  VERDICT_COLUMN_NAMES,
  verdictLine,
} from './rows.js';

export interface WriterRules extends DeliveryRules {
  /** A batch is sent when it has this many interactions, ... */
  readonly batchRows: number;
  /** ... or this many characters of rows, ... */
  readonly batchChars: number;
  /** ... or when its first row has waited so long, whichever comes first. */
  readonly batchMs: number;
  /** Beyond these the writer is `full`: rows that come are kept, and no more should come. */
  readonly queueRows: number;
  readonly queueChars: number;
  /** Of rejections beyond this many waiting ones only the number is stored. */
  readonly queueRejections: number;
  /** ClickHouse's max_partitions_per_insert_block. */
  readonly partitionsPerInsert: number;
}

export const DEFAULT_WRITER_RULES: WriterRules = {
  batchRows: 5_000, // a batch of 500 cost 2.4 times the CPU of one of 10 000, one of 2 000 1.2 times
  batchChars: 16 * 1024 * 1024,
  batchMs: 1_000, // at 250 a busy worker sends batches of hundreds, and the engine merges their parts for twice what an insert costs
  queueRows: 20_000,
  queueChars: 64 * 1024 * 1024,
  queueRejections: 10_000,
  backoff: { firstMs: 100, maxMs: 15_000 },
  unknownAttempts: 5,
  stalledMs: 30_000,
  partitionsPerInsert: 100,
};

export interface WriterDeps extends DeliveryDeps {
  readonly on?: Partial<WriterEvents>;
}

export interface WriterEvents extends DeliveryEvents {
  /** A row will never be in its table; why is in `rejections`. The error is ours and quotes nothing. */
  rowRejected(event: { table: WrittenTable; error: unknown }): void;
}

/** A rejection with its circumstances, as the table has it. */
export interface RejectionRecord extends Rejection {
  readonly atMs: number;
  /** `otlp_http`, `kafka`, `file`, `store`, ... */
  readonly source: string;
}

/**
 * The one way into the store.
 *
 * Rows wait in a queue; one loop takes a batch from its head, sends the interactions, then their verdicts, and only then
 * answers. While the engine is away the loop sends the same rows with the same token again and again (backoff), and
 * everything behind them waits, up to the bounds of the queue, of which `full` tells. So nothing is lost and nothing
 * overtakes; what is traded is latency behind a slow engine.
 *
 * A batch that the engine refuses is halved until the bad rows stand alone: these are written to `rejections` and
 * answered `rejected`, all others are stored. Rows that fail for a reason nobody knows are only given up when the engine
 * took others beside them; else the fault may be the engine's, and they go back to the head of the queue.
 *
 * `close` sends what is left for a while; what is not stored by then is answered `retryable`, and is safe to write again
 * by whoever still holds its spans.
 */
export interface StoreWriter {
  /**
   * Stores an interaction with its verdict. `ok` = both are acknowledged by the engine; `rejected` = they never will be,
   * and `rejections` says why; `retryable` = the writer closed first. Writing the same twice is harmless.
   */
  write(graded: Graded): Promise<Outcome>;
  /** Stores the verdict alone: the interaction is stored already. Answers as `write`, behind what was written before. */
  writeVerdict(graded: Graded): Promise<Outcome>;
  /** Stores rejections when it can; nothing waits for them. */
  reject(records: readonly RejectionRecord[]): void;
  /** Sends what waits without waiting for more. */
  flush(): void;
  /** Should the caller hold back? */
  readonly full: boolean;
  /** Resolves as soon as the writer is not full. */
  ready(): Promise<void>;
  /** Does the engine take rows, as far as is known? False while inserts fail or one hangs. */
  readonly available: boolean;
  /** Interactions that wait or are on their way. */
  readonly waiting: number;
  close(options: { readonly drainMs: number }): Promise<void>;
}

interface Entry {
  readonly interactionId: string;
  /** null: it is stored already. */
  readonly interaction: string | null;
  readonly verdict: string;
  readonly partition: string;
  readonly chars: number;
  answer(outcome: Outcome): void;
}

/** So many rows alone refused, and none taken: the fault is hardly theirs. */
const REFUSALS_IN_A_ROW = 16;

export function createWriter(deps: WriterDeps, rules: WriterRules = DEFAULT_WRITER_RULES): StoreWriter {
  const delivery = createDelivery(deps, rules);
  /** All that are not answered yet: those of the queue and those on their way. */
  const open = new Set<Entry>();
  let openChars = 0;
  let queue: Entry[] = [];
  let queueChars = 0;
  let rejections: RejectionRecord[] = [];
  /** Those beyond the bound: one of each source and reason, and how many there were. */
  const surplus = new Map<string, { record: RejectionRecord; count: number }>();
  /** How many rows of the queue are to go now, batch full or not; at least 1 for the rejections alone. */
  let due = 0;
  let closing = false;
  let running: Promise<void> | null = null;
  let cancelLinger: (() => void) | null = null;
  let waitingForRoom: (() => void)[] = [];

  const isFull = () => open.size >= rules.queueRows || openChars >= rules.queueChars;
  const fillsBatch = () => queue.length >= rules.batchRows || queueChars >= rules.batchChars;

  function answer(entries: Iterable<Entry>, outcome: Outcome): void {
    for (const entry of entries) {
      if (!open.delete(entry)) continue;
      openChars -= entry.chars;
      entry.answer(outcome);
    }
    if (isFull()) return;
    const woken = waitingForRoom;
    waitingForRoom = [];
    for (const wake of woken) wake();
  }

  function takeBatch(): Entry[] {
    let chars = 0;
    let count = 0;
    for (const entry of queue) {
      if (count >= rules.batchRows || (count > 0 && chars + entry.chars > rules.batchChars)) break;
      chars += entry.chars;
      count += 1;
    }
    queueChars -= chars;
    return queue.splice(0, count);
  }

  function putBack(entries: readonly Entry[]): void {
    queue = [...entries, ...queue];
    for (const entry of entries) queueChars += entry.chars;
  }

  /** Answers every row of the batch but those that it returns: they have to be tried again. */
  async function storeBatch(batch: readonly Entry[]): Promise<Entry[]> {
    const heldBack: Entry[] = [];
    for (const part of splitByPartition(batch, (entry) => entry.partition, rules.partitionsPerInsert)) {
      const whole = part.filter((entry) => entry.interaction !== null);
      const facts = await sendApart(
        'interactions',
        INTERACTION_COLUMN_NAMES,
        whole,
        (entry) => entry.interaction ?? '',
      );
      const lost = new Set([...facts.heldBack, ...facts.refused.map(({ row }) => row)]);
      const judged = part.filter((entry) => !lost.has(entry));
      const verdicts = await sendApart('verdicts', VERDICT_COLUMN_NAMES, judged, (entry) => entry.verdict);
      heldBack.push(...facts.heldBack, ...verdicts.heldBack);
      // The reason is in the store before the caller lets go of the row.
      await refuse('interactions', facts.refused);
      await refuse('verdicts', verdicts.refused);

      answer(verdicts.stored, { status: 'ok' });
    }
    return heldBack;
  }

  async function sendApart(
    table: WrittenTable,
    columns: readonly string[],
    entries: readonly Entry[],
    lineOf: (entry: Entry) => string,
  ) {
    let attempts = rules.unknownAttempts;
    let taken = false;
    let alone = 0;
    const { stored, refused } = await isolate<Entry, Failure>(entries, async (some) => {
      if (alone >= REFUSALS_IN_A_ROW && !taken) return UNTRIED;
      const failure = await delivery.send(table, columns, some.map(lineOf), attempts);
      attempts = 1; // The whole had its attempts; its parts need one each.
      if (failure === null) taken = true;
      else if (failure.kind === 'unknown' && some.length === 1) alone += 1;
      return failure;
    });
    const unsure = taken ? [] : refused.filter(({ failure }) => failure.kind === 'unknown');
    return {
      stored,
      refused: refused.filter((each) => !unsure.includes(each)),
      heldBack: unsure.map(({ row }) => row),
    };
  }

  async function refuse(
    table: WrittenTable,
    refused: readonly { readonly row: Entry; readonly failure: Failure }[],
  ): Promise<void> {
    const named = refused.map(({ row, failure }) => {
      const column = failure.column === null ? '' : `, column ${failure.column}`;
      const got = `${failure.code} ${failure.type}${column}`;
      return { row, detail: `${table} row ${row.interactionId}: one that the engine takes expected, got ${got}` };
    });
    await storeRejections(named.map(({ detail }) => refusal(detail)));
    for (const { row, detail } of named) {
      const error = new Error(detail);
      deps.on?.rowRejected?.({ table, error });
      answer([row], { status: 'rejected', cause: error });
    }
  }

  function refusal(detail: string): RejectionRecord {
    return { atMs: deps.nowMs(), source: 'store', reason: 'store_refused_row', detail, spans: 0 };
  }

  async function storeRejections(records: readonly RejectionRecord[]): Promise<void> {
    if (records.length === 0) return;
    const failure = await delivery.send('rejections', REJECTION_COLUMNS, records.map(rejectionLine));
    // Its text is ours and bounded, so this is the table's fault; the rows that it is about must not wait for that.
    if (failure === null) return;
    const error = new Error(
      `${records.length} rejections: rows that the engine takes expected, got ${failure.code} ${failure.type}`,
    );
    deps.on?.rowRejected?.({ table: 'rejections', error });
  }

  async function run(): Promise<void> {
    while ((due > 0 || closing || fillsBatch()) && (queue.length > 0 || rejections.length > 0)) {
      await storeRejections(takeRejections());
      const batch = takeBatch();
      due = batch.length === 0 ? 0 : Math.max(0, due - batch.length);
      const heldBack = await storeBatch(batch);
      if (heldBack.length === 0) continue;
      putBack(heldBack);
      due += heldBack.length;
      await delivery.pause(rules.backoff.maxMs);
    }
  }

  /** Starts the loop when there is something to send, else sets its alarm. */
  function wake(): void {
    if (running !== null || (queue.length === 0 && rejections.length === 0)) return;
    if (due === 0 && !closing && !fillsBatch()) {
      cancelLinger ??= deps.after(rules.batchMs, () => {
        cancelLinger = null;
        flush();
      });
      return;
    }
    cancelLinger?.();
    cancelLinger = null;
    running = run()
      .catch((cause: unknown) => {
        // Only `close` ends the loop; whatever else came up here must not leave a caller waiting for ever.
        const error = cause instanceof Error ? cause : new DeliveryEndedError(String(cause));
        answer([...open], { status: 'retryable', cause: error });
        queue = [];
        queueChars = 0;
      })
      .finally(() => {
        running = null;
        wake();
      });
  }

  function flush(): void {
    due = Math.max(1, queue.length);
    wake();
  }

  function reject(records: readonly RejectionRecord[]): void {
    for (const record of records) {
      if (rejections.length < rules.queueRejections) {
        rejections.push(record);
        continue;
      }
      const kind = `${record.source} ${record.reason}`;
      surplus.set(kind, { record, count: (surplus.get(kind)?.count ?? 0) + 1 });
    }
    wake();
  }

  function takeRejections(): RejectionRecord[] {
    const counted = [...surplus.values()].map(({ record, count }) => ({
      ...record,
      detail: `${count} more of these, the last: ${record.detail}`,
    }));
    const taken = [...rejections, ...counted];
    rejections = [];
    surplus.clear();
    return taken;
  }

  function write(graded: Graded, table: 'interactions' | 'verdicts'): Promise<Outcome> {
    if (closing) return Promise.resolve({ status: 'retryable', cause: new DeliveryEndedError('the writer is closed') });
    const lines = linesOf(graded, table);
    if ('fault' in lines) {
      const cause = new Error(lines.fault);
      reject([refusal(lines.fault)]);
      deps.on?.rowRejected?.({ table, error: cause });
      return Promise.resolve({ status: 'rejected', cause });
    }
    return new Promise((resolve) => {
      const { interactionId } = graded.interaction;
      const chars = (lines.interaction?.length ?? 0) + lines.verdict.length;
      const entry = { ...lines, interactionId, partition: partitionOf(graded.interaction), chars, answer: resolve };
      open.add(entry);
      openChars += chars;
      queue.push(entry);
      queueChars += chars;
      wake();
    });
  }

  return {
    write: (graded) => write(graded, 'interactions'),
    writeVerdict: (graded) => write(graded, 'verdicts'),
    reject,
    flush,
    get full() {
      return isFull();
    },
    ready() {
      return isFull() ? new Promise((resolve) => waitingForRoom.push(resolve)) : Promise.resolve();
    },
    get available() {
      return delivery.available;
    },
    get waiting() {
      return open.size;
    },
    async close({ drainMs }) {
      closing = true;
      wake();
      await new Promise<void>((resolve) => {
        const cancel = deps.after(drainMs, resolve);
        void settled().then(() => {
          cancel();
          resolve();
        });
      });
      delivery.end();
      // An insert that hangs is not waited for: its rows may or may not be stored, and may be written again.
      answer([...open], {
        status: 'retryable',
        cause: new DeliveryEndedError('the writer closed before the rows were stored'),
      });
    },
  };

  async function settled(): Promise<void> {
    while (running !== null) await running;
  }
}

/** Written as they come, so that a row is written once however often it is sent, and its size is known. */
function linesOf(
  graded: Graded,
  table: 'interactions' | 'verdicts',
): { readonly interaction: string | null; readonly verdict: string } | { readonly fault: string } {
  const fault = timeFault(graded.interaction);
  if (fault !== null) return { fault };
  try {
    const interaction = table === 'interactions' ? interactionLine(graded.interaction) : null;
    return { interaction, verdict: verdictLine(graded) };
  } catch (error) {
    // JSON nested deeper than the stack, or longer than a string can be.
    const got = error instanceof RangeError ? error.message : 'an error';
    return { fault: `interaction ${graded.interaction.interactionId}: values that JSON can hold expected, got ${got}` };
  }
}

const UNTRIED: Failure = { kind: 'unknown', code: 'none', type: 'UNTRIED', column: null };

const REJECTION_COLUMNS = ['at', 'source', 'reason', 'detail', 'spans'];

function rejectionLine(record: RejectionRecord): string {
  return JSON.stringify([record.atMs, record.source, record.reason, record.detail.toWellFormed(), record.spans]);
}
