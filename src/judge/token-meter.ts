/**
 * Tokens per minute and per day. A bucket holds one minute's tokens and refills steadily; a reservation is always
 * granted, together with how long to wait for it, so that a request larger than the bucket waits and is not lost.
 */
export class TokenMeter {
  private level: number;
  private atMs: number | null = null;
  private day = '';
  private spent = 0;

  constructor(
    private readonly perMinute: number | null,
    private readonly perDay: number | null,
  ) {
    this.level = perMinute ?? 0;
  }

  /** Takes tokens out of the bucket. Returns ms to wait before they may be used, 0 at best. */
  reserve(tokens: number, nowMs: number): number {
    if (this.perMinute === null) return 0;
    this.refill(this.perMinute, nowMs);
    this.level -= tokens;
    return this.level >= 0 ? 0 : Math.ceil((-this.level * 60_000) / this.perMinute);
  }

  /** Of a reservation, so much was used: the rest goes back, or what was used beyond it is taken as well. */
  settle(reserved: number, used: number): void {
    if (this.perMinute !== null) this.level = Math.min(this.perMinute, this.level + reserved - used);
  }

  spend(tokens: number, nowMs: number): void {
    this.turn(nowMs);
    this.spent += tokens;
  }

  /** Tokens spent since midnight UTC. */
  spentToday(nowMs: number): number {
    this.turn(nowMs);
    return this.spent;
  }

  daySpent(nowMs: number): boolean {
    return this.perDay !== null && this.spentToday(nowMs) >= this.perDay;
  }

  private refill(perMinute: number, nowMs: number): void {
    const passed = Math.max(0, nowMs - (this.atMs ?? nowMs));
    this.level = Math.min(perMinute, this.level + (passed * perMinute) / 60_000);
    this.atMs = nowMs;
  }

  private turn(nowMs: number): void {
    const day = new Date(nowMs).toISOString().slice(0, 10);
    if (day === this.day) return;
    this.day = day;
    this.spent = 0;
  }
}
