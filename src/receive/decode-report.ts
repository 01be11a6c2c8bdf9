import type { Rejection, RejectionReason } from '../model/rejection.js';
import type { DecodeLimits } from './decode-limits.js';

/** Leniencies: what senders get wrong and can be read all the same. Nothing is lost by them. */
export type Leniency =
  | 'snake_case_keys'
  | 'enum_names'
  | 'long_object_integers'
  | 'exponent_integers'
  | 'bare_non_finite_numbers'
  | 'mistyped_values'
  | 'instrumentation_library_spans'
  | 'missing_start_times'
  | 'byte_order_mark';

/** What is remembered about a body while it is decoded: bounded, whatever the body holds. */
export class DecodeReport {
  private readonly told: Rejection[] = [];
  private readonly toldByReason = new Map<RejectionReason, number>();
  private readonly untold = new Map<RejectionReason, { entries: number; spans: number }>();
  private readonly lenient = new Map<Leniency, number>();

  constructor(private readonly limits: DecodeLimits) {}

  /** `detail` is only made when it will be told. */
  reject(reason: RejectionReason, spans: number, detail: () => string): void {
    const told = this.toldByReason.get(reason) ?? 0;
    if (told < this.limits.maxDetails) {
      this.toldByReason.set(reason, told + 1);
      this.told.push({ reason, spans, detail: detail() });
      return;
    }
    const sum = this.untold.get(reason);
    if (sum === undefined) this.untold.set(reason, { entries: 1, spans });
    else {
      sum.entries++;
      sum.spans += spans;
    }
  }

  allow(leniency: Leniency, count = 1): void {
    this.lenient.set(leniency, (this.lenient.get(leniency) ?? 0) + count);
  }

  rejections(): readonly Rejection[] {
    const sums = [...this.untold].map(([reason, { entries, spans }]) => ({
      reason,
      spans,
      detail: `${entries} more like the ${this.limits.maxDetails} told before`,
    }));
    return [...this.told, ...sums];
  }

  leniencies(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.lenient);
  }
}
