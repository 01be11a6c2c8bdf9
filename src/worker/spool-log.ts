import type { Outcome } from '../model/outcome.js';
import type { Offset } from '../model/received.js';
import type { Rejection } from '../model/rejection.js';
import { decodeTraces } from '../receive/decode.js';
import type { OtlpEntry } from '../receive/otlp-http.js';
import type { Spool } from '../receive/spool-lmdb.js';
import { createShard, type Shard, type ShardDeps } from './shard.js';

export interface SpoolLogDeps extends ShardDeps {
  readonly on: {
    spansAccepted(count: number): void;
    spoolFilled(event: { bytes: number; maxBytes: number }): void;
  };
  reject(rejection: Rejection, source: string): void;
}

/**
 * What came over OTLP/HTTP: durable in the spool, then graded.
 *
 * Until `catchUp` has read what an earlier process has left, new entries queue behind it, in their order.
 */
export class SpoolLog {
  readonly shard: Shard;
  private live = false;
  private stopping = false;
  /** Appended before it was live; the reader has not come to them yet. */
  private readonly ahead = new Set<Offset>();
  /** An entry was refused for want of room, and nothing has been decided since to make some. */
  private wantsRoom = false;
  private readonly toRelease = new Set<Offset>();
  /** Releases on their way; null: none. */
  private releasing: Promise<unknown> | null = null;

  constructor(
    private readonly spool: Spool,
    private readonly deps: SpoolLogDeps,
  ) {
    this.shard = createShard('spool', deps, (offsets) => offsets.forEach((offset) => this.toRelease.add(offset)));
  }

  get isLive(): boolean {
    return this.live;
  }

  /** All that may be released is. */
  get drained(): boolean {
    return this.toRelease.size === 0 && this.releasing === null;
  }

  get trouble(): string | null {
    return this.spool.stats().trouble === null ? null : 'the spool cannot be written';
  }

  stats(): { readonly entries: number; readonly bytes: number } {
    return this.spool.stats();
  }

  /** Reads what the spool holds, in order; `ready`: waits while the store has no room. */
  async catchUp(ready: () => Promise<void>): Promise<void> {
    for await (const entry of this.spool.entries()) {
      if (this.stopping) return;
      this.take(entry.offset, entry.bytes, entry.encoding, entry.receivedAtMs);
      await ready();
    }
    if (this.stopping) return;
    this.live = true;
    for (const offset of this.ahead) {
      const entry = this.spool.read(offset);
      if (entry !== undefined) this.take(offset, entry.bytes, entry.encoding, entry.receivedAtMs);
    }
    this.ahead.clear();
  }

  /** Ok once the entry is on disk. */
  async append({ body, encoding, receivedAtMs, batch }: OtlpEntry): Promise<Outcome> {
    const appended = await this.spool.append(body, { encoding, receivedAtMs });
    if (appended.status !== 'ok') {
      const { bytes, maxBytes } = this.spool.stats();
      this.deps.on.spoolFilled({ bytes, maxBytes });
      this.wantsRoom = appended.status === 'retryable';
      return appended;
    }
    const { offset } = appended;
    // While stopping it stays in the spool, for the next start.
    if (this.stopping) return { status: 'ok' };
    if (this.live) this.deliver({ offset, receivedAtMs, spans: batch.spans });
    else this.ahead.add(offset);
    return { status: 'ok' };
  }

  tick(held: boolean): void {
    this.shard.hold(held);
    if (this.live) this.shard.drained(this.deps.nowMs());
    this.shard.pass();
    // What open work keeps would else be kept until its patience is over, while senders are turned away. What is decided
    // already may make room once it is stored.
    if (this.wantsRoom && !held && this.shard.unstored === 0) {
      this.wantsRoom = false;
      this.shard.relieve();
    }
    this.flushReleases();
  }

  quiesce(): void {
    this.stopping = true;
  }

  /** After the last rows were acknowledged. */
  async close(): Promise<void> {
    this.flushReleases();
    await this.releasing;
    await this.spool.close();
  }

  private take(offset: Offset, bytes: Uint8Array, encoding: OtlpEntry['encoding'], receivedAtMs: number): void {
    this.ahead.delete(offset);
    const result = decodeTraces(bytes, encoding);
    if (result.kind === 'decoded' && result.batch.spans.length > 0) {
      this.deliver({ offset, receivedAtMs, spans: result.batch.spans });
      return;
    }
    // It was decoded once before it was appended; a disk has changed it since.
    if (result.kind === 'malformed') this.deps.reject(result.rejection, 'spool');
    this.toRelease.add(offset);
  }

  private deliver(entry: Parameters<Shard['receive']>[0]): void {
    this.deps.on.spansAccepted(entry.spans.length);
    this.shard.receive(entry);
  }

  private flushReleases(): void {
    if (this.toRelease.size === 0) return;
    const offsets = [...this.toRelease];
    this.toRelease.clear();
    const releasing = this.spool.release(offsets).then((outcome) => {
      // Releasing again is harmless, and not releasing only costs a second reading.
      if (outcome.status !== 'ok') for (const offset of offsets) this.toRelease.add(offset);
      if (this.releasing === releasing) this.releasing = null;
    });
    this.releasing = releasing;
  }
}
