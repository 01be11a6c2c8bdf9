// Words and HTTP statuses by which time-outs, throttling and trouble of the network or the server are told.
const TRANSIENT = new RegExp(
  [
    String.raw`\b(?:408|425|429|500|502|503|504|529)\b`,
    'time[d-]? ?-?out|deadline exceeded|temporar|unavailable|try again|retry after|overload|throttl',
    'rate.?limit|too many requests|quota|server error|bad gateway',
    'connection (?:reset|refused|closed|aborted|error|lost)|socket hang up|network|broken pipe|unreachable',
    'econnreset|econnrefused|etimedout|epipe|eai_again|enotfound',
  ].join('|'),
  'i',
);

const MAX_READ = 2000;

/**
 * Whether an error may pass by itself, so that the same call again is sensible: time-outs, 408, 425, 429 and 5xx,
 * throttling, connection trouble. A heuristic on the error's text that rather calls an error transient than not.
 */
export function isTransient(error: string): boolean {
  return TRANSIENT.test(error.slice(0, MAX_READ));
}
