import type { TextSink } from './io.js';

/** Says now and then how far a long piece of work is; silent when it is over quickly or nobody watches. */
export interface Progress {
  update(text: string): void;
  /** Removes the line again. */
  done(): void;
}

const FIRST_AFTER_MS = 500;
const EVERY_ON_TERMINAL_MS = 100;
const EVERY_ELSEWHERE_MS = 10_000;

export function createProgress(sink: TextSink, nowMs: () => number): Progress {
  const every = sink.isTTY ? EVERY_ON_TERMINAL_MS : EVERY_ELSEWHERE_MS;
  let nextMs = nowMs() + (sink.isTTY ? FIRST_AFTER_MS : EVERY_ELSEWHERE_MS);
  let shown = false;
  return {
    update(text) {
      const now = nowMs();
      if (now < nextMs) return;
      nextMs = now + every;
      const line = text.slice(0, (sink.columns ?? 100) - 1);
      sink.write(sink.isTTY ? `\r\u001b[2K${line}` : `${line}\n`);
      shown = true;
    },
    done() {
      if (shown && sink.isTTY) sink.write('\r\u001b[2K');
    },
  };
}
