/**
 * The judge's answers in the store, looked up and written many at a time: a statement for each would cost the engine more
 * than it saves the judge, and a part for each would be merged for ever.
 *
 * What is asked for while a look-up is under way is looked up by the next one. What is written waits for a second, or for
 * 1000 others. Nothing here is worth a retry: an answer that was not found or not kept is asked for again.
 */
export interface StoredJudgeAnswers {
  /** Rejects when the store does not answer. */
  get(key: string): Promise<string | null>;
  /** Resolves at once; what cannot be written is told to `answersLost`. */
  set(key: string, answer: string): Promise<void>;
  /** Writes what waits. */
  close(): Promise<void>;
}

export interface JudgeAnswersEvents {
  answersLost(error: unknown): void;
}

export interface JudgeAnswersDeps {
  /** Rows of `key` and `answer`, of those keys that are known. */
  readonly select: (keys: readonly string[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly insert: (answers: readonly { readonly key: string; readonly answer: string }[]) => Promise<void>;
  readonly on: JudgeAnswersEvents;
}

const WRITE_AFTER_MS = 1_000;
const WRITE_AT = 1_000;
const KEYS_AT_ONCE = 500;

interface Asked {
  readonly key: string;
  readonly resolve: (answer: string | null) => void;
  readonly reject: (error: unknown) => void;
}

export function createJudgeAnswers({ select, insert, on }: JudgeAnswersDeps): StoredJudgeAnswers {
  const asked: Asked[] = [];
  let looking: Promise<void> | null = null;
  let kept = new Map<string, string>();
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  async function lookUp(): Promise<void> {
    while (asked.length > 0) {
      const some = asked.splice(0, KEYS_AT_ONCE);
      try {
        const rows = await select([...new Set(some.map(({ key }) => key))]);
        const answers = new Map(rows.map((row) => [String(row['key']), String(row['answer'])]));
        for (const { key, resolve } of some) resolve(answers.get(key) ?? null);
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    looking = null;
  }

  function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const answers = [...kept].map(([key, answer]) => ({ key, answer }));
    kept = new Map();
    if (answers.length > 0) {
      writing = writing.then(() => insert(answers)).catch((error: unknown) => on.answersLost(error));
    }
    return writing;
  }

  return {
    get(key) {
      const waiting = kept.get(key);
      if (waiting !== undefined) return Promise.resolve(waiting);
      return new Promise((resolve, reject) => {
        asked.push({ key, resolve, reject });
        looking ??= lookUp();
      });
    },
    set(key, answer) {
      kept.set(key, answer);
      if (kept.size >= WRITE_AT) void write();
      else timer ??= setTimeout(() => void write(), WRITE_AFTER_MS);
      return Promise.resolve();
    },
    close: write,
  };
}
