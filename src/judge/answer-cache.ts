/** Answers that outlive the process, by content hash. Texts are JSON; they are checked again when they are read. */
export interface StoredAnswers {
  get(key: string): Promise<string | null>;
  set(key: string, answer: string): Promise<void>;
}

/** The answers used last, in memory: at most `entries` of them. */
export class RecentAnswers {
  private readonly kept = new Map<string, string>();

  constructor(private readonly entries: number) {}

  get(key: string): string | undefined {
    const answer = this.kept.get(key);
    if (answer !== undefined) this.put(key, answer);
    return answer;
  }

  put(key: string, answer: string): void {
    this.kept.delete(key);
    this.kept.set(key, answer);
    if (this.kept.size <= this.entries) return;
    const oldest = this.kept.keys().next();
    if (!oldest.done) this.kept.delete(oldest.value);
  }
}
