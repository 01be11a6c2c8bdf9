/** Calls `wake` in `ms` milliseconds; what it gives takes that back. */
export function after(ms: number, wake: () => void): () => void {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
}
