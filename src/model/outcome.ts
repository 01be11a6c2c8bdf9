/** What the caller of an edge should do next. Retry wraps an edge; it is not inside it. */
export type Outcome =
  | { readonly status: 'ok' }
  /** Later may work. */
  | { readonly status: 'retryable'; readonly afterMs?: number; readonly cause: Error }
  /** The same input will fail again. */
  | { readonly status: 'rejected'; readonly cause: Error };
